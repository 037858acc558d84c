"""Functions of TensorFlow as layers of tf-keras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data


def _moved(x: Any, y: Any, i: Any) -> list[Any]:
    return [
        x[:, 0], x[:, None, ::-1], x[:, 1, 2:3], tf.concat([x, y], axis=-1), tf.stack([x, y], axis=1),
        tf.reshape(x, (-1, 12)), tf.reshape(x, (tf.shape(x)[0], 2, 6)), tf.transpose(x, (0, 2, 1)),
        tf.pad(x, ((0, 0), (1, 1), (0, 0))), tf.pad(x, ((0, 0), (1, 1), (0, 0)), mode="REFLECT"), tf.cast(x, "int32"),
        tf.split(x, 2, axis=-1)[1], tf.split(x, [1, 3], axis=-1)[1], tf.unstack(x, axis=1)[1], tf.reverse(x, [1]),
        tf.squeeze(tf.expand_dims(x, 1), 1), tf.gather(x, [0, 1], axis=1), tf.tile(x, [1, 2, 1]), tf.identity(x),
        tf.gather(y, tf.clip_by_value(i, 0, 2), axis=1), tf.one_hot(i, 3), tf.shape(x)[0:1],
    ]  # fmt: skip


def _arithmetic(x: Any, y: Any, i: Any) -> list[Any]:
    a = tf.abs(x) + 0.5
    return [
        tf.nn.relu(x + 3.0) * (1.0 / 6.0), 2 - x, x - y, x * y, x / 2, 1.0 / a, tf.divide(x, a), a**2, -x, i // 2,
        i % 2, tf.math.floormod(x, 0.5), tf.add(x, y), tf.multiply(x, y), tf.maximum(x, 0.25), tf.square(x),
        tf.sqrt(a), tf.exp(x), tf.math.sigmoid(x), tf.where(x > 0, x, 0.0), x <= y, tf.not_equal(x, y),
        tf.math.logical_and(x > 0, y > 0), tf.clip_by_value(x, -1, 1), tf.matmul(x, y, transpose_b=True),
        x @ tf.transpose(y, (0, 2, 1)), tf.nn.gelu(x), tf.nn.gelu(x, approximate=True), tf.nn.swish(x),
        tf.nn.leaky_relu(x), tf.nn.relu6(x), tf_keras.activations.hard_sigmoid(x),
    ]  # fmt: skip


def _reductions(x: Any, y: Any, i: Any) -> list[Any]:
    return [
        tf.reduce_mean(x, axis=1), tf.reduce_max(x, axis=-1, keepdims=True), tf.reduce_sum(x, axis=[1, 2]),
        tf.math.reduce_std(x, axis=1), tf.math.reduce_variance(x, axis=1), tf.argmax(x, axis=-1),
        tf.math.l2_normalize(x, axis=-1), tf.nn.softmax(x, axis=-1), tf.nn.log_softmax(x), tf.reduce_any(x > 0, axis=1),
        tf_keras.backend.mean(x, axis=1), tf_keras.backend.concatenate([x, y]),
    ]  # fmt: skip


def model(*parts: Any) -> Any:
    x, y = tf_keras.Input((3, 4), name="x"), tf_keras.Input((3, 4), name="y")
    i = tf_keras.Input((2,), dtype="int32", name="i")
    return tf_keras.Model([x, y, i], [output for part in parts for output in part(x, y, i)])


def test_what_is_read_as_data_is_what_keras_computes(tmp_path: Path) -> None:
    check_data(model(_moved, _arithmetic, _reductions), tmp_path)


@pytest.mark.parametrize(
    "why, make",
    [
        ("tf.linalg.adjoint is not", lambda x, y, i: tf.linalg.adjoint(x)),
        ("batch_dims=1", lambda x, y, i: tf.gather(x, i, axis=1, batch_dims=1)),
        ("unexpected keyword", lambda x, y, i: tf.matmul(x, y, transpose_b=True, output_type="float32")),
        ("indices", lambda x, y, i: tf.gather(x, [-1], axis=1)),
    ],
)
def test_what_is_not_known_is_refused(why: str, make: Any, tmp_path: Path) -> None:
    model(lambda *of: [make(*of)]).save(tmp_path / "model.h5")
    with pytest.raises(UnknownLayer, match=why):
        load(tmp_path / "model.h5")
