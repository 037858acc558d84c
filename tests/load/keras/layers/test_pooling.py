"""Poolings."""

from __future__ import annotations

from pathlib import Path

import keras
import pytest

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import FORMATS, branches, check_cases, check_data
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


def test_windows_that_divide_a_dimension_evenly_or_not(tmp_path: Path) -> None:
    flat = [L.AdaptiveAveragePooling1D(4), L.AdaptiveMaxPooling1D(5), L.AdaptiveMaxPooling1D(11)]
    check_data(branches((11, 3), *flat), tmp_path, ["keras"])
    made = [
        L.AdaptiveAveragePooling2D((3, 4)), L.AdaptiveMaxPooling2D((2, 5)),
        L.AdaptiveAveragePooling2D(2, data_format="channels_first"),
    ]  # fmt: skip
    check_data(branches((9, 8, 7), *made), tmp_path, ["keras"])
    check_data(branches((4, 5, 6, 2), L.AdaptiveAveragePooling3D((2, 3, 6))), tmp_path, ["keras"])


def test_more_windows_than_elements_are_refused(tmp_path: Path) -> None:
    x = keras.Input((5, 3))
    keras.Model(x, L.AdaptiveMaxPooling1D(4)(x)).save(tmp_path / "model.h5")
    assert len(load(tmp_path / "model.h5").signatures) == 1
    keras.Model(x, L.AdaptiveMaxPooling1D(6)(x)).save(tmp_path / "model.h5")
    with pytest.raises(UnknownLayer, match=r"output_size=\[6\] of \[5\]"):
        load(tmp_path / "model.h5")
