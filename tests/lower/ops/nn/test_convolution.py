"""Parity of convolutions."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import assert_close, check, check_refused, convert_function


def weights(*shape, dtype=np.float32):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def images(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)




@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("strides", "dilations"), [(1, 1), ([2, 3], 1), (1, [2, 3]), ([2, 1], [1, 2])])
def test_conv_2d(padding, strides, dilations):
    w = weights(3, 2, 4, 5)
    check(lambda x: tf.nn.conv2d(x, w, strides, padding, "NHWC", dilations), images(None, 9, 11, 4), ops=["CONV_2D"])


def test_conv_2d_of_unknown_size():
    w = weights(3, 3, 4, 5)
    check(lambda x: tf.nn.conv2d(x, w, 2, "SAME"), images(None, None, None, 4), ops=["CONV_2D"])


@pytest.mark.parametrize(
    ("size", "stride", "pads", "ops"),
    [
        (8, 2, [[0, 0], [0, 1], [0, 1], [0, 0]], ["CONV_2D"]),
        (9, 2, [[0, 0], [0, 1], [0, 1], [0, 0]], ["PAD", "CONV_2D"]),
        (9, 1, [[0, 0], [2, 0], [1, 3], [0, 0]], ["PAD", "CONV_2D"]),
        (None, 1, [[0, 0], [1, 1], [1, 1], [0, 0]], ["CONV_2D"]),
        (8, 2, [[0, 0]] * 4, ["CONV_2D"]),
    ],
)
def test_conv_2d_with_explicit_padding(size, stride, pads, ops):
    w = weights(3, 3, 4, 5)
    check(lambda x: tf.nn.conv2d(x, w, stride, pads), images(None, size, size, 4), ops=ops)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x: tf.nn.conv2d(x, weights(3, 2, 4, 5), [1, 1, 2, 3], "SAME", "NCHW", [1, 1, 1, 1]),
        lambda x: tf.nn.conv2d(x, weights(3, 2, 4, 5), 1, [[0, 0], [0, 0], [1, 0], [2, 1]], "NCHW"),
        lambda x: tf.nn.depthwise_conv2d(x, weights(3, 2, 4, 2), [1, 1, 2, 2], "SAME", "NCHW"),
    ],
)
def test_channels_first(layer):
    check(layer, images(None, 4, 9, 7))


@pytest.mark.parametrize("groups", [2, 4])
def test_grouped_conv_2d(groups):
    w = weights(3, 3, 8 // groups, 12)
    check(lambda x: tf.nn.conv2d(x, w, 1, "SAME"), images(None, 7, 5, 8), ops=["CONV_2D"])


def test_conv_2d_with_a_filter_that_is_an_input():
    check(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), images(None, 6, 5, 3), images(3, 3, 3, 4))


def test_conv_1d_is_a_conv_2d():
    check(lambda x: tf.nn.conv1d(x, weights(3, 4, 5), 2, "SAME"), images(None, 9, 4))


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_conv_2d_in_half_precision(dtype):
    w = weights(3, 3, 4, 5)
    check(lambda x: tf.nn.conv2d(x, tf.cast(w, dtype), 1, "SAME"), images(None, 6, 5, 4, dtype=dtype))


def test_conv_2d_of_other_types_is_refused():
    w = weights(3, 3, 4, 5, dtype=np.float64)
    check_refused(lambda x: tf.nn.conv2d(x, w, 1, "SAME"), images(2, 6, 5, 4, dtype=tf.float64), match="float64")
    check_refused(
        lambda x: tf.nn.conv2d(x, np.ones((3, 3, 4, 5), np.int32), 1, "SAME"), images(2, 6, 5, 4, dtype=tf.int32),
        match="int32",
    )  # fmt: skip


@pytest.mark.parametrize("padding", ["SAME", "VALID", [[0, 0], [2, 0], [1, 1], [0, 0]]])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("multiplier", [1, 3])
def test_depthwise_conv_2d(padding, stride, multiplier):
    w = weights(3, 2, 4, multiplier)
    check(lambda x: tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding), images(None, 9, 8, 4))


def test_depthwise_conv_2d_of_unknown_size():
    w = weights(3, 3, 4, 1)
    spec = images(None, None, None, 4)
    check(lambda x: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"), spec, ops=["DEPTHWISE_CONV_2D"])


def test_depthwise_conv_2d_of_one_channel():
    w = weights(3, 3, 1, 4)
    check(lambda x: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), images(None, 7, 6, 1))


@pytest.mark.parametrize(
    ("padding", "sizes"), [("SAME", (9, 11)), ("SAME", (10, 12)), ("VALID", (11, 13)), ("VALID", (12, 14))]
)
def test_transposed_conv_2d(padding, sizes):
    w = weights(3, 3, 4, 5)
    spec = images(None, 5, 6, 5)

    def layer(x):
        return tf.nn.conv2d_transpose(x, w, [tf.shape(x)[0], *sizes, 4], 2, padding)

    check(layer, spec)


def test_transposed_conv_2d_of_a_fixed_batch_is_one_op():
    w = weights(3, 2, 4, 5)
    spec = images(2, 5, 6, 5)
    check(lambda x: tf.nn.conv2d_transpose(x, w, [2, 10, 18, 4], [2, 3], "SAME"), spec, ops=["TRANSPOSE_CONV"])


@pytest.mark.parametrize(("rows", "columns", "cut"), [
    ([1, 0], [0, 1], True), ([0, 1], [0, 1], False), ([0, 2], [0, 1], True), ([0, 0], [0, 1], True),
])  # fmt: skip
def test_transposed_conv_2d_with_explicit_crops(rows, columns, cut):
    """What SAME crops as well takes no SLICE: half of it, rounded down, at the start, as many rows as strides make."""
    w = weights(3, 3, 4, 5)

    def layer(x):
        shape = [tf.shape(x)[0], 11 - sum(rows), 12, 4]
        return tf.nn.conv2d_transpose(x, w, shape, 2, [[0, 0], rows, columns, [0, 0]])

    assert ("SLICE" in check(layer, images(None, 5, 6, 5)).ops) == cut


@pytest.mark.parametrize(("size", "strides"), [((4, 4), 2), ((5, 4), 3), ((2, 3), 1)])
def test_transposed_conv_2d_that_crops_as_same_does(size, strides):
    w = weights(*size, 4, 5)
    whole = [4 * strides + size[0], 5 * strides + size[1]]
    made = [5 * strides, 6 * strides]
    ends = [[(a - b) // 2, a - b - (a - b) // 2] for a, b in zip(whole, made)]

    def layer(x):
        return tf.nn.conv2d_transpose(x, w, [tf.shape(x)[0], *made, 4], strides, [[0, 0], *ends, [0, 0]])

    assert "SLICE" not in check(layer, images(None, 5, 6, 5)).ops


def test_transposed_conv_2d_given_only_the_size():
    w = weights(3, 3, 4, 5)

    def layer(x):
        return tf.raw_ops.Conv2DBackpropInput(
            input_sizes=[9, 11], filter=w, out_backprop=x, strides=[1, 2, 2, 1], padding="SAME"
        )

    check(layer, images(None, 5, 6, 5))


def test_transposed_conv_2d_of_unknown_size():
    w = weights(3, 3, 4, 5)

    def layer(x):
        n, h, width = (tf.shape(x)[axis] for axis in range(3))
        return tf.nn.conv2d_transpose(x, w, [n, 2 * h, 2 * width, 4], 2, "SAME")

    check(layer, images(None, None, None, 5))


@pytest.mark.parametrize(("ends", "cropped"), [([0, 1], False), ([1, 0], True)])
def test_transposed_conv_2d_of_unknown_size_with_crops(ends, cropped):
    w = weights(3, 3, 4, 5)

    def layer(x):
        n, h, width = (tf.shape(x)[axis] for axis in range(3))
        return tf.nn.conv2d_transpose(x, w, [n, 2 * h, 2 * width, 4], 2, [[0, 0], ends, ends, [0, 0]])

    assert ("SLICE" in check(layer, images(None, None, None, 5)).ops) == cropped


def dilated_transposed(x, w):
    return tf.nn.conv2d_transpose(x, w, [tf.shape(x)[0], 7, 9, 4], 1, "SAME", dilations=[2, 3])


def test_dilated_transposed_conv_2d():
    check(lambda x: dilated_transposed(x, weights(3, 2, 4, 5)), images(None, 7, 9, 5))


def test_dilated_transposed_conv_2d_with_a_filter_that_is_an_input():
    check(dilated_transposed, images(None, 7, 9, 5), images(3, 2, 4, 5))


def test_dilated_transposed_conv_2d_with_a_filter_of_unknown_size_is_refused():
    check_refused(dilated_transposed, images(2, 7, 9, 5), images(None, 2, 4, 5), match="the shape of the filter")


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [[1, 1, 1, 1, 1], [1, 2, 1, 3, 1]])
def test_conv_3d(padding, strides):
    w = weights(2, 3, 2, 3, 4)
    check(lambda x: tf.nn.conv3d(x, w, strides, padding), images(None, 5, 6, 7, 3), ops=["CONV_3D"])


def test_conv_3d_of_unknown_size():
    w = weights(2, 3, 2, 3, 4)
    check(lambda x: tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], "SAME"), images(None, None, None, None, 3), ops=["CONV_3D"])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("groups", [2, 4])
def test_grouped_conv_3d(padding, groups):
    # TensorFlow has a kernel for groups on GPUs only.
    w = weights(2, 3, 2, 8 // groups, 12)

    def expected(x):
        parts = zip(tf.split(x, groups, axis=4), tf.split(w, groups, axis=4))
        return tf.concat([tf.nn.conv3d(part, own, [1, 1, 2, 1, 1], padding) for part, own in parts], 4)

    converted = check(
        lambda x: tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], padding), images(None, 5, None, 7, 8), reference=expected
    )
    assert converted.ops == ["SPLIT", *["CONV_3D"] * groups, "CONCATENATION"]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    "strides, dilations",
    [((1, 1, 1), (1, 1, 1)), ((2, 1, 1), (1, 1, 1)), ((1, 2, 2), (1, 1, 1)), ((1, 1, 1), (2, 2, 1))],
)
@pytest.mark.parametrize("frames", [5, None])
def test_depthwise_conv_3d(padding, strides, dilations, frames):
    w = weights(3, 2, 3, 1, 12)
    options = {"strides": [1, *strides, 1], "padding": padding, "dilations": [1, *dilations, 1]}

    def expected(x):
        parts = zip(tf.split(x, 6, axis=4), tf.split(w, 6, axis=4))
        return tf.concat([tf.nn.conv3d(part, own, **options) for part, own in parts], 4)

    converted = check(lambda x: tf.nn.conv3d(x, w, **options), images(None, frames, None, 8, 6), reference=expected)
    assert converted.ops.count("DEPTHWISE_CONV_2D") == 3
    assert "CONV_3D" not in converted.ops


def test_conv_3d_of_very_many_groups_is_refused():
    thousand = weights(1, 1, 1, 2, 1000)
    check_refused(
        lambda x: tf.raw_ops.Conv3D(input=x, filter=thousand, strides=[1] * 5, padding="SAME"),
        images(2, 5, 6, 7, 2000), match="too many",
    )  # fmt: skip


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed_conv_3d(padding):
    w = weights(2, 3, 2, 4, 3)
    sizes = (6, 14, 5) if padding == "SAME" else (6, 15, 6)

    def layer(x):
        return tf.nn.conv3d_transpose(x, w, [tf.shape(x)[0], *sizes, 4], [1, 2, 1], padding)

    spec = images(None, *((6, 7, 5) if padding == "SAME" else (5, 7, 5)), 3)
    check(layer, spec)


# The window, strides, and the result's sizes, with whether the depth alone is padded in front.
TRANSPOSED_3D = [
    ((3, 1, 3), (2, 2, 3), (7, 1, 5), True),
    ((4, 4, 3), (1, 3, 2), (2, 6, 4), True),
    ((3, 3, 1), (1, 1, 2), (4, 5, 6), False),
    ((2, 2, 3), (1, 2, 1), (5, 4, 6), False),
]


@pytest.mark.parametrize("window, strides, sizes, alone", TRANSPOSED_3D)
@pytest.mark.parametrize("known", [True, False])
def test_transposed_conv_3d_with_depth_alone_padded(window, strides, sizes, alone, known):
    w = weights(*window, 2, 3)
    inputs = [-(-size // stride) for size, stride in zip(sizes, strides)]

    def layer(x, shape):
        spatial = sizes if known else shape
        return tf.nn.conv3d_transpose(x, w, tf.concat([[2], spatial, [2]], 0), strides, "SAME")

    specs = images(2, *(inputs if known else (None,) * 3), 3), tf.TensorSpec([3], tf.int32)
    x = np.random.default_rng(0).standard_normal((2, *inputs, 3)).astype(np.float32)
    converted = convert_function(layer, *specs)
    may_be = alone or (not known and window[0] > 2 and window[1] - strides[1] < 2)
    assert ("SLICE" in converted.ops) == may_be
    (expected,) = converted.function(x, tf.constant(sizes))
    # TensorFlow's own interpreter, whose kernel is the one that is wrong.
    for interpreter in (tf.lite.Interpreter(model_content=converted.data), Interpreter(model_content=converted.data)):
        run = interpreter.get_signature_runner()
        assert_close(run(x0=x, x1=np.array(sizes, np.int32))["y0"], expected.numpy())
