"""Functions of `keras.ops` that take several ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data

ROW = np.arange(4, dtype=np.float32)
# One of each kind that is no number.
ODD = np.array([[[0.5, np.nan, np.inf, -np.inf]] * 3] * 3, np.float32)


def test_what_is_read_as_data_is_what_keras_computes(tmp_path: Path) -> None:
    x, y = keras.Input((3, 4), name="x"), keras.Input((3, 4), name="y")
    i = keras.Input((3, 4), dtype="int32", name="i")
    outputs = [
        ops.append(x, y, axis=1), ops.append(x, i, axis=2), ops.hstack([x, y]), ops.vstack([x, y]), ops.diff(x, axis=1),
        ops.diff(i), ops.slice(x, [0, 1, 2], [3, 2, 2]), ops.broadcast_to(x[:, :1], (3, 4, 4)), ops.stop_gradient(x),
        ops.divide_no_nan(x, ops.relu(y)), ops.logaddexp(x, y), ops.logical_xor(i, x > 0), ops.count_nonzero(i, axis=1),
        ops.log2(ops.abs(x) + 1), ops.log10(ops.abs(x) + 1), ops.trunc(2 * x), ops.threshold(x, -0.3, 2.0),
        *ops.moments(x, axes=[1]), *ops.moments(x, axes=[1, 2], keepdims=True), ops.amax(x, axis=1),
        ops.amin(x, axis=-1, keepdims=True), ops.mean(i, axis=1), ops.mean(x > 0, axis=1), ops.sum(x > 0, axis=1),
    ]  # fmt: skip
    check_data(keras.Model([x, y, i], outputs), tmp_path, ["keras"])


def test_orders_products_and_replacements(tmp_path: Path) -> None:
    x, y = keras.Input((3, 4), name="x"), keras.Input((3, 4), name="y")
    odd, image = keras.Input((3, 4), name="odd"), keras.Input((2, 5, 3), name="image")
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    outputs = [
        ops.sort(x), ops.sort(x, axis=1), ops.argsort(x, axis=0), ops.argsort(x), ops.exp2(x),
        ops.tensordot(x, matrix.T, axes=1), ops.tensordot(x, matrix, axes=2),
        ops.tensordot(x, y, axes=[[0, -1], [0, 2]]), ops.tensordot(x, matrix, axes=[[1], [0]]),
        ops.dot(x, matrix.T), ops.dot(x, ROW), ops.inner(x, matrix),
        ops.digitize(x, np.array([-0.5, 0.1, 0.7])), ops.nan_to_num(odd), ops.nan_to_num(odd, 2.0, 3.0, -4.0),
        ops.image.rgb_to_grayscale(image), ops.image.rgb_to_grayscale(image[..., :1]),
    ]  # fmt: skip
    check_data(keras.Model([x, y, odd, image], outputs), tmp_path, ["keras"], odd=ODD)


def test_norms_and_attention(tmp_path: Path) -> None:
    x, q = keras.Input((3, 4), name="x"), keras.Input((5, 4, 3), name="q")
    outputs = [
        ops.layer_normalization(x), ops.layer_normalization(x, ROW, ROW + 1, epsilon=0.1),
        ops.layer_normalization(x, ROW[1:], ROW[:3], axis=1), ops.rms_normalization(x, ROW),
        ops.rms_normalization(x, axis=1, epsilon=0.2), ops.batch_normalization(x, ROW, ROW + 1, -1),
        ops.batch_normalization(x, ROW[:3], ROW[1:], 1, offset=ROW[:3], scale=ROW[1:], epsilon=0.1),
        ops.dot_product_attention(q, q, q, is_causal=True), ops.dot_product_attention(q, q[:, :3, :2], q[:, :3, :2]),
        ops.dot_product_attention(q, q, q, mask=q[:, None, :, 0, :1] > 0),
    ]  # fmt: skip
    check_data(keras.Model([x, q], outputs), tmp_path, ["keras"])


@pytest.mark.parametrize(("make", "why"), [
    (lambda q: ops.dot_product_attention(q, q, q, scale=0.3), "scale=0.3"),
    (lambda q: ops.dot_product_attention(q, q, q, bias=q[:, :4, :, :1] * 0.0), "bias"),
    (lambda q: ops.rms_normalization(q, np.ones((4, 3), np.float32), axis=[2, 3]), "and a scale"),
    (lambda q: ops.diff(q, n=2), "n=2"), (lambda q: ops.sort(q > 0), "no tensor of floats"),
    (lambda q: ops.image.rgb_to_grayscale(q[:, :3], data_format="channels_first"), "channels first"),
    (lambda q: ops.tensordot(q, np.ones(2, np.float32), axes=0), "axes=0"),
    (lambda q: ops.digitize(q, q[0, 0, 0]), "no list of numbers"),
    (lambda q: ops.nan_to_num(ops.cast(q, "float64")), "called on float64"),
])  # fmt: skip
def test_what_is_not_known_is_refused(make: Any, why: str, tmp_path: Path) -> None:
    q = keras.Input((5, 4, 3))
    keras.Model(q, make(q)).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=why):
        load(tmp_path / "model.keras")
