"""Parity of joining, cutting and moving whole tensors."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.pairwise import in_turn

raw = tf.raw_ops
TYPES = [
    tf.float32, tf.float16, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.bool,
]  # fmt: skip
NO_BOOL = TYPES[:-1]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


NAMED = {dtype.name: dtype for dtype in TYPES}
each_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)


@in_turn(axis=[0, 1, -1], dtype=NAMED)
def test_concat(axis, dtype):
    check(lambda x, y: tf.concat([x, y, x], axis), spec(None, 3, dtype=dtype), spec(None, 3, dtype=dtype))


def test_concat_of_empty_and_of_old():
    check(lambda x, y: tf.concat([x, y], 0), spec(None, 3), spec(0, 3))
    check(lambda x: raw.Concat(concat_dim=1, values=[x, x]), spec(None, 3), ops=["CONCATENATION"])


@in_turn(axis=[1, -1], dtype=NAMED)
def test_split(axis, dtype):
    check(lambda x: tf.split(x, 2, axis), spec(None, 4, 6, dtype=dtype))
    check(lambda x: tf.split(x, [1, -1], axis), spec(None, 4, 6, dtype=dtype))


def test_split_into_equal_sizes_is_split():
    check(lambda x: tf.split(x, [2, 2], 1), spec(None, 4), ops=["SPLIT"])
    check(lambda x: [y + 1 for y in tf.split(x, 1, 1)], spec(None, 4), ops=["ADD"])
    check(lambda x: tf.split(x, [3, 1], 0), spec(4, 2), ops=["SPLIT_V"])


@pytest.mark.parametrize("count", [3, 12])
def test_split_into_computed_sizes_of_an_unknown_number(count):
    """How many sizes there are is not known, but how many parts are made; tensors have fewer dimensions than these."""

    def parts(x, places):
        sizes = tf.math.bincount(places % count, minlength=count, maxlength=count)
        return [part @ tf.ones([4, 2]) for part in tf.split(x, sizes, num=count)]

    check(parts, spec(None, 4), spec(None, dtype=tf.int32))


@in_turn(axis=[0, 1, -1], dtype=NAMED)
def test_stack(axis, dtype):
    check(lambda x, y: tf.stack([x, y], axis), spec(None, 3, dtype=dtype), spec(None, 3, dtype=dtype))


@in_turn(axis=[1, -1], dtype=NAMED)
def test_unstack(axis, dtype):
    check(lambda x: tf.unstack(x, axis=axis), spec(None, 3, 2, dtype=dtype))


@each_type
def test_transpose(dtype):
    check(lambda x: tf.transpose(x, [1, 0, 2]), spec(None, 3, 2, dtype=dtype))


def test_transpose_of_many_dimensions():
    check(lambda x: tf.transpose(x, [5, 6, 3, 4, 0, 1, 2]), spec(2, 3, 2, 2, 1, 2, 3))
    check(lambda x: tf.transpose(x, [3, 0, 5, 1, 4, 2]), spec(2, 3, 2, 2, 1, 2))
    check(tf.transpose, spec(None, 3, 2, 2, 1, 2, 3))
    check(lambda x: tf.transpose(x, [3, 0, 7, 5, 1, 6, 4, 2]), spec(2, 3, 2, 2, 1, 2, 3, 2))


@pytest.mark.parametrize("dtype", [tf.float32, tf.int8], ids=lambda t: t.name)
def test_one_of_many_dimensions(dtype):
    high = spec(None, 3, 2, 1, 3, 2, 2, dtype=dtype)
    check(lambda x: [tf.concat([x, x], axis) for axis in (0, 4, -1)], high)
    check(lambda x: [*tf.split(x, 3, 1), *tf.split(x, [1, 2], 4)], high)
    check(lambda x: tf.roll(x, [1, -1], [1, 6]), high)


def test_transpose_by_a_computed_permutation():
    x, perm = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32), np.array([2, 0, 1], np.int32)
    check(tf.transpose, spec(2, 3, 4), spec(3, dtype=tf.int32), inputs=[x, perm])


PADDINGS = [[1, 2], [0, 0], [0, 3]]


@each_type
def test_pad(dtype):
    check(lambda x: tf.pad(x, PADDINGS), spec(None, 3, 2, dtype=dtype))


@pytest.mark.parametrize("dtype", NO_BOOL, ids=lambda t: t.name)
def test_pad_with_a_value(dtype):
    check(lambda x: tf.pad(x, PADDINGS, constant_values=7), spec(None, 3, 2, dtype=dtype))


@pytest.mark.parametrize(("value", "op"), [(0.0, "PAD"), (-0.0, "PADV2")])
def test_pad_with_zeros(value, op):
    def pad(x):
        return tf.raw_ops.PadV2(input=x, paddings=PADDINGS, constant_values=value)

    check(pad, spec(None, 3, 2), ops=[op])


def test_pad_of_many_dimensions():
    check(lambda x: tf.pad(x, [[0, 0]] * 5 + [[1, 2], [0, 0]]), spec(None, 2, 1, 2, 3, 2, 2))
    check(lambda x: tf.pad(x, [[1, 2]] * 6, constant_values=3), spec(None, 2, 1, 2, 3, 2))
    check(lambda x: tf.pad(x, [[1, 0]] + [[0, 0]] * 4 + [[1, 2]], constant_values=3), spec(None, 2, 1, 2, 3, 2))


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_amounts_at_run_time(index_type):
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    pads, times = np.array([[1, 0], [2, 1]]), np.array([2, 3])
    for op, amounts in ((tf.pad, pads), (tf.tile, times)):
        amounts = amounts.astype(index_type.as_numpy_dtype)
        check(op, spec(2, 3), tf.TensorSpec(amounts.shape, index_type), inputs=[x, amounts])


@in_turn(mode=["REFLECT", "SYMMETRIC"], dtype=NAMED)
def test_mirror_pad(mode, dtype):
    check(lambda x: tf.pad(x, [[0, 0], [1, 2]], mode), spec(None, 4, dtype=dtype))


@pytest.mark.parametrize("dtype", [t for t in TYPES if t not in (tf.uint16, tf.uint32)], ids=lambda t: t.name)
def test_tile(dtype):
    check(lambda x: tf.tile(x, [2, 1, 3]), spec(None, 3, 2, dtype=dtype))
    check(lambda x: tf.tile(x, [1, 1]) + x, spec(None, 3), ops=["ADD"])


@in_turn(axis=[[0], [1, 2], [0, -1]], dtype=NAMED)
def test_reverse(axis, dtype):
    check(lambda x: tf.reverse(x, axis), spec(None, 3, 2, dtype=dtype))


@each_type
def test_reverse_sequence(dtype):
    def layer(x):
        return tf.reverse_sequence(x, [2, 3], seq_axis=1, batch_axis=0)

    check(layer, spec(2, 4, 2, dtype=dtype))


@each_type
def test_roll(dtype):
    check(lambda x: tf.roll(x, [1, -2, 8], [1, 2, 1]), spec(None, 3, 5, dtype=dtype))


def test_roll_along_the_batch():
    check(lambda x: tf.roll(x, [4, 1], [0, 1]), spec(None, 3))
    check(lambda x: tf.roll(x, 3, 1), spec(None, 3))


@pytest.mark.parametrize("axis", [[0, 1], [-1, -1]])
def test_roll_at_run_time(axis):
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    inputs = [x, np.array([2, -7], np.int32), np.array(axis, np.int32)]
    numbers = spec(2, dtype=tf.int32)
    check(tf.roll, spec(None, 5), numbers, numbers, inputs=inputs, static=False)
    check(tf.roll, spec(3, 5), spec(dtype=tf.int64), spec(dtype=tf.int64), inputs=[x, np.int64(3), np.int64(1)])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_invert_permutation(dtype):
    order = np.array([2, 0, 3, 1], dtype.as_numpy_dtype)
    check(tf.math.invert_permutation, spec(None, dtype=dtype), inputs=[order], static=False)


def test_reverse_of_marked_dimensions():
    marks = [True, False, True]
    check(lambda x: tf.raw_ops.Reverse(tensor=x, dims=marks), tf.TensorSpec([None, 3, 4]))
    check(lambda x: tf.raw_ops.Reverse(tensor=x, dims=[True]), tf.TensorSpec([None], tf.int64))


def test_rows_joined_in_any_order():
    def joined(x, y):
        return tf.raw_ops.ParallelConcat(values=[x, y], shape=[2, 3])

    check(joined, tf.TensorSpec([1, 3]), tf.TensorSpec([1, 3]))
