"""The original of a file that was made of a part of a model: TensorFlow between the tensors that the user names.

The names are of nodes as the converter knows them, with all calls inlined. So the model's graph is inlined here too, on
its protobufs, and TensorFlow runs it from the tensors that are fed to those that are fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.files import ModelFiles
from fuseconv.ir.graph import Signature
from fuseconv.load import load, saved_model
from fuseconv.load.frozen_graph import with_index
from fuseconv.load.half_precision import half_type
from fuseconv.load.live import LiveModel, Source
from fuseconv.load.through_keras.model_file import trace
from fuseconv.report.records import Report
from fuseconv.runners import Arrays, Function, Spec
from fuseconv.tf.side_effects import has_effect
from fuseconv.tf.traits import CALLS, TABLES, VARIABLES, node_ops
from fuseconv.transforms.tf.cut_signature import cut_signature
from fuseconv.transforms.tf.inline import inline_functions

_CALLS = node_ops(CALLS)


def cut_by_loader(model: Source) -> bool:
    """Return whether a model's own loader cuts it: a frozen graph's, or a .tflite file's, which refuses to."""
    return model.suffix in (".pb", ".tflite") if isinstance(model, Path) else model.graph is not None


def cut_function(
    model: Source,
    signature: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    tags: Sequence[str] = (),
    trust_model: bool = False,
    follow_links: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
) -> Function:
    """Cut out the part of a signature of a SavedModel, Keras file or live model between tensors, as `convert` names
    them.

    Raises InputError as `convert` does for the names, and if the model cannot be loaded."""
    signatures = [signature] if isinstance(model, LiveModel) or model.is_dir() else []
    module = load(
        model, signatures=signatures, tags=tags, trust_model=trust_model, follow_links=follow_links,
        custom_objects=custom_objects, keras_loader="keras",
    )  # fmt: skip
    report = Report()
    inline_functions(module, report)
    # The shape of a tensor without a known rank is the file's.
    cut_signature(module, inputs, outputs, {name.removesuffix(":0"): () for name in inputs}, {}, report)
    (part,) = module.signatures
    ends = _Ends(part, report, [op.name for op in part.graph.ops if has_effect(op, module, {})])
    if isinstance(model, LiveModel):
        return _traced_part(model.functions[signature], ends)
    if model.is_dir():
        return _saved_model(ModelFiles(model, follow_links), signature, tags, ends)
    return _traced_part(trace(model, trust_model=trust_model, custom_objects=custom_objects), ends)


class _Ends:
    """Where a signature is cut: its inputs with what is known of them, the full names of the tensors that were named,
    and the nodes that change state."""

    def __init__(self, part: Signature, report: Report, effects: list[str]) -> None:
        self.specs = {name: _spec(value) for name, value in zip(part.inputs, part.graph.inputs)}
        self.outputs = part.outputs
        self.named = report.cut
        self.effects = effects

    def tensors(self, own_inputs: Mapping[str, str], own_outputs: Mapping[str, str]) -> tuple[dict, dict]:
        """Return the tensors of the inputs and outputs, with those that the signature itself has names for."""
        fed = {name: own_inputs.get(name) or self.named.inputs[name] for name in self.specs}
        return fed, {name: own_outputs.get(name) or self.named.outputs[name] for name in self.outputs}


def _spec(value: Any) -> Spec:
    shape = None if value.shape is None else tuple(n if isinstance(n, int) else None for n in value.shape)
    return Spec(value.dtype.numpy, shape)


def _saved_model(files: ModelFiles, signature: str, tags: Sequence[str], ends: _Ends) -> Function:
    """Return the part in a session of TensorFlow 1, which restores the model and feeds any tensor. Handles are the
    model's."""
    import tensorflow as tf

    files.check()
    meta = saved_model.meta_graph(files, tags)
    flat = _Flat(tf.compat.v1.GraphDef.FromString(meta.graph_def.SerializeToString()))
    proto = meta.signature_def[signature]
    fed, fetched = ends.tensors(
        {key: with_index(info.name) for key, info in proto.inputs.items()},
        {key: with_index(info.name) for key, info in proto.outputs.items()},
    )
    kinds = {kind.removeprefix("tf.") for kind in VARIABLES | TABLES}
    with tf.Graph().as_default() as graph:
        session = tf.compat.v1.Session(graph=graph, config=tf.compat.v1.ConfigProto(device_count={"GPU": 0}))
        tf.compat.v1.saved_model.load(session, list(meta.meta_info_def.tags), str(files.root))
        there = {op.name: op.outputs[0] for op in graph.get_operations() if op.type in kinds}
        read = {ref for node in flat.graph_def.node for ref in node.input}
        handles = {f"{name}:0": tensor for name, tensor in there.items() if f"{name}:0" in read}
        tf.graph_util.import_graph_def(flat.graph_def, input_map=handles, name="part")

    def tensor(name: str) -> Any:
        return graph.get_tensor_by_name(f"part/{flat.resolve(name)}")

    effects = [graph.get_operation_by_name(f"part/{name}") for name in ends.effects]

    def run(feed: Arrays) -> dict[str, np.ndarray]:
        given = {tensor(fed[name]): array for name, array in feed.items()}
        results, _ = session.run(({name: tensor(ref) for name, ref in fetched.items()}, effects), given)
        return {name: np.asarray(array) for name, array in results.items()}

    return Function(dict(ends.specs), run, half_type(flat.graph_def))


