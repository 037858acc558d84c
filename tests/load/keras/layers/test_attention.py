"""Attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_cases, check_data

L = keras.layers


def attended() -> Any:
    x, y = keras.Input((6, 8)), keras.Input((5, 4))
    outputs = [
        L.MultiHeadAttention(2, 3)(x, x), L.MultiHeadAttention(2, 3)(x, y, y),
        L.MultiHeadAttention(2, 3, value_dim=5, use_bias=False, dropout=0.1)(x, y),
    ]  # fmt: skip
    return keras.Model([x, y], outputs)


def test_data_and_keras_agree(tmp_path: Path) -> None:
    check_cases({"attended": attended}, "attended", tmp_path)


def test_scores_of_single_heads(tmp_path: Path) -> None:
    # Keras does not load its own .h5 file of it.
    x, y = keras.Input((6, 8)), keras.Input((5, 8))
    outputs = [
        L.Attention(use_scale=True)([x, y]), L.Attention()([x, y, y]), L.AdditiveAttention()([x, y]),
        L.AdditiveAttention(use_scale=False)([x, y, y]),
    ]  # fmt: skip
    check_cases({"scores": lambda: keras.Model([x, y], outputs)}, "scores", tmp_path, formats=["keras"])


def test_groups_of_heads_gates_and_windows(tmp_path: Path) -> None:
    x, y = keras.Input((6, 4)), keras.Input((5, 4))
    outputs = [
        L.GroupQueryAttention(3, 4, 2)(x, y), L.GroupQueryAttention(2, 3, 1, use_gate=True, dropout=0.1)(x, y),
        L.GroupQueryAttention(2, 2, 2, sliding_window=2)(x, x, use_causal_mask=True),
        L.MultiHeadAttention(2, 3, use_gate=True, sliding_window=3)(x, y),
        L.Attention(score_mode="concat", use_scale=True)([x, y]),
    ]  # fmt: skip
    check_data(keras.Model([x, y], outputs), tmp_path, ["keras"])


def test_groups_of_heads_heed_masks_and_leave_them(tmp_path: Path) -> None:
    x = keras.Input((6, 4), name="x")
    masked = L.Masking(0.25)(x)
    made = L.GroupQueryAttention(3, 4, 2)(masked, masked)
    model = keras.Model(x, [L.LSTM(3)(made), L.LSTM(3)(masked)])
    feed = np.random.default_rng(3).normal(size=(3, 6, 4)).astype(np.float32)
    feed[:2, 4:] = 0.25
    check_data(model, tmp_path, ["keras"], x=feed)


def test_attention_along_other_axes(tmp_path: Path) -> None:
    x, y = keras.Input((3, 5, 4)), keras.Input((3, 6, 4))
    outputs = [
        L.MultiHeadAttention(2, 3, attention_axes=[2], use_gate=True, value_dim=2)(x, y),
        L.MultiHeadAttention(2, 3, attention_axes=[1, 2], use_bias=False)(x, x), L.MultiHeadAttention(1, 2)(x, x),
        *L.MultiHeadAttention(2, 3, attention_axes=[1])(x, x, return_attention_scores=True),
    ]  # fmt: skip
    check_data(keras.Model([x, y], outputs), tmp_path, ["keras"])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_masks_of_scores(library: Any, tmp_path: Path) -> None:
    """A mask says of each head, of all of them, or of all examples which steps attend to which."""
    attention = library.layers.MultiHeadAttention
    x, y, z = library.Input((3, 5, 4)), library.Input((5, 4)), library.Input((2, 5, 5), dtype="bool")
    flags = {size: library.Input(size, dtype="bool") for size in ((3, 5, 5), (3, 5, 3, 5), (5, 5), (1, 5, 5))}
    outputs = [
        attention(2, 3, attention_axes=[2])(x, x, attention_mask=flags[3, 5, 5]),
        *attention(2, 3, attention_axes=[2])(x, x, attention_mask=flags[5, 5], return_attention_scores=True),
        attention(2, 3, attention_axes=[1, 2])(x, x, attention_mask=flags[3, 5, 3, 5]),
        attention(2, 3)(y, y, attention_mask=flags[1, 5, 5]), attention(2, 3, dropout=0.1)(y, y, attention_mask=z),
        attention(2, 3)(y, y, attention_mask=z, use_causal_mask=True),
    ]  # fmt: skip
    inputs = [x, y, z, *flags.values()]
    check_data(library.Model(inputs, outputs), tmp_path, ["keras" if library is keras else "h5"])


def test_numbers_are_a_mask_of_scores_in_keras_3(tmp_path: Path) -> None:
    x, whole, real = keras.Input((5, 4)), keras.Input((5, 5), dtype="int32"), keras.Input((5, 5))
    outputs = [
        L.MultiHeadAttention(2, 3)(x, x, attention_mask=whole), L.MultiHeadAttention(2, 3)(x, x, attention_mask=real),
        L.GroupQueryAttention(3, 4, 2)(x, x, attention_mask=whole),
    ]  # fmt: skip
    check_data(keras.Model([x, whole, real], outputs), tmp_path, ["keras"])


@pytest.mark.parametrize(("axes", "library", "called"), [
    ([2], keras, {"use_causal_mask": True}), ([0, 1], keras, {}), ([2, 1], keras, {}), ([-2], tf_keras, {}),
])  # fmt: skip
def test_attention_along_axes_that_is_refused(axes: Any, library: Any, called: Any, tmp_path: Path) -> None:
    x = library.Input((3, 3, 4))
    made = library.layers.MultiHeadAttention(2, 3, attention_axes=axes)(x, x, **called)
    library.Model(x, made).save(tmp_path / "m.keras")
    with pytest.raises(UnknownLayer, match="inputs are masked" if called else "attention_axes="):
        load(tmp_path / "m.keras")


def test_a_mask_that_tells_heads_apart_and_masked_inputs_are_refused(tmp_path: Path) -> None:
    x, flags = keras.Input((5, 4)), keras.Input((2, 5, 5), dtype="bool")
    masked = L.Masking(0.25)(x)
    keras.Model([x, flags], L.MultiHeadAttention(2, 3)(masked, masked, attention_mask=flags)).save(tmp_path / "m.keras")
    with pytest.raises(UnknownLayer, match="tells heads apart"):
        load(tmp_path / "m.keras")


def test_masks_of_nothing_take_the_place_of_those_of_the_inputs(tmp_path: Path) -> None:
    x = keras.Input((5, 4), name="x")
    masked = L.Masking(0.25)(x)
    model = keras.Model(x, L.Attention()([masked, masked], mask=[None, None]))
    feed = np.random.default_rng(3).normal(size=(3, 5, 4)).astype(np.float32)
    feed[:, 3:] = 0.25
    check_data(model, tmp_path, ["keras"], x=feed)
