"""Contents and shared names of a SavedModel's variables and tables.

Which tensor of the checkpoint is a variable's is told by the restore graph, what a table holds by the initialization
graph; both are read, not run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import budget, types
from fuseconv.ir.graph import Module, Op, Table, Variable
from fuseconv.ir.types import DType
from fuseconv.load import attrs, protos
from fuseconv.load.checkpoint import Checkpoint
from fuseconv.load.graph_importer import symbolic
from fuseconv.load.graph_validation import DAMAGED
from fuseconv.load.initialization_graph import ASSIGNMENTS, Effects, Scope, Source
from fuseconv.load.node_table import Nodes
from fuseconv.load.object_graph import checkpoint_keys
from fuseconv.load.vocabulary_file import read_asset, read_text_file
from fuseconv.tf.traits import TABLES, VARIABLES, node_ops

INIT_SIGNATURE = "__saved_model_init_op"
TABLE_COLLECTION = "table_initializer"
_INIT_COLLECTIONS = ("saved_model_main_op", "legacy_init_op", TABLE_COLLECTION)
_ASSET_COLLECTION = "saved_model_assets"
_HANDLES = TABLES | VARIABLES
_HANDLE_NODES = node_ops(_HANDLES)
_TEXT_FILE_DEFAULTS = {"vocab_size": -1, "delimiter": b"\t", "offset": 0}
# Deeper than any initializer computes its keys and values.
_MAX_DEPTH = 20

_SHARED = ("container", "shared_name")

_SharedName = tuple[str, str]  # the container, and the name in it
_Restored = tuple[str, str]  # the checkpoint's name of a tensor, and the slice of it


class Resources:
    """The variables, tables and assets of a SavedModel, whose `files` they are read from; None for a graph that is a
    file of its own, which has none besides.

    assets: the name of a node of the main graph -> the path of the asset that TensorFlow feeds it with."""

    def __init__(self, files: ModelFiles | None, meta: Any, nodes: Nodes, library: dict[str, Any]) -> None:
        self.files = files
        self.meta = meta
        self.effects = Effects(library)
        self.main = Scope(nodes)
        self._asset_names = dict(_assets(meta)) if files else {}
        self.assets = {node: files.root / "assets" / name for node, name in self._asset_names.items()} if files else {}
        self._checkpoint: Checkpoint | None = None
        self._name_lists: dict[tuple[int, str], list[_Restored]] = {}
        # What is assigned, by the name of the handle's node, the last in the end. A model restores more than it reads.
        self._assigned: dict[str, list[Source]] = {}
        self._found: dict[str, tuple[_Restored | None, Source | None]] = {}
        self._object_keys: dict[str, str] | None = None
        self._table_writes: dict[str, Source] = {}
        self._values: dict[tuple[int, str, int], np.ndarray | None] = {}

    def resolve(self, module: Module) -> None:
        """Set `shared_name` of each handle op to the name of its variable or table, and record their contents in the
        module."""
        handles = [op for graph in module.graphs() for op in graph.ops if op.kind in _HANDLES]
        if not handles:
            return
        # A handle within a function is that of the main graph with its shared name.
        inner = {op for graph in module.functions.values() for op in graph.ops if op.kind in _HANDLES}
        twins = self._nodes_by_shared_name() if inner else {}
        for root in (self.meta.saver_def.restore_op_name, *_init_ops(self.meta)):
            if root:
                self._read_effects(root)
        names = _Names()
        for op in handles:
            node = twins.get(_shared_name(op), "") if op in inner else op.name
            name = op.attrs["shared_name"] = names.of(op, node, self._origin(node)[0])
            if op.kind in TABLES:
                if name not in module.tables:
                    module.tables[name] = self._table(name, op, node)
            elif name not in module.variables:
                module.variables[name] = self._variable(name, op, node)

    def _nodes_by_shared_name(self) -> dict[_SharedName, str]:
        found: dict[_SharedName, str] = {}
        for name, node in self.main.nodes.by_name.items():
            if node.op in _HANDLE_NODES:
                container, shared = (str(attrs.text(node.attr[k].s)) if k in node.attr else "" for k in _SHARED)
                found.setdefault((container, shared or name), name)
        return found

    def _read_effects(self, root: str) -> None:
        for write in self.effects.of(self.main, root):
            handle = self.effects.operand(write, 0)
            if handle is None or handle.scope is not self.main:
                continue
            if write.op in ASSIGNMENTS:
                self._assigned.setdefault(handle.node, []).append(write)
            else:
                self._table_writes[handle.node] = write

    def _origin(self, node: str) -> tuple[_Restored | None, Source | None]:
        """Return what the variable of a handle's node is restored from, and its initial value, if there are such."""
        if node not in self._found:
            restored = initial = None
            for write in self._assigned.get(node, ()):
                value = self.effects.operand(write, 1)
                if value is not None and value.op == "RestoreV2":
                    restored = self._restored_tensor(value)
                elif value is not None:
                    initial = value
            self._found[node] = restored, initial
        return self._found[node]

    def _restored_tensor(self, value: Source) -> _Restored:
        key = (id(value.scope), value.node)
        if key not in self._name_lists:
            self._name_lists[key] = list(zip(self._strings(value, 1), self._strings(value, 2)))
        restored = self._name_lists[key]
        if value.index >= len(restored):
            raise InputError(f"the node '{value.node}' restores fewer tensors than are read from it.")
        return restored[value.index]

    def _strings(self, reader: Source, index: int) -> list[str]:
        source = self.effects.operand(reader, index)
        if source is None or source.op != "Const":
            raise InputError(f"the node '{reader.node}' restores variables by names that are not constant.")
        array = _const(source)
        if array.dtype != object:
            raise InputError(f"the node '{reader.node}' restores variables by names that are no strings.")
        return [item.decode(errors="replace") for item in array.reshape(-1)]

    def _variable(self, name: str, op: Op, node: str) -> Variable:
        """Return a variable with the value that the model gives it: the checkpoint's, by the restore graph or by the
        object graph, or what its initializer computes; None where nothing tells it. Raises InputError for one of
        another type or shape."""
        dtype = op.attrs.get("dtype") or op.result.dtype
        variable = Variable(name, dtype, symbolic(op.attrs.get("shape"), name))
        restored, initial = self._origin(node)
        if restored is not None:
            variable.data = self._read(*restored)
        elif initial is not None:
            variable.data = self._evaluate(initial)
        elif node in self._keys():
            variable.data = self._read(self._keys()[node], "")
        data = variable.data
        if data is not None:
            fits = variable.shape is None or data.shape == variable.shape or (
                len(data.shape) == len(variable.shape)
                and all(size == dim or not isinstance(dim, int) for size, dim in zip(data.shape, variable.shape))
            )
            if not fits or data.dtype != dtype.numpy:
                declared, found = f"{dtype.name}{list(variable.shape or ())}", f"{data.dtype}{list(data.shape)}"
                raise InputError(f"the variable '{name}' is declared as {declared}, but the checkpoint holds {found}.")
        return variable

    def _keys(self) -> dict[str, str]:
        """Return the checkpoint's names of variables that the restore graph does not write."""
        if self._object_keys is None:
            has_checkpoint = self.files is not None and self.files.exists("variables/variables.index")
            self._object_keys = checkpoint_keys(self.meta, lambda name: self._read(name, "")) if has_checkpoint else {}
        return self._object_keys

    def _read(self, name: str, slice_spec: str) -> np.ndarray:
        if self.files is None:
            raise InputError(f"the graph restores '{name}' from a checkpoint, and a frozen graph has none.")
        if self._checkpoint is None:
            self._checkpoint = Checkpoint(self.files, "variables/variables")
        return self._checkpoint.read(name, slice_spec)

    def _table(self, name: str, op: Op, node: str) -> Table:
        """Return a table with the keys and values that the model fills it with; without any if it is filled while the
        model runs. Raises InputError for types that TFLite's tables do not hold."""
        key_dtype, value_dtype = (op.attrs.get(key) for key in ("key_dtype", "value_dtype"))
        if not isinstance(key_dtype, DType) or not isinstance(value_dtype, DType):
            raise InputError(f"the table '{op.name}' does not say what it holds: the model file is damaged.")
        for dtype in (key_dtype, value_dtype):
            if dtype.is_handle or dtype.tflite is None:
                raise InputError(f"the table '{op.name}' holds {dtype}, and TFLite has no such tables.")
        table = Table(name, key_dtype, value_dtype)
        write = self._table_writes.get(node)
        if write is None:
            return table
        if "TextFile" in write.op:
            attributes = _text_file_attributes(write)
            path, data = self._file(write)
            table.keys, table.values = read_text_file(path, data, attributes, key_dtype, value_dtype)
            return table
        sources = [self.effects.operand(write, index) for index in (1, 2)]
        table.keys, table.values = (self._evaluate(source) if source else None for source in sources)
        for dtype, held in ((key_dtype, table.keys), (value_dtype, table.values)):
            if held is not None and held.dtype != dtype.numpy:
                raise InputError(f"the table '{op.name}' is filled with other types than it holds: {DAMAGED}")
        return table

    def _file(self, write: Source) -> tuple[Path, bytes]:
        """Return the path and the bytes of the asset that a table is read from."""
        source = self.effects.operand(write, 1)
        if source is not None and source.op == "ReadVariableOp":
            handle = self.effects.operand(source, 0)
            source = self._origin(handle.node)[1] if handle is not None else None
        if not self.files or source is None or source.scope is not self.main or source.node not in self._asset_names:
            raise InputError(
                f"the table that '{write.node}' initializes is read from a file that is no asset of the model."
            )
        return read_asset(self.files, self._asset_names[source.node])

    def _evaluate(self, source: Source, depth: int = 0) -> np.ndarray | None:
        """Evaluate an initializer's operand; None if it is made by something else than the few ops of TF's own."""
        key = (id(source.scope), source.node, source.index)
        if key not in self._values:
            self._values[key] = self._compute(source, depth)
        return self._values[key]

    def _compute(self, source: Source, depth: int) -> np.ndarray | None:
        """Compute what `_evaluate` returns. depth: how many ops are computed for one above this one."""
        if source.op == "Const":
            return _const(source)
        if source.op == "RestoreV2":
            return self._read(*self._restored_tensor(source))
        count, compute = _COMPUTED.get(source.op, (0, None))
        if compute is None or depth > _MAX_DEPTH:
            return None
        operands = []
        for index in range(count):
            operand = self.effects.operand(source, index)
            value = self._evaluate(operand, depth + 1) if operand is not None else None
            if value is None or value.dtype == object:
                return None
            operands.append(value)
        return compute(source.proto, *operands)


