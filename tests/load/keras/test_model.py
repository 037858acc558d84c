"""Models as layers: the calls between layers, in the forms that Keras 3 and Keras 2 write."""

from __future__ import annotations

import importlib
import itertools
import json
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest

from fuseconv import convert
from fuseconv.errors import InputError
from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Model, Object
from fuseconv.load.keras.model import class_of, snake_case
from fuseconv.load.keras.registry import UnknownLayer
from tests.keras_parity import FORMATS, Runner, assert_close, check_cases, check_data, randomize
from tests.pairwise import mostly_slow

L = keras.layers


def dicts() -> Any:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = L.Dense(3, name="shared")
    once, twice = shared(a), shared(shared(b))
    return keras.Model({"b": b, "a": a}, {"z": twice, "m": L.Add()([once, twice])})


def nested() -> Any:
    """A frozen model of two outputs that is called twice, and a Sequential one that is."""
    x = keras.Input((6, 6, 3))
    image = L.BatchNormalization()(L.Conv2D(4, 3)(x))
    inner = keras.Model(x, [image, L.GlobalMaxPooling2D()(image)], name="inner")
    inner.trainable = False
    layers = [keras.Input((4,)), L.Dense(5, activation="relu"), L.BatchNormalization(), L.Dense(2)]
    head = keras.Sequential(layers, name="head")
    x = keras.Input((6, 6, 3))
    (image, rows), (image2, rows2) = inner(x), inner(L.ReLU()(x))
    difference = L.Flatten()(L.Subtract()([image, image2]))
    return keras.Model(x, [L.Add()([head(rows), head(rows2)]), L.Dense(2)(difference)])


def sequential() -> Any:
    body = keras.Sequential([L.Conv2D(3, 3), L.BatchNormalization()])
    return keras.Sequential([keras.Input((8, 8, 3)), body, L.Flatten(), L.Dense(2, activation="softmax")])


def of_several_inputs() -> Any:
    """Keras 3 writes that a nested model of two inputs is called with a mask, of nothing for each."""
    a, b = keras.Input((5, 4)), keras.Input((5, 4))
    inner = keras.Model([a, b], L.Dense(3)(L.Subtract()([a, b])), name="inner")
    x, y = keras.Input((5, 4), name="x"), keras.Input((5, 4), name="y")
    return keras.Model([x, y], inner([y, L.Dense(4)(x)]))


def of_another_rank(library: Any) -> Any:
    """Models take a last dimension of one element, or leave it out."""
    wide, flat = library.Input((3, 1)), library.Input((3,))
    of_wide = library.Sequential([library.Input((3, 1)), library.layers.LSTM(2)])
    of_flat = library.Model(flat, library.layers.Dense(2)(flat))
    return library.Model([wide, flat], [of_wide(flat), of_flat(wide), of_wide(wide)])


CASES = {"dicts": dicts, "nested": nested, "of_several_inputs": of_several_inputs, "sequential": sequential}


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])


def test_names_are_those_of_paths() -> None:
    assert [snake_case(name) for name in ("Conv2DTranspose", "LSTM", "PReLU", "UpSampling2D")] == [
        "conv2d_transpose", "lstm", "p_re_lu", "up_sampling2d",
    ]  # fmt: skip


def test_classes_of_other_modules_are_no_layers_of_keras() -> None:
    assert class_of({"class_name": "Dense", "module": "keras.layers"}) == "Dense"
    assert class_of({"class_name": "Dense", "module": "mine"}) == "mine>Dense"
    assert class_of({"class_name": "Dense", "registered_name": "mine>Dense"}) == "mine>Dense"
    assert class_of({"class_name": "Add", "module": "keras.src.ops.numpy"}) == "ops>Add"


def test_the_lists_of_keras_2_are_read(tmp_path: Path) -> None:
    """Shared and nested models, whose own call counts as their first in these files."""
    import tf_keras

    layers = tf_keras.layers
    x = tf_keras.Input((6, 6, 3))
    image = layers.BatchNormalization()(layers.Conv2D(4, 3)(x))
    inner = tf_keras.Model(x, [image, layers.GlobalMaxPooling2D()(image)], name="inner")
    inner.trainable = False
    head = tf_keras.Sequential([tf_keras.Input((4,)), layers.Dense(5), layers.BatchNormalization()], name="head")
    x = tf_keras.Input((6, 6, 3))
    (image, rows), (image2, rows2) = inner(x), inner(layers.ReLU()(x))
    difference = layers.Flatten()(layers.Subtract()([image, image2]))
    model = tf_keras.Model(x, [layers.Add()([head(rows), head(rows2)]), layers.Dense(2)(difference)])
    check_cases({"nested": lambda: model}, "nested", tmp_path)


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_models_take_a_dimension_of_one_element_or_none(library: str, tmp_path: Path) -> None:
    model = of_another_rank(importlib.import_module(library))
    check_data(model, tmp_path, ["keras"])


