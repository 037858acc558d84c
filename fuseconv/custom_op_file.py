"""A file with custom ops, run without their kernels: cut at each of them, which a function of arrays then computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from fuseconv.errors import InputError, suggestion
from fuseconv.ir.graph import Graph, Op, Signature, Value, replace_uses
from fuseconv.ir.op_slices import backward_slice
from fuseconv.ir.rewriter import erase_ops
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.runners import TFLiteFile
from fuseconv.write.flatbuffer_export import to_bytes

CustomFunction = Callable[..., Any]
_CUSTOM = "tfl.CUSTOM"


class CustomOpFile:
    """A file of one signature, whose custom ops of the names in `functions` are computed by these.

    A function takes the operands as arrays, None for one that is left out. It takes the options of the op by their
    names, if these are a map, and returns an array, or a list of one for each result.
    Raises InputError for a name that no op of the file has, and for files that cannot be cut: with such ops in loops or
    branches, or with variables or tables. delegates: whether LiteRT's default delegates run."""

    def __init__(self, data: bytes, functions: Mapping[str, CustomFunction], delegates: bool = True) -> None:
        self._data, self._functions = data, functions
        module = module_of_bytes(data, "the file")
        signature = module.signatures[0]
        there = {op.attrs["custom_code"] for graph in module.graphs() for op in graph.ops if op.kind == _CUSTOM}
        for name in functions:
            if name not in there:
                raise InputError(f"the file has no custom op {name}{suggestion(name, there)}")
        inner = [graph for graph in module.graphs() if graph is not signature.graph]
        made = (value for graph in module.graphs() for op in graph.ops for value in op.results)
        has_handles = any(value.dtype.is_handle for value in made)
        if has_handles or len(module.signatures) > 1 or any(self._customs(graph) for graph in inner):
            raise InputError("custom_ops runs files of one signature, without variables, tables, custom ops in loops")
        self.inputs, self.outputs = list(signature.inputs), list(signature.outputs)
        self._pieces = [_Piece(self, number, delegates) for number in range(len(self._customs(signature.graph)) + 1)]

    def run(self, feed: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the file on a feed, with functions in the place of its custom ops, and return its outputs by their
        names."""
        known = dict(feed)
        for piece in self._pieces:
            known |= piece.run(known)
        return {name: known[name] for name in self.outputs}

    def _customs(self, graph: Graph) -> list[Op]:
        return [op for op in graph.ops if op.kind == _CUSTOM and op.attrs["custom_code"] in self._functions]


class _Piece:
    """What leads to the custom op of this number, or to the outputs of the file, from the inputs and the results of the
    custom ops before it."""

    def __init__(self, file: CustomOpFile, number: int, delegates: bool) -> None:
        module = module_of_bytes(file._data, "the file")
        signature = module.signatures[0]
        graph, customs = signature.graph, file._customs(signature.graph)
        names = dict(zip(graph.inputs, file.inputs))
        for index, op in enumerate(customs[:number]):
            for place, result in enumerate(op.results):
                fed = Value(result.dtype, result.shape, _name(index, place))
                replace_uses(result, fed)
                graph.outputs = [fed if value is result else value for value in graph.outputs]
                names[fed] = fed.name
        self.op = customs[number] if number < len(customs) else None
        self.number, self.function = number, file._functions[self.op.attrs["custom_code"]] if self.op else None
        self.wanted = list(self.op.operands) if self.op else list(graph.outputs)
        self.made = file.outputs
        self.known = names
        computed = list(dict.fromkeys(value for value in self.wanted if value is not None and _is_computed(value)))
        self.computed = {value: f"v{index}" for index, value in enumerate(computed)}
        self.file: TFLiteFile | None = None
        if computed:
            _keep_only(graph, computed)
            graph.inputs = list(names)
            module.signatures = [Signature(["piece"], graph, list(names.values()), list(self.computed.values()))]
            self.file = TFLiteFile(to_bytes(module), delegates=delegates)

    def run(self, known: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the piece on what is known so far, and return the results of the custom op, or the outputs of the file,
        by their names."""
        feed = {name: known[name] for name in self.known.values()}
        made = self.file.run("piece", feed) if self.file else {}
        arrays = [self._array(value, known, made) for value in self.wanted]
        if self.op is None or self.function is None:
            return {name: np.array(array) for name, array in zip(self.made, arrays)}
        results = self.function(*arrays, **_options(self.op))
        return self._checked(results if isinstance(results, (list, tuple)) else [results])

    def _array(
        self, value: Value | None, known: Mapping[str, np.ndarray], made: Mapping[str, np.ndarray]
    ) -> np.ndarray | None:
        if value is None:
            return None
        if value in self.computed:
            return np.array(made[self.computed[value]])
        return known[self.known[value]] if value in self.known else value.data

    def _checked(self, results: Sequence[Any]) -> dict[str, np.ndarray]:
        """Hold the results of the user's function to the op, and return them by the names of tensors. Raises InputError
        if they are not as many as the op has, or of another type or shape than the file says."""
        assert self.op is not None
        code, arrays = self.op.attrs["custom_code"], [np.asarray(result) for result in results]
        if len(arrays) != len(self.op.results):
            raise InputError(f"the function for {code} returns {len(arrays)} arrays, where the op has "
                             f"{len(self.op.results)} results")  # fmt: skip
        for array, result in zip(arrays, self.op.results):
            shape = result.shape
            fits = shape is None or (len(shape) == array.ndim and all(
                dim == size for dim, size in zip(shape, array.shape) if isinstance(dim, int)
            ))  # fmt: skip
            if array.dtype != result.dtype.numpy or not fits:
                made, told = f"{array.dtype}{list(array.shape)}", f"{result.dtype}{list(shape or ())}"
                raise InputError(f"the function for {code} returns {made}, where the file says {told}")
        return {_name(self.number, place): array for place, array in enumerate(arrays)}


def _name(number: int, place: int) -> str:
    """Return the name of a custom op's result, which no input has."""
    return f"custom op {number}, result {place}"


def _is_computed(value: Value) -> bool:
    return value.op is not None and not value.is_const


def _keep_only(graph: Graph, wanted: Sequence[Value]) -> None:
    """Make the values the outputs of a graph, and leave out what they do not need."""
    needed = backward_slice(wanted)
    graph.outputs = list(wanted)
    erase_ops(graph, {op for op in graph.ops if op not in needed})


def _options(op: Op) -> dict[str, Any]:
    data = op.attrs.get("custom_options") or b""
    options = data if isinstance(data, dict) else flexbuffers.Loads(bytes(data)) if len(data) else {}
    return dict(options) if isinstance(options, dict) else {}
