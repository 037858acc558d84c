"""Preprocessing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest

from tests.keras_parity import branches, check_cases

L = keras.layers

CASES = {
    "images": lambda: branches(
        (9, 7, 4), L.Rescaling(1 / 255.0, -1.0), L.Rescaling([1.0, 2, 3, 4]), L.Resizing(5, 9),
        L.Resizing(4, 3, interpolation="nearest"), L.Resizing(18, 14),
    ),
    "integers": lambda: branches((9, 7, 3), L.Rescaling(1 / 255.0), dtype="uint8"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_data_and_keras_agree(name: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path)


def test_normalization(tmp_path: Path) -> None:
    # Keras does not load its own .h5 file of an axis of None.
    layers: list[Any] = [
        L.Normalization(), L.Normalization(axis=None), L.Normalization(mean=[1.0, 2, 3, 4], variance=[1.0, 2, 3, 4]),
        L.Normalization(mean=2.0, variance=3.0, axis=None, invert=True),
    ]  # fmt: skip
    check_cases({"norm": lambda: branches((9, 7, 4), *layers)}, "norm", tmp_path, formats=["keras"])
