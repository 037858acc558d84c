"""Layers that are computed in tiles compute what TensorFlow's do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check, convert_function

_RNG = np.random.default_rng(0)


def _weights(*shape: int) -> tf.Tensor:
    return tf.constant(_RNG.normal(size=shape) / np.sqrt(np.prod(shape[:-1])), tf.float32)


_UP, _DOWN = (_weights(1, 1, 5, 43), _weights(43)), (_weights(1, 1, 43, 7), _weights(7))
_BACK = _weights(1, 1, 7, 43)
_DEPTH, _DOUBLE = _weights(3, 3, 43, 1), _weights(3, 3, 6, 2)
_FEW = _weights(3, 3, 14, 2), _weights(2)
_TRANSPOSED = _weights(2, 2, 11, 5), _weights(11)
_QKV, _OUT = [(_weights(10, 24), _weights(24)) for _ in range(3)], (_weights(24, 10), _weights(10))
_HIDDEN = (_weights(10, 44), _weights(44)), (_weights(44, 10), _weights(10))


def inverted_bottleneck(x: tf.Tensor) -> tf.Tensor:
    y = tf.nn.relu6(tf.nn.conv2d(x, _UP[0], 1, "SAME") + _UP[1])
    y = tf.nn.relu6(tf.nn.depthwise_conv2d(y, _DEPTH, [1, 2, 2, 1], "SAME"))
    return tf.nn.relu(tf.nn.conv2d(y, _DOWN[0], 1, "SAME") + _DOWN[1])


def swish(x: tf.Tensor) -> tf.Tensor:
    y = tf.nn.silu(tf.nn.conv2d(x, _UP[0], 1, "SAME") + _UP[1])
    return tf.nn.max_pool2d(y, 3, 2, "SAME")


def joined(x: tf.Tensor) -> tf.Tensor:
    parts = tf.concat([tf.tanh(x), x * 2.0, tf.nn.avg_pool2d(x, 3, 1, "SAME")[..., :4]], -1)
    return tf.nn.relu(tf.nn.conv2d(parts, _FEW[0], 1, "SAME") + _FEW[1])


def upsampled(x: tf.Tensor) -> tf.Tensor:
    shape = [1, 2 * x.shape[1], 2 * x.shape[2], 11]
    y = tf.sigmoid(tf.nn.conv2d_transpose(x, _TRANSPOSED[0], shape, 2, "VALID") + _TRANSPOSED[1])
    return tf.reduce_mean(y, 2)


def doubled(x: tf.Tensor) -> tf.Tensor:
    y = tf.nn.depthwise_conv2d(tf.nn.conv2d(x, _UP[0][..., :6], 1, "SAME"), _DOUBLE, [1, 1, 1, 1], "SAME")
    return tf.nn.avg_pool2d(tf.sigmoid(y), 2, 2, "VALID")


def residual(x: tf.Tensor) -> tf.Tensor:
    y = tf.nn.relu(tf.nn.conv2d(x, _UP[0], 1, "SAME") + _UP[1])
    z = tf.nn.relu(tf.nn.conv2d(y, _DOWN[0], 1, "SAME"))
    return tf.reduce_max(tf.nn.relu(y + tf.nn.conv2d(z, _BACK, 1, "SAME")), 1)


def averaged(x: tf.Tensor) -> tf.Tensor:
    """A residual block whose result TensorFlow Lite Micro reduces in int16, too."""
    y = tf.nn.relu(tf.nn.conv2d(x, _UP[0], 1, "SAME") + _UP[1])
    z = tf.nn.relu(tf.nn.conv2d(y, _DOWN[0], 1, "SAME"))
    return tf.reduce_mean(tf.nn.relu(y + tf.nn.conv2d(z, _BACK, 1, "SAME")), 1)


def transformer(x: tf.Tensor) -> tf.Tensor:
    q, k, v = (
        tf.transpose(tf.reshape(x @ w + b, [1, -1, 3, 8]), [0, 2, 1, 3]) for w, b in _QKV
    )
    y = tf.nn.softmax(q @ tf.transpose(k, [0, 1, 3, 2]) * 0.3) @ v
    x += tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [1, -1, 24]) @ _OUT[0] + _OUT[1]
    (up, bias), (down, last) = _HIDDEN
    return x + tf.nn.gelu(x @ up + bias) @ down + last


_DEEP = [(_weights(3, 3, *sizes), _weights(sizes[1])) for sizes in ((5, 20), (20, 96), (96, 160), (160, 60), (80, 20))]


def unet(x: tf.Tensor) -> tf.Tensor:
    """Where the deepest layers have 20 times the bytes of the largest activation."""

    def layer(x: tf.Tensor, number: int, stride: int = 1) -> tf.Tensor:
        return tf.nn.relu(tf.nn.conv2d(x, _DEEP[number][0], stride, "SAME") + _DEEP[number][1])

    wide = layer(x, 0)
    deep = layer(layer(layer(wide, 1, 2), 2, 2), 3)
    deep = tf.repeat(tf.repeat(deep, 4, axis=1), 4, axis=2)
    return layer(tf.concat([wide, deep], -1), 4)


@pytest.mark.parametrize(
    ("fn", "shape", "share"),
    [
        (unet, (1, 24, 20, 5), 0.9),
        (inverted_bottleneck, (1, 23, 17, 5), 0.5), (swish, (1, 23, 17, 5), 0.8), (joined, (1, 19, 21, 5), 0.9),
        (upsampled, (1, 15, 13, 5), 0.8), (doubled, (1, 31, 29, 5), 0.9), (residual, (1, 31, 23, 5), 0.9),
        (transformer, (1, 53, 10), 0.6),
    ],
)  # fmt: skip
def test_it_computes_the_same_in_less_memory(fn: Callable[[tf.Tensor], tf.Tensor], shape: tuple, share: float) -> None:
    found = check(fn, tf.TensorSpec(shape), target="micro")
    assert found.report.target is not None and found.report.target["refused"] == []
    assert found.report.arena_of_tiles is not None
    before, after = found.report.arena_of_tiles
    assert after <= share * before


@pytest.mark.parametrize(
    ("fn", "quantize"),
    [
        (inverted_bottleneck, "int8"), (swish, "int8"), (upsampled, "int8"), (residual, "int8"),
        (inverted_bottleneck, "int16x8"), (swish, "int16x8"), (doubled, "int16x8"), (averaged, "int16x8"),
    ],
)  # fmt: skip
def test_integers_are_the_same(fn: Callable[[tf.Tensor], tf.Tensor], quantize: str) -> None:
    """To the bit, in the reference kernels: others round by how many elements they take at once."""
    shape = (1, 61, 47, 5)
    samples = _RNG.normal(size=(3, *shape)).astype(np.float32)
    files = [
        convert_function(fn, tf.TensorSpec(shape), target=target, quantize=quantize, calibration_data={"x0": samples})
        for target in ("micro", None)
    ]  # fmt: skip
    assert files[0].report.arena_of_tiles is not None and files[1].report.arena_of_tiles is None
    for sample in samples:
        tiled, whole = (_run(file.data, sample) for file in files)
        np.testing.assert_array_equal(tiled, whole)


def _run(data: bytes, x: np.ndarray) -> np.ndarray:
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
