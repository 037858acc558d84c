"""SavedModel directory -> `ir` module: its protobuf, its checkpoint, its assets. No code of the model runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module, Op, Signature, Table, Value, Variable
from fuseconv.load import attrs, protos
from fuseconv.load.checkpoint import Checkpoint
from fuseconv.load.effects import ASSIGNMENTS, TABLE_WRITES, Effects, Scope, Source
from fuseconv.load.functions import Importer, Nodes, symbolic
from fuseconv.load.op_defs import OpDefs
from fuseconv.load.same import drop_unreachable, merge_signatures

_INIT = "__saved_model_init_op"
_NO_SIGNATURES = frozenset({_INIT, "__saved_model_train_op"})
_TABLES = frozenset({"HashTableV2", "HashTable", "MutableHashTableV2", "MutableHashTable"})


def load(path: Path, *, signatures: Sequence[str] = (), tags: Sequence[str] = ()) -> Module:
    """The module of a SavedModel.

    signatures: the names of those to take; nothing: all, "serving_default" first. tags: of the meta graph to take;
    nothing: the one tagged "serve", or the only one. Raises InputError if something is not there or is damaged."""
    meta = _meta_graph(_read(path), tags, path)
    return _Loader(path, meta).load(_chosen(meta, signatures))


def _read(path: Path) -> Any:
    file = path / "saved_model.pb"
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        if (path / "saved_model.pbtxt").exists():
            raise InputError(
                f"{path} holds its model as text (saved_model.pbtxt); save it again as saved_model.pb."
            ) from None
        raise InputError(f"{path} is no SavedModel: there is no saved_model.pb in it.") from None
    if not data:
        raise InputError(f"{file} is empty.")
    try:
        proto = protos.classes["SavedModel"].FromString(data)
    except protos.DecodeError:
        raise InputError(f"{file} is damaged or cut off: it cannot be parsed.") from None
    if not proto.meta_graphs:
        raise InputError(f"{file} is damaged or cut off: it contains no graph.")
    return proto


def _meta_graph(proto: Any, tags: Sequence[str], path: Path) -> Any:
    by_tags = [(frozenset(meta.meta_info_def.tags), meta) for meta in proto.meta_graphs]
    wanted = frozenset(tags or ("serve",))
    for found, meta in by_tags:
        if found == wanted:
            return meta
    if not tags:
        serving = [meta for found, meta in by_tags if "serve" in found]
        if len(serving) == 1 or len(by_tags) == 1:
            return serving[0] if serving else by_tags[0][1]
    there = "; ".join(",".join(sorted(found)) or "(no tags)" for found, _ in by_tags)
    raise InputError(f"{path} has no graph with the tags '{','.join(sorted(wanted))}'. There are: {there}.")


def _chosen(meta: Any, names: Sequence[str]) -> dict[str, Any]:
    there = {
        name: signature
        for name, signature in meta.signature_def.items()
        if name not in _NO_SIGNATURES and (signature.outputs or name in names)
    }
    if not there:
        raise InputError("The model has no signatures: export it with one (`tf.saved_model.save(..., signatures=f)`).")
    ordered = sorted(there, key=lambda name: (name != "serving_default", name))
    for name in names:
        if name not in there:
            raise InputError(f"The model has no signature '{name}'. There are: {', '.join(ordered)}.")
        if not there[name].outputs:
            raise InputError(f"The signature '{name}' has no outputs; it cannot be converted.")
    return {name: there[name] for name in dict.fromkeys(names or ordered)}


class _Loader:
    def __init__(self, path: Path, meta: Any) -> None:
        self.path = path
        self.meta = meta
        graph = meta.graph_def
        self.nodes = Nodes(graph.node)
        info = meta.meta_info_def
        self.importer = Importer(graph.library.function, OpDefs(info.stripped_op_list))
        self.effects = Effects(self.importer.library)
        self.main = Scope(self.nodes)

    def load(self, chosen: Mapping[str, Any]) -> Module:
        module = Module([self._signature(name, proto) for name, proto in chosen.items()])
        self.importer.build_functions()
        module.functions = self.importer.functions
        if merge_signatures(module):
            drop_unreachable(module)
        live = {id(op) for graph in module.graphs() for op in graph.ops} if self.importer.handles else ()
        self._resolve([op for op in self.importer.handles if id(op) in live], module)
        return module

    def _signature(self, name: str, proto: Any) -> Signature:
        inputs: dict[str, Value] = {}
        for key, info in sorted(proto.inputs.items()):
            ref = _tensor_name(info, name, key)
            if ref in inputs:
                raise InputError(f"The signature '{name}' feeds '{ref}' through two inputs; it cannot be converted.")
            shape = symbolic(attrs.shape(info.tensor_shape), key)
            inputs[ref] = Value(attrs.dtype(info.dtype), shape, key)
        outputs = {key: _tensor_name(info, name, key) for key, info in sorted(proto.outputs.items())}
        graph = self.importer.build_graph(name, self.nodes, inputs, list(outputs.values()))
        return Signature([name], graph, [value.name for value in inputs.values()], list(outputs))

    def _resolve(self, handles: Sequence[Op], module: Module) -> None:
        """Gives each handle op the name of its variable or table, and reads what this holds."""
        if not handles:
            return
        restored = self._restored()
        names = _Names()
        checkpoint: Checkpoint | None = None
        for op in handles:
            name = names.of(op, restored.get(op.name))
            op.attrs["shared_name"] = name
            if op.type in _TABLES:
                table = Table(name, op.attrs["key_dtype"], op.attrs["value_dtype"])
                module.tables.setdefault(name, table)
                continue
            if name in module.variables:
                continue
            dtype = op.attrs.get("dtype") or op.result.dtype
            shape = symbolic(op.attrs.get("shape"), name)
            variable = module.variables[name] = Variable(name, dtype, shape)
            if op.name in restored:
                if checkpoint is None:
                    checkpoint = Checkpoint(self.path / "variables" / "variables")
                variable.data = checkpoint.read(*restored[op.name])

    def _restored(self) -> dict[str, tuple[str, str]]:
        """The name of each handle's node -> the checkpoint's name of the tensor, and the slice of it."""
        root = self.meta.saver_def.restore_op_name
        found: dict[str, tuple[str, str]] = {}
        if not root:
            return found
        lists: dict[tuple[int, str], tuple[list[str], list[str]]] = {}
        for write in self.effects.of(self.main, root):
            if write.op not in ASSIGNMENTS:
                continue
            handle, value = self.effects.operand(write, 0), self.effects.operand(write, 1)
            if handle is None or value is None or handle.scope is not self.main or value.op != "RestoreV2":
                continue
            key = (id(value.scope), value.node)
            if key not in lists:
                lists[key] = (self._strings(value, 1), self._strings(value, 2))
            names, slices = lists[key]
            found[handle.node] = (names[value.index], slices[value.index])
        return found

    def _strings(self, reader: Source, index: int) -> list[str]:
        source = self.effects.operand(reader, index)
        if source is None or source.op != "Const":
            raise InputError(f"The node '{reader.node}' restores variables by names that are not constant.")
        array = attrs.tensor(source.proto.attr["value"].tensor, source.node)
        return [item.decode() for item in array.reshape(-1)]


class _Names:
    """A unique name for each variable: handles that share theirs in TensorFlow share it here."""

    def __init__(self) -> None:
        self.owners: dict[str, tuple] = {}

    def of(self, op: Op, restored: tuple[str, str] | None) -> str:
        identity = (op.attrs.get("container", ""), op.attrs.get("dtype"), op.attrs.get("shape"), restored)
        name = op.attrs.get("shared_name") or op.name
        if self.owners.setdefault(name, identity) == identity:
            return name
        self.owners[op.name] = (op.name,)
        return op.name


def _tensor_name(info: Any, signature: str, key: str) -> str:
    if info.WhichOneof("kind") != "name":
        raise InputError(f"'{key}' of the signature '{signature}' is a sparse or composite tensor; TFLite has none.")
    return info.name if ":" in info.name else f"{info.name}:0"


__all__ = ["TABLE_WRITES", "load"]