def test_a_model_may_not_call_others_without_an_end() -> None:
    """Each model calls the one in it twice, and the innermost layer builds no op."""
    first = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 2], "name": "x"}}
    layer: dict[str, Any] = {"class_name": "Dropout", "config": {"name": "it"}}
    for depth in range(40):
        inner = {"class_name": "Sequential", "config": {"name": f"m{depth}", "layers": [first, layer]}}
        nodes = [[["x", 0, 0, {}]], [[f"m{depth}", 1, 0, {}]]]
        layers = [first | {"name": "x", "inbound_nodes": []}, inner | {"name": f"m{depth}", "inbound_nodes": nodes}]
        config = {"name": f"f{depth}", "layers": layers, "input_layers": [["x", 0, 0]],
                  "output_layers": [[f"m{depth}", 2, 0]]}  # fmt: skip
        layer = {"class_name": "Functional", "config": config}
    with budget.limited(budget.Budget(lambda: 1000)), pytest.raises(InputError, match=r"more operations|too deep"):
        Object(Model(False, ()), "Functional", layer["config"]).call([Value(types.FLOAT32, (2, 2), "x")], {})


def test_calls_are_made_in_any_order_of_the_layers() -> None:
    """A chain whose layers stand backwards in the file."""
    names = ["x", *(f"l{index}" for index in range(300))]
    layers = [{"class_name": "ReLU", "name": name, "config": {"name": name}, "inbound_nodes": [[[before, 0, 0, {}]]]}
              for before, name in itertools.pairwise(names)]  # fmt: skip
    first = {"class_name": "InputLayer", "name": "x", "config": {"batch_input_shape": [2, 2]}, "inbound_nodes": []}
    config = {"name": "chain", "layers": [*reversed(layers), first], "input_layers": [["x", 0, 0]],
              "output_layers": [[names[-1], 0, 0]]}  # fmt: skip
    model = Model(False, ())
    Object(model, "Functional", config).call([Value(types.FLOAT32, (2, 2), "x")], {})
    assert len(model.tf.out) == 300


@pytest.mark.parametrize("node", [
    {"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", None, 0]}}], "kwargs": {}},
    {"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": [{}, 0, 0]}}], "kwargs": {}},
    {"args": [{"class_name": "__keras_tensor__", "config": []}], "kwargs": {}},
    {"args": [{"class_name": ["__keras_tensor__"]}], "kwargs": {}}, {"args": 3, "kwargs": {}},
    {"args": [], "kwargs": None}, {"args": [], "kwargs": [1]},
])  # fmt: skip
def test_a_damaged_call_is_told_with_its_layer(node: Any) -> None:
    layer = {"class_name": "ReLU", "name": "it", "config": {"name": "it"}, "inbound_nodes": [node]}
    first = {"class_name": "InputLayer", "name": "x", "config": {"batch_input_shape": [2, 2]}, "inbound_nodes": []}
    config = {"name": "net", "layers": [first, layer], "input_layers": [["x", 0, 0]], "output_layers": [["it", 0, 0]]}
    with pytest.raises(UnknownLayer, match=r"^the layer ReLU 'it': what it is called on is in no form that Keras"):
        Object(Model(True, ()), "Functional", config).call([Value(types.FLOAT32, (2, 2), "x")], {})


def test_models_of_early_keras_2_are_read(tmp_path: Path) -> None:
    """Whose Sequential has a list of layers for its config, and references to tensors no keywords."""
    import tf_keras

    layers = tf_keras.layers
    inner = tf_keras.Sequential([layers.Dense(3, input_shape=(4,)), layers.BatchNormalization()], name="inner")
    x, y = (tf_keras.Input((4,), name=name) for name in "xy")
    model = tf_keras.Model([x, y], layers.Dense(2)(layers.Subtract()([inner(x), inner(y)])))
    randomize(model)
    model.save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        config = json.loads(file.attrs["model_config"])
        config["class_name"] = "Model"
        for item in config["config"]["layers"]:
            item["inbound_nodes"] = [[ref[:3] for ref in node] for node in item["inbound_nodes"]]
            if item["name"] == "inner":
                item["config"] = item["config"]["layers"][1:]
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = "2.1.6"
    run = Runner(convert(tmp_path / "model.h5", tmp_path / "model.tflite", keras_loader="data").path)
    feeds = run.feeds()
    (made,) = run(feeds).values()
    assert_close(made, np.asarray(model([feeds["x"], feeds["y"]], training=False)), 1e-5, "model")
