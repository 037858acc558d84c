"""Small models with the structures of real ones: detectors, networks of volumes, transformers in half precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv import convert
from fuseconv.testing import assert_close, check

v1 = tf.compat.v1
RNG = np.random.default_rng(0)


def weights(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(dtype)


def decoded(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Corners [batch, 32, 4] and scores [batch, 32, 3] of boxes around the anchors of a grid of 4 by 4."""
    x = tf.nn.relu6(tf.nn.conv2d(images, CONV, 2, "SAME"))
    x = tf.nn.relu6(tf.nn.depthwise_conv2d(x, DEPTHWISE, [1, 2, 2, 1], "SAME"))
    raw = tf.reshape(tf.nn.conv2d(x, HEAD, 1, "SAME"), [-1, 32, 7])
    center = tf.tanh(raw[..., :2]) * 0.1 + ANCHORS
    half = tf.exp(tf.clip_by_value(raw[..., 2:4], -1.0, 1.0)) * 0.15
    return tf.concat([center - half, center + half], -1), tf.sigmoid(raw[..., 4:])


CONV, DEPTHWISE, HEAD = weights(3, 3, 3, 8), weights(3, 3, 8, 1), 3 * weights(1, 1, 8, 14)
GRID = np.stack(np.meshgrid(np.arange(4), np.arange(4), indexing="ij"), -1).reshape(-1, 2)
ANCHORS = ((np.repeat(GRID, 2, axis=0) + 0.5) / 4).astype(np.float32)


def test_a_detector_with_suppression_for_each_image() -> None:
    def detect(images: tf.Tensor) -> list[tf.Tensor]:
        def best(image: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, ...]:
            boxes, scores = image
            top = tf.reduce_max(scores, -1)
            kept = tf.image.non_max_suppression(boxes, top, 5, 0.4, 0.3)
            missing = 5 - tf.shape(kept)[0]
            chosen = tf.pad(tf.gather(boxes, kept), [[0, missing], [0, 0]])
            classes = tf.pad(tf.gather(tf.argmax(scores, -1), kept), [[0, missing]], constant_values=-1)
            return chosen, classes, tf.shape(kept)[0]

        kinds = (tf.TensorSpec([5, 4]), tf.TensorSpec([5], tf.int64), tf.TensorSpec([], tf.int32))
        return list(tf.map_fn(best, decoded(images), fn_output_signature=kinds))

    check(detect, tf.TensorSpec([None, 16, 16, 3]))


def test_a_detector_with_combined_suppression() -> None:
    def detect(images: tf.Tensor) -> list[tf.Tensor]:
        boxes, scores = decoded(images)
        return list(tf.image.combined_non_max_suppression(boxes[:, :, None], scores, 4, 6, 0.4, 0.3))

    check(detect, tf.TensorSpec([2, 16, 16, 3]))


def test_a_network_of_volumes() -> None:
    first, second, dense = weights(3, 3, 3, 2, 4), weights(2, 2, 2, 4, 6), weights(6, 3)

    def classify(x: tf.Tensor) -> tf.Tensor:
        x = tf.nn.max_pool3d(tf.nn.relu(tf.nn.conv3d(x, first, [1] * 5, "SAME")), 2, 2, "SAME")
        x = tf.nn.max_pool3d(tf.nn.relu(tf.nn.conv3d(x, second, [1] * 5, "VALID")), [2, 1, 2], 1, "VALID")
        return tf.nn.softmax(tf.reduce_mean(x, [1, 2, 3]) @ dense)

    check(classify, tf.TensorSpec([None, 7, 8, 9, 2]))


def test_a_frozen_transformer_in_half_precision(tmp_path: Path) -> None:
    half, heads, width, words = np.float16, 2, 8, 11

    def normalized(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        shift, scale = weights(width, dtype=half), weights(width, dtype=half)
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, 1e-3)

    def projected(x: tf.Tensor, to: int) -> tf.Tensor:
        return tf.tensordot(x, weights(x.shape[-1], to, dtype=half), 1) + weights(to, dtype=half)

    def by_heads(x: tf.Tensor) -> tf.Tensor:
        return tf.transpose(tf.reshape(projected(x, width), [-1, 5, heads, width // heads]), [0, 2, 1, 3])

    graph = tf.Graph()
    with graph.as_default():
        ids, mask = v1.placeholder(tf.int32, [None, 5], "ids"), v1.placeholder(tf.int32, [None, 5], "mask")
        x = normalized(tf.gather(weights(words, width, dtype=half), ids) + weights(5, width, dtype=half))
        for _ in range(2):
            scores = tf.matmul(by_heads(x), by_heads(x), transpose_b=True) * half(0.5)
            scores += (half(1) - tf.cast(mask[:, None, None], tf.float16)) * half(-10000)
            mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), by_heads(x)), [0, 2, 1, 3])
            x = normalized(x + projected(tf.reshape(mixed, [-1, 5, width]), width))
            inner = projected(x, 2 * width)
            x = normalized(x + projected(inner * half(0.5) * (half(1) + tf.math.erf(inner * half(2**-0.5))), width))
        y = tf.identity(x, "y")
    path = tmp_path / "frozen.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())

    data = convert(path, inputs=["ids", "mask"], outputs=["y"]).data
    runner = Interpreter(model_content=data).get_signature_runner()
    for batch in (1, 3):
        feeds = {
            "ids": RNG.integers(0, words, (batch, 5)).astype(np.int32),
            "mask": np.array([[1, 1, 1, 0, 0]] * batch, np.int32),
        }
        with v1.Session(graph=graph) as session:
            expected = session.run(y, {f"{name}:0": value for name, value in feeds.items()})
        # TensorFlow rounds every op's result to 11 bits, the file those of fused ones only.
        assert_close(runner(**feeds)["y"], expected, atol=2e-2)
