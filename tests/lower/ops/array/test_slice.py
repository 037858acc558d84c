"""Parity of Slice and StridedSlice."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

TYPES = [
    tf.float32, tf.float16, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.bool,
]  # fmt: skip


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


CUTS = {
    "one": lambda x: x[0],
    "last": lambda x: x[:, -1],
    "last of unknown": lambda x: x[-1],
    "range": lambda x: x[:, 1:3],
    "open": lambda x: x[1:, :-1],
    "steps": lambda x: x[:, ::2, 1::3],
    "back": lambda x: x[::-1, 3:0:-2],
    "back from beyond": lambda x: x[:, 100:-100:-1],
    "beyond": lambda x: x[:, -100:100],
    "new axis": lambda x: x[:, tf.newaxis, 1:],
    "new axes": lambda x: x[tf.newaxis, ..., tf.newaxis],
    "ellipsis": lambda x: x[..., 1],
    "ellipsis in between": lambda x: x[1:, ..., ::2],
    "all at once": lambda x: x[0, tf.newaxis, ..., 2:0:-1, tf.newaxis],
    "everything": lambda x: x[:, :, :] + x[...],
    "nothing": lambda x: x[:, 2:2],
    "nothing of unknown": lambda x: x[-2:0],
    "back of unknown": lambda x: x[2:0:-1],
}


@pytest.mark.parametrize("cut", CUTS)
def test_cut(cut):
    check(CUTS[cut], spec(None, 4, 5))


@pytest.mark.parametrize("cut", ["last", "steps", "back"])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_cut_of_each_type(cut, dtype):
    check(CUTS[cut], spec(None, 4, 5, dtype=dtype))


def test_one_op_each():
    check(lambda x: x[:, 1, ::2], spec(None, 4, 5), ops=["STRIDED_SLICE"])
    check(lambda x: x[..., tf.newaxis], spec(None, 4), ops=["RESHAPE"])
    check(lambda x: tf.slice(x, [0, 1], [-1, 2]), spec(None, 4), ops=["STRIDED_SLICE"])
    check(lambda x: tf.slice(x, [0, 1], [2, 2]), spec(3, 4), ops=["SLICE"])


@pytest.mark.parametrize("begin", [-7, -6, -2, 0, 3, 5, 7])
@pytest.mark.parametrize("stride", [-3, -1, 1, 2])
def test_bounds(begin, stride):
    check(lambda x: [x[begin:end:stride] for end in (-7, -6, -2, 0, 3, 5, 7)], spec(6))


def test_many_dimensions():
    check(lambda x: x[:, :, 1:, :, ..., ::2], spec(None, 2, 3, 2, 1, 2, 3))
    check(lambda x: x[:, :, 1, :, ..., tf.newaxis, ::2], spec(None, 2, 3, 2, 1, 2, 3))
    check(lambda x: x[1:, ::-1, 1:, 1, ::2, 1:], spec(2, 2, 3, 2, 3, 2))
    check(lambda x: tf.slice(x, [0, 1, 1, 0, 1, 0, 1], [-1, 1, 2, 1, 2, 1, 1]), spec(None, 2, 3, 2, 3, 2, 2))
    check(lambda x: tf.slice(x, [0, 0, 0, 1, 0, 0], [-1, 2, 3, 1, -1, -1]), spec(None, 2, 3, 2, 1, 2))


def test_bounds_at_run_time():
    x = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)
    a, b = np.int32(1), np.int32(3)
    number = spec(dtype=tf.int32)
    layers = [
        lambda x, a, b: x[a:b],
        lambda x, a, b: x[:, a:, b - 4],
        lambda x, a, b: x[a, ..., :b],
        lambda x, a, b: x[..., tf.newaxis, a:b, :],
        lambda x, a, b: x[a, tf.newaxis, b:],
        lambda x, a, b: x[b:a:-1],
    ]
    for layer in layers:
        check(layer, spec(None, 5, 3), number, number, inputs=[x, a, b], static=False)


EMPTY_ELLIPSES = {
    "at the start": lambda x, n: x[..., :, :n],
    "in between": lambda x, n: x[n, ..., n:],
    "at the end": lambda x, n: x[:n, n, ...],
    "before a new axis": lambda x, n: x[:, ..., tf.newaxis, -n],
    "behind a new axis": lambda x, n: x[tf.newaxis, n::-1, ..., ::2],
    "of a vector": lambda x, n: x[0][..., :n],
    "of bounds in one tensor": lambda x, n: tf.raw_ops.StridedSlice(
        input=x, begin=[1, 0, 0] * n, end=[3, 0, 2] * n, strides=[1, 1, 1], ellipsis_mask=2, end_mask=4
    ),
}


@pytest.mark.parametrize("cut", EMPTY_ELLIPSES)
@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_an_ellipsis_of_no_dimension_at_run_time(cut, index_type):
    """TFLite's kernel takes an ellipsis for one dimension at least: `tf.signal.overlap_and_add` cuts vectors so."""
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    number = spec(dtype=index_type)
    inputs = [x, index_type.as_numpy_dtype(1)]
    check(EMPTY_ELLIPSES[cut], spec(None, 5), number, inputs=inputs, static=False)


def test_overlap_and_add_of_unknown_frames():
    check(lambda x: tf.signal.overlap_and_add(x, 2), spec(None, 5))


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_slice_at_run_time(index_type):
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    begin, size = (np.array(n, index_type.as_numpy_dtype) for n in ([1, 0], [2, -1]))
    vector = spec(2, dtype=index_type)
    check(tf.slice, spec(4, 5), vector, vector, inputs=[x, begin, size])
    check(lambda x, n: tf.slice(x, tf.constant([0, 1], n.dtype), n), spec(4, 5), vector, inputs=[x, size])


def test_slice_of_the_whole_batch():
    """The sizes need not be computed."""

    def columns(x):
        batch, steps = tf.unstack(tf.shape(x))
        return tf.slice(x, [0, 2], [batch, 3]), tf.slice(x, [1, 0], [batch - 1, steps])

    assert "SHAPE" not in check(columns, tf.TensorSpec([None, None])).ops


def test_slice_up_to_an_unknown_size():
    check(lambda x, y: tf.slice(x, [0, 0], [tf.shape(y)[0], 2]), spec(8, 4), spec(None))
    check(lambda x, y: x[: tf.shape(y)[0]], spec(8, 4), spec(None))


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_a_slice_of_xla_stays_within(index_type):
    from tensorflow.compiler.tf2xla.python.xla import dynamic_slice

    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    for start in (1, 4, -3):
        inputs = [x, np.array(start, index_type.as_numpy_dtype)]
        check(lambda x, n: dynamic_slice(x, (n, 0), (2, 5)), spec(4, 5), spec(dtype=index_type), inputs=inputs)
        check(lambda x, n: dynamic_slice(x, (2, n), (1, 3)), spec(None, 5), spec(dtype=index_type), inputs=inputs)
    check(lambda x: dynamic_slice(x, (7, 1), (2, 3)), spec(4, 5), ops=["SLICE"])


@pytest.mark.parametrize("masks", [{"begin_mask": 1}, {"end_mask": 1}, {"begin_mask": 1, "new_axis_mask": 1}])
def test_masks_that_clash_at_run_time(masks):
    """TFLite's kernel lets the begin mask decide which element is picked; TensorFlow does not."""

    def taken(x, n):
        return tf.raw_ops.StridedSlice(input=x, begin=[n], end=[n + 1], strides=[1], shrink_axis_mask=1, **masks)

    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    check(taken, spec(4, 5), spec(dtype=tf.int32), inputs=[x, np.int32(2)])
