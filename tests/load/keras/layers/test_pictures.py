"""Layers that change the sizes of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import branches, check_data

L = keras.layers
_SIZE = {"height": 5, "width": 4}


def test_sizes_of_a_known_picture(tmp_path: Path) -> None:
    made = [L.Resizing(**_SIZE, interpolation=kind) for kind in ("bicubic", "area", "lanczos3")]
    made += [L.Resizing(**_SIZE, interpolation=kind, antialias=True) for kind in ("bilinear", "bicubic")]
    made += [
        L.Resizing(**_SIZE, crop_to_aspect_ratio=True), L.Resizing(12, 4, pad_to_aspect_ratio=True, fill_value=2),
        L.CenterCrop(4, 4), L.CenterCrop(12, 4), L.RandomCrop(4, 4), L.Resizing(3, 5, data_format="channels_first"),
    ]  # fmt: skip
    check_data(branches((9, 7, 3), *made), tmp_path, ["keras"])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_sizes_of_an_unknown_picture(library: Any, tmp_path: Path) -> None:
    made = [library.layers.Resizing(**_SIZE, crop_to_aspect_ratio=True), library.layers.UpSampling2D(2)]
    made += [L.CenterCrop(**_SIZE), L.Resizing(6, 4, pad_to_aspect_ratio=True)] if library is keras else [
        library.layers.RandomCrop(**_SIZE)]  # fmt: skip
    check_data(branches((None, None, 3), *made, library=library), tmp_path, ["keras"])


def test_pictures_of_integers_become_floats_first(tmp_path: Path) -> None:
    made = [L.Resizing(**_SIZE), L.Resizing(**_SIZE, interpolation="nearest"), L.CenterCrop(4, 4)]
    check_data(branches((9, 7, 3), *made, dtype="uint8"), tmp_path, ["keras"])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_pictures_and_sequences_grow(library: Any, tmp_path: Path) -> None:
    layers = library.layers
    made = [layers.UpSampling2D((2, 3), interpolation=kind) for kind in ("nearest", "bilinear", "bicubic", "lanczos3")]
    check_data(branches((4, 5, 3), *made, library=library), tmp_path, ["keras"])
    check_data(branches((2, 3, 4, 3), layers.UpSampling3D((2, 1, 3)), library=library), tmp_path, ["keras"])
    check_data(branches((None, 3), layers.UpSampling1D(3), library=library), tmp_path, ["keras"])


def test_a_picture_of_unknown_size_is_not_cropped_where_keras_decides_as_it_runs(tmp_path: Path) -> None:
    branches((None, None, 3), tf_keras.layers.CenterCrop(4, 4), library=tf_keras).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=r"CenterCrop .*the size of its input is not known"):
        load(tmp_path / "model.keras")


def test_contrast_is_stretched_but_of_one_value(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(3, 5, 4, 2)).astype(np.float32)
    x[1, :, :, 0] = 0.25
    model = branches((5, 4, 2), L.AutoContrast(), L.AutoContrast(value_range=(-1, 2)))
    check_data(model, tmp_path, ["keras"], x=x)
