"""uint64 on kernels of int64, against TensorFlow, with numbers on both sides of 2^63."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

_NUMBERS = np.array([0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 7, 2**40], np.uint64)
_MOVES = {
    "transpose": tf.transpose, "concat": lambda x: tf.concat([x, x], 1), "slice": lambda x: x[:, 1:3],
    "gather": lambda x: tf.gather(x, [2, 0], axis=1), "stack": lambda x: tf.stack([x, x]),
    "pad": lambda x: tf.pad(x, [[0, 0], [1, 2]]), "tile": lambda x: tf.tile(x, [1, 2]),
    "where": lambda x: tf.where(x == 7, tf.constant(2**64 - 1, tf.uint64), x),
}  # fmt: skip


def spec(*shape):
    return tf.TensorSpec(shape, tf.uint64)


@pytest.mark.parametrize("op", _MOVES)
def test_moves(op):
    check(_MOVES[op], spec(None, 4), inputs=[_NUMBERS.reshape(2, 4)])


@pytest.mark.parametrize("op", [
    tf.add, tf.subtract, tf.multiply, tf.less, tf.less_equal, tf.greater, tf.greater_equal, tf.equal, tf.not_equal,
    tf.maximum, tf.minimum,
])  # fmt: skip
def test_two_operands(op):
    check(op, spec(8, 1), spec(8), inputs=[_NUMBERS[:, None], _NUMBERS])
    check(lambda x: op(x, tf.constant(2**63, tf.uint64)), spec(None), inputs=[_NUMBERS])


@pytest.mark.parametrize("op", [tf.reduce_sum, tf.reduce_prod, tf.reduce_max, tf.reduce_min])
def test_reductions(op):
    check(lambda x: [op(x, 1), op(x)], spec(None, 4), inputs=[_NUMBERS[[3, 1, 5, 6, 2, 0, 4, 7]].reshape(2, 4)])


@pytest.mark.parametrize("other", [tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64])
def test_casts(other):
    check(lambda x: tf.cast(tf.cast(x + x, other), tf.uint64), spec(None), inputs=[_NUMBERS])


def test_what_no_kernel_of_int64_computes_is_refused():
    check_refused(lambda x: x // tf.constant(3, tf.uint64), spec(4), match="uint64")
    check_refused(lambda x: tf.cast(x, tf.float32), spec(4), match="uint64")
