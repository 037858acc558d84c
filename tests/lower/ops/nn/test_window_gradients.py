"""Parity of the gradients of convolutions and pooling."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

PADDINGS = ["SAME", "VALID", [[0, 0], [2, 1], [0, 1], [0, 0]]]


def images(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def gradients(op):
    """Return a function that returns the gradients of a sum of op(x, w) ** 2 by x and by w."""

    def both(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            loss = tf.reduce_sum(op(x, w) ** 2)
        return tape.gradient(loss, [x, w])

    return both


def gradient(op):
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.sin(op(x)))
        return tape.gradient(loss, x)

    return run


@pytest.mark.parametrize("padding", PADDINGS, ids=["same", "valid", "explicit"])
@pytest.mark.parametrize("stride", [1, 2, (3, 2)], ids=str)
def test_convolution(stride, padding):
    if padding == PADDINGS[2] and stride == 1:
        stride = (1, 2)
    check(
        gradients(lambda x, w: tf.nn.conv2d(x, w, stride, padding)),
        images(None, 7, 8, 3), images(3, 2, 3, 5), atol=3e-5,
    )  # fmt: skip


def test_dilated_convolution():
    def by_filter(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME", dilations=[2, 3]) ** 2)
        return tape.gradient(loss, w)

    check(by_filter, images(None, 7, 8, 3), images(3, 2, 3, 5), atol=3e-5)


@pytest.mark.parametrize("padding", PADDINGS, ids=["same", "valid", "explicit"])
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_convolution(stride, multiplier, padding):
    strides = [1, stride, stride, 1]
    check(
        gradients(lambda x, w: tf.nn.depthwise_conv2d(x, w, strides, padding)),
        images(None, 7, 8, 3), images(3, 2, 3, multiplier), atol=3e-5,
    )  # fmt: skip


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window, stride", [(2, 2), (3, 2), (3, 1), (2, 3), ((3, 2), (1, 2))], ids=str)
@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d], ids=["max", "average"])
def test_pooling(pool, window, stride, padding):
    check(gradient(lambda x: pool(x, window, stride, padding)), images(None, 7, 8, 3))


def test_the_first_of_equal_maxima_gets_it_all():
    def equal(rng, shape, dtype):
        return rng.integers(0, 2, shape).astype(dtype)

    check(gradient(lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID")), images(None, 6, 8, 2), inputs=equal)
    check(gradient(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME")), images(None, 6, 8, 2), inputs=equal)


def test_a_step_of_training():
    def step(x, labels, kernel, weights):
        with tf.GradientTape() as tape:
            tape.watch([kernel, weights])
            image = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME")), 2, 2, "VALID")
            logits = tf.reshape(tf.nn.avg_pool2d(image, 2, 1, "SAME"), [-1, 64]) @ weights
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        changes = tape.gradient(loss, [kernel, weights])
        return [loss, *(weight - 0.1 * change for weight, change in zip([kernel, weights], changes))]

    def drawn(rng, shape, dtype):
        return rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else rng.integers(0, 3, shape, dtype)

    specs = images(None, 8, 8, 2), images(None, dtype=tf.int32), images(3, 3, 2, 4), images(64, 3)
    check(step, *specs, inputs=drawn)


@pytest.mark.parametrize("padding", PADDINGS, ids=["same", "valid", "explicit"])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution_of_unknown_sizes(stride, padding):
    op = gradients(lambda x, w: tf.nn.conv2d(x, w, stride, padding))
    check(op, images(None, None, None, 3), images(3, 2, 3, 5), batches=(2, 3, 6), atol=3e-5)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("batches", [(2, 3), (3, 6)], ids=str)
@pytest.mark.parametrize("padding", PADDINGS[:2])
def test_depthwise_convolution_of_unknown_sizes(batches, stride, padding):
    op = gradients(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding))
    check(op, images(None, None, None, 3), images(3, 2, 3, 2), batches=batches, atol=3e-5)


@pytest.mark.parametrize("window, stride", [(2, 2), (3, 2), (3, 1), (2, 3), ((3, 2), (1, 2))], ids=str)
@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d], ids=["max", "average"])
@pytest.mark.parametrize("padding", PADDINGS[:2])
def test_pooling_of_unknown_sizes(pool, window, stride, padding):
    check(gradient(lambda x: pool(x, window, stride, padding)), images(None, None, 9, 2), batches=(2, 5))
    check(gradient(lambda x: pool(x, window, stride, padding)), images(1, None, None, 2), static=False)


def test_pooling_of_unknown_sizes_by_channels_first():
    def by_image(dy):
        return tf.raw_ops.AvgPoolGrad(
            orig_input_shape=tf.concat([tf.shape(dy)[:2], 2 * tf.shape(dy)[2:] + 1], 0), grad=dy, ksize=[1, 1, 2, 2],
            strides=[1, 1, 2, 2], padding="VALID", data_format="NCHW",
        )  # fmt: skip

    def reference(dy):
        return tf.pad(tf.repeat(tf.repeat(dy / 4, 2, axis=2), 2, axis=3), [[0, 0], [0, 0], [0, 1], [0, 1]])

    check(by_image, images(None, 3, None, None), reference=reference)


def test_grouped_convolution():
    """TensorFlow's CPU kernels have no gradients of grouped convolutions."""

    def of_parts(x, w):
        parts = zip(tf.split(x, 2, -1), tf.split(w, 2, -1))
        return tf.concat([tf.nn.conv2d(*part, 2, "SAME") for part in parts], -1)

    both = gradients(lambda x, w: tf.nn.conv2d(x, w, 2, "SAME"))
    check(both, images(None, 7, 8, 6), images(3, 2, 3, 4), reference=gradients(of_parts), atol=3e-5)
