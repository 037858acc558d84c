"""Poolings."""

from __future__ import annotations

from pathlib import Path

import keras

from tests.keras_parity import FORMATS, branches, check_cases
from tests.pairwise import mostly_slow

L = keras.layers

CASES = {
    "1d": lambda: branches(
        (9, 4), L.MaxPooling1D(2), L.AveragePooling1D(3, strides=1, padding="same"), L.GlobalAveragePooling1D(),
        L.GlobalMaxPooling1D(keepdims=True),
    ),
    "2d": lambda: branches(
        (9, 7, 4), L.MaxPooling2D((2, 3), strides=(1, 2)), L.AveragePooling2D(3, padding="same"),
        L.GlobalAveragePooling2D(), L.GlobalMaxPooling2D(), L.GlobalAveragePooling2D(keepdims=True),
        L.GlobalMaxPooling2D(keepdims=True),
    ),
    "3d": lambda: branches(
        (5, 6, 7, 2), L.MaxPooling3D(2), L.AveragePooling3D(2, strides=1, padding="same"), L.GlobalMaxPooling3D(),
        L.GlobalAveragePooling3D(),
    ),
    "dynamic": lambda: branches(
        (None, None, 4), L.GlobalAveragePooling2D(), L.GlobalMaxPooling2D(keepdims=True),
        L.MaxPooling2D(3, 2, padding="same"),
    ),
    "channels first": lambda: branches(
        (4, 9), L.MaxPooling1D(2, data_format="channels_first"), L.AveragePooling1D(2, data_format="channels_first"),
        L.GlobalAveragePooling1D(data_format="channels_first"), L.GlobalMaxPooling1D(data_format="channels_first"),
    ),
    "channels first 2d": lambda: branches(
        (4, 9, 7), L.MaxPooling2D(2, data_format="channels_first"),
        L.GlobalAveragePooling2D(data_format="channels_first"),
    ),
}  # fmt: skip


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])
