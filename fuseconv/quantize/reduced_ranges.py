"""A file of floats that computes the ranges of its own tensors: behind each a REDUCE_MIN and a REDUCE_MAX.

XNNPACK takes these together with what they read, and no tensor outlives its last reader. A sample takes a third of the
time that it takes LiteRT's own kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Signature, Value, detach
from fuseconv.ir.rewriter import Speculative
from fuseconv.quantize.affine import Range
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import LAYOUT_CHANGES
from fuseconv.write.flatbuffer_export import to_named_bytes


class ReducedRanges:
    """Run a module of one graph on samples, and return the ranges of its tensors; see `of`.

    data: the file, whose first output holds the least and the largest number of each of `values`. alike: values that
    hold the same numbers as another one. names: of the file's tensors."""

    def __init__(self, data: bytes, values: list[Value], alike: dict[Value, Value], names: _Names) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self.values, self.alike = values, alike
        self.interpreter = Interpreter(model_content=data)
        places = {detail["name"]: detail["index"] for detail in self.interpreter.get_tensor_details()}
        self.inputs = {name: places[tensor] for name, tensor in names.inputs.items()}
        self.ends, *self.outputs = [places[name] for name in names.outputs]
        self.shapes: dict[str, tuple[int, ...]] = {}

    @classmethod
    def of(cls, module: Module) -> ReducedRanges | None:
        """Return what measures the tensors of a module, which is not changed; None if there is more than one graph, or
        a tensor of unknown rank."""
        (graph, *others) = module.graphs()
        made = [value for op in graph.ops for value in op.results if _is_measured(value)]
        if others or not made or any(value.rank is None for value in made):
            return None
        known = set(made)
        alike = {value: same for value in made if (same := _unchanged(value)) in known}
        values = [value for value in made if value not in alike]
        with Speculative() as trial:
            ends = _ends(Builder(trial.ops, "ranges"), values)
            copy = Graph(graph.name, graph.attrs)
            copy.inputs, copy.ops, copy.outputs = graph.inputs, [*graph.ops, *trial.ops], [ends, *graph.outputs]
            signature = module.signatures[0]
            outputs = [str(place) for place in range(len(copy.outputs))]
            signatures = [Signature(["ranges"], copy, signature.inputs, outputs)]
            data, tensors = to_named_bytes(dataclasses.replace(module, signatures=signatures))
            detach(copy.terminator)
        return cls(data, values, alike, _names(signature, ends, tensors))

    def run(self, sample: Mapping[str, np.ndarray]) -> dict[Value, Range] | None:
        """Return the range of each result; None if there is NaN among the outputs, which comes from somewhere."""
        shapes = {name: sample[name].shape for name in self.inputs}
        if shapes != self.shapes:
            for name, index in self.inputs.items():
                self.interpreter.resize_tensor_input(index, shapes[name])
            self.interpreter.allocate_tensors()
            self.shapes = shapes
        for name, index in self.inputs.items():
            self.interpreter.set_tensor(index, sample[name])
        self.interpreter.invoke()
        ends = self.interpreter.get_tensor(self.ends).reshape(-1, 2)
        # XNNPACK's reductions leave NaN out.
        if np.isnan(ends).any() or any(map(self._has_nan, self.outputs)):
            return None
        # Of an empty tensor, the least number lies above the largest.
        found = {value: Range(*end) for value, end in zip(self.values, ends.tolist()) if end[0] <= end[1]}
        for value, same in self.alike.items():
            if same in found:
                found[value] = found[same]
        return found

    def _has_nan(self, index: int) -> bool:
        try:
            return bool(np.isnan(self.interpreter.get_tensor(index)).any())
        except ValueError:
            return False  # the runtime has nothing there: an empty tensor


@dataclasses.dataclass(frozen=True)
class _Names:
    """Names of tensors in the file: of inputs by their names in the signature; of ends and outputs of floats."""

    inputs: dict[str, str]
    outputs: list[str]


def _names(signature: Signature, ends: Value, tensors: Mapping[str, Value]) -> _Names:
    named = {value: name for name, value in tensors.items()}
    outputs = [value for value in signature.graph.outputs if value.dtype is types.FLOAT32 and value in named]
    inputs = {name: named[value] for name, value in zip(signature.inputs, signature.graph.inputs)}
    return _Names(inputs, [named[value] for value in (ends, *outputs)])


def _is_measured(value: Value) -> bool:
    return value.dtype is types.FLOAT32 and 0 not in (value.shape or ())


def _unchanged(value: Value) -> Value | None:
    """Return the operand that holds the same numbers; None if there is none."""
    return value.op.operands[0] if value.op is not None and value.op.type in LAYOUT_CHANGES else None


def _ends(tfl: Builder, values: list[Value]) -> Value:
    """Return the least and the largest number of each value, in a row."""
    axes = [tfl.const(np.arange(rank, dtype=np.int32)) for rank in range(max(value.rank or 0 for value in values) + 1)]
    ends: list[Value] = []
    for value in values:
        of = axes[value.rank or 0]
        ends += [tfl.reduce_min(value, of), tfl.reduce_max(value, of)] if value.rank else [value, value]
    return tfl.pack(*ends, axis=0, values_count=len(ends))
