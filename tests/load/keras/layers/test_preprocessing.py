"""Preprocessing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest
import tf_keras

from tests.keras_parity import FORMATS, branches, check_cases, check_data
from tests.pairwise import mostly_slow

L = keras.layers

CASES = {
    "images": lambda: branches(
        (9, 7, 4), L.Rescaling(1 / 255.0, -1.0), L.Rescaling([1.0, 2, 3, 4]), L.Resizing(5, 9),
        L.Resizing(4, 3, interpolation="nearest"), L.Resizing(18, 14),
    ),
    "integers": lambda: branches((9, 7, 3), L.Rescaling(1 / 255.0), dtype="uint8"),
}  # fmt: skip


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])


def test_normalization(tmp_path: Path) -> None:
    # Keras does not load its own .h5 file of an axis of None.
    layers: list[Any] = [
        L.Normalization(), L.Normalization(axis=None), L.Normalization(mean=[1.0, 2, 3, 4], variance=[1.0, 2, 3, 4]),
        L.Normalization(mean=2.0, variance=3.0, axis=None, invert=True),
    ]  # fmt: skip
    check_cases({"norm": lambda: branches((9, 7, 4), *layers)}, "norm", tmp_path, formats=["keras"])


@pytest.mark.parametrize(("library", "dtype"), [(keras, "uint8"), (tf_keras, "float32")])
def test_random_layers_change_nothing_once_they_are_trained(library: Any, dtype: str, tmp_path: Path) -> None:
    layers = library.layers
    made = [
        layers.RandomFlip("horizontal"), layers.RandomRotation(0.1, fill_mode="nearest"), layers.RandomContrast(0.2),
        layers.RandomZoom(0.2, seed=3), layers.RandomTranslation(0.1, 0.2), layers.RandomBrightness(0.1),
    ]  # fmt: skip
    check_data(branches((9, 7, 3), *made, dtype=dtype, library=library), tmp_path, ["keras"])


def test_layers_one_after_the_other(tmp_path: Path) -> None:
    pipeline = L.Pipeline([L.Rescaling(0.5), L.RandomFlip(), L.CenterCrop(5, 4)])
    check_data(branches((9, 7, 3), pipeline, L.Solarization()), tmp_path, ["keras"])
