"""The modified Bessel functions over the whole range, against float64."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check, convert_function

raw = tf.raw_ops
RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
SCALED, PLAIN = [raw.BesselI0e, raw.BesselI1e], [raw.BesselI0, raw.BesselI1]
_SIZES = np.concatenate([np.logspace(-37, 0, 500), np.linspace(1, 12, 2000), np.linspace(7.7, 7.8, 200)])
NEAR = np.concatenate([_SIZES, -_SIZES]).astype(np.float32)


def made_of(op, x):
    """Return what the file makes of x, with delegates and without."""
    data = convert_function(lambda x: op(x=x), tf.TensorSpec([None])).data
    for resolver in RESOLVERS:
        runner = Interpreter(model_content=data, experimental_op_resolver_type=resolver).get_signature_runner()
        yield runner(x0=x)["y0"]


def relative_errors(op, x):
    exact = op(x=tf.constant(x.astype(np.float64))).numpy()
    return [float(np.abs(made / exact - 1).max()) for made in made_of(op, x)]


@pytest.mark.parametrize("op", SCALED, ids=lambda op: op.__name__)
def test_relative_error(op):
    far = np.logspace(1, 38, 2000).astype(np.float32)
    assert max(relative_errors(op, np.concatenate([NEAR, far, -far]))) <= 1e-6


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.__name__)
def test_relative_error_of_what_grows(op):
    assert max(relative_errors(op, NEAR)) <= 1e-6
    # EXP is of an argument that float32 rounds.
    assert max(relative_errors(op, np.linspace(12, 91.5, 2000).astype(np.float32))) <= 1e-5


@pytest.mark.parametrize("op", SCALED + PLAIN, ids=lambda op: op.__name__)
def test_ends(op):
    x = np.float32([0, -0.0, np.nan, 95, -95])
    expected = op(x=tf.constant(x)).numpy()
    for made in made_of(op, x):
        np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
        np.testing.assert_array_equal(made[:2], expected[:2])
        large = np.abs(made[np.isinf(expected)])
        # Products end at the largest number where no delegate runs.
        assert (large >= np.finfo(np.float32).max).all()
        np.testing.assert_array_equal(np.sign(made[3:]), np.sign(expected[3:]))


@pytest.mark.parametrize("op", SCALED, ids=lambda op: op.__name__)
def test_infinities(op):
    for made in made_of(op, np.float32([np.inf, -np.inf])):
        assert (np.abs(made) <= 1e-18).all()


@pytest.mark.parametrize("op", SCALED, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_parity(op, dtype):
    check(lambda x: op(x=x), tf.TensorSpec([None, 5], dtype))


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.__name__)
def test_parity_of_what_grows(op):
    check(lambda x: op(x=x), tf.TensorSpec([None, 5]))
