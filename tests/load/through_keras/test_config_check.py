"""Keras files are read and judged without Keras."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.load import keras_container
from fuseconv.load.through_keras import config_check

TESTDATA = Path("testdata")


def layer(kind: str, **config: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": config}


def function(module: str, name: str) -> dict[str, Any]:
    return {"class_name": "function", "module": module, "config": name, "registered_name": name}


def nested(item: Any) -> dict[str, Any]:
    inner = layer("Sequential", layers=[layer("TimeDistributed", layer=item)])
    return layer("Functional", layers=[layer("Dense", activation="relu"), inner])


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
        config_check.check(path, nested(item), known=(), trusted=False)
    assert words in str(error.value)
    config_check.check(path, nested(item), known=(), trusted=True)


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
    config_check.check(Path("model.h5"), nested(item), known=(), trusted=False)


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
        config_check.check(Path("model.keras"), nested(item), known=(), trusted=trusted)
    config_check.check(Path("model.keras"), nested(item), known={item["registered_name"]}, trusted=trusted)


def test_what_is_not_listed_needs_a_plugin_or_trust() -> None:
    """Trust does not help to load a class that the file says is not Keras's."""
    own: dict[str, Any] = {"module": None, "class_name": "Scale", "config": {}, "registered_name": "my>Scale"}
    with pytest.raises(InputError, match=r"says CUSTOM_OBJECTS = \{'Scale': Scale\}, with --plugin$"):
        config_check.check(Path("model.keras"), nested(own), known=(), trusted=False)
    unnamed: dict[str, Any] = {"class_name": "my>Scale", "config": {}}
    with pytest.raises(InputError, match=r"\{'my>Scale': Scale\}, with --plugin, or, .* --trust-model$"):
        config_check.check(Path("model.h5"), nested(unnamed), known=(), trusted=False)


def test_no_tensorflow_needed() -> None:
    import subprocess

    code = "from fuseconv.load.through_keras import config_check; import sys; print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_testdata_is_as_the_tests_think() -> None:
    config = keras_container.read(TESTDATA / "lambda.keras").config
    assert "__lambda__" in json.dumps(config)


@pytest.mark.parametrize("trusted", [True, False])
def test_an_activation_that_is_a_lambda_is_refused_in_words(trusted: bool) -> None:
    item = layer("Dense", name="dense", activation={"value": ["4wEAAAAA", None, None]})
    with pytest.raises(InputError, match=r"the activation of 'dense' is a Python lambda"):
        config_check.check(Path("model.h5"), nested(item), known=(), trusted=trusted)


def test_an_operation_is_no_layer_of_its_name() -> None:
    assert config_check.is_operation(layer("Log", name="log"))
    assert not config_check.is_operation(layer("Log", name="log", trainable=True, dtype="float32"))
    assert not config_check.is_operation(layer("Mine", name="mine"))
