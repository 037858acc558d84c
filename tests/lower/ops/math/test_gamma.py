"""The logarithm of the gamma function and its derivative, against float64."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check, convert_function

RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
POSITIVE = np.concatenate([
    np.exp(np.linspace(np.log(3e-38), np.log(1e35), 2000)), np.linspace(0.4, 4, 2000), 1 + np.logspace(-6, -1, 50),
    2 - np.logspace(-6, -1, 50), 1.4616321449683623 + np.logspace(-6, -1, 50), [0.5, 1, 2, 3],
]).astype(np.float32)  # fmt: skip
_BELOW = np.array([*-np.logspace(-30, -2, 500), *np.linspace(-30.01, -0.01, 3001), -1e3 - 0.25], np.float32)
NEGATIVE = _BELOW[np.round(_BELOW) != _BELOW]
FUNCTIONS = [tf.math.lgamma, tf.math.digamma]


def errors(function, x: np.ndarray, scale: np.ndarray | None = None) -> list[float]:
    """The largest errors of the file, with delegates and without, over the scale, which is the result's if None."""
    data = convert_function(function, tf.TensorSpec([None])).data
    exact = function(tf.constant(x.astype(np.float64))).numpy()
    found = []
    for resolver in RESOLVERS:
        runner = Interpreter(model_content=data, experimental_op_resolver_type=resolver).get_signature_runner()
        made = runner(x0=x)["y0"].astype(np.float64)
        found.append(float((np.abs(made - exact) / np.maximum(np.abs(exact if scale is None else scale), 1e-37)).max()))
    return found


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_relative_error_of_positive_numbers(function):
    assert max(errors(function, POSITIVE)) <= 1.5e-6


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_error_of_negative_numbers(function):
    x = NEGATIVE
    mirrored = np.abs(function(tf.constant(1 - x.astype(np.float64))).numpy())
    exact = np.abs(function(tf.constant(x.astype(np.float64))).numpy())
    # The angle is a distance to a whole number, of which float32 keeps half a unit of x.
    assert max(errors(function, x, np.maximum(1, exact + mirrored))) <= 1.5e-6


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_poles(function):
    poles = np.float32([0, -1, -2, -17, -1e10, np.nan])
    data = convert_function(function, tf.TensorSpec([None])).data
    expected = function(tf.constant(poles)).numpy()
    for resolver in RESOLVERS:
        runner = Interpreter(model_content=data, experimental_op_resolver_type=resolver).get_signature_runner()
        made = runner(x0=poles)["y0"]
        np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
        # Sums end at the largest number where no delegate runs.
        assert (made[np.isinf(expected)] >= np.finfo(np.float32).max).all()


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_shapes_and_types(function, dtype):
    def draw(rng, shape, numpy_type):
        return rng.uniform(0.1, 20, shape).astype(numpy_type)

    check(function, tf.TensorSpec([None, 3, 5], dtype), inputs=draw)
