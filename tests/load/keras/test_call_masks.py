"""How far a mask goes: through layers that hand it on, which Keras 3 and tf-keras do not have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from tests.keras_parity import check_data

TOKENS = np.array([[1, 2, 0, 0, 0], [3, 0, 2, 1, 0], [1, 2, 3, 4, 5]], np.int32)


@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
@pytest.mark.parametrize("library", [keras, tf_keras])
def test_masks_go_as_far_as_in_keras(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((5, 3), name="x")
    between = [
        layers.Dense(3), layers.Dropout(0.5), layers.EinsumDense("abc,cd->abd", (5, 3)), layers.Identity(),
        layers.LayerNormalization(), layers.Normalization(mean=0.5, variance=2.0, axis=None), layers.Rescaling(2.0),
        layers.UnitNormalization(), layers.ZeroPadding1D(1), *([layers.RMSNormalization()] if library is keras else []),
    ]  # fmt: skip
    masked = layers.Masking(0.25)(x)
    feed = np.random.default_rng(3).normal(size=(3, 5, 3)).astype(np.float32)
    feed[:2, 3:] = 0.25
    model = library.Model(x, [layers.GlobalAveragePooling1D()(layer(masked)) for layer in between])
    check_data(model, tmp_path, ["keras"], x=feed)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_mask_is_not_heeded_by_keras_3_beside_initial_states(library: Any, tmp_path: Path) -> None:
    layers = library.layers
    x, y = (library.Input((5,), dtype="int32", name=name) for name in "xy")
    embedding = layers.Embedding(7, 3, mask_zero=True)
    _, *states = layers.LSTM(2, return_state=True)(embedding(x))
    ahead = layers.LSTM(2, return_sequences=True)(embedding(y), initial_state=states)
    both = layers.Bidirectional(layers.GRU(2, return_sequences=True))(embedding(y), initial_state=states)
    outputs = [layers.SimpleRNN(2)(ahead), layers.GlobalAveragePooling1D()(both)]
    check_data(library.Model([x, y], outputs), tmp_path, ["keras"], x=TOKENS, y=TOKENS[::-1])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_mask_goes_into_a_model(library: Any, tmp_path: Path) -> None:
    """Keras 3 writes it as an argument of the call: a tensor, a dict of none, or of some."""
    layers, x = library.layers, library.Input((5,), dtype="int32", name="x")
    step, pair = library.Input((5, 3), name="step"), {name: library.Input((5, 3), name=name) for name in "ba"}
    one = library.Model(step, layers.GRU(2, return_sequences=True)(layers.Dense(3)(step)))
    two = library.Model(pair, layers.GRU(2)(layers.Subtract()([pair["a"], pair["b"]])))
    masked, bare = layers.Embedding(7, 3, mask_zero=True)(x), layers.Embedding(7, 3)(x)
    line = library.Sequential([library.Input((5, 3)), layers.Dense(2), layers.SimpleRNN(2)])
    outputs = [layers.LSTM(2)(one(masked)), two({"a": bare, "b": bare}), two({"a": masked, "b": masked}), line(masked)]
    check_data(library.Model(x, outputs), tmp_path, ["keras"], x=TOKENS)
