"""Layers that merge several tensors."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from tests.keras_parity import FORMATS, check_cases, check_data
from tests.pairwise import mostly_slow

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


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])


def masked(library: Any) -> Any:
    """Merges of tensors of which all or one has a mask, and a pooling that shows what became of it."""
    layers = library.layers
    x, y, z = library.Input((5, 3), name="x"), library.Input((5, 3), name="y"), library.Input((5, 3), name="z")
    a, b = layers.Masking(0.5)(x), layers.Masking(0.25)(y)
    merged = [layers.Add()([a, b]), layers.Subtract()([a, b]), layers.Average()([a, b]), layers.Add()([a, z])]
    return library.Model([x, y, z], [layers.GlobalAveragePooling1D()(each) for each in merged])


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_masks_of_merged_tensors(name: str, tmp_path: Path) -> None:
    library = importlib.import_module(name)
    x, y = np.random.default_rng(0).normal(size=(2, 3, 5, 3)).astype(np.float32)
    x[:, 1:3], y[:, 2:4] = 0.5, 0.25
    # Keras 3 does not load an .h5 file with masks of its own, which stand as operations in it.
    formats = ["keras"] if name == "keras" else ["keras", "h5"]
    check_data(masked(library), tmp_path, formats=formats, x=x, y=y)


def test_keras_3_merges_only_what_no_mask_hides(tmp_path: Path) -> None:
    x, y, z = (keras.Input((5, 3), name=name) for name in "xyz")
    a, b = L.Masking(0.5)(x), L.Masking(0.25)(y)
    merged = [kind()(each) for kind in (L.Multiply, L.Maximum, L.Minimum) for each in ([a, b], [a, z], [z, b])]
    feeds = np.random.default_rng(0).normal(size=(3, 3, 5, 3)).astype(np.float32)
    feeds[0, :, 1:3], feeds[1, :, 2:4] = 0.5, 0.25
    model = keras.Model([x, y, z], [*merged, *(L.GlobalAveragePooling1D()(each) for each in merged)])
    check_data(model, tmp_path, ["keras"], **dict(zip("xyz", feeds)))


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_products_along_axes_of_any_tensors(name: str, tmp_path: Path) -> None:
    library = importlib.import_module(name)
    x, y, z = library.Input((2, 5, 4), name="x"), library.Input((4, 3), name="y"), library.Input((4,), name="z")
    outputs = [
        library.layers.Dot(axes=[3, 1])([x, y]), library.layers.Dot(axes=1, normalize=True)([y, z]),
        library.layers.Dot(axes=[1, 3], normalize=True)([z, x]),
    ]  # fmt: skip
    check_data(library.Model([x, y, z], outputs), tmp_path, ["keras"])


def test_a_sum_goes_where_keras_3_adds_it(tmp_path: Path) -> None:
    """What has one dimension of several elements is a bias, which goes along the last dimension."""
    a, b = keras.Input((4, 4), batch_size=1, name="a"), keras.Input((4, 1), batch_size=1, name="b")
    check_data(keras.Model([a, b], [L.Add()([a, b]), L.Add()([b, a]), L.Average()([a, b])]), tmp_path, ["keras"])


def test_keras_3_brings_types_together(tmp_path: Path) -> None:
    x, i = keras.Input((5, 3), name="x"), keras.Input((5, 3), dtype="int64", name="i")
    j = keras.Input((5, 3), dtype="int32", name="j")
    outputs = [L.Concatenate()([i, x]), L.Add()([i, j]), L.Multiply()([j, x]), L.Maximum()([x, i])]
    check_data(keras.Model([x, i, j], outputs), tmp_path, ["keras"])
