"""Parity of windows that slide."""

import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


WINDOWS = [((3, 2), (1, 1), (1, 1)), ((2, 3), (2, 3), (1, 1)), ((3, 2), (1, 1), (2, 1)), ((1, 1), (2, 2), (1, 1))]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window", WINDOWS)
def test_patches(window, padding):
    size, stride, rate = ([1, *pair, 1] for pair in window)
    for dtype in (tf.float32, tf.uint8):
        check(lambda x: tf.image.extract_patches(x, size, stride, rate, padding), spec(None, 8, 9, 2, dtype=dtype))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("block", [2, 3])
def test_patches_side_by_side(block, padding):
    sizes = [1, block, block, 1]
    for dtype in (tf.float32, tf.uint8, tf.int16):
        image = spec(None, 8, 9, 2, dtype=dtype)
        converted = check(lambda x: tf.image.extract_patches(x, sizes, sizes, [1] * 4, padding), image)
        assert "SPACE_TO_DEPTH" in converted.ops and len(converted.ops) <= 4


def test_patches_that_are_read_at_once():
    def patches(size, stride):
        return lambda x: tf.image.extract_patches(x, [1, size, size, 1], [1, stride, stride, 1], [1] * 4, "VALID")

    check(patches(7, 2), spec(None, 20, 30, 3), ops=["RESHAPE", "GATHER", "RESHAPE"])
    check(patches(7, 2), spec(2, 5, 30, 3))  # none
    check(patches(3, 1), spec(None, 200, 200, 2), ops=["STRIDED_SLICE"] * 9 + ["CONCATENATION"])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window", WINDOWS)
def test_dilation(window, padding):
    size, stride, rate = window
    stride, rate = [1, *stride, 1], [1, *rate, 1]
    check(
        lambda x, f: tf.nn.dilation2d(x, f, stride, padding, "NHWC", rate), spec(None, 8, 9, 2), spec(*size, 2)
    )


def test_unknown_sizes():
    def patches(stride, padding):
        window = {"sizes": [1, 2, 2, 1], "strides": [1, stride, stride, 1], "rates": [1, 1, 1, 1]}
        return lambda x: tf.image.extract_patches(x, **window, padding=padding)

    check(patches(1, "SAME"), spec(1, None, None, 2))
    check(patches(2, "VALID"), spec(1, None, 8, 2))
    check(patches(2, "SAME"), spec(1, None, 8, 2))


@pytest.mark.parametrize("window", [((3, 2), (2, 2), (1, 1)), ((3, 2), (2, 3), (2, 1)), ((1, 2), (3, 3), (1, 2))])
def test_windows_that_pad_unknown_sizes(window):
    sizes, steps, gaps = ([1, *pair, 1] for pair in window)
    for dtype in (tf.float32, tf.uint8):
        image = spec(None, None, None, 2, dtype=dtype)
        check(lambda x: tf.image.extract_patches(x, sizes, steps, gaps, "SAME"), image, batches=(2, 3, 4))
    image, filter = spec(None, None, None, 2), spec(*window[0], 2)
    check(lambda x, f: tf.nn.dilation2d(x, f, steps, "SAME", "NHWC", gaps), image, filter, batches=(2, 3, 4))


VOLUMES = [((2, 3, 2), (1, 1, 1)), ((3, 2, 4), (2, 1, 3)), ((1, 1, 1), (2, 2, 2)), ((2, 2, 2), (3, 3, 3))]


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.uint8], ids=lambda t: t.name)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size, strides", VOLUMES, ids=str)
def test_patches_of_volumes(size, strides, padding, dtype):
    def patches(x):
        return tf.extract_volume_patches(x, [1, *size, 1], [1, *strides, 1], padding)

    check(patches, spec(None, 5, 6, 7, 2, dtype=dtype))


def test_patches_of_volumes_of_unknown_size():
    def patches(stride, padding, size=2):
        return lambda x: tf.extract_volume_patches(x, [1] + [size] * 3 + [1], [1] + [stride] * 3 + [1], padding)

    check(patches(1, "SAME"), spec(1, None, None, 4, 2))
    check(patches(2, "VALID"), spec(1, None, None, 4, 2))
    check(patches(2, "SAME", 3), spec(None, None, 7, None, 2), batches=(1, 2, 3))
    check_refused(patches(1, "VALID", 9), spec(1, 9, 9, 9, 1), match="729 elements")
