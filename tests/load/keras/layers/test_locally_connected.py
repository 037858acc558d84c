"""Convolutions with a kernel of its own for each place."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import pytest
import tf_keras

from fuseconv.errors import InputError
from fuseconv.load.keras import load
from tests.keras_parity import branches, check_data

L = tf_keras.layers
_FIRST = {"data_format": "channels_first"}


def test_kernels_in_each_form(tmp_path: Path) -> None:
    made = [L.LocallyConnected1D(3, 3, implementation=how, strides=2) for how in (1, 2, 3)]
    made += [L.LocallyConnected1D(2, 2, implementation=how, padding="same", use_bias=False) for how in (2, 3)]
    made += [L.LocallyConnected1D(3, 3, implementation=how, **_FIRST) for how in (1, 2, 3)]
    check_data(branches((6, 5), *made, library=tf_keras), tmp_path, ["keras"])


def test_kernels_of_two_dimensions(tmp_path: Path) -> None:
    made = [L.LocallyConnected2D(3, (3, 2), implementation=how, strides=(2, 1)) for how in (1, 2, 3)]
    made += [L.LocallyConnected2D(2, 2, implementation=how, activation="relu", **_FIRST) for how in (1, 3)]
    check_data(branches((5, 4, 3), *made, library=tf_keras), tmp_path, ["h5"])


def test_a_matrix_that_the_file_does_not_justify_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    branches((6, 5), L.LocallyConnected1D(3, 3, implementation=3), library=tf_keras).save(path)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        config["config"]["layers"][0]["config"]["batch_input_shape"] = [None, 1 << 20, 5]
        file.attrs["model_config"] = json.dumps(config)
    with pytest.raises(InputError, match="bytes"):
        load(path)
