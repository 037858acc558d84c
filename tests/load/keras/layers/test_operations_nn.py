"""Functions of `keras.ops` as layers: activations with settings, sums along an axis, windows."""

from __future__ import annotations

from pathlib import Path

import keras
import pytest
from keras import ops

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data


def test_what_is_read_as_data_is_what_keras_computes(tmp_path: Path) -> None:
    x = keras.Input((4, 6), name="x")
    a = ops.tanh(x)
    outputs = [
        ops.cumsum(x, axis=1), ops.cumprod(x, axis=-1), ops.logsumexp(x, axis=-1),
        ops.logsumexp(x, axis=(1, 2), keepdims=True), *ops.top_k(x, 2), ops.tril(x), ops.triu(x), ops.norm(x, axis=-1),
        ops.average(x, axis=1), ops.full_like(x, 3.0), ops.round(x), ops.arctan2(x, a), ops.arctan(x), ops.arcsin(a),
        ops.sinh(x), ops.cosh(x), ops.isnan(x), ops.isfinite(x), ops.celu(x), ops.glu(x), ops.hard_shrink(x),
        ops.soft_shrink(x), ops.sparse_plus(x), ops.sparsemax(x), ops.squareplus(x), ops.max_pool(x, 2),
        ops.celu(x, 0.6), ops.glu(x, axis=1), ops.hard_shrink(x, 0.2), ops.soft_shrink(x, 0.2), ops.tril(x, 2),
        ops.triu(x, -1), ops.norm(x, 1, axis=1), ops.norm(x, float("inf"), axis=-1, keepdims=True),
        ops.norm(x, "fro", axis=(1, 2)), ops.norm(x, axis=(0, 2)),
    ]  # fmt: skip
    check_data(keras.Model(x, outputs), tmp_path, ["keras"])


def test_windows_of_pictures(tmp_path: Path) -> None:
    x = keras.Input((7, 6, 4), name="x")
    outputs = [
        ops.max_pool(x, (3, 2), 2, padding="same"), ops.average_pool(x, 3, 2, padding="same"),
        ops.average_pool(x, 2), ops.image.resize(x, (5, 9)), ops.image.resize(x, (9, 4), interpolation="nearest"),
    ]  # fmt: skip
    check_data(keras.Model(x, outputs), tmp_path, ["keras"])


def test_settings_of_unknown_meaning_are_refused(tmp_path: Path) -> None:
    x = keras.Input((7, 6, 4))
    for made, why in ((ops.round(x, 2), "decimals=2"), (ops.cumsum(x), "axis=None is no int"),
                      (ops.norm(x, 3, axis=1), "ord=3"), (ops.norm(x, 1, axis=(1, 2)), "ord=1"),
                      (ops.tril(x, -1), "k=-1"), (ops.triu(x, 1), "k=1"),
                      (ops.image.resize(x, (5, 5), pad_to_aspect_ratio=True), "pad_to_aspect_ratio=True")):  # fmt: skip
        keras.Model(x, made).save(tmp_path / "model.keras")
        with pytest.raises(UnknownLayer, match=why):
            load(tmp_path / "model.keras")
