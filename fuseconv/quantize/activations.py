"""Compute what has slow kernels of int8 as it is fast on a CPU: activations.

LiteRT's own kernels of these take 4 to 30 ns an element on x86, and XNNPACK has none for int8. For floats it has, which
take 0.1 ns with a DEQUANTIZE and a QUANTIZE around them, and round once. Where all is to be in integers, activations
are sums and products, of which XNNPACK has kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Op, Quantization, Value, constant
from fuseconv.quantize.affine import Range, parameters, quantized, step_of
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.integer import Kernels
from fuseconv.tfl.linear import FUSED_ACTIVATIONS

if TYPE_CHECKING:
    from fuseconv.targets.target import Target

# XNNPACK has kernels of them for floats, and none for int8. RELU fused into a sum is as fast.
_SLOW = frozenset({"HARD_SWISH", "PRELU", "SQUARED_DIFFERENCE"})
_WHY = "on a CPU floats are faster, with conversions around it"
_ROUNDED_UP = "its sums lie in the middle between two steps of the model's, and its kernel of integers rounds them up"
# By which exponents of steps may miss a whole number.
_SAME = 1e-5
# XNNPACK takes sums whose operands have steps of at least and less than so many steps of the result. LiteRT's own
# kernel ends the process where it has steps finer than those of an operand by 1 << 19.
_LEAST_RATIO, _END_OF_RATIOS = 2.0**-10, 2.0**8


def is_for_cpu(report: Report, target: Target | None) -> bool:
    """Return whether a file is for kernels of floats beside those of integers. TFLite Micro, which files with a plan of
    the arena are for, has none of int8 beside floats, and other targets have few."""
    return not report.plans_arena and (target is None or target.on_cpu)


def left_float(graph: Graph, kernels: Kernels, hybrid: bool, ranges: Mapping[Value, Range]) -> dict[Op, str]:
    """Return the ops that stay float, as that takes less time on a CPU, or is what the model computes, and why. hybrid:
    whether a file for a CPU, with inputs and outputs of floats, may compute in both."""
    if not hybrid or kernels.activations is not types.INT8:
        return {}
    slow = {op: _WHY for op in graph.ops if op.type in _SLOW}
    return slow | {op: _ROUNDED_UP for op in graph.ops if op.type in ("ADD", "SUB") and _lies_between_steps(op, ranges)}


def _lies_between_steps(op: Op, ranges: Mapping[Value, Range]) -> bool:
    """Return whether sums often lie in the middle between two steps that a model rounds to: all are powers of two, and
    those of an operand smaller. QUANTIZE rounds them to even, as models do, and kernels of sums up."""
    known = [ranges.get(value) for value in (*op.operands, *op.results) if value is not None]
    steps = [np.log2(step_of(each)) for each in known if each is not None and each.fixed]
    whole = len(steps) == len(known) == 3 and all(abs(step - round(step)) < _SAME for step in steps)
    return whole and round(min(steps[:2])) < round(steps[2])


def expand_activation(op: Op, out: list[Op], exact: bool) -> None:
    """Append an op of int8 to the ops of its graph: RELU(x) -> ADD(x, 0, RELU), HARD_SWISH(x) -> MUL(MUL(x, 1 / 6),
    ADD(x, 3, RELU6)).

    x / 6 has the integers of x, so that only ADD rounds once more: the error of the op grows by up to 7%. exact: the
    model itself rounds the result, which HARD_SWISH rounds as it does."""
    data = op.operands[0] if op.type in FUSED_ACTIVATIONS or (op.type == "HARD_SWISH" and not exact) else None
    if data is not None and data.dtype is op.result.dtype is types.INT8:
        (_hard_swish if op.type == "HARD_SWISH" else _sum)(op, data, out)
    out.append(op)


def _sum(op: Op, data: Value, out: list[Op]) -> None:
    how, made = _known(data), _known(op.result)
    if _is_taken(how, made):
        activation = op.type
        zero = constant(np.array(how.zero_point[0], np.int8), types.INT8, f"{data.name}/zero")
        zero.quantization = how
        op.set_kind("tfl.ADD")
        op.set_operands([data, zero])
        op.attrs = {"fused_activation_function": activation}


def _hard_swish(op: Op, data: Value, out: list[Op]) -> None:
    how = _known(data)
    (scale,), (zero_point,) = how.scale, how.zero_point
    largest = min(3.0 + scale * (127 - zero_point), 6.0)
    gate_scale = parameters(Range(0.0, largest))
    if largest <= 0 or not _is_taken(how, gate_scale):
        return
    tfl = Builder(out, op.name, op.sources)
    sixth = tfl.mul(data, _number(1 / 6, f"{op.name}/sixth"), results=[(types.INT8, data.shape)])
    sixth.quantization = Quantization((float(np.float32(scale / 6)),), how.zero_point)
    gate = tfl.add(
        data, _number(3, f"{op.name}/three"), fused_activation_function="RELU6", results=[(types.INT8, data.shape)]
    )
    gate.quantization = gate_scale
    op.set_kind("tfl.MUL")
    op.set_operands([sixth, gate])
    op.attrs = {}


def _number(number: float, name: str) -> Value:
    return quantized(constant(np.array(number, np.float32), name=name), parameters(Range(0.0, number)))


def _known(value: Value) -> Quantization:
    assert value.quantization is not None
    return value.quantization


def _is_taken(of_operand: Quantization, of_sum: Quantization) -> bool:
    return _LEAST_RATIO <= of_operand.scale[0] / of_sum.scale[0] < _END_OF_RATIOS
