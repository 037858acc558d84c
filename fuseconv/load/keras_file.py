"""A Keras file (.keras, .h5, .hdf5) -> `ir` module.

Keras makes the model, TensorFlow traces it for inference, and the traced graph goes the way of a SavedModel's: the
functions keep their annotations, and what the graph captures becomes handle ops that name the module's variables.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module, Signature, Table, Value, Variable, constant
from fuseconv.ir.types import DType
from fuseconv.load import attrs, keras_config, keras_container, keras_limits, protos
from fuseconv.load.graph_importer import Importer, symbolic
from fuseconv.load.keras_compatibility import incompatibility, legacy_objects
from fuseconv.load.keras_container import KerasFile
from fuseconv.load.keras_names import unique
from fuseconv.load.keras_nodes import check_nodes
from fuseconv.load.node_table import Nodes
from fuseconv.load.op_defs import OpDefs

SIGNATURE = "serving_default"

# tf-keras says 'function' of a function whose own name stands in a configuration.
_UNKNOWN = re.compile(r"(?:Unknown [\w ]+|Could not locate (?:class|function)):? '(?!function')([^']+)'")
_OBJECT = re.compile(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>")
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Traced:
    """A model as a graph of TensorFlow's.

    function: a ConcreteFunction from the inputs, in the order of `inputs`, to the list of the outputs, in the order of
    `outputs`. model: the Keras model, which owns the variables. notes: what the user should know of the loading."""

    model: Any
    function: Any
    inputs: list[str]
    outputs: list[str]
    notes: list[str]


def load(
    path: Path,
    *,
    trust_model: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] = lambda note: None,
) -> Module:
    """Return the module of a Keras file, with the signature "serving_default".

    Inputs are named for their input layers. Outputs are named for the layers that make them, or by the keys of a model
    that returns a dict. trust_model: load Lambda layers and other code of the file's. custom_objects: classes and
    functions by name. warn: is told what the user should know, such as why tf-keras was needed.
    Raises InputError if the file is damaged, holds no model, or needs code that it may not run or does not find."""
    traced = trace(path, trust_model=trust_model, custom_objects=custom_objects)
    for note in traced.notes:
        warn(note)
    return _import(traced)


def trace(path: Path, *, trust_model: bool = False, custom_objects: Mapping[str, Any] | None = None) -> Traced:
    """Return the model of a Keras file, loaded and traced for inference. Arguments and errors as for `load`."""
    file = keras_container.read(path)
    custom = keras_config.with_registered_names(file.config, custom_objects or {})
    import keras
    import tf_keras

    keras_config.check(path, file.config, custom.keys() | _registered(keras) | _registered(tf_keras), trust_model)
    check_nodes(path, file.config)
    if keras.backend.backend() != "tensorflow":
        raise InputError(f"Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=tensorflow to convert {path}.")

    try:
        with contextlib.nullcontext() if trust_model else keras_limits.limited(file.size):
            return _load_and_trace(path, file, custom, trust_model)
    except keras_limits.Exceeded as error:
        trusting = "if you trust where the file comes from, load it with --trust-model"
        raise InputError(f"{path} is not loaded: {error}; {trusting}.") from None


def _load_and_trace(path: Path, file: KerasFile, custom: Mapping[str, Any], trusted: bool) -> Traced:
    """Return the model, from the first Keras that makes it of the file. Raises InputError if none does."""
    import keras
    import tensorflow as tf
    import tf_keras

    # A file of Keras 3 means nothing to tf-keras; why Keras 3 refuses it is what helps.
    other = incompatibility(file)
    notes = [f"{path.name} was loaded with tf-keras: {other}."] if other else []
    refusals: dict[str, Exception] = {}
    for name, library in (("Keras 3", keras), ("tf-keras", tf_keras)):
        if (library is keras and other) or (library is tf_keras and file.from_keras3):
            continue
        known = custom if library is keras else legacy_objects(file.config) | dict(custom)
        try:
            with tf.device("/CPU:0"), _scope(library, known, trusted):
                model = library.models.load_model(path, known, compile=False, safe_mode=not trusted)
                return _trace(model, library is keras, notes)
        except Exception as error:  # A layer raises whatever it likes at a configuration that is damaged.
            refusals[name] = error
            notes = [f"{path.name} was loaded with tf-keras, as Keras 3 refused it: {_reason(error)}."]
    raise _refused(path, refusals)


def _registered(library: Any) -> set[str]:
    """Return the names under which other packages than Keras itself have registered classes and functions with it."""
    objects = library.saving.get_custom_objects().items()
    own = ("keras", "tf_keras")
    return {name for name, made in objects if str(getattr(made, "__module__", "")).partition(".")[0] not in own}


@contextlib.contextmanager
def _scope(library: Any, known: Mapping[str, Any], trusted: bool) -> Iterator[None]:
    """Let a Keras find the known objects wherever it looks, and no code in the file, whatever its format."""
    from keras.src.saving.serialization_lib import SafeModeScope
    from tf_keras.src.saving.serialization_lib import SafeModeScope as OlderSafeModeScope

    with library.saving.custom_object_scope(known), SafeModeScope(not trusted), OlderSafeModeScope(not trusted):
        yield


def _refused(path: Path, refusals: Mapping[str, Exception]) -> InputError:
    """Return the error message for a file that neither Keras loads."""
    last = list(refusals.values())[-1]
    unknown = _UNKNOWN.search(str(last))
    reasons = [f"{name}: {_reason(error)}" for name, error in refusals.items()]
    sentence = f"{path} cannot be loaded. {'; '.join(reasons)}."
    error = InputError(keras_config.unknown_object(path, unknown[1]) if unknown else sentence)
    error.__cause__ = last
    return error


def _reason(error: Exception) -> str:
    """Return the sentence of a Keras error that says what is wrong: it wraps errors in whole configurations, and
    names objects by their addresses."""
    text = str(error).rpartition("Exception encountered:")[2].strip() or type(error).__name__
    line = _OBJECT.sub(r"\1", next(iter(text.splitlines()), "").rstrip("."))
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}..."


def _trace(model: Any, is_keras3: bool, notes: list[str]) -> Traced:
    import keras
    import tensorflow as tf

    if is_keras3 and isinstance(model, keras.Sequential) and model.built:
        # As a functional model, it knows the names of its outputs.
        model = keras.Model(model.inputs, model.outputs)
    specs, structure = _inputs(model, is_keras3)
    pack = keras.tree.pack_sequence_as if is_keras3 else tf.nest.pack_sequence_as

    @tf.function(input_signature=list(specs.values()), autograph=False)
    def serve(*tensors: Any) -> Any:
        return model(pack(structure, list(tensors)), training=False)

    function = serve.get_concrete_function()
    results = function.structured_outputs
    if any(not isinstance(tensor, tf.Tensor) for tensor in tf.nest.flatten(results)):
        raise ValueError("an output is sparse, ragged or no tensor; TFLite has none of these")
    names = list(getattr(model, "output_names", None) or [])
    if isinstance(results, dict) and len(results) == len(function.outputs):
        names = sorted(results)
    elif len(names) != len(function.outputs):
        names = [f"output_{index}" for index in range(len(function.outputs))]
    return Traced(model, function, list(specs), unique(names), notes)


def _inputs(model: Any, is_keras3: bool) -> tuple[dict[str, Any], Any]:
    """Return a TensorSpec for each input, by name, and the structure in which the model takes them."""
    import tensorflow as tf

    tensors = getattr(model, "inputs", None)
    if tensors:
        if any(getattr(t, "sparse", False) or getattr(t, "ragged", False) for t in tensors):
            raise ValueError("an input is sparse or ragged; TFLite has dense tensors only")
        if not is_keras3 and any(not isinstance(t.type_spec, tf.TensorSpec) for t in tensors):
            raise ValueError("an input is sparse or ragged; TFLite has dense tensors only")
        names = unique([t.name for t in tensors] if is_keras3 else model.input_names)
        return {name: tf.TensorSpec(t.shape, t.dtype, name) for name, t in zip(names, tensors)}, model.input
    # A subclassed model knows the shape it was built with, whose batch is that of the moment.
    shape = (model.get_build_config() or {}).get("input_shape") if hasattr(model, "get_build_config") else None
    if not shape or not all(size is None or isinstance(size, int) for size in shape):
        raise ValueError("the model does not say what its inputs are; use model.export() and convert the SavedModel")
    return {"inputs": tf.TensorSpec((None, *shape[1:]), model.input_dtype, "inputs")}, 0


def _import(traced: Traced) -> Module:
    """Return the module of a traced graph; captured variables and tables are as in the module of a SavedModel."""
    function = traced.function
    graph_def = protos.classes["GraphDef"].FromString(function.graph.as_graph_def().SerializeToString())
    nodes = Nodes(graph_def.node)
    importer = Importer(graph_def.library.function, OpDefs())
    module = Module()
    arguments = function.inputs[: len(traced.inputs)]
    placeholders = function.inputs[len(arguments) :]
    _bind(traced, zip(placeholders, function.captured_inputs, strict=True), nodes, module)

    inputs: dict[str, Value] = {}
    for name, tensor in zip(traced.inputs, arguments, strict=True):
        shape = None if tensor.shape.rank is None else tuple(tensor.shape.as_list())
        inputs[tensor.name] = Value(_dtype(tensor), symbolic(shape, name), name)
    outputs = [tensor.name for tensor in function.outputs]
    run = [op.name for op in function.graph.control_outputs]
    graph = importer.build_graph(SIGNATURE, nodes, inputs, outputs, run)
    module.signatures = [Signature([SIGNATURE], graph, traced.inputs, traced.outputs)]
    importer.build_functions()
    module.functions = importer.functions
    module.attributes = importer.op_defs.attributes
    return module


def _bind(traced: Traced, captures: Iterable[tuple[Any, Any]], nodes: Nodes, module: Module) -> None:
    """Turn the node of each (placeholder, captured tensor) into the node of a saved graph: a variable, table or
    constant."""
    import tensorflow as tf

    variables = {id(variable.handle): variable for variable in traced.function.variables}
    tables = _tables(traced.model)
    for placeholder, capture in captures:
        node = nodes.by_name[placeholder.op.name]
        node.attr.clear()
        if id(capture) in variables:
            _bind_variable(variables[id(capture)], node, module)
        elif id(capture) in tables:
            _bind_table(tables[id(capture)], node, module)
        elif isinstance(capture, tf.Tensor) and capture.dtype not in (tf.resource, tf.variant):
            node.op = "Const"
            nodes.constants[node.name] = constant(capture.numpy(), _dtype(capture), node.name)
        else:
            raise InputError(f"The model reads '{node.name}', a {capture.dtype.name} that cannot be converted.")


def _bind_variable(variable: Any, node: Any, module: Module) -> None:
    data = variable.numpy()
    dtype = _dtype(variable)
    name = unique([*module.variables, variable.name.partition(":")[0]])[-1]
    module.variables[name] = Variable(name, dtype, symbolic(tuple(variable.shape.as_list()), name), data)
    node.op = "VarHandleOp"
    node.attr["dtype"].type = dtype.tf
    for size in data.shape:
        node.attr["shape"].shape.dim.add(size=size)
    node.attr["shape"].shape.SetInParent()
    node.attr["shared_name"].s = name.encode()


def _bind_table(table: Any, node: Any, module: Module) -> None:
    keys, values = table.export()
    name = unique([*module.tables, table.name or "table"])[-1]
    module.tables[name] = Table(name, _dtype(keys), _dtype(values), keys.numpy(), values.numpy())
    node.op = "HashTableV2"
    node.attr["key_dtype"].type = _dtype(keys).tf
    node.attr["value_dtype"].type = _dtype(values).tf
    node.attr["shared_name"].s = name.encode()


def _dtype(tensor: Any) -> DType:
    return attrs.dtype(tensor.dtype.as_datatype_enum)


def _tables(model: Any) -> dict[int, Any]:
    """Return the lookup tables that the model's layers own, by the identity of their handles."""
    import tensorflow as tf

    kinds = (tf.lookup.StaticHashTable, tf.lookup.experimental.MutableHashTable)
    owned = [value for layer in model._flatten_layers() for value in vars(layer).values()]
    return {id(table.resource_handle): table for table in owned if isinstance(table, kinds)}
