"""Convolutions."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import keras
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import FORMATS, branches, check_cases, check_data
from tests.pairwise import mostly_slow

L = keras.layers

CASES = {
    "1d": lambda: branches(
        (11, 4), L.Conv1D(3, 3), L.Conv1D(3, 3, padding="causal", dilation_rate=2, activation="relu"),
        L.Conv1D(4, 3, strides=2, padding="same", groups=2, use_bias=False), L.DepthwiseConv1D(3, depth_multiplier=2),
        L.SeparableConv1D(5, 3, padding="same"), L.DepthwiseConv1D(3, dilation_rate=2),
    ),
    "2d": lambda: branches(
        (9, 7, 4), L.Conv2D(3, (3, 2), strides=(2, 1), padding="same", activation="relu"),
        L.Conv2D(3, 3, dilation_rate=2), L.Conv2D(6, 3, groups=2),
        L.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same"),
        L.DepthwiseConv2D((3, 2), dilation_rate=2, use_bias=False),
        L.SeparableConv2D(5, 3, padding="same", depth_multiplier=2), L.Conv2DTranspose(3, 3),
        L.Conv2DTranspose(3, (3, 2), strides=2, padding="same"),
        L.Conv2DTranspose(3, 2, strides=(3, 2), padding="valid", use_bias=False),
    ),
    "3d": lambda: branches((5, 6, 7, 2), L.Conv3D(3, (3, 2, 2), strides=(2, 1, 1), padding="same"), L.Conv3D(2, 2)),
    "dynamic": lambda: branches(
        (None, None, 4), L.Conv2D(3, (3, 2), strides=(2, 1), padding="same"), L.SeparableConv2D(5, 3),
        L.Conv2DTranspose(3, 3, strides=2, padding="same"), L.Conv2DTranspose(3, 3, strides=2),
    ),
    "channels first": lambda: branches(
        (4, 9, 7), L.Conv2D(3, (3, 2), strides=(2, 1), padding="same", data_format="channels_first"),
        L.DepthwiseConv2D(3, data_format="channels_first"), L.SeparableConv2D(6, 3, data_format="channels_first"),
        L.Conv2DTranspose(5, 3, data_format="channels_first"),
        L.Conv2D(6, 3, groups=2, data_format="channels_first"),
    ),
    "channels first 1d": lambda: branches(
        (4, 9), L.Conv1D(3, 3, strides=2, padding="same", data_format="channels_first"),
        L.Conv1D(3, 3, padding="valid", data_format="channels_first"),
        L.DepthwiseConv1D(3, data_format="channels_first"),
    ),
}  # fmt: skip


def test_transposed_convolutions_along_one_and_three_dimensions(tmp_path: Path) -> None:
    padded = [L.Conv1DTranspose(2, 3, strides=3, output_padding=1, padding=padding) for padding in ("same", "valid")]
    check_data(branches((None, 4), L.Conv1DTranspose(3, 4, strides=2), *padded), tmp_path, ["keras"])
    layers = [L.Conv3DTranspose(2, 3, strides=2), L.Conv3DTranspose(2, 2, data_format="channels_first", padding="same")]
    check_data(branches((2, 3, 4, 3), *layers), tmp_path, ["keras"])


def test_transposed_convolutions_with_holes(tmp_path: Path) -> None:
    flat = [L.Conv1DTranspose(2, 3, dilation_rate=2), L.Conv1DTranspose(2, 2, dilation_rate=3, padding="same")]
    check_data(branches((None, 4), *flat), tmp_path, ["keras"])
    check_data(branches((5, 6, 2), L.Conv2DTranspose(3, (3, 2), dilation_rate=2, padding="same")), tmp_path, ["keras"])
    deep = [L.Conv3DTranspose(3, 2, dilation_rate=(2, 1, 3)), L.Conv3DTranspose(2, 2, dilation_rate=2, padding="same")]
    check_data(branches((3, 4, 5, 2), *deep), tmp_path, ["keras"])


def test_an_output_padding_that_no_convolution_leads_to_is_refused(tmp_path: Path) -> None:
    x = keras.Input((4, 9, 7))
    layer = L.Conv2DTranspose(5, 3, strides=2, padding="same", output_padding=1)
    keras.Model(x, layer(x)).save(tmp_path / "model.keras")
    text = zipfile.ZipFile(tmp_path / "model.keras").read("config.json").decode()
    assert '"output_padding": [1, 1]' in text
    with zipfile.ZipFile(tmp_path / "other.keras", "w") as archive:
        for name in ("metadata.json", "model.weights.h5"):
            archive.writestr(name, zipfile.ZipFile(tmp_path / "model.keras").read(name))
        archive.writestr("config.json", text.replace('"output_padding": [1, 1]', '"output_padding": [9, 9]'))
    with pytest.raises(UnknownLayer, match="output_padding=9"):
        load(tmp_path / "other.keras")


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_bias_goes_where_keras_adds_it(library: Any, tmp_path: Path) -> None:
    """Keras 3 adds it along the last dimension, where this is as large as the channels, which come first."""
    layers = library.layers
    made = [layers.Conv2D(5, 3, data_format="channels_first"), layers.DepthwiseConv2D(3, data_format="channels_first")]
    check_data(branches((5, 9, 7), *made, library=library), tmp_path, ["keras"])
