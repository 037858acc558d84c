"""The two sides of a verification, as functions on arrays: the model in TensorFlow, and the file in LiteRT."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.child import survive
from fuseconv.errors import InputError, VerificationError
from fuseconv.files import ModelFiles, missing, read_file
from fuseconv.inspecting import describe, inspect
from fuseconv.load.half_precision import half_type, half_type_of_module
from fuseconv.load.initialization_graph import TABLE_WRITES
from fuseconv.load.live import LiveModel, Source, opened
from fuseconv.load.saved_model import chosen_tags, function_signatures
from fuseconv.load.stablehlo.exported import is_exported
from fuseconv.load.tflite.reader import refuse_damaged
from fuseconv.load.through_keras.model_file import trace
from fuseconv.load.traced_functions import Traced
from fuseconv.quantize.existing import form_of_file
from fuseconv.tfl.index_bounds import Bound, index_bounds

# TensorFlow's own CPU kernels refuse channels first, and oneDNN's, which take it, are on by default on some CPUs only.
# This is read as TensorFlow is imported, which the functions below do.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

Arrays = Mapping[str, np.ndarray]
Dims = tuple[int | None, ...]  # None: not known


@dataclass(frozen=True)
class Spec:
    """What an input takes: numpy's type (object for strings), and the shape; None if not even the rank is known."""

    dtype: np.dtype
    shape: Dims | None


@dataclass(frozen=True)
class Function:
    """A signature of the original model, as something to call with arrays by input name. half: "bfloat16" or "float16"
    if it computes in it."""

    inputs: dict[str, Spec]
    run: Callable[[Arrays], dict[str, np.ndarray]]
    half: str = ""


