"""Signatures from concrete functions: the traced functions on the root object of a SavedModel without signatures.

`tf.saved_model.save(module)` keeps each traced `tf.function` of the module, and for each trace which tensors it takes,
what it returns, and which objects of the model it captures (SavedConcreteFunction in saved_object_graph.proto). From
that, the node that calls it is built in the main graph, and the signature that `save` was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir import budget
from fuseconv.load import protos
from fuseconv.tf.traits import FIXED_TABLES, node_ops

_MOST_CAPTURED = 1 << 22
_CALL = "__call__"
_CALL_SIGNATURE = "serving_default"
_TABLES = node_ops(FIXED_TABLES)
_SPECS = frozenset({"tensor_spec_value", "bounded_tensor_spec_value"})
# The members of StructuredValue that hold further ones.
_ROWS = frozenset({"list_value", "tuple_value"})


@dataclass(frozen=True)
class Trace:
    """One trace of a function of the root object.

    attribute: the function's name there; index: the trace's number among those of the function; concrete: the name of
    its concrete function. inputs, outputs: names for the tensors that it takes and returns, in the order of tf.nest."""

    attribute: str
    index: int
    concrete: str
    inputs: list[str]
    outputs: list[str]


def traces(meta: Any) -> dict[str, Trace]:
    """Return the trace that serves as each signature, by its name: "serving_default" for `__call__`, else the
    function's.

    Where the root is callable that is all that counts; else each function of it does whose name is public. Of several
    traces that is taken which was not made for training, and leaves most sizes open; the first of equals."""
    root = meta.object_graph_def.nodes[:1]
    functions = {child.local_name: _at(meta, child.node_id).function for each in root for child in each.children}
    if functions.get(_CALL) and functions[_CALL].concrete_functions:
        functions = {_CALL: functions[_CALL]}
    found: dict[str, Trace] = {}
    for attribute, function in sorted(functions.items()):
        if attribute.startswith("_") and attribute != _CALL:
            continue
        best: tuple[int, int] | None = None
        for index, name in enumerate(function.concrete_functions):
            openness = _unknown_dims(meta.object_graph_def.concrete_functions[name])
            if openness is not None and (best is None or openness > best[0]):
                best = openness, index
        if best is not None:
            name = function.concrete_functions[best[1]]
            key = _CALL_SIGNATURE if attribute == _CALL else attribute
            found[key] = Trace(attribute, best[1], name, *_names(meta.object_graph_def.concrete_functions[name]))
    return found


def add_signatures(meta: Any) -> None:
    """Give a meta graph the signatures of its traces. Raises InputError for one that captures what cannot be found."""
    captures = _Captures(meta)
    left = budget.most_operations(_MOST_CAPTURED)
    for key, trace in traces(meta).items():
        if trace.concrete not in captures.library:
            raise InputError(f"the model is damaged: there is no function '{trace.concrete}'.")
        left -= len(meta.object_graph_def.concrete_functions[trace.concrete].bound_inputs)
        if left < 0:
            raise InputError("the model is damaged: its functions capture more than a model of its size has.")
        _add(meta, key, trace, captures)


def _at(meta: Any, number: int) -> Any:
    """Return an object of the model."""
    if not 0 <= number < len(meta.object_graph_def.nodes):
        raise InputError("the model's graph of objects is damaged.")
    return meta.object_graph_def.nodes[number]


def _unknown_dims(concrete: Any) -> int | None:
    """Return the number of unknown dimensions of a trace's arguments; None if the trace cannot serve as a signature."""
    leaves = [leaf for _, leaf in _leaves(concrete.canonicalized_input_signature)]
    specs = _specs(concrete)
    for_training = any(leaf.WhichOneof("kind") == "bool_value" and leaf.bool_value for leaf in leaves)
    composite = any(leaf.WhichOneof("kind") == "type_spec_value" for leaf in leaves)
    if not specs or for_training or composite:
        return None
    return sum(dim.size < 0 for spec in specs for dim in spec.shape.dim)


def _specs(concrete: Any) -> list[Any]:
    """Return the TensorSpecs of a trace's arguments."""
    leaves = [leaf for _, leaf in _leaves(concrete.canonicalized_input_signature)]
    return [getattr(leaf, leaf.WhichOneof("kind")) for leaf in leaves if leaf.WhichOneof("kind") in _SPECS]


