"""Calls between layers that could not be made are refused before a Keras tries to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.load import keras_container
from fuseconv.load.keras_nodes import check_nodes


def layer(name: str, *nodes: Any, **config: Any) -> dict[str, Any]:
    kind = "ReLU" if nodes else "InputLayer"
    return {"class_name": kind, "config": config, "name": name, "inbound_nodes": list(nodes)}


def model(*layers: dict[str, Any]) -> dict[str, Any]:
    return {"class_name": "Functional", "config": {"layers": [layer("x"), *layers]}}


def older(source: str, call: int = 0, **kwargs: Any) -> list[Any]:
    return [[source, call, 0, kwargs]]


def newer(*sources: str, call: int = 0) -> dict[str, Any]:
    tensors = [{"class_name": "__keras_tensor__", "config": {"keras_history": [name, call, 0]}} for name in sources]
    return {"args": tensors, "kwargs": {}}


ENDLESS = {
    "itself": model(layer("a", older("a"))),
    "each other": model(layer("a", older("b")), layer("b", older("a"))),
    "newer": model(layer("a", newer("x", "b")), layer("b", newer("a"))),
    "in an argument": model(layer("a", older("x", y=["b", 0, 0])), layer("b", older("a"))),
    "a call that is never made": model(layer("a", older("x")), layer("b", older("a", 1))),
    "a layer that is never called": model({**layer("e"), "class_name": "Embedding"}, layer("a", older("e"))),
    "its own later call": model(layer("a", older("a", 1), older("x"))),
    "in a model": model({**model(layer("a", older("a"))), "name": "m", "inbound_nodes": [older("x")]}),
}


@pytest.mark.parametrize("config", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_waits_for_itself(config: Any) -> None:
    with pytest.raises(InputError, match=r"its layer '[ab]' waits for a call without an end"):
        check_nodes(Path("m.h5"), config)


@pytest.mark.parametrize("node", [[["_CONSTANT_VALUE", -1, [1], {}]], {"args": [[1, 2]], "kwargs": {}}, "x"])
def test_what_takes_constants_only(node: Any) -> None:
    """Such a call is computed as the model is loaded, and may be of any size."""
    with pytest.raises(InputError, match="its layer 'a' is called on no tensor of the model"):
        check_nodes(Path("m.h5"), model(layer("a", node)))


FINE = {
    "in a row": model(layer("a", older("x")), layer("b", older("a"))),
    "in reverse": model(layer("b", older("a")), layer("a", older("x"))),
    "a layer that is called again": model(
        layer("a", older("x"), older("b")), layer("b", older("a")), layer("c", older("a", 1))
    ),
    "a model as a layer": model(layer("m", older("x"), layers=[]), layer("b", older("m", 1))),
    "constants beside tensors": model(layer("a", older("x", y=[1, 2, 3]))),
    "newer": model(layer("a", newer("x")), layer("b", newer("a", "x"))),
    "odd": {"layers": [1, {}, {"name": 1, "inbound_nodes": []}, {"name": "a", "inbound_nodes": 7}]},
}


@pytest.mark.parametrize("config", FINE.values(), ids=FINE.keys())
def test_what_can_be_made(config: Any) -> None:
    check_nodes(Path("m.h5"), config)


@pytest.mark.parametrize("name", ["keras2.h5", "keras2_lambda.h5", "keras3.h5", "keras3.keras", "custom.keras"])
def test_files(name: str) -> None:
    check_nodes(Path(name), keras_container.read(Path("testdata") / name).config)


def test_many_layers_in_reverse_take_linear_time() -> None:
    count = 20_000
    layers = [layer(f"l{i}", older(f"l{i - 1}" if i else "x")) for i in range(count)]
    check_nodes(Path("m.h5"), model(*reversed(layers)))
