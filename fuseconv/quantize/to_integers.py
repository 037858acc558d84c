"""Compute in integers: weights of 8 bits, activations of 8 or 16."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.activations import is_for_cpu
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.fake_quant import keeps_weights
from fuseconv.quantize.io_types import FLOAT, parse_io_types
from fuseconv.quantize.selection import Selection
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.integer import INT8, INT16, LSTM
from fuseconv.tfl.linear import FUSED_ACTIVATIONS, linear

if TYPE_CHECKING:
    from fuseconv.quantize.recipe import Recipe
    from fuseconv.targets.target import Target

# By the names of `--quantize`.
KERNELS = {"int8": INT8, "int16x8": INT16}
# A product of more weights takes too long to be computed twice.
_MOST_WEIGHTS_TWICE = 1 << 16
# Of the variance of a norm: as many ops make its root at most.
_TO_ROOT = 5


@module_pass("to-integer-forms", requires=(TFL_ONLY,))
def to_integer_forms(module: Module, quantize: str) -> None:
    """Replace ops that have no integer kernel by ones that have: SQUARE(x) -> MUL(x, x), NEG(x) -> SUB(0, x).

    Also SQUARED_DIFFERENCE(x, y) -> MUL(d, d) with d = SUB(x, y): int16 has no kernel, int8 none that is fast. There d
    is rounded once more, which the variance of a norm bears. For int8, RELU(y) -> FULLY_CONNECTED(x, w, b, RELU) where
    others read y = FULLY_CONNECTED(x, w, b): half of the range has steps half as large."""
    for graph in module.graphs():
        if quantize == "int8":
            _compute_activated(graph)
        has_kernel = "SQUARED_DIFFERENCE" in KERNELS[quantize].own_scale
        rewrite_ops(graph, ("tfl.SQUARED_DIFFERENCE",), _squares_of_norm if has_kernel else _square_of_difference)
        for op in graph.ops:
            if op.kind == "tfl.SQUARE" and op.result.dtype is types.FLOAT32:
                op.set_kind("tfl.MUL")
                op.set_operands([op.operands[0], op.operands[0]])
            elif op.kind == "tfl.NEG" and op.result.dtype is types.FLOAT32:
                op.set_kind("tfl.SUB")
                op.set_operands([constant(np.array(0, np.float32), name=op.name), op.operands[0]])


def _compute_activated(graph: Graph) -> None:
    """Compute small dense layers that others read, too, once more for their activation."""
    for op in graph.ops:
        data = op.operands[0] if op.type in FUSED_ACTIVATIONS else None
        found = linear(data.op) if data is not None else None
        if found is None or found.op.type != "FULLY_CONNECTED" or found.activation != "NONE":
            continue
        if len(found.op.result.uses) > 1 and math.prod(found.sizes) <= _MOST_WEIGHTS_TWICE:
            op.attrs = {**found.op.attrs, "fused_activation_function": op.type}
            op.set_kind(found.op.kind)
            op.set_operands(found.op.operands)


def _squares_of_norm(op: Op, out: list[Op]) -> list[Value] | None:
    return _square_of_difference(op, out) if _is_of_norm(op) else None


def _is_of_norm(op: Op) -> bool:
    """Return whether squares are summed up for a root alone, as those of a norm's variance."""
    value, sums = op.result, False
    for _ in range(_TO_ROOT):
        if len(value.uses) != 1:
            return False
        (reader,) = value.uses
        if reader.kind in ("tfl.RSQRT", "tfl.SQRT"):
            return sums
        if reader.type not in ("MEAN", "SUM", "ADD", "MUL", "MAXIMUM", "RESHAPE"):
            return False
        value, sums = reader.result, sums or reader.type in ("MEAN", "SUM")
    return False


def _square_of_difference(op: Op, out: list[Op]) -> list[Value] | None:
    if op.result.dtype is not types.FLOAT32:
        return None
    tfl = Builder(out, op.name, op.sources)
    difference = tfl.sub(*op.operands)
    return [tfl.mul(difference, difference)]


@module_pass("to-integers", requires=(TFL_ONLY,))
def to_integers(
    module: Module, report: Report, calibration: Calibration, quantize: str, selection: Selection, io_types: str,
    target: Target | None,
) -> None:  # fmt: skip
    """Compute in integers what has kernels for it: ADD(x, y) -> DEQUANTIZE(ADD(QUANTIZE(x), QUANTIZE(y))).

    Conversions stand only where ops of floats, inputs and outputs are met. What loops sum up over steps is float in
    files of int8, or of 16 bits if an input or output is to be of integers. For a CPU, products around float sums
    take floats: FULLY_CONNECTED(x, int8 w); so do fused recurrent ops without an integer kernel: RNN(x, int8 w)."""
    # They take longer to import than many a model to convert.
    from fuseconv.quantize.raise_fake_quant import lower_to_even
    from fuseconv.quantize.recipe import choose_recipes
    from fuseconv.quantize.rewriting import rewrite
    from fuseconv.quantize.weights_to_int8 import narrow_weights

    selection.check(module)
    kernels = KERNELS[quantize]
    default, named = parse_io_types(io_types)
    float_sums = {default, *named.values()} == {FLOAT}
    on_cpu = is_for_cpu(report, target)
    hybrid, narrow = float_sums and on_cpu, set[Op]()
    ranges = calibration.ranges
    for graph, recipe in choose_recipes(module, ranges, kernels, selection, float_sums, hybrid, target).items():
        changed = recipe.integer | recipe.hybrid | recipe.carried.keys()
        for op in graph.ops:
            if op in changed or (op.results and op.result in recipe.states):
                wide = any(value in recipe.wide for value in op.results) and op in recipe.integer
                report.quantize(op, "", "int16" if wide else kernels.activations.name)
            elif op in recipe.why:
                report.quantize(op, "", "float32", why=recipe.why[op])
        _warn(report, recipe, quantize)
        _warn_of_missing(report, recipe, calibration)
        if recipe.integer or recipe.hybrid or recipe.carried or recipe.inputs:
            rewrite(graph, recipe, calibration.moments, calibration.means, on_cpu)
        narrow |= recipe.narrow
        if calibration.even:
            lower_to_even(graph, calibration.even)
    if narrow and on_cpu:
        narrow_weights(module, report, selection, narrow)


def _warn_of_missing(report: Report, recipe: Recipe, calibration: Calibration) -> None:
    """Say how many ops stay float that samples would tell ranges for."""
    count = sum(why.startswith("no range") for why in recipe.why.values())
    if calibration.samples is None and count:
        ops = "1 op stays" if count == 1 else f"{count} ops stay"
        report.warnings.append(f"{ops} float as no FakeQuant tells their ranges; --calibration-data would")
    rounded = [op for op in recipe.integer if calibration.samples is None and not keeps_weights(op)]
    if rounded:
        first = max(rounded[0].sources, default=rounded[0].name)
        ops = "1 op lie" if len(rounded) == 1 else f"{len(rounded)} ops lie"
        report.warnings.append(f"weights of {ops} on no grid of int8 and are rounded to one: {first}")


def _warn(report: Report, recipe: Recipe, quantize: str) -> None:
    """Say which files are slow on a CPU, and what is faster."""
    if quantize == "int16x8" and recipe.integer:
        warning = "int16x8 is for DSPs and NPUs: on a CPU its kernels are slower than those of floats, many times"
    elif any(op.type == LSTM for op in recipe.integer):
        warning = "fused LSTMs of int8 are for microcontrollers and NPUs; on a CPU `convert --rnn auto` is far faster"
    else:
        return
    if warning not in report.warnings:
        report.warnings.append(warning)
