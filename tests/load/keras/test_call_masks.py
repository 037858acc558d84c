"""How far a mask goes: through layers that hand it on, which Keras 3 and tf-keras do not have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from tests.keras_parity import check_data


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
