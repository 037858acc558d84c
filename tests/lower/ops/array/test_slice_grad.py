"""Parity of gradients and updates of slices."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def gradient_of(slice_of):
    """Return a function that sums the squares of a slice of its operand, and returns the gradient of that."""

    def gradient(x, *others):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(slice_of(x, *others) ** 2)
        return tape.gradient(loss, x)

    return gradient


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
def test_updates_of_slices(dtype):
    def update(x, value):
        slices = {"begin": [0, 3], "end": [0, 0], "strides": [1, -2], "begin_mask": 1, "end_mask": 1}
        return raw.TensorStridedSliceUpdate(input=x, value=value, **slices)

    check(update, spec(3, 4, dtype=dtype), spec(3, 2, dtype=dtype))

    def gradient(dy):
        slices = {"begin": [1, 0, 0], "end": [2, 0, 3], "strides": [1, 1, 2], "shrink_axis_mask": 1, "end_mask": 2}
        return raw.StridedSliceGrad(shape=[2, 3, 4], dy=dy, **slices)

    check(gradient, spec(3, 2, dtype=dtype))


@pytest.mark.parametrize("dtype", [tf.float32, tf.bool], ids=lambda t: t.name)
@pytest.mark.parametrize(
    "slices",
    [
        {"begin": [0, 1], "end": [0, 3], "strides": [1, 1], "begin_mask": 1, "end_mask": 1},
        {"begin": [0, -1], "end": [0, 0], "strides": [1, -2], "begin_mask": 1, "end_mask": 3},
        {"begin": [-1], "end": [0], "strides": [1], "shrink_axis_mask": 1},
        {"begin": [0, 0, 0], "end": [0, 0, 2], "strides": [1, 1, 1], "ellipsis_mask": 1, "new_axis_mask": 2},
        {"begin": [5], "end": [2], "strides": [1]},
    ],
    ids=["inner", "backward", "picked", "new-axis", "nothing"],
)
def test_updates_of_slices_of_unknown_sizes(slices, dtype):
    def update(x):
        old = tf.strided_slice(x, **slices)
        return raw.TensorStridedSliceUpdate(input=x, value=-old if dtype == tf.float32 else ~old, **slices)

    def update_broadcast(x, begin):
        value = tf.constant(7 if dtype == tf.float32 else True, dtype)
        return raw.TensorStridedSliceUpdate(input=x, value=value, **slices | {"begin": slices["begin"] + 0 * begin})

    check(update, spec(None, None, 3, dtype=dtype))
    check(update_broadcast, spec(None, None, 3, dtype=dtype), spec(dtype=tf.int32))


@pytest.mark.parametrize(
    "slice_of",
    [
        lambda x: x[:, 0],
        lambda x: x[:, -1:],
        lambda x: x[:, -2],
        lambda x: x[1:, 2:-1],
        lambda x: x[:, 30:],
        lambda x: x[:, -30:3],
        lambda x: x[..., 1, None],
        lambda x: x[None, ..., :2],
    ],
    ids=["first", "last", "picked-from-the-end", "inner", "beyond", "before", "new-axis", "new-axes"],
)
def test_slices_of_unknown_sizes(slice_of):
    check(gradient_of(slice_of), spec(None, None, 3))


@pytest.mark.parametrize(
    "slice_of",
    [
        lambda x: x[:, ::2],
        lambda x: x[:, 1::3],
        lambda x: x[:, ::-1],
        lambda x: x[:, 4:1:-2],
        lambda x: x[:, 50::-3],
        lambda x: x[:, -2:0:-1],
    ],
    ids=["even", "thirds", "reversed", "down", "from-the-end", "down-from-the-end"],
)
def test_steps_over_unknown_sizes(slice_of):
    check(gradient_of(slice_of), spec(None, None, 3))


@pytest.mark.parametrize("index", [2, -3])
def test_bounds_that_are_computed(index):
    check(gradient_of(lambda x, i: x[:, i[0]]), spec(None, 7, 3), spec(1, dtype=tf.int32), inputs=drawn(index))
    check(gradient_of(lambda x, i: x[:, i[0] :]), spec(None, None, 3), spec(1, dtype=tf.int32), inputs=drawn(index))


def drawn(index):
    def draw(rng, shape, dtype):
        return rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else np.full(shape, index, dtype)

    return draw


def test_computed_strides_are_refused():
    def gradient(shape, strides, dy):
        return raw.StridedSliceGrad(shape=shape, begin=[0], end=[2], strides=strides, dy=dy)

    specs = spec(1, dtype=tf.int32), spec(1, dtype=tf.int32), spec(2)
    check_refused(gradient, *specs, match="StridedSliceGrad.*the stride is not a constant")
