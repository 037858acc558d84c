"""Parity of gradients."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def above_zero(rng, shape, dtype):
    return rng.uniform(0.1, 4, shape).astype(dtype)


def wide(rng, shape, dtype):
    return rng.uniform(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("op", [raw.SigmoidGrad, raw.TanhGrad, raw.SqrtGrad, raw.RsqrtGrad, raw.ReciprocalGrad])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_of_results(op, dtype):
    check(
        lambda y, dy: op(y=y, dy=dy), spec(None, 5, dtype=dtype), spec(None, 5, dtype=dtype), inputs=above_zero
    )


@pytest.mark.parametrize("op", [raw.ReciprocalGrad, raw.InvGrad])
def test_of_complex_reciprocals(op):
    check(lambda y, dy: op(y=y, dy=dy), spec(2, 5, dtype=tf.complex64), spec(2, 5, dtype=tf.complex64))


@pytest.mark.parametrize(
    "op", [raw.ReluGrad, raw.Relu6Grad, raw.LeakyReluGrad, raw.SoftplusGrad, raw.SoftsignGrad]
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_of_features(op, dtype):
    specs = spec(None, 5, dtype=dtype), spec(None, 5, dtype=dtype)
    check(lambda dy, x: op(gradients=dy, features=x), *specs, inputs=wide)


@pytest.mark.parametrize("op", [raw.EluGrad, raw.SeluGrad])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_of_outputs(op, dtype):
    specs = spec(None, 5, dtype=dtype), spec(None, 5, dtype=dtype)
    check(lambda dy, y: op(gradients=dy, outputs=y), *specs)


@pytest.mark.parametrize(("data_format", "shape"), [("NHWC", (None, 3, 4)), ("NCHW", (None, 3, 4, 2))])
def test_bias(data_format, shape):
    check(lambda dy: raw.BiasAddGrad(out_backprop=dy, data_format=data_format), spec(*shape))


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_cross_entropy(dtype):
    def dense(logits, labels):
        return list(raw.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels))

    check(dense, spec(None, 5, dtype=dtype), spec(None, 5, dtype=dtype))

    def sparse(logits):
        return list(raw.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=[1, 4, 0]))

    check(sparse, spec(3, 5, dtype=dtype))


@pytest.mark.parametrize("shapes", [
    ((None, 1), (None, 5)), ((1, 5), (None, 5)), ((None, 1), (1, 5)), ((None, 5), (None, 1)),
], ids=str)  # fmt: skip
def test_cross_entropy_of_operands_that_broadcast(shapes):
    def dense(logits, labels):
        return list(raw.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels))

    check(dense, *(spec(*shape) for shape in shapes))


def test_cross_entropy_of_what_may_be_one_class():
    rng = np.random.default_rng(0)

    def dense(logits, labels):
        return list(raw.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels))

    for classes in (1, 4):
        inputs = [rng.standard_normal(shape, np.float32) for shape in ((3, classes), (3, 4))]
        check(dense, spec(None, None), spec(None, 4), inputs=inputs, batches=(3,), static=False)


def test_cross_entropy_of_an_unknown_number_of_classes():
    def diagonal(logits):
        rows = tf.range(tf.shape(logits)[0])
        return list(raw.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=rows))

    check(diagonal, spec(None, None))


def test_a_gradient_of_a_model():
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.nn.elu(x[:, ::2] * 2.0) ** 2)
        return tape.gradient(y, x)

    check(gradient, spec(2, 5))


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirror_pad(mode):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.pad(x, [[0, 0], [2, 1], [1, 0]], mode) ** 2)
        return tape.gradient(y, x)

    check(gradient, spec(2, 4, 3))
    check(gradient, spec(None, 3, 2), static=False)
    check_refused(gradient, spec(2, None, 3), match="MirrorPadGrad.*dimension that is padded")


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_of_joining(axis):
    def layer(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.reduce_sum(tf.tanh(tf.concat([x, 2.0 * y, x], axis)))
        return tape.gradient(z, [x, y])

    check(layer, spec(None, 3), spec(None, 3))


def test_of_a_product():
    def layer(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.reduce_sum(tf.tanh(tf.matmul(x, y)))
        return tape.gradient(z, [x, y])

    check(layer, spec(None, 3), spec(3, 4))
    check(layer, spec(None, 2, 3), spec(None, 3, 4))


def test_places_of_parts():
    def places(x, y):
        return raw.ConcatOffset(concat_dim=1, shape=[tf.shape(x), tf.shape(y), tf.shape(x)])

    check(places, spec(None, None), spec(None, None))


ACTIVATIONS = (
    tf.sigmoid, tf.tanh, tf.sqrt, tf.math.rsqrt, tf.math.reciprocal, tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu,
    tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign,
)  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda f: f.__name__)
def test_of_a_sum_of_products(activation):
    """The gradient that comes in is one row for all of the batch, whose size is not known."""

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            energy = tf.reduce_sum(activation(x) @ tf.constant([[2.0], [-3.0], [0.5]]))
        return tape.gradient(energy, x)

    converted = check(gradient, spec(None, 3), inputs=above_zero)
    assert not {"TILE", "FULLY_CONNECTED"} & set(converted.ops)


def test_of_inputs_that_are_joined():
    """What solves a differential equation: the batch of the coordinates is that of the times."""

    def residual(x, t):
        with tf.GradientTape(persistent=True) as second:
            second.watch(x)
            with tf.GradientTape(persistent=True) as first:
                first.watch([x, t])
                hidden = tf.tanh(tf.concat([x, t], 1) @ tf.constant([[2.0, -1.0], [0.5, 1.0]]))
                u = hidden @ tf.constant([[1.0], [3.0]])
            u_x = first.gradient(u, x)
        return first.gradient(u, t) + u * u_x - second.gradient(u_x, x)

    converted = check(residual, spec(None, 1), spec(None, 1))
    assert not {"SHAPE", "PAD", "TILE", "FILL", "REDUCE_ANY", "WHERE"} & set(converted.ops)
