"""Masks of attention, and through layers that merge or wrap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data

X = np.array([[1, 2, 0, 0, 0], [3, 0, 2, 1, 0], [1, 2, 3, 4, 5]], np.int32)
Y = np.array([[4, 0, 0, 1], [3, 5, 2, 1], [0, 2, 3, 0]], np.int32)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_steps_attend_to_those_that_masks_leave(library: Any, tmp_path: Path) -> None:
    layers = library.layers
    x, y = (library.Input((size,), dtype="int32", name=name) for size, name in ((5, "x"), (4, "y")))
    masked, bare = layers.Embedding(7, 4, mask_zero=True), layers.Embedding(7, 4)(x)
    a, b = masked(x), masked(y)
    outputs = [
        layers.GRU(2)(layers.MultiHeadAttention(2, 3)(masked(x), masked(y))),
        layers.MultiHeadAttention(2, 3, dropout=0.1)(masked(x), masked(y)),
        layers.MultiHeadAttention(2, 3, output_shape=5)(bare, bare, use_causal_mask=True),
        *layers.MultiHeadAttention(2, 3)(*[masked(x)] * 2, use_causal_mask=True, return_attention_scores=True),
        layers.GRU(2)(layers.Attention(use_scale=True)([a, b])),
        layers.AdditiveAttention()([a, a], use_causal_mask=True),
    ]  # fmt: skip
    check_data(library.Model([x, y], outputs), tmp_path, ["keras" if library is keras else "h5"], x=X, y=Y)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_masks_pass_through_layers_that_merge_and_wrap(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((5,), dtype="int32", name="x")
    masked, bare = layers.Embedding(7, 4, mask_zero=True)(x), layers.Embedding(7, 4)(x)
    outputs = [
        layers.LSTM(2)(layers.Concatenate()([masked, bare])),
        # tf-keras fails on steps of which only some have a mask.
        layers.LSTM(2)(layers.Concatenate(axis=1)([masked, bare if library is keras else masked])),
        layers.LSTM(2)(layers.TimeDistributed(layers.Dense(3))(masked)),
    ]  # fmt: skip
    check_data(library.Model(x, outputs), tmp_path, ["h5" if library is keras else "keras"], x=X)


@pytest.mark.parametrize("other", ["MultiHeadAttention", "Dense"])
def test_masks_that_attention_takes_from_other_layers_are_refused(other: str, tmp_path: Path) -> None:
    # Keras 3's MultiHeadAttention takes the masks off the tensors themselves: who comes later sees none.
    layers, x = keras.layers, keras.Input((5,), dtype="int32", name="x")
    masked = layers.Embedding(7, 4, mask_zero=True)(x)
    again = layers.Dense(3)(masked) if other == "Dense" else layers.MultiHeadAttention(2, 3)(masked, masked)
    keras.Model(x, [layers.MultiHeadAttention(2, 3)(masked, masked), again]).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match="mask"):
        load(tmp_path / "model.keras")


def test_a_layer_behind_attention_sees_no_mask_that_it_has_taken_away(tmp_path: Path) -> None:
    """The Embedding's mask is gone when Add is called, which is the deeper of the two; a query_mask is not heeded."""
    layers, x = keras.layers, keras.Input((5,), dtype="int32", name="x")
    flags = keras.Input((5,), dtype="bool", name="flags")
    masked = layers.Embedding(7, 4, mask_zero=True)(x)
    added = layers.Add()([masked, layers.MultiHeadAttention(2, 3)(masked, masked)])
    again = layers.MultiHeadAttention(2, 3)(added, added, query_mask=flags)
    outputs = [layers.GRU(2)(layers.LayerNormalization()(again)), layers.GlobalAveragePooling1D()(added)]
    check_data(keras.Model([x, flags], outputs), tmp_path, ["keras"], x=X, flags=X > 1)