class TFLiteFile:
    """A TensorFlow Lite file in an interpreter, run by the names of its signatures; "" is a file without any.

    Inputs and outputs of quantized integers are floats to the caller. delegates: whether the default ones run. What a
    path names may be of unknown origin: it is loaded, and first run on inputs of other shapes, in a child process."""

    def __init__(self, tflite: str | os.PathLike | bytes, delegates: bool = True) -> None:
        if isinstance(tflite, bytes):
            self.name = "the converted model"
            source: dict[str, Any] = {"model_content": tflite}
            self._foreign = 0  # bytes of unknown origin
            self._document = describe(tflite, self.name)
        else:
            self.name = os.fspath(tflite)
            # The runtime trusts a file's indices and shapes: a damaged one could end the process.
            self._document = inspect(tflite)
            refuse_damaged(tflite)
            source = {"model_path": os.fsencode(tflite)}  # as a text, LiteRT takes no name that is not UTF-8
            self._foreign = self._document["file"]["size"]
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        resolver = OpResolverType.AUTO if delegates else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        with self._runtime("load the file"):
            if self._foreign:
                survive(lambda: Interpreter(**source, experimental_op_resolver_type=resolver), self._foreign)
            self._interpreter = Interpreter(**source, experimental_op_resolver_type=resolver)
        # The public SignatureRunner allocates before each invoke, which clears the state that must be seen to leak;
        # and only the wrapper beneath it reaches the subgraphs of other signatures than the first.
        self._wrapper = self._interpreter._interpreter
        self.signatures: dict[str, tuple[int, dict[str, int], dict[str, int]]] = {
            name: (self._wrapper.GetSubgraphIndexFromSignature(name), tensors["inputs"], tensors["outputs"])
            for name, tensors in self._wrapper.GetSignatureDefs().items()
        }
        if not self.signatures:
            ends = self._interpreter.get_input_details(), self._interpreter.get_output_details()
            ins, outs = ({plain_name(d["name"]): d["index"] for d in details} for details in ends)
            self.signatures = {"": (0, ins, outs)}
        self._allocated: set[int] = set()
        self._survived: set[tuple] = set()

    @property
    def form(self) -> str | None:
        """Return how the file is quantized, as `--quantize` names it; None for floats."""
        return form_of_file(self._document)

    def inputs(self, signature: str) -> dict[str, Spec]:
        subgraph, tensors, _ = self.signatures[signature]
        specs = {}
        for name, index in tensors.items():
            dtype = np.dtype(self._wrapper.TensorType(index, subgraph))
            shape = self._wrapper.TensorSizeSignature(index, subgraph)
            dims = tuple(None if n < 0 else int(n) for n in shape)
            if self._scale(index, subgraph) is not None:
                dtype = np.dtype(np.float32)
            specs[name] = Spec(np.dtype(object) if dtype.kind == "S" else dtype, dims)
        return specs

    def index_bounds(self, signature: str) -> dict[str, Bound]:
        """Return the bounds of inputs that the file takes for indices."""
        subgraph, tensors, _ = self.signatures[signature]
        return index_bounds(self._document, subgraph, tensors)

    def run(self, signature: str, feed: Arrays) -> dict[str, np.ndarray]:
        """Run one invoke. Tensors are allocated again only if a shape changes."""
        key = signature, *sorted((name, array.shape) for name, array in feed.items())
        with self._runtime(f"run the signature {signature!r} of the file" if signature else "run the file"):
            if self._foreign and key not in self._survived:
                survive(lambda: self._run(signature, feed), self._foreign)
                self._survived.add(key)
            return self._run(signature, feed)

    def _run(self, signature: str, feed: Arrays) -> dict[str, np.ndarray]:
        subgraph, inputs, outputs = self.signatures[signature]
        wrapper = self._wrapper
        for name, array in feed.items():
            if tuple(wrapper.TensorSize(inputs[name], subgraph)) != array.shape:
                wrapper.ResizeInputTensor(inputs[name], np.array(array.shape, np.int32), False, subgraph)
                self._allocated.discard(subgraph)
        if subgraph not in self._allocated:
            wrapper.AllocateTensors(subgraph)
            self._allocated.add(subgraph)
        for name, array in feed.items():
            if array.size:
                stored = scalar_string(self._stored(array, inputs[name], subgraph))
                wrapper.SetTensor(inputs[name], stored, subgraph)
        wrapper.Invoke(subgraph)
        return {name: self._output(index, subgraph) for name, index in outputs.items()}

    def _output(self, index: int, subgraph: int) -> np.ndarray:
        shape = tuple(int(n) for n in self._wrapper.TensorSize(index, subgraph))
        if 0 in shape:  # the wrapper has no buffer to give
            quantized = self._scale(index, subgraph) is not None
            return np.empty(shape, np.float32 if quantized else self._wrapper.TensorType(index, subgraph))
        array, scale = self._wrapper.GetTensor(index, subgraph), self._scale(index, subgraph)
        return array if scale is None else ((array.astype(np.float64) - scale[1]) * scale[0]).astype(np.float32)

    def _scale(self, index: int, subgraph: int) -> tuple[float, int] | None:
        """Return the scale and zero point of a tensor of quantized integers; None of any other."""
        scale, zero_point = self._wrapper.TensorQuantization(index, subgraph)
        integer = np.dtype(self._wrapper.TensorType(index, subgraph)).kind in "iu"
        return (float(scale), int(zero_point)) if scale and integer else None

    def _stored(self, array: np.ndarray, index: int, subgraph: int) -> np.ndarray:
        """Return what an input takes for an array: integers for floats, if it is quantized."""
        scale = self._scale(index, subgraph)
        if scale is None or array.dtype.kind != "f":
            return array
        ends = np.iinfo(self._wrapper.TensorType(index, subgraph))
        stored = np.rint(array.astype(np.float64) / scale[0]) + scale[1]
        return np.clip(stored, ends.min, ends.max).astype(ends.dtype)

    @contextlib.contextmanager
    def _runtime(self, what: str) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError) as error:
            raise VerificationError(f"LiteRT cannot {what}: {first_line(error)}") from error


