"""Constants and activations behind convolutions and dense layers."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.testing import check, convert_function

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 9, 7, 4])
ROWS = tf.TensorSpec([None, 4])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W2, WD, WT, W3, WF = draw(3, 3, 4, 6), draw(3, 3, 4, 2), draw(3, 3, 6, 4), draw(2, 3, 3, 4, 6), draw(4, 6)
LAYERS = {
    "CONV_2D": (lambda x: tf.nn.conv2d(x, W2, 2, "SAME"), IMAGE, 6),
    "DEPTHWISE_CONV_2D": (lambda x: tf.nn.depthwise_conv2d(x, WD, [1, 1, 1, 1], "VALID"), IMAGE, 8),
    "TRANSPOSE_CONV": (lambda x: tf.nn.conv2d_transpose(x, WT, [2, 18, 14, 6], 2), tf.TensorSpec([2, 9, 7, 4]), 6),
    "CONV_3D": (lambda x: tf.nn.conv3d(x, W3, [1] * 5, "SAME"), tf.TensorSpec([None, 3, 5, 5, 4]), 6),
    "FULLY_CONNECTED": (lambda x: tf.matmul(x, WF), ROWS, 6),
}


@pytest.mark.parametrize("op", LAYERS)
def test_bias_scale_and_batch_norm(op):
    layer, spec, channels = LAYERS[op]
    scale, shift, mean = draw(channels), draw(channels), draw(channels)
    check(lambda x: layer(x) + shift, spec, ops=[op], static=False)
    check(lambda x: (layer(x) - mean) / scale * 1.5 + shift, spec, ops=[op], static=False)
    check(lambda x: shift - scale * layer(x), spec, ops=[op], static=False)


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("activation", [tf.nn.relu, tf.nn.relu6])
def test_activation(op, activation):
    layer, spec, channels = LAYERS[op]
    shift = draw(channels)
    check(lambda x: activation(layer(x) + shift), spec, ops=[op], static=False)


@pytest.mark.parametrize("op", LAYERS)
def test_batch_norm_behind_relu(op):
    layer, spec, channels = LAYERS[op]
    scale, shift = np.abs(draw(channels)), draw(channels)
    scale[1] = 0
    check(lambda x: tf.nn.relu(layer(x) + shift) * scale + shift, spec, ops=[op, "ADD"], static=False)
    signs = np.where(np.arange(channels) % 2, -1, 1).astype(np.float32)
    check(lambda x: tf.nn.relu(layer(x) + shift) * scale * signs, spec, ops=[op, "MUL"], static=False)


def test_batch_norm_between_relu_and_the_next_layer():
    """Signs move into the next weights, sizes into those in front: there each channel has a scale when quantized."""
    wide = draw(4, 6) * np.float32(10.0) ** np.arange(-3, 3)
    scale = np.float32(10.0) ** -np.arange(-3, 3) * np.where(np.arange(6) % 3, 1, -1)
    converted = check(
        lambda x: tf.matmul(tf.nn.relu(tf.matmul(x, wide) + SHIFT) * scale, draw(6, 5)),
        ROWS, ops=["FULLY_CONNECTED", "FULLY_CONNECTED"], static=False,
    )  # fmt: skip
    (*_, second) = module_of_bytes(converted.data, "file").signatures[0].graph.ops
    columns = np.abs(second.operands[1].data).max(axis=0)
    assert columns.max() < 10 * columns.min()


def test_factors_behind_other_activations_stay():
    conv = LAYERS["CONV_2D"][0]
    check(lambda x: tf.nn.relu6(conv(x)) * np.abs(SHIFT), IMAGE, ops=["CONV_2D", "MUL"], static=False)
    check(lambda x: np.abs(SHIFT) - tf.nn.relu(conv(x)), IMAGE, ops=["CONV_2D", "SUB"], static=False)


def test_one_factor_behind_relu_stays():
    """It may be the step that the result is rounded to."""
    conv = LAYERS["CONV_2D"][0]
    check(lambda x: tf.floor(tf.nn.relu(conv(x)) * 4), IMAGE, ops=["CONV_2D", "MUL", "FLOOR"], static=False)


def test_fused_batch_norm():
    def fn(x):
        statistics = {"mean": tf.constant(draw(6)), "variance": tf.constant(draw(6) ** 2), "is_training": False}
        y = tf.nn.conv2d(x, W2, 1, "SAME")
        return tf.nn.relu(tf.compat.v1.nn.fused_batch_norm(y, draw(6), draw(6), **statistics)[0])

    check(tf.function(fn), IMAGE, ops=["CONV_2D"])


def test_channels_first():
    def fn(x):
        y = tf.nn.conv2d(tf.transpose(x, [0, 3, 1, 2]), W2, 1, "VALID", data_format="NCHW")
        y = tf.nn.relu(tf.nn.bias_add(y, SHIFT, data_format="NC..") * SHIFT[:, None, None])
        return tf.transpose(y, [0, 2, 3, 1])

    check(fn, IMAGE, ops=["CONV_2D"])


SHIFT = draw(6)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "DIV", "AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_activations_of_other_ops(kind):
    fn = {
        "ADD": lambda x, y: x + y, "SUB": lambda x, y: x - y, "MUL": lambda x, y: x * y, "DIV": lambda x, y: x / y,
        "AVERAGE_POOL_2D": lambda x, y: tf.nn.avg_pool2d(x, 2, 2, "SAME"),
        "MAX_POOL_2D": lambda x, y: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    }[kind]  # fmt: skip
    specs = [IMAGE] if "POOL" in kind else [IMAGE, IMAGE]
    check(lambda *xs: tf.nn.relu(fn(xs[0], xs[-1])), *specs, ops=[kind], static=False)


def test_an_activation_that_kernels_do_not_fuse_stays():
    check(lambda x: tf.tanh(LAYERS["CONV_2D"][0](x)), IMAGE, ops=["CONV_2D", "TANH"], static=False)
    check(lambda x: tf.nn.relu(tf.concat([x, x], -1)), IMAGE, ops=["CONCATENATION", "RELU"], static=False)


def test_a_second_reader_keeps_the_ops():
    def fn(x):
        y = LAYERS["CONV_2D"][0](x)
        return y * SHIFT, tf.nn.relu(y)

    check(fn, IMAGE, ops=["CONV_2D", "MUL", "RELU"], static=False)


def test_constants_along_other_dimensions_stay():
    conv = LAYERS["CONV_2D"][0]
    for constant in (draw(4, 1), draw(5, 4, 1), draw(5, 4, 6)):
        check(lambda x, c=constant: conv(x) * c, IMAGE, ops=["CONV_2D", "MUL"], static=False)
    # Three channels and a constant of three rows: only the last dimension counts.
    square, rows = draw(1, 1, 4, 4), draw(4, 1)
    fn = lambda x: tf.nn.conv2d(x, square, 1, "SAME") + rows  # noqa: E731
    check(fn, tf.TensorSpec([None, 4, 4, 4]), ops=["CONV_2D", "ADD"], static=False)


def test_a_constant_that_adds_a_dimension_stays():
    ops = check(lambda x: tf.matmul(x, WF) * draw(1, 1, 1), ROWS, static=False).ops
    assert ops == ["FULLY_CONNECTED", "MUL"]
    ops = check(lambda x: tf.matmul(x, WF) * draw(1, 6, 6)[:, :1], ROWS, static=False).ops
    assert ops == ["FULLY_CONNECTED", "MUL"]


def test_constants_that_repeat_the_result_stay():
    one = draw(4, 1)
    check(lambda x: tf.matmul(x, one) * SHIFT, ROWS, ops=["FULLY_CONNECTED", "MUL"], static=False)
    ops = ["FULLY_CONNECTED", "RESHAPE", "MUL"]
    check(lambda x: tf.reshape(tf.matmul(x, WF), [-1, 1, 6]) * draw(3, 6), ROWS, ops=ops, static=False)


def test_weights_that_are_fed_stay():
    check(lambda x, w: tf.matmul(x, w) * SHIFT, ROWS, tf.TensorSpec([4, 6]), ops=["BATCH_MATMUL", "MUL"], static=False)


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "CONV_3D"])
def test_a_sum_joins_computed_weights(op):
    layer, weights = {
        "CONV_2D": (lambda x, w: tf.nn.conv2d(x, w, 2, "SAME"), W2),
        "DEPTHWISE_CONV_2D": (lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), WD),
        "TRANSPOSE_CONV": (lambda x, w: tf.nn.conv2d_transpose(x, w, [2, 18, 14, 6], 2), WT),
        "CONV_3D": (lambda x, w: tf.nn.conv3d(x, w, [1] * 5, "SAME"), W3),
    }[op]
    shift = draw(LAYERS[op][2])
    specs = LAYERS[op][1], tf.TensorSpec(weights.shape)
    converted = check(lambda x, w: tf.nn.relu(layer(x, w) + shift), *specs, static=False)
    (graph,) = [each.graph for each in module_of_bytes(converted.data, "file").signatures]
    kinds = {each.type for each in graph.ops}
    assert op in kinds and not kinds & {"ADD", "RELU"}
    scaled = check(lambda x, w: layer(x, w) * shift, *specs, static=False)
    (graph,) = [each.graph for each in module_of_bytes(scaled.data, "file").signatures]
    assert "MUL" in {each.type for each in graph.ops}


def test_a_constant_of_every_element_stays_behind_computed_weights():
    fed = tf.TensorSpec(W2.shape)
    converted = check(lambda x, w: tf.nn.conv2d(x, w, 2, "SAME") + draw(5, 4, 6), IMAGE, fed, static=False)
    assert "ADD" in converted.ops


@pytest.mark.parametrize("factor", [1e-30, 1e35, np.inf, np.nan])
def test_factors_that_lose_digits_stay(factor):
    ops = ["FULLY_CONNECTED", "MUL"]
    assert convert_function(lambda x: tf.matmul(x, WF) * np.float32(factor), ROWS).ops == ops


def test_zero_is_a_factor_like_others():
    factors = [0.0, 1.0, 2.0, 0.0, -1.0, 3.0]
    check(lambda x: tf.matmul(x, WF) * factors + 1.0, ROWS, ops=["FULLY_CONNECTED"], static=False)


def test_rounding_on_purpose_stays():
    """Adding and taking away 1.5 * 2^23 rounds to whole numbers."""
    big = np.float32(1.5 * 2**23)
    converted = convert_function(lambda x: tf.matmul(x, WF) + big - big, ROWS)
    assert sorted(converted.ops) == ["ADD", "FULLY_CONNECTED"]


def test_the_report_names_every_source():
    converted = check(lambda x: tf.nn.relu(LAYERS["CONV_2D"][0](x) * SHIFT + SHIFT), IMAGE, static=False)
    (op,) = converted.report.emitted
    types = {converted.report.sources[name] for name in op.sources}
    assert {"Conv2D", "Mul", "AddV2", "Relu"} <= types
