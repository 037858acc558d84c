"""SavedModel directory -> `ir` module: its protobuf, its checkpoint, its assets. No code of the model runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.files import RESTORE, ModelFiles, models_within
from fuseconv.ir import budget
from fuseconv.ir.graph import Module, Signature, Value, constant
from fuseconv.load import attrs, graph_validation, protos
from fuseconv.load.concrete_functions import Trace, add_signatures, traces
from fuseconv.load.graph_importer import Importer, symbolic
from fuseconv.load.node_table import Nodes
from fuseconv.load.op_defs import OpDefs
from fuseconv.load.resource_values import INIT_SIGNATURE, Resources
from fuseconv.load.signature_equivalence import SignatureComparison
from fuseconv.load.stablehlo.call_modules import import_call_modules

_MOST_OPERATIONS = 1 << 22
_NO_SIGNATURES = frozenset({INIT_SIGNATURE, "__saved_model_train_op"})


def load(files: ModelFiles, *, signatures: Sequence[str] = (), tags: Sequence[str] = ()) -> Module:
    """Load a SavedModel as a module.

    signatures: the names of those to take; nothing: all, "serving_default" first. tags: those of the meta graph to
    take. By default it is the one tagged "serve", or the only one, or the one without tags, as modules for TensorFlow
    1's Hub have for inference. Raises InputError if something is not there or is damaged."""
    meta = _meta_graph(_read(files, "SavedModelOutline"), tags, files.root)
    if _lacks_signatures(meta):
        meta = meta_graph(files, tags)
    chosen = _chosen(meta, signatures)
    return _Loader(files, meta).load(chosen)


def meta_graph(files: ModelFiles, tags: Sequence[str] = ()) -> Any:
    """Return the meta graph that `load` takes, with signatures of its functions if it has none. Raises as that does."""
    meta = _meta_graph(_read(files), tags, files.root)
    if _lacks_signatures(meta):
        add_signatures(meta)
    return meta


def _lacks_signatures(meta: Any) -> bool:
    return not meta.signature_def.keys() - _NO_SIGNATURES


def chosen_tags(files: ModelFiles, tags: Sequence[str] = ()) -> list[str]:
    """Return the tags of the meta graph that `load` takes. Raises InputError as that does."""
    return list(_meta_graph(_read(files), tags, files.root).meta_info_def.tags)


def function_signatures(files: ModelFiles, tags: Sequence[str] = ()) -> dict[str, Trace]:
    """Return the traces that serve as signatures of a model without any, by the names that `load` gives them."""
    meta = _meta_graph(_read(files), tags, files.root)
    return traces(meta) if _lacks_signatures(meta) else {}


def _read(files: ModelFiles, message: str = "SavedModel") -> Any:
    """Read the SavedModel of a directory, parsed as `message`: SavedModelOutline passes over what only models without
    signatures need. Raises InputError, which says what was probably meant, if there is none."""
    path = files.root
    file = path / "saved_model.pb"
    try:
        data = files.read("saved_model.pb")
    except FileNotFoundError:
        for other, form in (("saved_model.pbtxt", "as text"), ("saved_model.cpb", "in chunks")):
            if files.exists(other):
                raise InputError(f"{path} holds its model {form} ({other}); save it as saved_model.pb.") from None
        checkpoint = any(path.glob("*.index")) or any(path.glob("variables/*.index"))
        help = f"; {RESTORE}" if checkpoint else models_within(path)
        raise InputError(f"{path} is no SavedModel: there is no saved_model.pb in it{help}") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from None
    if not data:
        raise InputError(f"{file} is empty.")
    try:
        proto = protos.classes[message].FromString(data)
    except protos.DecodeError:
        raise InputError(f"{file} is damaged or cut off: it cannot be parsed.") from None
    if not proto.meta_graphs:
        raise InputError(f"{file} is damaged or cut off: it contains no graph.")
    return proto


def _meta_graph(proto: Any, tags: Sequence[str], path: Path) -> Any:
    """Return the graph with exactly these tags, by default "serve"; without tags, the only one that could be meant.
    Raises InputError, which lists the tags that there are, for any other."""
    by_tags = [(frozenset(meta.meta_info_def.tags), meta) for meta in proto.meta_graphs]
    wanted = frozenset(tags or ("serve",))
    for found, meta in by_tags:
        if found == wanted:
            return meta
    if not tags:
        serving = [meta for found, meta in by_tags if "serve" in found]
        untagged = [meta for found, meta in by_tags if not found]
        for alternatives in (serving, [meta for _, meta in by_tags], untagged):
            if len(alternatives) == 1:
                return alternatives[0]
    there = "; ".join(",".join(sorted(found)) or "(no tags)" for found, _ in by_tags)
    raise InputError(f"{path} has no graph with the tags {','.join(sorted(wanted))}; there are {there}")


