"""Normalizations."""

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
    "channels": lambda: branches(
        (9, 7, 4), L.BatchNormalization(), L.BatchNormalization(axis=1, epsilon=0.1), L.BatchNormalization(scale=False),
        L.BatchNormalization(center=False), L.LayerNormalization(), L.LayerNormalization(scale=False, center=False),
        L.GroupNormalization(2), L.GroupNormalization(-1, axis=1, scale=False), L.RMSNormalization(),
        L.UnitNormalization(),
    ),
    "vector": lambda: branches((4,), L.BatchNormalization(), L.LayerNormalization(), L.RMSNormalization(epsilon=0.1)),
    "dynamic": lambda: branches(
        (None, None, 4), L.BatchNormalization(), L.GroupNormalization(2), L.LayerNormalization()
    ),
}  # fmt: skip


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])


def test_layers_along_several_axes(tmp_path: Path) -> None:
    # Keras forgets a list of axes in an .h5 file.
    model: Any = branches((9, 7, 4), L.LayerNormalization(axis=(1, 2), epsilon=0.1), L.UnitNormalization(axis=(1, 2)))
    check_cases({"axes": lambda: model}, "axes", tmp_path, formats=["keras"])


@pytest.mark.filterwarnings("ignore:You passed `rms_scaling=True`")
def test_forms_that_few_models_have(tmp_path: Path) -> None:
    made = [L.LayerNormalization(rms_scaling=True), L.RMSNormalization(axis=[2, 3])]
    check_data(branches((5, 3, 4), *made), tmp_path, ["keras"])
    layers = tf_keras.layers
    made = [layers.BatchNormalization(renorm=True), layers.UnitNormalization(axis=1)]
    check_data(branches((5, 3, 4), *made, library=tf_keras), tmp_path, ["keras", "h5"])