def scalar_string(array: np.ndarray) -> np.ndarray:
    """Return a scalar of type object, a string, as one of numpy's bytes: LiteRT reads the pointer of an object as text.
    Other arrays are returned as they are. Raises VerificationError of an empty string, which numpy cannot hold so."""
    if array.dtype != np.dtype(object) or array.ndim:
        return array
    if not array.item():
        raise VerificationError("LiteRT's Python interface takes no empty string for a scalar; give it a letter")
    return np.ndarray((), f"S{len(array.item())}", array.item())


def as_array(result: Any) -> np.ndarray:
    """Return what TensorFlow gives for a tensor as an array; it gives bytes for a string that is a scalar."""
    return np.asarray(result, object if isinstance(result, bytes) else None)


@contextlib.contextmanager
def opened_original(model: Any) -> Iterator[Any]:
    """Yield the path of a model, or the model in memory; what `jax.export` made as it is, as JAX runs it."""
    if is_exported(model):
        yield model
        return
    with opened(model) as source:
        yield source


def original_functions(
    model: Source,
    file: TFLiteFile,
    *,
    tags: Sequence[str] = (),
    trust_model: bool = False,
    follow_links: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
    renamed: Mapping[str, str] | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> dict[str, Function]:
    """Return the original for each signature of the file, by its name. Raises InputError if TensorFlow cannot load the
    model, VerificationError if it has no such signature. renamed: names that the file has for the model's. inputs,
    outputs: the tensors that a frozen graph is cut at; nothing: those that the file's are named after."""
    if isinstance(model, LiveModel):
        if model.graph is not None:
            graph = _FrozenGraph(model.name, model.graph.SerializeToString())
            return _parts_of_graph(graph, file, renamed or {}, inputs, outputs)
        return {name: traced_function(traced) for name, traced in model.functions.items()}
    if not model.exists():
        raise missing(model)
    if model.is_dir():
        return _saved_model(ModelFiles(model, follow_links), list(file.signatures), tags)
    if model.suffix == ".pb":
        with _loading(model):
            graph = _FrozenGraph(model, read_file(model))
        return _parts_of_graph(graph, file, renamed or {}, inputs, outputs)
    if model.suffix == ".tflite":
        if tags or inputs or outputs:
            raise InputError(f"--tags, --inputs and --outputs mean nothing here: {model} is a .tflite file")
        return _tflite(TFLiteFile(model))
    if model.suffix in (".mlirbc", ".mlir"):
        raise InputError(
            f"{model} is a StableHLO module, which TensorFlow does not run: where JAX is, call "
            "fuseconv.verify(exported, file) with what jax.export made"
        )
    traced = trace(model, trust_model=trust_model, custom_objects=custom_objects)
    return dict.fromkeys(file.signatures, traced_function(traced))


def _parts_of_graph(
    graph: _FrozenGraph, file: TFLiteFile, renamed: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]
) -> dict[str, Function]:
    """Return the part of a frozen graph that each signature of a file computes. renamed: names of the file for those of
    the graph."""
    own = {new: old for old, new in renamed.items()}
    functions = {}
    for name, (_, *ends) in file.signatures.items():
        ins, outs = ([own.get(end, end) for end in names] for names in ends)
        functions[name] = graph.between(
            {end: graph.given(end) for end in inputs} or {end: graph.tensor(end) for end in ins},
            {end: graph.given(end) for end in outputs} or {end: graph.tensor(end) for end in outs},
        )
    return functions


def _tflite(file: TFLiteFile) -> dict[str, Function]:
    """Return the signatures of a file in an interpreter of its own: that of floats, of a quantized one."""

    def function(name: str) -> Function:
        def run(feed: Arrays) -> dict[str, np.ndarray]:
            return {output: np.array(array) for output, array in file.run(name, feed).items()}

        return Function(file.inputs(name), run)

    return {name: function(name) for name in file.signatures}


