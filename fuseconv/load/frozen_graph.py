"""Frozen GraphDef (.pb) -> `ir` module with one signature, "serving_default"."""

from __future__ import annotations

import os
import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.files import TFLITE_MARK, read_file
from fuseconv.ir.graph import Module, Signature, Value
from fuseconv.load import attrs, keras_container, protos
from fuseconv.load.graph_importer import Importer, symbolic
from fuseconv.load.initialization_graph import TABLE_WRITES
from fuseconv.load.node_table import Nodes
from fuseconv.load.op_defs import OpDefs
from fuseconv.load.resource_values import TABLE_COLLECTION, Resources

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
# Ops that read what a program feeds through datasets and queues, which a converted model is fed itself.
_FEEDERS = frozenset({
    "IteratorGetNext", "IteratorGetNextSync", "QueueDequeue", "QueueDequeueMany", "QueueDequeueManyV2",
    "QueueDequeueUpTo", "QueueDequeueUpToV2", "QueueDequeueV2",
})  # fmt: skip
# Ops that nobody reads, but that make nothing a user asks for.
_NO_OUTPUTS = _PLACEHOLDERS | {
    "Assert", "Const", "IteratorToStringHandle", "NoOp", "PlaceholderWithDefault", "Print", "PrintV2",
}  # fmt: skip
# Up to this version of GraphDef, a placeholder of unknown shape says that it is a scalar.
_SCALAR_IS_UNKNOWN = 21
_SAVED_MODEL_TAG = 0x08  # how SavedModel begins: field 1, a number; a GraphDef begins with field 1, a message
_HEAD_BYTES = 256
_OF_CHECKPOINT = re.compile(r"\.(?:meta|index|data-\d+-of-\d+)")
_READ = "fuseconv reads TensorFlow's: a SavedModel directory, a Keras file or a frozen graph"
# What files are that users take for models of TensorFlow's, by what their names end in.
_OTHERS = {
    ".onnx": f"is an ONNX model; {_READ}",
    **dict.fromkeys((".pt", ".pth", ".pt2"), f"is a PyTorch model; {_READ}"),
    ".safetensors": f"holds weights only; {_READ}",
    **dict.fromkeys((".npz", ".npy"), "holds arrays of NumPy, and no model"),
    ".json": "describes a model, whose weights lie elsewhere; save the whole model with model.save()",
    **dict.fromkeys((".zip", ".tar", ".gz", ".tgz"), "is an archive: unpack it, and give the model that is in it"),
}
_TEXT = frozenset(string.printable.encode())
_MAX_LISTED = 10


