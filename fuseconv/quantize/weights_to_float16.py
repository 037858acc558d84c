"""Store weights in 16 bits, and compute in floats as before.

XNNPACK takes DEQUANTIZE of constants into its own weights. Without it the kernel runs once: it keeps the result among
the tensors that outlive a run, and does not run again where a resize moves these (`pretranspose_matmul` tells when).
There CAST stands in its place, which runs each time.
"""

from __future__ import annotations

import math
from collections.abc import Container

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.rounding import round_to_halves
from fuseconv.quantize.selection import Selection
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.traits import TAKES_COMPUTED_CONSTANTS
from fuseconv.transforms.tfl.pretranspose_matmul import has_moving_states

# Of fewer elements the other type saves less than the op takes that undoes it.
LEAST_ELEMENTS = 128
# Half a unit of the last of 11 bits, as a part of the largest number.
_PRECISION = 2.0**-11
# Numbers of this size and more have it, and a step to move by.
_WHOLE_PRECISION = 2.0**-13

# Constants as 16 bits, or why they stay.
Halves = dict[Value, Value | str]


@module_pass("weights-to-float16", requires=(TFL_ONLY,))
def weights_to_float16(module: Module, report: Report, selection: Selection) -> None:
    """Store weights in 16 bits: w -> DEQUANTIZE(float16 w), and GATHER(w, i) -> DEQUANTIZE(GATHER(float16 w, i))."""
    selection.check(module)
    halves: Halves = {}
    for graph in module.graphs():
        halve_weights(graph, halves, report, selection)


def halve_weights(
    graph: Graph, halves: Halves, report: Report, selection: Selection, only: Container[Op] | None = None
) -> None:
    """Do what the pass `weights_to_float16` does in one graph. halves: what became of constants in others. only: of
    these ops; None for all."""
    _Halving(graph, halves, report, selection, only).run()


class _Halving:
    """The constants of one graph. halves: those of the module. only: the ops that they are of; None for all."""

    def __init__(
        self, graph: Graph, halves: Halves, report: Report, selection: Selection, only: Container[Op] | None
    ) -> None:
        self.graph, self.halves, self.report, self.selection, self.only = graph, halves, report, selection, only
        self.expand = "CAST" if has_moving_states(graph) else "DEQUANTIZE"
        self.made: dict[Value, Value] = {}
        self.out: list[Op] = []

    def run(self) -> None:
        for op in self.graph.ops:
            gathers = op.kind == "tfl.GATHER"
            for index, operand in enumerate(op.operands):
                half = self._half(op, operand) if not gathers or index == 0 else None
                if half is not None and not gathers:
                    op.set_operand(index, self._expanded(op, operand, half))  # type: ignore[arg-type]
                elif half is not None:
                    self._gather(op, half)
                    break
            else:
                self.out.append(op)
        self.graph.ops = self.out

    def _half(self, op: Op, value: Value | None) -> Value | None:
        """Return the 16 bits for an operand; None if it is to stay as it is."""
        if op.type not in TAKES_COMPUTED_CONSTANTS or not _is_large(value) or self.selection.refusal(op):
            return None
        if self.only is not None and op not in self.only:
            return None
        assert value is not None
        if value not in self.halves:
            half = self.halves[value] = _rounded(op, value)
            size = math.prod(value.shape) * 4  # type: ignore[arg-type]
            if isinstance(half, str):
                self.report.quantize(op, value.name, "float32", size, size, half)
            else:
                self.report.quantize(op, value.name, "float16", size, size // 2)
        half = self.halves[value]
        return None if isinstance(half, str) else half

    def _expanded(self, op: Op, value: Value, half: Value) -> Value:
        if value not in self.made:
            tfl = Builder(self.out, value.name, op.sources)
            attrs = {} if self.expand == "DEQUANTIZE" else {"in_data_type": "FLOAT16", "out_data_type": "FLOAT32"}
            (self.made[value],) = tfl.typed_op(self.expand, [half], [(types.FLOAT32, value.shape)], attrs)
        return self.made[value]

    def _gather(self, op: Op, half: Value) -> None:
        """Gather rows of 16 bits, and compute what is gathered alone."""
        op.set_operand(0, half)
        result = op.result
        narrow = op.results[0] = Value(types.FLOAT16, result.shape, result.name, op)
        self.out.append(op)
        wide = Builder(self.out, op.name, op.sources).dequantize(narrow)
        replace_uses(result, wide)
        wide.name = result.name


def _is_large(value: Value | None) -> bool:
    if value is None or not value.is_const or value.dtype is not types.FLOAT32 or value.quantization is not None:
        return False
    return math.prod(value.shape) >= LEAST_ELEMENTS  # type: ignore[arg-type]


def _rounded(op: Op, value: Value) -> Value | str:
    """Return a constant of an op in 16 bits, or why they do not hold its numbers."""
    array = value.data
    assert array is not None
    largest = float(np.abs(array).max())
    if not largest <= float(np.finfo(np.float16).max):
        return f"its numbers reach {largest:.3g}, and float16 ends at 65504"
    layout = LAYOUTS.get(op.type)
    if layout is not None and len(op.operands) > layout.bias and op.operands[layout.bias] is value:
        return "a bias adds its error to all that is computed, and saves next to nothing"
    half = round_to_halves(array, layout.outputs if layout is not None else None)
    is_small = largest < _WHOLE_PRECISION
    if is_small and float(np.abs(half.astype(np.float32) - array).max()) > 2 * _PRECISION * largest:
        return f"its numbers are at most {largest:.3g}, which float16 does not tell apart"
    return constant(half, types.FLOAT16, value.name)