def _saved_model(files: ModelFiles, names: Sequence[str], tags: Sequence[str]) -> dict[str, Function]:
    """Return the signatures of a SavedModel that the file has, in TensorFlow; of a model without signatures, the
    functions that `load` takes for these."""
    import tensorflow as tf

    wanted = chosen_tags(files, tags)
    files.check()
    with _loading(files.root):
        loaded = tf.saved_model.load(str(files.root), tags=wanted)
    there = {name: _signature(loaded, concrete) for name, concrete in loaded.signatures.items()}
    for name, found in function_signatures(files, tags).items():
        concrete = getattr(loaded, found.attribute).concrete_functions[found.index]
        there[name] = traced_function(Traced(concrete, found.inputs, found.outputs, loaded))
    functions: dict[str, Function] = {}
    for name in names:
        # A file without signatures was made from the one there is, or the one that is served.
        if not name and there:
            functions[name] = there.get("serving_default") or next(iter(there.values()))
        elif name in there:
            functions[name] = there[name]
    return functions


def _signature(loaded: Any, concrete: Any) -> Function:
    import tensorflow as tf

    def run(feed: Arrays) -> dict[str, np.ndarray]:
        with tf.device("/CPU:0"):
            results = concrete(**{name: tf.constant(array, specs[name].dtype) for name, array in feed.items()})
        return {name: as_array(tensor.numpy()) for name, tensor in results.items()}

    # Sorted, so that a seed draws the same inputs every time: TensorFlow's order varies.
    specs = dict(sorted(concrete.structured_input_signature[1].items()))
    # The signature holds the variables weakly.
    run.keep_alive = loaded  # type: ignore[attr-defined]
    half = half_type(concrete.graph.as_graph_def())
    return Function({name: _spec(spec) for name, spec in specs.items()}, run, half)


def traced_function(traced: Traced) -> Function:
    """Return a traced function as one on arrays by the names of its inputs."""
    import tensorflow as tf

    concrete = traced.function
    leaves = tf.nest.flatten(concrete.structured_input_signature)
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, tf.TensorSpec)]
    specs = {name: leaves[index] for name, index in zip(traced.inputs, places, strict=True)}

    def run(feed: Arrays) -> dict[str, np.ndarray]:
        given = list(leaves)
        with tf.device("/CPU:0"):
            for name, index in zip(traced.inputs, places):
                given[index] = tf.constant(feed[name], leaves[index].dtype)
            args, kwargs = tf.nest.pack_sequence_as(concrete.structured_input_signature, given)
            results = [result for result in tf.nest.flatten(concrete(*args, **kwargs)) if tf.is_tensor(result)]
        return {name: as_array(tensor.numpy()) for name, tensor in zip(traced.outputs, results, strict=True)}

    run.keep_alive = traced.model  # type: ignore[attr-defined]
    return Function({name: _spec(spec) for name, spec in specs.items()}, run, half_type(traced.graph_def))


def exported_function(exported: Any) -> Function:
    """Return a `jax.export.Exported` as a function on arrays by the names that `load.stablehlo` gives to its inputs and
    outputs. JAX runs it, where it was exported for; what its module leaves out, as nothing reads it, is zeros."""
    avals = exported.in_avals
    names = {f"args_{index}": place for index, place in enumerate(exported.module_kept_var_idx)}

    def run(feed: Arrays) -> dict[str, np.ndarray]:
        given = {place: np.asarray(feed[name], avals[place].dtype) for name, place in names.items()}
        sizes = {f"{dim}": size for place, array in given.items() for dim, size in zip(avals[place].shape, array.shape)}
        for place in set(range(len(avals))) - set(given):
            shape = [dim if isinstance(dim, int) else sizes.get(f"{dim}", 1) for dim in avals[place].shape]
            given[place] = np.zeros(shape, avals[place].dtype)
        args, kwargs = exported.in_tree.unflatten([given[place] for place in range(len(avals))])
        results = exported.out_tree.flatten_up_to(exported.call(*args, **kwargs))
        return {f"output_{index}": np.asarray(result) for index, result in enumerate(results)}

    def spec(aval: Any) -> Spec:
        return Spec(np.dtype(aval.dtype), tuple(dim if isinstance(dim, int) else None for dim in aval.shape))

    half = half_type_of_module(exported.mlir_module())
    return Function({name: spec(avals[place]) for name, place in names.items()}, run, half)