class _Names:
    """A unique name for each variable: handles that share one in TensorFlow share it here."""

    def __init__(self) -> None:
        self.owners: dict[str, tuple] = {}

    def of(self, op: Op, node: str, restored: _Restored | None) -> str:
        """Return the unique name of a variable. node: the handle's node in the main graph, "" if there is none."""
        held = op.attrs.get
        container, name = _shared_name(op)
        identity = (container, held("dtype"), held("shape"), held("key_dtype"), held("value_dtype"), restored)
        if self.owners.setdefault(name, identity) == identity:
            return name
        return node or op.name


def _shared_name(op: Op) -> _SharedName:
    return str(op.attrs.get("container", "")), str(op.attrs.get("shared_name", "")) or op.name


def _assets(meta: Any) -> list[tuple[str, str]]:
    """Return (node, file name) of each asset."""
    assets = list(meta.asset_file_def)
    if not assets and _ASSET_COLLECTION in meta.collection_def:
        items = meta.collection_def[_ASSET_COLLECTION].any_list.value
        try:
            assets = [protos.classes["AssetFileDef"].FromString(item.value) for item in items]
        except protos.DecodeError:
            raise InputError("the model's list of assets is damaged.") from None
    return [(asset.tensor_info.name.partition(":")[0], asset.filename) for asset in assets]


