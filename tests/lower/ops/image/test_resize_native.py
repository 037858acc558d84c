"""Parity of resizing, and of moves between space and depth."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


RESIZES = {"bilinear": tf.raw_ops.ResizeBilinear, "nearest": tf.raw_ops.ResizeNearestNeighbor}
FLAGS = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


@pytest.mark.parametrize("kind", RESIZES)
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("size", [(10, 12), (3, 4), (5, 6), (13, 5), (1, 1), (1, 9)])
def test_resize(kind, flags, size):
    check(lambda x: RESIZES[kind](images=x, size=size, **flags), spec(None, 5, 6, 3))


@pytest.mark.parametrize("kind", RESIZES)
@pytest.mark.parametrize("flags", FLAGS)
def test_resize_of_one_row(kind, flags):
    check(lambda x: RESIZES[kind](images=x, size=(4, 5), **flags), spec(None, 1, 6, 3))


@pytest.mark.parametrize("kind", RESIZES)
@pytest.mark.parametrize("flags", FLAGS)
def test_resize_to_a_size_that_is_an_input(kind, flags):
    def draw(rng, shape, dtype):
        return rng.integers(2, 9, shape).astype(dtype) if dtype.kind == "i" else rng.random(shape).astype(dtype)

    def layer(x, size):
        return RESIZES[kind](images=x, size=size, **flags)

    check(layer, spec(None, None, None, 3), spec(2, dtype=tf.int32), inputs=draw)


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int8, tf.int16, tf.int32, tf.float16, tf.bfloat16])
@pytest.mark.parametrize("kind", RESIZES)
def test_resize_of_other_types(dtype, kind):
    check(lambda x: RESIZES[kind](images=x, size=(7, 4)), spec(None, 5, 6, 3, dtype=dtype))


@pytest.mark.parametrize("dtype", [tf.float64, tf.int64, tf.uint16])
def test_bilinear_resize_is_in_float32_whatever_comes(dtype):
    check(lambda x: tf.raw_ops.ResizeBilinear(images=x, size=(7, 4)), spec(None, 5, 6, 3, dtype=dtype))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float64, tf.int16, tf.uint16])
def test_nearest_resize_in_both_interpreters(dtype):
    converted = check(
        lambda x: tf.raw_ops.ResizeNearestNeighbor(images=x, size=(7, 4)), spec(None, None, 6, None, dtype=dtype)
    )
    interpreter = tf.lite.Interpreter(model_content=converted.data)
    image = np.arange(2 * 5 * 6 * 3).reshape(2, 5, 6, 3).astype(dtype.as_numpy_dtype)
    resized = interpreter.get_signature_runner()(x0=image)["y0"]
    np.testing.assert_array_equal(resized, converted.function(tf.constant(image))[0])


DTYPES = [tf.float32, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.bool, tf.float16, tf.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
def test_space_to_depth_and_back(dtype):
    check(lambda x: tf.nn.space_to_depth(x, 3), spec(None, 6, 9, 2, dtype=dtype))
    check(lambda x: tf.nn.depth_to_space(x, 2), spec(None, 3, 2, 8, dtype=dtype))


def test_space_to_depth_of_float64_is_refused():
    check_refused(lambda x: tf.nn.space_to_depth(x, 3), spec(2, 6, 9, 2, dtype=tf.float64), match="float64")
