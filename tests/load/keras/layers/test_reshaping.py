"""Layers that move, repeat or cut elements."""

from __future__ import annotations

from pathlib import Path

import keras

from tests.keras_parity import FORMATS, branches, check_cases
from tests.pairwise import mostly_slow

L = keras.layers

CASES = {
    "vector": lambda: branches((4,), L.RepeatVector(3), L.Reshape((2, -1)), L.Flatten()),
    "1d": lambda: branches(
        (6, 4), L.UpSampling1D(3), L.ZeroPadding1D(2), L.ZeroPadding1D((1, 2)), L.Cropping1D((1, 2)), L.Cropping1D(1),
        L.Flatten(), L.Reshape((-1, 2)), L.Reshape((3, 8)), L.Permute((2, 1)),
    ),
    "2d": lambda: branches(
        (9, 7, 4), L.ZeroPadding2D(((1, 0), (2, 1))), L.Cropping2D(((1, 0), (2, 1))), L.UpSampling2D((2, 3)),
        L.UpSampling2D(2, interpolation="bilinear"), L.Permute((3, 1, 2)),
    ),
    "3d": lambda: branches(
        (5, 6, 7, 2), L.ZeroPadding3D(((1, 0), (2, 1), (0, 3))), L.Cropping3D(((1, 0), (2, 1), (0, 3))),
        L.UpSampling3D((2, 1, 3)),
    ),
    "dynamic": lambda: branches((None, None, 4), L.ZeroPadding2D(2), L.UpSampling2D(2), L.Cropping2D(1)),
    "channels first": lambda: branches(
        (4, 9, 7), L.Flatten(data_format="channels_first"), L.UpSampling2D(2, data_format="channels_first"),
        L.ZeroPadding2D(1, data_format="channels_first"), L.Cropping2D(1, data_format="channels_first"),
    ),
}  # fmt: skip


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])