def renamed_function(function: Function, names: Mapping[str, str]) -> Function:
    """Return a function whose inputs and outputs have other names: those of a file that was converted with --rename."""
    names = {old.removesuffix(":0"): new for old, new in names.items()} | dict(names)

    def run(feed: Arrays) -> dict[str, np.ndarray]:
        results = function.run({name: feed[names.get(name, name)] for name in function.inputs})
        return {names.get(name, name): array for name, array in results.items()}

    inputs = {names.get(name, name): spec for name, spec in function.inputs.items()}
    return Function(inputs, run, function.half) if names else function


class _FrozenGraph:
    """A frozen graph in a session, as TensorFlow 1 ran it: a function knows no ops that TensorFlow has given up
    since."""

    def __init__(self, model: Path | str, data: bytes) -> None:
        import tensorflow as tf

        self.model = model
        with _loading(model), tf.Graph().as_default() as graph:
            proto = tf.compat.v1.GraphDef.FromString(data)
            self.half = half_type(proto)
            tf.compat.v1.import_graph_def(proto, name="")
            self.session = tf.compat.v1.Session(graph=graph, config=tf.compat.v1.ConfigProto(device_count={"GPU": 0}))
            self.session.run([op for op in graph.get_operations() if op.type in TABLE_WRITES])

    def between(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Function:
        """Return the part between tensors, by these names without a ":0"."""
        fed, fetched = ({name.removesuffix(":0"): end for name, end in ends.items()} for ends in (inputs, outputs))

        def run(feed: Arrays) -> dict[str, np.ndarray]:
            results = self.session.run(fetched, {fed[name]: array for name, array in feed.items()})
            return {name: as_array(array) for name, array in results.items()}

        return Function({name: _spec(tensor) for name, tensor in fed.items()}, run, self.half)

    def tensor(self, name: str) -> Any:
        """Return the tensor "node" or "node:1", which the file names."""
        found = self._find(name)
        if found is None:
            raise VerificationError(f"{self.model} has no tensor {name!r}, which the file names")
        return found

    def given(self, name: str) -> Any:
        """Return the tensor "node" or "node:1", which the caller names."""
        found = self._find(name)
        if found is None:
            raise InputError(f"{self.model} has no tensor {name!r}, which --inputs or --outputs names")
        return found

    def _find(self, name: str) -> Any:
        try:
            return self.session.graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
        except (KeyError, ValueError):
            return None


def _spec(spec: Any) -> Spec:
    """Translate a TensorSpec into numpy's words."""
    dtype = np.dtype(object) if spec.dtype.name == "string" else np.dtype(spec.dtype.as_numpy_dtype)
    return Spec(dtype, None if spec.shape.rank is None else tuple(spec.shape.as_list()))


@contextlib.contextmanager
def _loading(model: Path | str) -> Iterator[None]:
    """Turn what TensorFlow raises for an unusable model into a sentence."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, DecodeError, tf.errors.OpError) as error:
        raise InputError(f"TensorFlow cannot load {model}: {first_line(error)}") from error


def plain_name(tensor: str) -> str:
    """Return an input's name from a tensor's: without the output number and the prefix that exporters add."""
    return tensor.partition(":")[0].removeprefix("serving_default_")


def first_line(error: BaseException) -> str:
    """Return the line of an error that says what is wrong: the first, or what TensorFlow says behind the trace of a
    graph."""
    lines = [line for line in map(str.strip, str(error).splitlines()) if line] or [type(error).__name__]
    if lines[0] == "Graph execution error:":
        node = next((place for place, line in enumerate(lines) if line.startswith("[[")), len(lines))
        lines = lines[node - 1 :]
    return lines[0].rstrip(".")
