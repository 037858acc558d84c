"""Cells: stacked ones show the output of the last, and their states lie side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_stacked_cells_compute_one_after_the_other(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((6, 4), name="x")
    kinds = (layers.GRUCell, layers.SimpleRNNCell, layers.LSTMCell)
    states = [library.Input((3,), name=f"state_{index}") for index in range(4)]
    given = [states[0], states[1], states[2:]] if library is keras else None  # tf-keras takes no nested states
    outputs = [
        layers.RNN([kind(3) for kind in kinds], return_state=True)(x),
        layers.RNN([kind(3) for kind in kinds], return_sequences=True)(x),
        layers.RNN([kind(3) for kind in kinds])(x, initial_state=given),
        layers.RNN([layers.LSTMCell(2)])(x),
    ]  # fmt: skip
    check_data(library.Model([x, *states], outputs), tmp_path, ["keras" if library is keras else "h5"])


def test_masks_stop_stacked_cells(tmp_path: Path) -> None:
    layers, x = keras.layers, keras.Input((5,), dtype="int32", name="x")
    masked = layers.Embedding(7, 3, mask_zero=True)(x)
    cells = [layers.LSTMCell(3), layers.GRUCell(2)]
    check_data(keras.Model(x, layers.RNN(cells, return_state=True)(masked)), tmp_path, ["keras"])


def test_cells_of_other_classes_are_refused(tmp_path: Path) -> None:
    @keras.saving.register_keras_serializable("walk")
    class OwnCell(keras.layers.GRUCell):
        pass

    x = keras.Input((6, 4))
    keras.Model(x, keras.layers.RNN([keras.layers.GRUCell(3), OwnCell(3)])(x)).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match="its cell walk>OwnCell is not read as data"):
        load(tmp_path / "model.keras")
