"""Dense and embedding layers, and those that do something in training only."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import keras
import pytest

from tests.keras_parity import FORMATS, branches, check_cases, check_data
from tests.pairwise import mostly_slow

L = keras.layers


def masked() -> Any:
    x, y = keras.Input((5,), dtype="int32"), keras.Input((5, 3))
    embedded = L.Dense(4, activation="relu")(L.Dropout(0.1)(L.Embedding(7, 3, mask_zero=True)(x)))
    kept = L.BatchNormalization()(L.Masking(0.5)(y))
    return keras.Model([x, y], [L.GlobalAveragePooling1D()(embedded), L.GlobalAveragePooling1D()(kept)])


CASES = {
    "dense": lambda: branches(
        (5, 4), L.Dense(3, activation="relu"), L.Dense(3, use_bias=False), L.Dropout(0.5), L.GaussianNoise(0.1),
        L.AlphaDropout(0.1), L.SpatialDropout1D(0.1), L.ActivityRegularization(0.1), L.Identity(),
        L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de", activation="tanh"),
        L.EinsumDense("abc,cd->abd", output_shape=(None, 3)),
    ),
    "vector": lambda: branches((4,), L.Dense(1), L.Dense(6, activation="softmax")),
    "dynamic": lambda: branches((None, None, 4), L.Dense(3)),
    "embedding": lambda: branches((5,), L.Embedding(7, 3), dtype="int32"),
    "embedding of floats": lambda: branches((5,), L.Embedding(7, 3), L.Embedding(7, 3, mask_zero=True)),
}  # fmt: skip


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])


def test_masks_are_propagated(tmp_path: Path) -> None:
    # Keras does not load such an .h5 file.
    check_cases({"masked": masked}, "masked", tmp_path, formats=["keras"])


def test_an_equation_with_an_ellipsis(tmp_path: Path) -> None:
    made = [
        L.EinsumDense("...x,xy->...y", 3, bias_axes="y"), L.EinsumDense("...ax,xy->...ay", (5, 2), bias_axes="ay"),
        L.EinsumDense("ab...,bc->ac...", 7, bias_axes="c"),
    ]  # fmt: skip
    check_data(branches((3, 5, 4), *made), tmp_path, ["keras"])


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_a_bias_goes_where_keras_adds_it(library: str, tmp_path: Path) -> None:
    """One of [3, 1] has as many numbers as the second dimension; Keras 3 adds it along that."""
    made = importlib.import_module(library).layers.EinsumDense("abcd,def->abcef", (None, None, 3, 1), bias_axes="ef")
    check_data(branches((3, 5, 4), made, library=importlib.import_module(library)), tmp_path, ["keras"])


def test_an_embedding_in_reverse(tmp_path: Path) -> None:
    x = keras.Input((5,), dtype="int32")
    tied, free = L.ReversibleEmbedding(7, 3, mask_zero=True), L.ReversibleEmbedding(9, 3, tie_weights=False)
    capped = L.ReversibleEmbedding(7, 3, logit_soft_cap=0.5)
    outputs = [tied(tied(x), reverse=True), free(free(x), reverse=True), capped(tied(x), reverse=True)]
    check_data(keras.Model(x, outputs), tmp_path, ["keras", "h5"])
