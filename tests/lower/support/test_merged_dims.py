"""Parity of ops on tensors of 5 to 8 dimensions, in LiteRT and in TensorFlow's interpreter, which takes fewer."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import assert_close, check, convert_function

_SIZES = (2, 3, 2, 2, 1, 3, 2, 2)


def _axis(x):
    return len(x.shape) // 2


ONE = {
    "copy": lambda x: (x, x),
    "l2": lambda x: tf.nn.l2_normalize(x, -1),
    "dense": lambda x: tf.tensordot(x, np.random.default_rng(1).standard_normal((x.shape[-1], 4), np.float32), 1),
    "transpose": lambda x: tf.transpose(x, [*range(1, len(x.shape)), 0]),
    "reverse": lambda x: tf.transpose(x),
    "row": lambda x: x[:, 1:, ..., :1],
    "sum": lambda x: tf.reduce_sum(x, [1, _axis(x)]),
    "max": lambda x: tf.reduce_max(x, [0, len(x.shape) - 1], keepdims=True),
    "tile": lambda x: tf.tile(x, [1, 2] + [1] * (len(x.shape) - 2)),
    "pad": lambda x: tf.pad(x, [[1, 0]] + [[0, 0]] * (len(x.shape) - 2) + [[0, 2]]),
    "split": lambda x: tf.split(x, 3, 1),
    "concat": lambda x: tf.concat([x, -x], _axis(x)),
    "stack": lambda x: tf.stack([x, -x], 1),
    "gather": lambda x: tf.gather(x, [1, 0, 1], axis=2),
    "fft": lambda x: tf.abs(tf.signal.rfft(x, [4])),
    "bias": lambda x: x / 4.0 + tf.ones([x.shape[-1]]),
    "einsum": lambda x: tf.einsum("ab...->...ba", x),
    "compare": lambda x: tf.pow(tf.abs(x), 1.5) < tf.ones(x.shape[-2:]),
}


def check_in_both(fn, *specs):
    converted = check(fn, *specs, batches=(2,), static=False)
    draw = np.random.default_rng(3).standard_normal
    arrays = [draw([size or 2 for size in spec.shape], np.float32) for spec in specs]
    run_in_tensorflow(converted.data, arrays, [y.numpy() for y in converted.function(*map(tf.constant, arrays))])


def run_in_tensorflow(data, arrays, expected):
    """Hold what TensorFlow's interpreter computes, with its delegate and without, to what is expected."""
    resolvers = tf.lite.experimental.OpResolverType
    for resolver in (resolvers.AUTO, resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter = tf.lite.Interpreter(model_content=data, experimental_op_resolver_type=resolver)
        results = interpreter.get_signature_runner()(**{f"x{index}": array for index, array in enumerate(arrays)})
        for index, array in enumerate(expected):
            assert_close(results[f"y{index}"], array)


@pytest.mark.parametrize("rank", [6, 8])
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name, rank):
    check_in_both(ONE[name], tf.TensorSpec([None, *_SIZES[1:rank]]))


@pytest.mark.parametrize("rank", [5, 7])
@pytest.mark.parametrize("fn", [tf.multiply, tf.divide, tf.less])
def test_operands_that_broadcast(fn, rank):
    outer, inner = [1] * (rank - 2), _SIZES[rank - 2 : rank]
    check_in_both(fn, tf.TensorSpec([None, *_SIZES[1:rank]]), tf.TensorSpec([*outer, *inner]))


@pytest.mark.parametrize("rank", [6, 7])
@pytest.mark.parametrize("axis", [-1, 1])
def test_softmax(rank, axis):
    """oneDNN's takes 5 dimensions: the reference is that of rows."""
    shape = _SIZES[:rank]
    x = np.random.default_rng(3).standard_normal(shape, np.float32)
    rows = np.moveaxis(x, axis, -1)
    expected = np.moveaxis(tf.nn.softmax(rows.reshape(-1, shape[axis])).numpy().reshape(rows.shape), -1, axis)
    converted = convert_function(lambda x: tf.nn.softmax(x, axis), tf.TensorSpec([None, *shape[1:]]))
    run_in_tensorflow(converted.data, [x], [expected])
    runner = Interpreter(model_content=converted.data).get_signature_runner()
    assert_close(runner(x0=x)["y0"], expected)


@pytest.mark.parametrize("rank", [6, 8])
def test_broadcast_to(rank):
    shape = list(_SIZES[:rank])
    check_in_both(lambda x: tf.broadcast_to(x, shape), tf.TensorSpec([1] * (rank - 1) + shape[-1:]))
    check_in_both(lambda x: tf.broadcast_to(x, shape), tf.TensorSpec(shape))
    check_in_both(lambda x, y: tf.broadcast_to(x, tf.shape(y)), tf.TensorSpec([1]), tf.TensorSpec([None, *shape[1:]]))
    check_in_both(lambda x, y: tf.where(x > 0, x, y), tf.TensorSpec(shape), tf.TensorSpec([]))


@pytest.mark.parametrize("rank", [5, 6, 8])
@pytest.mark.parametrize("fn", [
    tf.math.asinh, tf.math.acosh, tf.math.log1p, tf.math.erf, tf.math.erfc, tf.math.erfinv, tf.math.ndtri,
    tf.math.lgamma, tf.math.digamma, tf.math.bessel_i0, tf.math.bessel_i1, tf.math.bessel_i0e, tf.math.bessel_i1e,
], ids=lambda fn: fn.__name__)  # fmt: skip
def test_functions_that_compare_with_numbers(fn, rank):
    def within(x):  # where all of them are defined
        return fn(tf.sigmoid(x) * 0.9 + (1.0 if fn is tf.math.acosh else 0.05))

    check_in_both(within, tf.TensorSpec([None, *_SIZES[1:rank]]))


def test_functions_that_compare_with_numbers_of_unknown_sizes():
    check(lambda x: tf.math.asinh(x), tf.TensorSpec([2, None, 3, None, 3]))
    check(lambda x: tf.math.erfc(x), tf.TensorSpec([None, 2, 1, 2, 3], tf.float16), atol=1e-3)