def _init_ops(meta: Any) -> list[str]:
    if INIT_SIGNATURE in meta.signature_def:
        outputs = meta.signature_def[INIT_SIGNATURE].outputs
        return [info.name.partition(":")[0] for info in outputs.values()]
    for collection in _INIT_COLLECTIONS:
        if collection in meta.collection_def:
            return [name.partition(":")[0] for name in meta.collection_def[collection].node_list.value]
    return []


def _const(source: Source) -> np.ndarray:
    return attrs.charged_tensor(source.proto.attr["value"].tensor, source.node)


def _text_file_attributes(write: Source) -> dict[str, Any]:
    found: dict[str, Any] = dict(_TEXT_FILE_DEFAULTS)
    for key, value in write.proto.attr.items():
        # The delimiter may be any byte.
        found[key] = value.s if key == "delimiter" else attrs.attr(value)
    for key in ("key_index", "value_index", "vocab_size", "offset"):
        if type(found.get(key)) is not int:
            raise InputError(f"the node '{write.node}' lacks its attribute '{key}': the model file is damaged.")
    return found



def _range(node: Any, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    if start.size != 1 or limit.size != 1 or delta.size != 1:
        raise InputError(f"the node '{node.name}' makes a range of something else than scalars.")
    ends = [end.item() for end in (start, limit, delta)]
    if not all(map(np.isfinite, ends)) or not ends[2]:
        raise InputError(f"the node '{node.name}' makes a range without an end: {start} to {limit} by {delta}.")
    budget.require_room((ends[1] - ends[0]) / ends[2], 8, node.name)
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


def _size(node: Any, x: np.ndarray) -> np.ndarray:
    kind = attrs.dtype(node.attr["out_type"].type) if "out_type" in node.attr else types.INT32
    return np.array(x.size, kind.numpy)


# How TF1's initializers count their keys (`index_table_from_tensor` and its like).
_COMPUTED: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "Cast": (1, lambda node, x: x.astype(attrs.dtype(node.attr["DstT"].type).numpy)),
    "Range": (3, _range),
    "Size": (1, _size),
}