def _chosen(meta: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the signatures to load by their names, by default all with outputs, `serving_default` first. Raises
    InputError for a name that there is not."""
    there = {
        name: signature
        for name, signature in meta.signature_def.items()
        if name not in _NO_SIGNATURES and (signature.outputs or name in names)
    }
    if not there:
        raise InputError("the model has no signatures: export it with one (`tf.saved_model.save(..., signatures=f)`).")
    ordered = sorted(there, key=lambda name: (name != "serving_default", name))
    for name in names:
        if name not in there:
            raise InputError(f"the model has no signature {name}{suggestion_or_all(name, ordered)}")
        if not there[name].outputs:
            raise InputError(f"the signature '{name}' has no outputs; it cannot be converted.")
    return {name: there[name] for name in dict.fromkeys(names or ordered)}


class _Loader:
    """One MetaGraphDef of a SavedModel that is loaded, with its variables, tables and assets."""

    def __init__(self, files: ModelFiles, meta: Any) -> None:
        self.nodes = Nodes(meta.graph_def.node)
        self.importer = Importer(meta.graph_def.library.function, OpDefs(meta.meta_info_def.stripped_op_list))
        self.resources = Resources(files, meta, self.nodes, self.importer.library)
        for node, asset in self.resources.assets.items():
            if node in self.nodes and self.nodes.op(node) == "Const":
                self.nodes.constants[node] = constant(np.array(os.fsencode(asset), object), name=node)

    def load(self, chosen: Mapping[str, Any]) -> Module:
        """Load these signatures as a module; those that compute the same become one with several names."""
        module = Module()
        comparison = SignatureComparison(self.nodes, self.importer.library)
        left = budget.most_operations(_MOST_OPERATIONS)
        for name, proto in chosen.items():
            for signature in module.signatures:
                if comparison.same(proto, chosen[signature.names[0]]):
                    signature.names.append(name)
                    break
            else:
                module.signatures.append(self._signature(name, proto))
                left -= len(module.signatures[-1].graph.ops)
                if left < 0:
                    raise InputError("the model's signatures have more operations in all than a model of its size has; "
                                     "name some of them with --signature.")  # fmt: skip
        self.importer.build_functions()
        module.functions = self.importer.functions
        module.attributes = self.importer.op_defs.attributes
        import_call_modules(module)
        self.resources.resolve(module)
        return module

    def _signature(self, name: str, proto: Any) -> Signature:
        """Build the graph of a signature. Raises InputError for tensors that are not in the graph, of another type than
        the signature says, or fed twice."""
        inputs: dict[str, Value] = {}
        for key, info in sorted(proto.inputs.items()):
            ref = _tensor_name(info, name, key)
            if ref in inputs:
                raise InputError(f"the signature '{name}' feeds '{ref}' through two inputs; it cannot be converted.")
            shape = attrs.shape(info.tensor_shape) if info.HasField("tensor_shape") else None
            dtype = self.importer.tensor_type(self.nodes, ref)
            graph_validation.tensor_info(info.dtype, dtype, f"'{key}' of the signature '{name}'", ref)
            inputs[ref] = Value(dtype, symbolic(shape, key), key)
        outputs = {key: _tensor_name(info, name, key) for key, info in sorted(proto.outputs.items())}
        # A function may have the signature's name.
        graph_name = f"{name} (signature)" if name in self.importer.library else name
        graph = self.importer.build_graph(graph_name, self.nodes, inputs, list(outputs.values()))
        for (key, ref), value in zip(outputs.items(), graph.outputs):
            dtype = proto.outputs[key].dtype
            graph_validation.tensor_info(dtype, value.dtype, f"'{key}' of the signature '{name}'", ref)
        return Signature([name], graph, [value.name for value in inputs.values()], list(outputs))


def _tensor_name(info: Any, signature: str, key: str) -> str:
    if info.WhichOneof("kind") != "name":
        raise InputError(f"'{key}' of the signature '{signature}' is a sparse or composite tensor; TFLite has none.")
    return info.name if ":" in info.name else f"{info.name}:0"

