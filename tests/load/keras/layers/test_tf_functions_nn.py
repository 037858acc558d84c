"""Functions of TensorFlow as layers of tf-keras that make tensors of sizes, sum along an axis, or go over windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data


def test_what_is_read_as_data_is_what_keras_computes(tmp_path: Path) -> None:
    x, n = tf_keras.Input((4, 6), name="x"), tf_keras.Input((None, 2), name="n")
    a, size = tf.abs(x) + 0.1, tf.shape(n)
    outputs = [
        tf.cumsum(x, axis=1), tf.cumsum(x, axis=-1, exclusive=True, reverse=True), tf.math.cumprod(x, axis=1),
        tf.reduce_logsumexp(x, -1), tf.reduce_logsumexp(x, [1, 2], keepdims=True), *tf.math.top_k(x, 2),
        tf.linalg.band_part(x, -1, 0), tf.roll(x, 1, 1), tf.repeat(x, 2, 1), tf.zeros_like(x) + 1.0, tf.ones_like(x),
        tf.round(x), tf.atan2(x, a), tf.sinh(x), tf.math.is_nan(x), tf.nn.bias_add(x, tf.constant([0.5] * 6)),
        tf.math.add_n([x, a]), tf.math.divide_no_nan(x, tf.nn.relu(x)), tf_keras.backend.batch_flatten(x),
        tf.cast(tf.range(size[1]), "float32") + n[..., 0], tf.ones((size[0], 3)), tf.roll(x, [1, -2], [2, 1]),
        tf.sort(x, axis=1), tf.sort(x, direction="DESCENDING"), tf.argsort(x, axis=1),
        tf.slice(x, [0, 1, 2], [-1, 2, 3]), tf.tensordot(x, tf.ones((6, 2)), 1),
        tf.tensordot(x, tf.ones((2, 4)), [[1], [1]]), tf.math.count_nonzero(x, keepdims=True, dtype="int32"),
        tf.broadcast_to(x[:, :1], tf.shape(x)), tf.fill([size[0], 2], 0.5), tf.size(n),
        tf.cast(tf.rank(x), "float32") * x, tf.math.count_nonzero(x > 0, axis=1),
    ]  # fmt: skip
    check_data(tf_keras.Model([x, n], outputs), tmp_path, ["h5"])


def test_windows_of_pictures(tmp_path: Path) -> None:
    x = tf_keras.Input((4, 6, 4), name="x")
    outputs = [
        tf.nn.depth_to_space(x, 2), tf.nn.space_to_depth(x, 2), tf.nn.max_pool2d(x, 2, 2, "VALID"),
        tf.nn.avg_pool2d(x, [1, 3, 2, 1], 1, "SAME"), tf.image.resize(x, (7, 5)),
        tf.image.resize(x, (8, 9), method="nearest"), tf.image.resize(x, tf.shape(x)[1:3] * 2),
    ]  # fmt: skip
    check_data(tf_keras.Model(x, outputs), tmp_path, ["keras"])


@pytest.mark.parametrize("why, make", [
    ("data_format=NCHW", lambda x: tf.nn.depth_to_space(x, 2, data_format="NCHW")),
    ("preserve_aspect_ratio=True", lambda x: tf.image.resize(x, (8, 8), preserve_aspect_ratio=True)),
    ("value=", lambda x: tf.fill([2, 2], x[0, 0, 0, 0])),
    ("dtype=float32", lambda x: tf.math.count_nonzero(x, dtype="float32")),
    ("out_type=int64", lambda x: tf.size(x, out_type="int64")),
    ("other numbers than int32", lambda x: tf.range(x[0, 0, 0, 0])),
])  # fmt: skip
def test_what_is_not_known_is_refused(why: str, make: Any, tmp_path: Path) -> None:
    x = tf_keras.Input((4, 6, 4), name="x")
    tf_keras.Model(x, make(x)).save(tmp_path / "model.h5")
    with pytest.raises(UnknownLayer, match=why):
        load(tmp_path / "model.h5")
