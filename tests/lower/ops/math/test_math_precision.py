"""Relative errors over the whole range of float32, with delegates and without: `check` compares with the largest
result, beside which a small one may be lost."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import convert_function

RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
FLOAT = np.finfo(np.float32)
# Where kernels and the forms of rules change from one formula to another.
BRANCHES = [1e-30, 1e-10, 1e-7, 1e-5, 1 / 3, 0.4, 0.5, 1, 1.5, 2, 3, 4, 8, 10, 13.9, 20, 44, 87]
# XNNPACK's EXP of what is far from 0 is off by up to 4e-6, whatever is made of it.
EXP = 5e-6
# function -> least and largest |x|, and the error that is allowed
RANGES = {
    "Log1p": (tf.math.log1p, 3e-38, 2e38, 5e-7),
    "Expm1": (tf.math.expm1, 1e-37, 88, EXP),
    "Asinh": (tf.math.asinh, 2e-38, 3e38, 7e-7),
    "Acosh": (tf.math.acosh, 2e-38, 3e38, 6e-7),
    "Atanh": (tf.math.atanh, 2e-38, 2, 5e-7),
    "Sinh": (tf.math.sinh, 2e-38, 89, EXP),
    "Asin": (tf.math.asin, 2e-38, 1, 5e-7),
    "Acos": (tf.math.acos, 2e-38, 1, 5e-7),
    "Atan": (tf.math.atan, 2e-38, 3e38, 5e-7),
    "Erf": (tf.math.erf, 2e-38, 3e38, 6e-7),
    "Erfc": (tf.math.erfc, 2e-38, 9, 8e-6),
    "Ndtri": (lambda x: tf.raw_ops.Ndtri(x=x), 2e-38, 1, 1e-6),
    "Softplus": (tf.nn.softplus, 2e-38, 76, 1.1e-6),
    "log_sigmoid": (tf.math.log_sigmoid, 2e-38, 76, 1.1e-6),
    "mish": (lambda x: x * tf.tanh(tf.nn.softplus(x)), 1e-37, 76, 1.1e-6),
    "Softsign": (tf.nn.softsign, 2e-38, 1e38, 3e-7),
    "cross entropy": (lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=0.0 * x, logits=x), 2e-38, 76, 1.1e-6),
}


def spread(least: float, largest: float, count: int = 1500) -> np.ndarray:
    """Numbers of both signs, evenly by their logarithm, those around branches, 0 and NaN."""
    x = np.exp(np.linspace(np.log(least), np.log(largest), count))
    near = np.array(BRANCHES, np.float32)
    beside = [np.nextafter(near, np.float32(to)) for to in (-np.inf, np.inf)]
    x = np.concatenate([x, np.linspace(0.2, 3, count), 1 - np.exp2(-np.arange(2.0, 24)), near, *beside])
    x = np.clip(x, least, largest).astype(np.float32)
    return np.concatenate([x, -x, np.array([0, np.nan], np.float32)])


def run(data: bytes, resolver: OpResolverType, *arrays: np.ndarray) -> np.ndarray:
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=resolver)
    made: np.ndarray = interpreter.get_signature_runner()(**{f"x{i}": x for i, x in enumerate(arrays)})["y0"]
    return made


def hold(function, *arrays: np.ndarray, bound: float) -> None:
    """Assert that the file is as near to the function in float64 as the bound says, relative to each result. What is
    infinite may come out as the largest number."""
    data = convert_function(function, *[tf.TensorSpec([None])] * len(arrays)).data
    exact = np.asarray(function(*[tf.constant(x.astype(np.float64)) for x in arrays]))
    finite = np.abs(exact) <= FLOAT.max
    for resolver in RESOLVERS:
        made = run(data, resolver, *arrays).astype(np.float64)
        np.testing.assert_array_equal(np.isnan(made), np.isnan(exact))
        assert (np.sign(made) * (np.abs(made) >= FLOAT.max) == np.sign(exact))[np.isinf(exact)].all()
        error = np.abs(made[finite] - exact[finite]) / np.maximum(np.abs(exact[finite]), FLOAT.tiny)
        worst = np.argmax(error)
        where = [x[finite][worst] for x in arrays]
        assert error[worst] <= bound, f"{made[finite][worst]}, not {exact[finite][worst]} of {where}, {resolver.name}"


@pytest.mark.parametrize("name", RANGES)
def test_relative_error(name):
    function, least, largest, bound = RANGES[name]
    hold(function, spread(least, largest), bound=bound)


def test_a_softplus_far_below_zero_is_off_by_two_least_normal_numbers_at_most():
    x = np.linspace(-110, -76, 2000).astype(np.float32)
    data = convert_function(tf.nn.softplus, tf.TensorSpec([None])).data
    for resolver in RESOLVERS:
        made = run(data, resolver, x)
        np.testing.assert_allclose(made, np.exp(x.astype(np.float64)), rtol=1.1e-6, atol=2 * FLOAT.tiny)


@pytest.mark.parametrize("op", [tf.math.xlog1py, tf.math.xlogy], ids=lambda op: op.__name__)
def test_relative_error_of_products_with_logarithms(op):
    grid = np.meshgrid(np.float32([-3, 0, 0.5, 1e-10]), np.float32([1e-20, 1e-5, 0.4, 3, 1e9]))
    hold(op, *(part.ravel() for part in grid), bound=1e-6)


@pytest.mark.parametrize("whole", [tf.floor, lambda x: tf.cast(tf.cast(x, tf.int32), x.dtype)], ids=["floor", "cast"])
def test_relative_error_of_logarithms_of_whole_numbers(whole):
    x = np.float32([0, 1, 2, 3, 7.5, 100, 1e5, 2**24, 2**30])
    hold(lambda x: tf.math.log1p(whole(x)), x, bound=4e-7)
    # A cast to integers has an op more.
    assert len(convert_function(lambda x: tf.math.log1p(whole(x)), tf.TensorSpec([None])).ops) <= 4


def test_relative_error_of_a_scan_of_logarithms():
    # The sum's logarithm is nearly that of the larger term, which is 0.
    below = np.linspace(-80, -1, 60).astype(np.float32)
    data = convert_function(lambda x: tf.math.cumulative_logsumexp(x, -1), tf.TensorSpec([None, 2])).data
    pairs = np.stack([0 * below, below], axis=-1)
    for resolver in RESOLVERS:
        made = run(data, resolver, pairs)
        exact = np.log1p(np.exp(below.astype(np.float64)))
        np.testing.assert_allclose(made[:, 1], exact, rtol=1.1e-6, atol=2 * FLOAT.tiny)
