"""Keras files are read and judged without Keras."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.load import keras_config

TESTDATA = Path("testdata")


def layer(kind: str, **config: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": config}


def function(module: str, name: str) -> dict[str, Any]:
    return {"class_name": "function", "module": module, "config": name, "registered_name": name}


def nested(item: Any) -> dict[str, Any]:
    inner = layer("Sequential", layers=[layer("TimeDistributed", layer=item)])
    return layer("Functional", layers=[layer("Dense", activation="relu"), inner])


@pytest.mark.parametrize(
    ("name", "version"),
    [("keras2.h5", "2."), ("keras2_lambda.h5", "2."), ("keras3.h5", "3."), ("keras3.keras", "3.")],
)
def test_read(name: str, version: str) -> None:
    file = keras_config.read(TESTDATA / name)
    assert file.config["class_name"] == "Functional"
    assert file.keras_version.startswith(version)
    assert file.from_keras3 == (version == "3.")


@pytest.mark.parametrize("name", ["keras3.h5", "keras3.keras"])
@pytest.mark.parametrize("kept", [0, 100, 2000])
def test_truncated(tmp_path: Path, name: str, kept: int) -> None:
    path = tmp_path / name
    path.write_bytes((TESTDATA / name).read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged or cut off" if kept else "is empty"):
        keras_config.read(path)


def test_foreign(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes(b"GIF89a and more")
    with pytest.raises(InputError, match="neither an HDF5 file nor"):
        keras_config.read(path)


def test_weights_only() -> None:
    with pytest.raises(InputError, match="holds weights only"):
        keras_config.read(TESTDATA / "weights_only.h5")


@pytest.mark.parametrize("config", ["{", "[" * 100_000, "[]", "\xff"])
def test_config_is_no_object(tmp_path: Path, config: str) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config.encode("latin-1"))
    with pytest.raises(InputError, match="is damaged: its architecture is"):
        keras_config.read(path)


@pytest.mark.parametrize("metadata", ["[]", "[" * 100_000, "{"])
def test_metadata_is_no_object(tmp_path: Path, metadata: str) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", metadata)
    with pytest.raises(InputError, match="is damaged"):
        keras_config.read(path)


def test_an_archive_that_unpacks_to_anything(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("config.json", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(1 << 20))
    with pytest.raises(InputError, match=r"claims to unpack to \d+ bytes"):
        keras_config.read(path)


@pytest.mark.parametrize("how", ["external", "link", "virtual"])
@pytest.mark.parametrize("name", ["model.h5", "model.keras"])
def test_data_of_other_files(tmp_path: Path, name: str, how: str) -> None:
    """tf-keras would take any file of the user's for weights."""
    import h5py

    weights = tmp_path / "weights.h5"
    with h5py.File(tmp_path / "secret.h5", "w") as secret:
        secret["w"] = np.ones(3, np.float32)
    with h5py.File(weights, "w") as file:
        file.attrs["model_config"] = "{}"
        group = file.create_group("layer")
        group["again"] = h5py.SoftLink("/layer")  # a circle
        if how == "external":
            group.create_dataset("w", (3,), np.float32, external=[(str(tmp_path / "secret.h5"), 0, 12)])
        elif how == "link":
            group["w"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "w")
        else:
            layout = h5py.VirtualLayout((3,), np.float32)
            layout[...] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "w", (3,))
            group.create_virtual_dataset("w", layout)
    path = weights
    if name == "model.keras":
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", "{}")
            archive.write(weights, "model.weights.h5")
    with pytest.raises(InputError, match="takes '/layer/w' from outside itself"):
        keras_config.read(path)


def test_zip_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match=r"no config\.json"):
        keras_config.read(path)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (layer("Lambda", name="twice"), "Lambda layer 'twice'"),
        ({"class_name": "__lambda__", "config": {"code": ""}}, "a Python lambda"),
        (layer("TorchModuleWrapper", module="80049"), "TorchModuleWrapper"),
        (layer("TFSMLayer", filepath="/tmp/model"), "TFSMLayer"),
        (layer("TFOpLambda", name="op", function="io.write_file"), "tf.io.write_file"),
        (layer("TFOpLambda", name="op", function="raw_ops.WriteFile"), "tf.raw_ops.WriteFile"),
        (layer("TFOpLambda", name="op", function="compat.v1.py_func"), "tf.compat.v1.py_func"),
        (layer("TFOpLambda", name="op", function="load_op_library"), "tf.load_op_library"),
        (layer("StringLookup", name="words", vocabulary="/etc/passwd"), "'/etc/passwd'"),
        (layer("Dense", activation=function("builtins", "eval")), "builtins.eval"),
        (layer("Dense", activation=function("keras.utils", "get_file")), "keras.utils.get_file"),
        (layer("Dense", activation=function("keras.src.utils.file_utils", "get_file")), "file_utils.get_file"),
    ],
)
def test_what_runs_code_is_refused_unless_trusted(item: Any, words: str) -> None:
    path = Path("model.h5")
    with pytest.raises(InputError, match="--trust-model") as error:
        keras_config.check(path, nested(item), known=(), trusted=False)
    assert words in str(error.value)
    keras_config.check(path, nested(item), known=(), trusted=True)


@pytest.mark.parametrize(
    "item",
    [
        layer("Dense", activation="relu"),
        layer("Dense", activation=function("builtins", "relu")),
        layer("Dense", activation=function("keras.activations", "silu")),
        layer("TFOpLambda", name="op", function="math.add"),
        layer("TFOpLambda", name="op", function="reshape"),
        layer("TFOpLambda", name="op", function="compat.v1.transpose"),
        layer("TFOpLambda", name="op", function="__operators__.add"),
        layer("StringLookup", name="words", vocabulary=["a", "b"]),
        {"module": "keras.src.models.functional", **layer("Functional")},
    ],
)
def test_what_only_computes_is_let_through(item: Any) -> None:
    keras_config.check(Path("model.h5"), nested(item), known=(), trusted=False)


@pytest.mark.parametrize(
    "item",
    [
        {"module": "os", "class_name": "function", "config": "system", "registered_name": "system"},
        {"module": "my.layers", "class_name": "Scale", "config": {}, "registered_name": "my>Scale"},
    ],
)
@pytest.mark.parametrize("trusted", [False, True])
def test_foreign_modules_need_a_plugin(item: Any, trusted: bool) -> None:
    with pytest.raises(InputError, match=r"which Keras does not know; .*--plugin"):
        keras_config.check(Path("model.keras"), nested(item), known=(), trusted=trusted)
    keras_config.check(Path("model.keras"), nested(item), known={item["registered_name"]}, trusted=trusted)


def test_no_tensorflow_needed() -> None:
    import subprocess

    code = "from fuseconv.load import keras_config; import sys; print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_testdata_is_as_the_tests_think() -> None:
    config = keras_config.read(TESTDATA / "lambda.keras").config
    assert "__lambda__" in json.dumps(config)
