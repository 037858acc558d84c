"""A Keras file (.keras, .h5, .hdf5) read as data -> `ir` module. Neither Keras nor TensorFlow is imported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Graph, Module, Signature, Value
from fuseconv.load import keras_container
from fuseconv.load.graph_importer import symbolic
from fuseconv.load.keras import layers, weights
from fuseconv.load.keras.call import ILL_FORMED, Model, Object
from fuseconv.load.keras.model import MODELS, class_of, config_of, flat, inputs_of
from fuseconv.load.keras.registry import LAYERS, Layer, UnknownLayer, layer
from fuseconv.load.keras_container import KerasFile
from fuseconv.load.keras_nodes import check_nodes
from fuseconv.load.unique_names import unique

SIGNATURE = "serving_default"

__all__ = ["LAYERS", "SIGNATURE", "UnknownLayer", "layer", "layers", "load"]


def load(path: Path, custom: Collection[str] = (), plugins: Mapping[str, Layer] | None = None) -> Module:
    """Load a Keras file as data: a module with the signature "serving_default"; names and order of its inputs and
    outputs are those of `load` in `through_keras`. custom: names of classes that are the user's own. plugins: layers of
    plug-ins, by their classes.

    Raises UnknownLayer, which names it, for what cannot be read as data, and InputError if the file is damaged."""
    file = keras_container.read(path)
    check_nodes(path, file.config)
    if class_of(file.config) not in MODELS:
        raise UnknownLayer(f"the class {class_of(file.config)} is no model that is read as data")
    for name in (plugins or {}).keys() & LAYERS.keys():
        raise InputError(f"the Keras layer {name} of a plug-in comes with fuseconv; leave it out")
    shared = Model(file.from_keras3, custom, plugins or {}, lambda name: weights.asset(path, name))
    try:
        graph, inputs, outputs, root = _built(shared, file)
    except InputError:
        raise
    except ILL_FORMED as error:
        raise UnknownLayer(f"its architecture does not fit together ({type(error).__name__}: {error})") from error
    except RecursionError:
        raise InputError(f"{path} is damaged: its architecture nests too deep.") from None
    weights.read(path, root.part)
    module = shared.module
    module.signatures = [Signature([SIGNATURE], graph, inputs, outputs)]
    module.attributes = shared.op_defs.attributes
    return module


def _built(shared: Model, file: KerasFile) -> tuple[Graph, list[str], list[str], Object]:
    """Return the graph of a file's model, the names of its inputs and outputs, and the model."""
    kind, config = class_of(file.config), config_of(file.config)
    root = Object(shared, kind, config)
    specs = inputs_of(kind, config)
    names = unique([spec.name for spec in flat(specs)])
    graph = Graph(SIGNATURE)
    values = iter([graph.add_input(spec.dtype, symbolic(spec.shape, name), name)
                   for spec, name in zip(flat(specs), names)])  # fmt: skip
    results = root.call([_packed(specs, values)], {})
    outputs = list(flat(results))
    if not outputs or not all(isinstance(value, Value) for value in outputs):
        raise InputError("the file is damaged: an output of its model is no tensor.")
    tf = shared.tf
    tf.scope = config["name"]
    graph.ops, graph.outputs = tf.out, outputs
    return graph, names, _output_names(kind, config, results, outputs), root


def _packed(specs: Any, values: Any) -> Any:
    """Pack values into the structure of the specs."""
    if isinstance(specs, list):
        return [_packed(spec, values) for spec in specs]
    if isinstance(specs, dict):
        packed = {key: _packed(specs[key], values) for key in sorted(specs)}
        return {key: packed[key] for key in specs}
    return next(values)


def _output_names(kind: str, config: dict[str, Any], results: Any, outputs: list[Value]) -> list[str]:
    if isinstance(results, dict) and len(results) == len(outputs):
        return unique(sorted(results))
    if kind == "Sequential":
        names = [str(config_of(config["layers"][-1])["name"])]
    else:
        names = [item[0] for item in _refs(config["output_layers"])]
    return unique(names if len(names) == len(outputs) else [f"output_{index}" for index in range(len(outputs))])


def _refs(item: Any) -> Any:
    if isinstance(item, dict):
        return [ref for key in sorted(item) for ref in _refs(item[key])]
    return [item] if isinstance(item[0], str) else [ref for part in item for ref in _refs(part)]
