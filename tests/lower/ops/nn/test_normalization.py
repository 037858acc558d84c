"""Parity of normalization, and of the bias and the norm that go with it."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.api import convert
from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def moments(channels):
    """scale, offset, mean, variance"""
    rng = np.random.default_rng(1)
    low = [0.5, -1, -1, 0.5]
    return [rng.uniform(start, start + 1, channels).astype(np.float32) for start in low]


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("name", ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"])
def test_batch_norm_in_inference(name, data_format):
    scale, offset, mean, variance = moments(5)
    shape = (None, 6, 7, 5) if data_format == "NHWC" else (None, 5, 6, 7)

    def layer(x):
        return getattr(tf.raw_ops, name)(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-2, data_format=data_format,
            is_training=False,
        )[0]  # fmt: skip

    converted = check(layer, spec(*shape))
    expected = ["DEPTHWISE_CONV_2D"] if data_format == "NHWC" else ["MUL", "ADD"]
    assert [op for op in converted.ops if op != "TRANSPOSE"] == expected


def test_batch_norm_whose_moments_are_inputs():
    def layer(x, *args):
        return tf.raw_ops.FusedBatchNormV3(
            x=x, scale=args[0], offset=args[1], mean=args[2], variance=args[3] ** 2, is_training=False
        )[:3]  # fmt: skip

    check(layer, spec(None, 6, 7, 5), *[spec(5)] * 4)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_batch_norm_in_training(data_format):
    scale, offset, *_ = moments(5)
    shape = (None, 6, 7, 5) if data_format == "NHWC" else (None, 5, 6, 7)

    def layer(x):
        return tf.compat.v1.nn.fused_batch_norm(x, scale, offset, data_format=data_format)

    check(layer, spec(*shape))


def test_batch_norm_of_half_precision():
    scale, offset, mean, variance = moments(5)

    def layer(x):
        return tf.raw_ops.FusedBatchNormV3(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, is_training=False
        )[0]  # fmt: skip

    check(layer, spec(None, 6, 7, 5, dtype=tf.float16))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"depth_radius": 2, "bias": 0.5, "alpha": 0.3, "beta": 0.75},
        {"depth_radius": 1, "bias": -0.1, "alpha": 1.0, "beta": 2.0},
        {"depth_radius": 3, "bias": 0.3, "alpha": -3.0},
        {"depth_radius": 1, "bias": 0.3, "alpha": -3.0, "beta": 1.0},
    ],
)
def test_local_response_normalization(parameters):
    def away_from_poles(rng, shape, dtype):
        # A sum of squares that almost cancels the bias amplifies rounding without bound.
        return (rng.choice([0.0, 1.0, 2.0], shape) + rng.uniform(0, 0.01, shape)).astype(dtype)

    check(lambda x: tf.nn.local_response_normalization(x, **parameters), spec(None, 3, 4, 9), inputs=away_from_poles)


def test_l2_loss():
    check(lambda x: tf.nn.l2_loss(x), spec(None, 3, 5), ops=["MUL", "SUM", "MUL"])


@pytest.mark.parametrize("shape", [(None, 5), (None, 3, 5), (None, 2, 3, 5), (None, 2, 3, 4, 5)])
def test_bias_add(shape):
    bias = np.random.default_rng(1).standard_normal(5).astype(np.float32)
    check(lambda x: tf.nn.bias_add(x, bias), spec(*shape), ops=["ADD"])


@pytest.mark.parametrize("shape", [(None, 5, 3), (None, 5, 3, 4), (None, 5, 2, 3, 4)])
def test_bias_add_with_channels_first(shape):
    bias = np.random.default_rng(1).standard_normal(5).astype(np.float32)
    check(lambda x: tf.nn.bias_add(x, bias, "NC.."), spec(*shape), ops=["ADD"])


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.float16])
def test_bias_add_of_other_types(dtype):
    check(lambda x, b: tf.nn.bias_add(x, b), spec(None, 3, 5, dtype=dtype), spec(5, dtype=dtype))


def test_bias_of_old_graphs():
    bias = np.arange(4, dtype=np.float32)
    check(lambda x: tf.raw_ops.BiasAddV1(value=x, bias=bias), tf.TensorSpec([None, 3, 4]), ops=["ADD"])


@pytest.mark.parametrize("scaled", [True, False])
def test_batch_norm_of_old_graphs(tmp_path, scaled):
    """TensorFlow itself only reads this op in graphs of version 8 and older."""
    rng = np.random.default_rng(0)
    mean, beta, gamma = rng.standard_normal((3, 4)).astype(np.float32)
    variance = rng.uniform(0.5, 2, 4).astype(np.float32)
    with tf.Graph().as_default() as graph:
        tf.compat.v1.placeholder(tf.float32, [2, 3, 3, 4], "t")
        for name, value in {"m": mean, "v": variance, "beta": beta, "gamma": gamma}.items():
            tf.constant(value, name=name)
    proto = graph.as_graph_def()
    node = proto.node.add(name="y", op="BatchNormWithGlobalNormalization", input=["t", "m", "v", "beta", "gamma"])
    node.attr["T"].type = 1
    node.attr["variance_epsilon"].f = 0.01
    node.attr["scale_after_normalization"].b = scaled
    (tmp_path / "old.pb").write_bytes(proto.SerializeToString())

    runner = Interpreter(model_content=convert(tmp_path / "old.pb").data).get_signature_runner()
    t = rng.standard_normal((2, 3, 3, 4)).astype(np.float32)
    (y,) = runner(t=t).values()
    expected = (t - mean) / np.sqrt(variance + 0.01) * (gamma if scaled else 1) + beta
    np.testing.assert_allclose(y, expected, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_gradient_of_batch_norm(training):
    scale, offset, mean, variance = map(tf.constant, moments(5))

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch([x, scale, offset])
            y = tf.raw_ops.FusedBatchNormV3(
                x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-2, is_training=training,
            )  # fmt: skip
            loss = tf.reduce_sum(tf.sin(y.y))
        return [y.batch_mean, *tape.gradient(loss, [x, scale, offset])]

    check(gradients, spec(None, 6, 7, 5), atol=2e-5)


@pytest.mark.parametrize("training", [True, False])
def test_what_the_gradient_takes(training):
    scale, offset, mean, variance = moments(5)

    def layer(x):
        results = tf.raw_ops.FusedBatchNormV3(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, is_training=training
        )  # fmt: skip
        return results[3:5]

    check(layer, spec(None, 6, 7, 5))
    check_refused(
        lambda x: tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=mean, variance=variance)[5],
        spec(None, 6, 7, 5), match="reads a reserved result",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["FusedBatchNormGrad", "FusedBatchNormGradV2"])
def test_gradient_of_batch_norm_of_old_graphs(name):
    scale, _, mean, variance = moments(5)

    def gradients(dy, x):
        return list(
            getattr(tf.raw_ops, name)(
                y_backprop=dy, x=x, scale=scale, reserve_space_1=mean, reserve_space_2=variance, epsilon=1e-2,
                is_training=True,
            )[:3]
        )  # fmt: skip

    check(gradients, spec(None, 6, 7, 5), spec(None, 6, 7, 5), atol=2e-5)


def test_moments_that_move():
    scale, offset, mean, variance = moments(5)

    def layer(x):
        return list(
            tf.raw_ops.FusedBatchNormV3(
                x=x, scale=scale, offset=offset, mean=mean, variance=variance, exponential_avg_factor=0.25
            )[:3]
        )

    check(layer, spec(None, 6, 7, 5))