def load(path: Path, *, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Module:
    """Load a frozen graph as a module.

    inputs, outputs: tensors by name, "node" or "node:1". An input may be any tensor: the graph is cut there. Nothing:
    the placeholders, and what comes out of datasets and queues, that the outputs need; all that the nodes make which no
    other reads. Raises InputError if the file is no frozen graph, a name is not in it, or outputs cannot be found."""
    return load_proto(_read(path), os.fspath(path), inputs=inputs, outputs=outputs)


def load_proto(proto: Any, name: str, *, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Module:
    """Load a frozen GraphDef, which sentences call `name`. Arguments and errors as for `load`."""
    if not proto.node:
        raise InputError(f"{name} contains no graph.")
    return _Loader(proto, name).load(list(inputs), list(outputs))


def _read(path: Path) -> Any:
    """Read the GraphDef of a file. Raises InputError, which says what else the file seems to be, if it holds none."""
    try:
        data = read_file(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    other = _other_kind(path, data[:_HEAD_BYTES])
    if other:
        raise InputError(f"{path} {other}.")
    try:
        proto = protos.classes["GraphDef"].FromString(data)
    except protos.DecodeError:
        raise InputError(f"{path} cannot be parsed as a GraphDef: it is damaged, cut off or something else.") from None
    return proto


def _other_kind(path: Path, head: bytes) -> str:
    """Return a sentence on the kind of a file that is no GraphDef, told from its name and first bytes, and what to do;
    else ""."""
    if not head:
        return "is empty"
    if path.suffix.lower() in _OTHERS:
        return _OTHERS[path.suffix.lower()]
    if _OF_CHECKPOINT.fullmatch(path.suffix):
        return "belongs to a checkpoint: restore that in TensorFlow, and save the model as a SavedModel"
    if head[4:8] == TFLITE_MARK:
        return "is a TensorFlow Lite file already; `fuseconv inspect` shows what is in it"
    if head.startswith((keras_container.HDF5_MAGIC, keras_container.ZIP_MAGIC)):
        return "looks like a Keras file: name it .keras if it is a zip archive, else .h5"
    if head[0] == _SAVED_MODEL_TAG:
        return "is a SavedModel's protobuf: give the directory that it is in, not the file"
    if all(byte in _TEXT for byte in head):
        return "is text, and no model; a GraphDef is written as bytes by graph_def.SerializeToString()"
    return ""


class _Loader:
    """A GraphDef that is loaded, and the name of its file, for messages. depths: of nodes, by how many steps they come
    after the first ones."""

    def __init__(self, proto: Any, name: str) -> None:
        self.name = name
        self.producer = proto.versions.producer
        self.nodes = Nodes(proto.node)
        self.depths: dict[str, int] = {}
        self.importer = Importer(proto.library.function, OpDefs())

    def load(self, inputs: list[str], outputs: list[str]) -> Module:
        """Load the part of the graph that the outputs need, as a module with one signature `serving_default`.

        By default outputs are the nodes that nothing reads, inputs the placeholders. Raises InputError for names that
        the graph lacks, and for variables, whose values a GraphDef does not hold."""
        for name in (*inputs, *outputs):
            if _node(name) not in self.nodes:
                raise InputError(f"{self.name} has no node '{_node(name)}'. {self._listing()}")
        found = outputs or self._unread(inputs)
        if not found:
            raise InputError(f"{self.name}: no node makes an output of its own accord; name them with --outputs.")
        fed = inputs or self._feeds()
        values = {with_index(name): self._input(name) for name in fed}
        graph = self.importer.build_graph("serving_default", self.nodes, values, list(map(with_index, found)))
        if not outputs:
            graph.outputs = [result for value in graph.outputs if value.op for result in value.op.results]
        if not inputs:
            graph.inputs = [value for value in graph.inputs if value.uses]
        self.importer.build_functions()
        signature = Signature(
            ["serving_default"], graph, [value.name for value in graph.inputs], [value.name for value in graph.outputs]
        )
        if outputs:
            signature.outputs = [_short(name) for name in outputs]
        module = Module([signature], self.importer.functions)
        module.attributes = self.importer.op_defs.attributes
        self._fill_tables(module)
        for name in module.variables:
            raise InputError(
                f"{self.name} is not frozen: it holds the variable '{name}' without its value. "
                "Convert the SavedModel instead, or freeze the graph."
            )
        return module

    def _fill_tables(self, module: Module) -> None:
        """Fill the tables from the initializers that the graph contains, though no output needs them."""
        meta = protos.classes["MetaGraphDef"]()
        writes = [name for name in self.nodes.by_name if self.nodes.op(name) in TABLE_WRITES]
        meta.collection_def[TABLE_COLLECTION].node_list.value.extend(writes)
        Resources(None, meta, self.nodes, self.importer.library).resolve(module)

    def _feeds(self) -> list[str]:
        feeds: list[str] = []
        for name, node in self.nodes.by_name.items():
            if node.op in _PLACEHOLDERS:
                feeds.append(name)
            elif node.op in _FEEDERS:
                count = sum(len(dtypes) for _, dtypes in self.importer.output_types(node) or [])
                feeds += [f"{name}:{index}" for index in range(count)]
        return feeds

    def _input(self, name: str) -> Value:
        dtype = self.importer.tensor_type(self.nodes, name)
        index = int(with_index(name).rpartition(":")[2])
        shape = self._shape(self.nodes.by_name[_node(name)], index)
        return Value(dtype, symbolic(shape, _short(name)), _short(name))

    def _shape(self, node: Any, index: int) -> tuple[int | None, ...] | None:
        shape = attrs.shape(node.attr["shape"].shape) if "shape" in node.attr else None
        if shape == () and self.producer <= _SCALAR_IS_UNKNOWN:
            shape = None
        for key in ("output_shapes", "_output_shapes"):
            if shape is None and key in node.attr:
                shapes = node.attr[key].list.shape
                shape = attrs.shape(shapes[index]) if index < len(shapes) else None
        return shape

    def _unread(self, inputs: Sequence[str]) -> list[str]:
        """Return the nodes with results that no node reads, whichever way the branches go."""
        read = {_node(ref) for name in self.nodes.by_name for ref in self.nodes.inputs(name)[0]}
        read.update(map(_node, inputs))
        return [name for name, node in self.nodes.by_name.items() if name not in read and self._makes_output(node)]

    def _makes_output(self, node: Any) -> bool:
        if node.op in _NO_OUTPUTS or "Summary" in node.op or self._depth(node.name) > 0:
            return False
        outputs = self.importer.output_types(node)
        return outputs is None or any(dtypes for _, dtypes in outputs)

    def _depth(self, name: str) -> int:
        """Return the number of TF1 branches and loops around a node: what they do not hand out is there in some runs
        only."""
        depths, opened, pending = self.depths, set[str](), [name]
        while pending:
            node = pending[-1]
            if node in depths:
                pending.pop()
                continue
            before = [_node(ref) for refs in self.nodes.inputs(node) for ref in refs]
            before = [each for each in before if each in self.nodes and self.nodes.op(each) != "NextIteration"]
            missing = dict.fromkeys(each for each in before if each not in depths and each not in opened)
            if missing:
                opened.add(node)
                pending += missing
                continue
            pending.pop()
            depths[node] = max((depths.get(each, 0) for each in before), default=0) + self._step(node)
        return depths[name]

    def _step(self, name: str) -> int:
        """Return how much deeper in branches and loops the results of a node are than its operands."""
        kind = self.nodes.op(name).removeprefix("Ref")
        if kind == "Merge":
            loop = any(self.nodes.op(_node(ref)) == "NextIteration" for ref in self.nodes.inputs(name)[0])
            return 0 if loop else -1
        return {"Switch": 1, "Exit": -1}.get(kind, 0)

    def _listing(self) -> str:
        placeholders = [name for name in self.nodes.by_name if self.nodes.op(name) in _PLACEHOLDERS]
        unread = self._unread(())
        return f"Its placeholders are {_some(placeholders)}; the nodes that no other reads are {_some(unread)}."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return (", ".join(names[:_MAX_LISTED]) or "none") + more


def _node(name: str) -> str:
    return name.partition(":")[0]


def with_index(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _short(name: str) -> str:
    return name.removesuffix(":0")
