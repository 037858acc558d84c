"""Keras files read as data: without Keras, and refused or handed to Keras by the name of what is not known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from fuseconv import convert
from fuseconv.errors import InputError
from fuseconv.load import keras_container, load
from fuseconv.load.through_keras import model_file

_NO_KERAS = """
import sys
from fuseconv import convert
convert(sys.argv[1], None, keras_loader="data")
assert not {"keras", "tf_keras", "tensorflow"} & {name.partition(".")[0] for name in sys.modules}
"""


def save(path: Path, kind: str = "Dense", **config: object) -> Path:
    """Write a Sequential model of Keras 2 with one layer on 2 numbers."""
    first = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 2], "name": "x", "dtype": "float32"}}
    layer = {"class_name": kind, "config": {"name": "it", "units": 3} | config}
    model = {"class_name": "Sequential", "config": {"name": "model", "layers": [first, layer]}}
    with h5py.File(path / "model.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(model)
        file.attrs["keras_version"] = "2.15.0"
        root = file.create_group("model_weights")
        root.attrs["keras_version"] = "2.15.0"
        root.attrs["layer_names"] = np.array([b"it"])
        group = root.create_group("it")
        group.attrs["weight_names"] = np.array([b"it/kernel:0", b"it/bias:0"])
        group.create_dataset("it/kernel:0", data=np.ones((2, 3), np.float32))
        group.create_dataset("it/bias:0", data=np.arange(3, dtype=np.float32))
    return path / "model.h5"


def test_neither_keras_nor_tensorflow_is_imported(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _NO_KERAS, str(save(tmp_path))], check=True, timeout=60)


def test_a_file_is_a_signature(tmp_path: Path) -> None:
    (signature,) = load(save(tmp_path)).signatures
    assert (signature.names, signature.inputs, signature.outputs) == (["serving_default"], ["x"], ["it"])
    assert [op.kind for op in signature.graph.ops] == ["tf.MatMul", "tf.BiasAdd"]


def test_what_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read as data: the layer Sorcery 'it': its class .*--keras-loader"):
        convert(save(tmp_path, "Sorcery"), None, keras_loader="data")
    with pytest.raises(InputError, match="keras_loader is one of auto, data, keras"):
        convert(save(tmp_path), None, keras_loader="magic")


def test_keras_loads_what_is_not_known_and_the_report_says_so(tmp_path: Path) -> None:
    made = convert(save(tmp_path, kernel_constraint=None, activation="softplus", lora_rank=None), None)
    assert made.report.warnings == []
    made = convert(save(tmp_path, autocast=False), None)
    assert any("was loaded by Keras" in note and "Dense 'it': autocast=False is not read" in note
               for note in made.report.warnings)  # fmt: skip


def test_what_no_keras_explains_is_told_with_the_layer_that_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        file = keras_container.read(path)
        raise model_file._refused(tmp_path / "model.h5", file, {"Keras 3": TypeError(said)}, "")

    monkeypatch.setattr(model_file, "load", refuse)
    path = save(tmp_path, units=[3])
    said = "'<' not supported between instances of 'list' and 'int'"
    told = r"of another type than Keras takes \('<' .*'int'\); read as data, it ends at the layer Dense 'it': units=\["
    with pytest.raises(InputError, match=told):
        load(path)
    said = "units is no number"
    with pytest.raises(InputError, match=r"Keras 3: units is no number$"):
        load(path)
