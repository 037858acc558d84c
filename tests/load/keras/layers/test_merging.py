"""Layers that merge several tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest

from tests.keras_parity import check_cases

L = keras.layers


def merged() -> Any:
    a, b, c = keras.Input((3, 4), name="a"), keras.Input((3, 4), name="b"), keras.Input((4,), name="c")
    outputs = [
        L.Add()([a, b]), L.Subtract()([a, b]), L.Multiply()([a, b, c]), L.Maximum()([a, b]), L.Minimum()([a, b]),
        L.Average()([a, b, c]), L.Concatenate()([a, b]), L.Concatenate(axis=1)([a, b, a]),
        L.Dot(1)([a, b]), L.Dot(2)([a, b]), L.Dot((2, 1))([a, c]), L.Dot(1)([c, c]),
    ]  # fmt: skip
    return keras.Model([b, a, c], outputs)


CASES = {"merged": merged}


@pytest.mark.parametrize("name", CASES)
def test_data_and_keras_agree(name: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path)