def _traced_part(traced: Any, ends: _Ends) -> Function:
    """Return the part of the traced model, which TensorFlow prunes."""
    import tensorflow as tf

    function = traced.function
    flat = _Flat(function.graph.as_graph_def())
    fed, fetched = ends.tensors(
        dict(zip(traced.inputs, (tensor.name for tensor in function.inputs))),
        dict(zip(traced.outputs, (tensor.name for tensor in function.outputs))),
    )
    captures = function.inputs[len(traced.inputs) :]
    wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(flat.graph_def, name=""), [])

    def tensor(name: str) -> Any:
        return wrapped.graph.get_tensor_by_name(flat.resolve(name))

    order = list(fed)
    feeds = [*(tensor(fed[name]) for name in order), *(tensor(capture.name) for capture in captures)]
    effects = [wrapped.graph.get_operation_by_name(name) for name in ends.effects]
    part = wrapped.prune(feeds, ({name: tensor(ref) for name, ref in fetched.items()}, effects))

    def run(feed: Arrays) -> dict[str, np.ndarray]:
        with tf.device("/CPU:0"):
            results, _ = part(*[tf.constant(feed[name]) for name in order], *function.captured_inputs)
        return {name: array.numpy() for name, array in results.items()}

    run.keep_alive = traced  # type: ignore[attr-defined]
    return Function(dict(ends.specs), run, half_type(flat.graph_def))


class _Flat:
    """A GraphDef with the bodies of all calls in their places: a node of a body is named "call/node".

    A call stays as a NoOp behind all that it is to run."""

    def __init__(self, graph_def: Any) -> None:
        import tensorflow as tf

        self.functions = {function.signature.name: function for function in graph_def.library.function}
        self.graph_def = type(graph_def)(library=graph_def.library, versions=graph_def.versions)
        # The tensors that stand for arguments of bodies, and for results of calls.
        self.arguments: dict[str, str] = {}
        self.results: dict[str, list[str]] = {}
        with tf.Graph().as_default():
            # TensorFlow writes the body of a function as a graph where it knows all functions.
            tf.graph_util.import_graph_def(self.graph_def, name="")
            self._add(graph_def.node, "", [])
        for node in self.graph_def.node:
            inputs = dict.fromkeys(self.resolve(ref) for ref in node.input if ref.startswith("^"))
            data = [self.resolve(ref) for ref in node.input if not ref.startswith("^")]
            del node.input[:]
            node.input.extend([*data, *inputs])

    def resolve(self, ref: str) -> str:
        """Resolve a reference to the tensor "node:index", or the node "^node", that it stands for in the flat graph."""
        if ref.startswith("^"):
            argument = self.arguments.get(ref[1:])
            return ref if argument is None else "^" + self.resolve(argument).partition(":")[0]
        while True:
            name, _, index = ref.partition(":")
            if name in self.arguments:
                ref = self.arguments[name]
            elif name in self.results:
                ref = self.results[name][int(index or 0)]
            else:
                return f"{name}:{index or 0}"

    def _add(self, nodes: Iterable[Any], prefix: str, control: list[str]) -> None:
        """Copy nodes, with `prefix` in front of their names, and write out the functions that they call. control: what
        each of them waits for."""
        for node in nodes:
            refs = [f"^{prefix}{ref[1:]}" if ref.startswith("^") else f"{prefix}{ref}" for ref in node.input]
            called = node.attr["f"].func.name if node.op in _CALLS else node.op
            if called in self.functions:
                self._inline(prefix + node.name, self.functions[called], refs, control)
                continue
            made = self.graph_def.node.add()
            made.CopyFrom(node)
            made.name = prefix + node.name
            made.attr.pop("_class", None)  # names of nodes
            if "frame_name" in made.attr:
                made.attr["frame_name"].s = prefix.encode() + made.attr["frame_name"].s
            del made.input[:]
            made.input.extend([*refs, *control])

    def _inline(self, call: str, function: Any, refs: list[str], control: list[str]) -> None:
        """Write out the body of a function in the place of a call: f(x) -> the nodes of f, and a NoOp of the call's
        name that waits for all of them."""
        from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

        body, names = function_def_to_graph_def(function)
        data = [ref for ref in refs if not ref.startswith("^")]
        control = [*control, *(ref for ref in refs if ref.startswith("^"))]
        arguments = [arg.name for arg in function.signature.input_arg]
        self.arguments.update({f"{call}/{name}": ref for name, ref in zip(arguments, data)})
        taken = set(arguments)
        self._add((node for node in body.node if node.name not in taken), f"{call}/", control)
        returned = [names[function.ret[arg.name]] for arg in function.signature.output_arg]
        self.results[call] = [f"{call}/{ref}" for ref in returned]
        last = [*function.control_ret.values(), *(ref.partition(":")[0] for ref in returned)]
        self.graph_def.node.add(name=call, op="NoOp", input=[*(f"^{call}/{name}" for name in last), *control])