def _names(concrete: Any) -> tuple[list[str], list[str]]:
    """Return names for a trace's inputs and outputs: a TensorSpec's own, or the keys and numbers that lead to the
    tensor."""
    inputs = [spec.name for spec in _specs(concrete)]
    if not all(inputs) or len(set(inputs)) < len(inputs):
        inputs = [f"input_{index}" for index in range(len(inputs))]
    leaves = _leaves(concrete.output_signature)
    paths = [path for path, leaf in leaves if leaf.WhichOneof("kind") in (*_SPECS, "type_spec_value")]
    outputs = ["_".join(path) or "0" for path in paths]
    return inputs, [f"output_{name}" if name[0].isdigit() else name for name in outputs]


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the leaves of a structure in the order of tf.nest, each with its path."""
    kind = value.WhichOneof("kind")
    if kind in _ROWS:
        items = [(str(index), item) for index, item in enumerate(getattr(value, kind).values)]
    elif kind == "dict_value":
        items = sorted(value.dict_value.fields.items())
    elif kind == "named_tuple_value":
        items = [(pair.key, pair.value) for pair in value.named_tuple_value.values]
    else:
        yield path, value
        return
    for name, item in items:
        yield from _leaves(item, (*path, name))


def _add(meta: Any, key: str, trace: Trace, captures: _Captures) -> None:
    """Add a signature that calls a function of the object graph: a Placeholder for each argument, and a call with these
    and what the function captures. Raises InputError if the function has others than the trace says."""
    concrete = meta.object_graph_def.concrete_functions[trace.concrete]
    header = captures.library[trace.concrete].signature
    takes, returns = header.input_arg, header.output_arg
    if len(takes) != len(trace.inputs) + len(concrete.bound_inputs) or len(returns) != len(trace.outputs):
        raise InputError(f"the model is damaged: its function '{trace.attribute}' is not what it is said to be.")
    signature = protos.classes["SignatureDef"]()
    call = protos.classes["NodeDef"](name=f"{key}/call", op="StatefulPartitionedCall")
    for name, spec in zip(trace.inputs, _specs(concrete)):
        node = meta.graph_def.node.add(name=f"{key}/{name}", op="Placeholder")
        node.attr["dtype"].type = spec.dtype
        node.attr["shape"].shape.CopyFrom(spec.shape)
        info = signature.inputs[name]
        info.name, info.dtype = f"{node.name}:0", spec.dtype
        info.tensor_shape.CopyFrom(spec.shape)
        call.input.append(node.name)
    call.input.extend(captures.node(number, trace) for number in concrete.bound_inputs)
    call.attr["f"].func.name = trace.concrete
    call.attr["Tin"].list.type.extend(argument.type for argument in takes)
    call.attr["Tout"].list.type.extend(result.type for result in returns)
    for index, (name, result) in enumerate(zip(trace.outputs, returns)):
        info = signature.outputs[name]
        info.name, info.dtype = f"{call.name}:{index}", result.type
    meta.graph_def.node.append(call)
    meta.signature_def[key].CopyFrom(signature)


class _Captures:
    """The nodes of the main graph that objects are captured by. library: the model's functions by name."""

    def __init__(self, meta: Any) -> None:
        self.meta = meta
        self.library = {function.signature.name: function for function in meta.graph_def.library.function}
        self._names = {node.name for node in meta.graph_def.node}
        # Tables by their shared names, and the shared name of what a function makes: the first of each.
        self._tables = {name: node.name for node, name in reversed([*_tables(meta.graph_def.node)])}
        self._made: dict[str, bytes] = {}

    def node(self, number: int, trace: Trace) -> str:
        """Return the node that an object is captured by; for a variable one is made."""
        saved = _at(self.meta, number)
        if saved.HasField("variable"):
            name = f"captured/{number}"
            if name not in self._names:
                self._names.add(name)
                node = self.meta.graph_def.node.add(name=name, op="VarHandleOp")
                node.attr["dtype"].type = saved.variable.dtype
                node.attr["shape"].shape.CopyFrom(saved.variable.shape)
                node.attr["shared_name"].s = (saved.variable.name or name).encode()
            return name
        if saved.HasField("constant"):
            return str(saved.constant.operation)
        if saved.HasField("asset"):
            index = saved.asset.asset_file_def_index
            for asset in self.meta.asset_file_def[index : index + 1]:
                return str(asset.tensor_info.name.partition(":")[0])
        shared = self._shared_name(saved)
        if shared and shared in self._tables:
            return self._tables[shared]
        raise InputError(
            f"the model has no signatures, and its function '{trace.attribute}' captures what cannot be found without "
            "one: export it with one (`tf.saved_model.save(..., signatures=f)`)."
        )

    def _shared_name(self, saved: Any) -> bytes:
        """Return the name of a table, which is in the function that makes it as it is in the main graph."""
        makers = [_at(self.meta, c.node_id).function for c in saved.children if c.local_name == "_create_resource"]
        for name in (name for maker in makers for name in maker.concrete_functions):
            if name not in self._made:
                nodes = self.library[name].node_def if name in self.library else ()
                self._made[name] = next((shared for _, shared in _tables(nodes)), b"")
            if self._made[name]:
                return self._made[name]
        return b""


def _tables(nodes: Iterable[Any]) -> Iterator[tuple[Any, bytes]]:
    """Yield the nodes of tables, each with its shared name."""
    return ((node, node.attr["shared_name"].s) for node in nodes if node.op in _TABLES)
