"""Numbers of convolutions whose strides leap over elements, in LiteRT and in TensorFlow's own interpreter."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import assert_close, check

# Window, strides and size of the data. SAME pads nothing (LiteRT#4847: the first three), or one dimension only.
NOT_PADDED = [
    ((3, 3), (4, 4), (32, 32)), ((2, 2), (3, 3), (9, 9)), ((3, 3), (10, 10), (17, 18)), ((1, 1), (2, 2), (8, 9)),
]  # fmt: skip
MIXED = [((3, 1), (2, 2), (17, 18)), ((2, 3), (4, 4), (8, 5)), ((2, 5), (3, 3), (9, 7))]

# How a convolution starts that XNNPACK is not to run, and one of windows that are padded alike whatever the sizes are.
BYPASS, PADDED = "RESHAPE", "PAD"


def weights(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def check_both(layer, *shape, sizes=(), ops=None):
    """Check in LiteRT; and here, where it was wrong, in TensorFlow's interpreter, with its default delegate and
    without."""
    converted = check(layer, tf.TensorSpec(shape), ops=ops)
    resolvers = tf.lite.experimental.OpResolverType
    for resolver in (resolvers.AUTO, resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter = tf.lite.Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
        for size in sizes:
            interpreter.resize_tensor_input(x["index"], size)
            interpreter.allocate_tensors()
            for seed in range(2):
                array = np.random.default_rng(seed).standard_normal(size).astype(np.float32)
                interpreter.set_tensor(x["index"], array)
                interpreter.invoke()
                assert_close(interpreter.get_tensor(y["index"]), converted.function(tf.constant(array))[0].numpy())


@pytest.mark.parametrize(("kernel", "strides", "size"), NOT_PADDED)
def test_conv_2d_of_known_size(kernel, strides, size):
    w, b = weights(*kernel, 3, 4), weights(4)
    sizes = [(2, *size, 3), (3, *size, 3)]
    check_both(lambda x: tf.nn.conv2d(x, w, strides, "SAME") + b, None, *size, 3, sizes=sizes, ops=["CONV_2D"])


@pytest.mark.parametrize(("kernel", "strides", "size"), MIXED)
def test_conv_2d_that_is_padded_in_one_dimension(kernel, strides, size):
    w, b = weights(*kernel, 3, 4), weights(4)
    ops = ["STRIDED_SLICE", "CONV_2D"]
    check_both(lambda x: tf.nn.conv2d(x, w, strides, "SAME") + b, None, *size, 3, sizes=[(2, *size, 3)], ops=ops)


@pytest.mark.parametrize(("kernel", "strides", "size"), NOT_PADDED[:3] + MIXED)
def test_conv_2d_of_unknown_size(kernel, strides, size):
    inner, w, b = weights(3, 3, 3, 3), weights(*kernel, 3, 4), weights(4)
    form = PADDED if kernel == (2, 2) else BYPASS
    height, width = size
    sizes = [(2, height, width, 3), (1, height + 1, width + 2, 3), (3, height + 2, width + 1, 3), (1, 1, 2, 3)]

    def layers(x):
        return tf.nn.conv2d(tf.nn.relu(tf.nn.conv2d(x, inner, 1, "SAME")), w, strides, "SAME") + b

    check_both(layers, None, None, None, 3, sizes=sizes, ops=["CONV_2D", form, "CONV_2D"])


def test_what_is_behind_a_convolution_of_unknown_size_stays_with_xnnpack():
    w, inner = weights(3, 3, 3, 4), weights(3, 3, 4, 4)
    sizes = [(2, 32, 32, 3), (1, 33, 31, 3), (2, 36, 34, 3)]

    def layers(x):
        return tf.nn.conv2d(tf.nn.relu(tf.nn.conv2d(x, w, 4, "SAME")), inner, 2, "SAME")

    check_both(layers, None, None, None, 3, sizes=sizes, ops=[BYPASS, "CONV_2D", "CONV_2D"])


def test_conv_2d_of_one_unknown_size():
    w = weights(3, 3, 3, 4)
    check_both(lambda x: tf.nn.conv2d(x, w, 4, "SAME"), None, None, 32, 3, sizes=[(2, 31, 32, 3), (2, 32, 32, 3)])
    w = weights(3, 1, 3, 4)
    ops = ["STRIDED_SLICE", "CONV_2D"]
    check_both(lambda x: tf.nn.conv2d(x, w, 2, "SAME"), None, None, 18, 3, sizes=[(2, 17, 18, 3)], ops=ops)


def test_conv_2d_with_one_window_on_data_of_any_size():
    w = weights(1, 1, 3, 4)
    check_both(lambda x: tf.nn.conv2d(x, w, 2, "SAME"), *[None] * 3, 3, sizes=[(2, 8, 9, 3)], ops=["CONV_2D"])


@pytest.mark.parametrize(("kernel", "strides", "size"), [NOT_PADDED[0], NOT_PADDED[2], MIXED[0]])
def test_depthwise_conv_2d(kernel, strides, size):
    w, b = weights(*kernel, 3, 2), weights(6)

    def layer(x):
        return tf.nn.depthwise_conv2d(x, w, [1, *strides, 1], "SAME") + b

    check_both(layer, None, *size, 3, sizes=[(2, *size, 3)])
    check_both(layer, None, None, None, 3, sizes=[(2, *size, 3), (1, size[0] + 1, size[1] + 2, 3)])


@pytest.mark.parametrize(("kernel", "strides", "size"), [NOT_PADDED[1], NOT_PADDED[2], MIXED[1]])
def test_conv_3d(kernel, strides, size):
    w, b = weights(*kernel, 2, 2, 3), weights(3)

    def layer(x):
        return tf.nn.conv3d(x, w, [1, *strides, 3, 1], "SAME") + b

    check_both(layer, None, *size, 5, 2, sizes=[(2, *size, 5, 2)])
    check_both(layer, None, None, None, None, 2, sizes=[(2, *size, 5, 2), (1, size[0] + 1, size[1] + 2, 4, 2)])


def test_padding_that_only_fills_what_no_window_reads():
    """PAD with VALID is SAME here, and that pads by less than 0."""
    w, b = weights(2, 2, 3, 4), weights(4)
    pads = [[0, 0], [0, 1], [0, 1], [0, 0]]
    check_both(lambda x: tf.nn.conv2d(x, w, 3, pads) + b, None, 9, 9, 3, sizes=[(2, 9, 9, 3)], ops=["CONV_2D"])


@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d])
@pytest.mark.parametrize(("window", "strides", "size"), NOT_PADDED + MIXED)
def test_pools_are_right_as_they_are(pool, window, strides, size):
    check_both(lambda x: pool(x, window, strides, "SAME"), None, None, None, 3, sizes=[(2, *size, 3)])


@pytest.mark.parametrize(("kernel", "strides", "size"), NOT_PADDED + MIXED)
def test_transposed_convolutions_are_right_as_they_are(kernel, strides, size):
    w = weights(*kernel, 4, 3)
    height, width = size

    def layer(x):
        return tf.nn.conv2d_transpose(x, w, [tf.shape(x)[0], height, width, 4], strides, "SAME")

    shape = [-(-n // s) for n, s in zip(size, strides)]
    check_both(layer, None, *shape, 3, sizes=[(2, *shape, 3)])
