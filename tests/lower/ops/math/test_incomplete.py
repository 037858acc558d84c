"""The incomplete gamma and beta functions, against float64: TensorFlow's own of float32 are off by up to 8e-3."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check, convert_function

RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
GAMMAS = [tf.math.igamma, tf.math.igammac]


def results(function, *operands: np.ndarray) -> list[np.ndarray]:
    """What the file computes, with delegates and without."""
    data = convert_function(function, *[tf.TensorSpec([None])] * len(operands)).data
    runners = [Interpreter(model_content=data, experimental_op_resolver_type=each).get_signature_runner()
               for each in RESOLVERS]  # fmt: skip
    return [runner(**{f"x{index}": each for index, each in enumerate(operands)})["y0"] for runner in runners]


def error(function, *operands: np.ndarray) -> float:
    exact = function(*[tf.constant(each, tf.float64) for each in operands]).numpy()
    return max(float(np.abs(made - exact).max()) for made in results(function, *operands))


def positive(rng: np.random.Generator, low: float, high: float, count: int = 3000) -> np.ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), count)).astype(np.float32)


@pytest.mark.parametrize("function", GAMMAS, ids=lambda function: function.__name__)
def test_gamma_over_the_range(function):
    rng = np.random.default_rng(0)
    a = positive(rng, 1e-3, 1e4)
    x = (a * np.exp(rng.standard_normal(a.size) * 3 / np.sqrt(a + 0.3))).astype(np.float32)
    assert error(function, a, x) <= 2e-6


def test_small_parts_are_right_too():
    """What is left above, and below, to 5e-5 of itself."""
    rng = np.random.default_rng(1)
    a = positive(rng, 0.5, 200)
    for function, x in ((tf.math.igamma, a / 2), (tf.math.igammac, a * 2)):
        exact = function(tf.constant(a, tf.float64), tf.constant(x, tf.float64)).numpy()
        seen = exact > 1e-30
        for made in results(function, a, x):
            np.testing.assert_allclose(made[seen], exact[seen], rtol=5e-5)


def test_beta_over_the_range():
    rng = np.random.default_rng(2)
    a, b = positive(rng, 1e-2, 1e4), positive(rng, 1e-2, 1e4)
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    near = a / (a + b) + spread * rng.standard_normal(a.size) * 2
    x = np.clip(np.where(rng.random(a.size) < 0.5, near, rng.random(a.size)), 0, 1).astype(np.float32)
    assert error(tf.math.betainc, a, b, x) <= 3e-6


@pytest.mark.parametrize("function", GAMMAS, ids=lambda function: function.__name__)
def test_gamma_at_the_ends(function):
    ends = (0, -1, 1e-30, 0.5, 1, 2, 50, np.nan), (0, -1, 1e-30, 1, 3, 1e3, 1e38, np.inf, np.nan)
    a, x = (each.ravel().astype(np.float32) for each in np.meshgrid(*ends))
    expected = function(a, x).numpy()
    for made in results(function, a, x):
        np.testing.assert_allclose(made, expected, atol=1e-5)


def test_beta_at_the_ends():
    ends = (0, -1, 1e-5, 0.5, 1, 2, 50), (0, -1, 1e-5, 0.5, 1, 2, 50), (0, -1, 1e-30, 1e-4, 0.5, 1, 2, np.inf, np.nan)
    a, b, x = (each.ravel().astype(np.float32) for each in np.meshgrid(*ends))
    known = (a > 0) & (b > 0)  # else TensorFlow's depends on x
    expected = np.where(known, tf.math.betainc(a, b, x).numpy(), np.nan)
    for made in results(tf.math.betainc, a, b, x):
        np.testing.assert_allclose(made, expected, atol=1e-5)


def draw(rng, shape, dtype):
    return rng.uniform(0.1, 0.9, shape).astype(dtype)


@pytest.mark.parametrize("function", GAMMAS, ids=lambda function: function.__name__)
def test_gamma_of_other_shapes(function):
    check(function, tf.TensorSpec([None, 4, 1]), tf.TensorSpec([3]), inputs=draw)
    check(function, tf.TensorSpec([]), tf.TensorSpec([None, 0]), inputs=draw)


def test_beta_of_other_shapes():
    check(tf.math.betainc, *[tf.TensorSpec([None, None, 3])] * 3, inputs=draw)
    check(lambda x: tf.math.betainc(2.0, 3.5, x), tf.TensorSpec([None, 3]), inputs=draw)
    check(lambda x: tf.math.betainc(x, 3.5, 0.4), tf.TensorSpec([]), inputs=draw)
