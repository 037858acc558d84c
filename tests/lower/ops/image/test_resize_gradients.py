"""Parity of the gradients of resized images."""

import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
OPS = {"bilinear": raw.ResizeBilinear, "nearest": raw.ResizeNearestNeighbor}
FLAGS = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


def images(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def gradient(resize):
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.cast(resize(x), tf.float32) ** 2)
        return tape.gradient(loss, x)

    return run


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("size", [(5, 9), (14, 12), (21, 6), (1, 1), (20, 13)], ids=str)
def test_resize(size, flags, op):
    check(gradient(lambda x: OPS[op](images=x, size=size, **flags)), images(None, 7, 6, 2), batches=(2,))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("flags", [{}, {"half_pixel_centers": True}], ids=str)
def test_images_of_unknown_sizes(flags, op):
    """Of ratios, ResizeNearestNeighborGrad has no operand that tells the image's size."""
    specs = images(None, None, None, 2)
    for multiple in (2, 3):
        check(gradient(lambda x, by=multiple: OPS[op](images=x, size=tf.shape(x)[1:3] * by, **flags)), specs)
    ratio = gradient(lambda x: OPS[op](images=x, size=[9, 17], **flags))
    if op == "bilinear":
        check(ratio, specs, static=False)
    else:
        check_refused(ratio, specs, match="cannot be told from the shapes")


@pytest.mark.parametrize("op", OPS)
def test_corners_of_images_of_unknown_sizes_are_refused(op):
    run = gradient(lambda x: OPS[op](images=x, size=[9, 17], align_corners=True))
    check_refused(run, images(2, None, None, 2), match="the size of the image must be known")


def test_whole_multiples_are_pooled():
    run = gradient(lambda x: raw.ResizeNearestNeighbor(images=x, size=[12, 6], half_pixel_centers=True))
    assert "AVERAGE_POOL_2D" in check(run, images(None, 4, 2, 3)).ops


@pytest.mark.parametrize("op", OPS)
def test_halves(op):
    check(gradient(lambda x: OPS[op](images=x, size=[8, 5])), images(None, 4, 6, 2, dtype=tf.float16), batches=(2,))


@pytest.mark.parametrize("op", OPS)
def test_a_network_that_scales_up(op):
    def step(x, kernel):
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            small = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME"))
            loss = tf.reduce_mean((tf.image.resize(small, [8, 6], op) - x) ** 2)
        return kernel - 0.1 * tape.gradient(loss, kernel)

    check(step, images(None, 8, 6, 2), images(3, 3, 2, 2))
