"""Store weights in 8 bits, for kernels that quantize what they are multiplied by as they run (dynamic range)."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Module, Op, Value, constant, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.affine import quantized_weights
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.weights_to_float16 import Halves, halve_weights
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.directions import DIRECTIONS
from fuseconv.tfl.hybrid import RECURRENT, hybrid_weights
from fuseconv.transforms.tfl.pretranspose_matmul import has_moving_states

if TYPE_CHECKING:
    from fuseconv.quantize.error_feedback import Moments

# Below, rounding costs more than it saves. So does TFLiteConverter.
LEAST_ELEMENTS = 1024
# Few weights of a fused recurrent layer have 16 bits, for a twentieth of the error: kernels have one scale for a
# matrix, and errors of a step go into all later ones. A file is to take at most this part of TFLiteConverter's bytes:
# of these, so many more are ops of each direction, and it leaves small matrices float.
_PART, ROOM = 0.7, 1500
# Up to so many of each direction are computed with in floats, in up to 1.2 times the time: with a scale for each row,
# and activations of floats, a layer has 0.6 of the error. So are those of dense layers beside them: XNNPACK's kernel of
# dense layers of 8 bits leaves wide registers in use, with which the next run of an LSTM takes four times as long.
_MOST_EXPANDED = 1 << 16
# XNNPACK computes depthwise convolutions in floats fast whose windows have at most as many elements. With more,
# LiteRT's own hybrid kernel takes a third of the time.
_MOST_UNPACKED = 25
# Ops whose results are small where what they read is, in proportion or as a power of it.
_SMALL_OF_SMALL = frozenset({
    "ABS", "ADD", "BITCAST", "COMPLEX_ABS", "CONCATENATION", "EXPAND_DIMS", "FULLY_CONNECTED", "GATHER", "MAXIMUM",
    "MEAN", "MUL", "PACK", "PAD", "RELU", "RESHAPE", "SLICE", "SQRT", "SQUARE", "SQUEEZE", "STRIDED_SLICE", "SUM",
    "TRANSPOSE", "UNPACK",
})  # fmt: skip
# Up to this, a constant keeps a logarithm from infinity: it is not what numbers are counted from.
_FLOOR = 0.01
# The most ops on the way to a logarithm.
_MOST_BEFORE_LOG = 40
_SLOW = "fused recurrent layers with weights of 8 bits are slow on a CPU: `convert --rnn auto` is several times faster"


@module_pass("weights-to-int8", requires=(TFL_ONLY,))
def weights_to_int8(module: Module, report: Report, selection: Selection, calibration: Calibration) -> None:
    """Store weights in 8 bits: FULLY_CONNECTED(x, w) -> FULLY_CONNECTED(x, int8 w).

    Those of transposed convolutions, of depthwise ones with small windows, of products of which a logarithm is taken,
    and of fused recurrent ops and dense layers beside them that are not large, are dequantized in front: w ->
    DEQUANTIZE(int8 w). Beside recurrent states of a dynamic batch convolutions stay, and the others become
    SPLIT(MUL(CAST(int8 w), scales)), as `weights_to_float16` tells. What is gathered from becomes GATHER(w, i) ->
    DEQUANTIZE(GATHER(int8 w, i)). Few weights of fused recurrent ops get 16 bits: w -> DEQUANTIZE(float16 w). Where
    samples tell what weights are multiplied by, they are rounded together."""
    selection.check(module)
    narrow_weights(module, report, selection, moments=calibration.moments)


def narrow_weights(
    module: Module, report: Report, selection: Selection, only: Container[Op] | None = None,
    moments: Mapping[Value, Moments] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Do what the pass `weights_to_int8` does. only: of these ops, of which is told why they are of floats; None for
    all. moments: of what weights are multiplied by, as `Multiplied` tells them."""
    uses, halves = _Uses(module, moments), Halves()
    for graph in module.graphs():
        moving = has_moving_states(graph)
        chosen = (op for op in graph.ops if (only is None or op in only) and not selection.refusal(op))
        few = set(filter(uses.are_few, chosen))
        out: list[Op] = []
        for op in graph.ops:
            out.append(op)
            weights = uses.weights.get(op)
            if weights is None or op in few or (only is not None and op not in only):
                continue
            why = selection.refusal(op) or uses.refusal(op, moving)
            if why and only is not None:
                continue
            for value in weights:
                size = math.prod(value.shape) * 4  # type: ignore[arg-type]
                report.quantize(op, value.name, *(("float32", size, size, why) if why else ("int8", size, size // 4)))
            if not why:
                uses.narrow(op, out, moving)
                if op.type in RECURRENT and op not in uses.unpacked and _SLOW not in report.warnings:
                    report.warnings.append(_SLOW)
        graph.ops = out
        if few:
            halve_weights(graph, halves, report, selection, few)


class _Uses:
    """Which ops of a module read which constants as weights, and how.

    unpacked: those that compute in floats, of weights that are dequantized in front."""

    def __init__(self, module: Module, moments: Mapping[Value, Moments]) -> None:
        self.moments = moments
        self.weights: dict[Op, list[Value]] = {}
        self.unpacked: set[Op] = set()
        # How each wants them: the axis of scales, and that of outputs.
        self._axes: dict[Value, set[tuple[int | None, int | None]]] = {}
        self._made: dict[Value, Value | None] = {}
        # Those of a shape, with the scales of rows.
        self._joined: dict[tuple[Value, ...], tuple[Value, Value]] = {}
        for graph in module.graphs():
            beside = any(op.type in RECURRENT for op in graph.ops)
            for op in graph.ops:
                self._add(op, beside)

    def _add(self, op: Op, beside: bool) -> None:
        """Add an op. beside: there are recurrent ops in its graph."""
        indices, *axes = _weights_of(op)
        values = [value for index in indices if (value := op.operands[index]) is not None]
        if not values or op.operands[_data(op)] is None or op.result.dtype is not types.FLOAT32:
            return
        if any(not value.is_const or value.dtype is not types.FLOAT32 or value.quantization for value in values):
            return
        if _is_unpacked(op, beside):
            self.unpacked.add(op)
            if op.type in RECURRENT:
                # No kernel has a say: rows have scales, and peepholes stay floats.
                values, axes = [value for value in values if value.rank == 2], [0, 0]
        self.weights[op] = list(dict.fromkeys(values))
        for value in values:
            self._axes.setdefault(value, set()).add((axes[0], axes[1]))

    def are_few(self, op: Op) -> bool:
        """Return whether the weights of an op are those of a fused recurrent one, which alone reads them, and too few
        to be rounded to 8 bits."""
        weights = self.weights.get(op, ()) if op.type in RECURRENT else ()
        if not weights or any(reader.type not in RECURRENT for value in weights for reader in value.uses):
            return False
        directions = DIRECTIONS[op.type]
        theirs = 0
        for indices in (part for each in directions for part in (each.of_x, each.of_h)):
            # It joins those of all gates.
            count = _count(value for index in indices if (value := op.operands[index]) is not None)
            theirs += count if count >= LEAST_ELEMENTS else 4 * count
        return 2 * _count(weights) <= len(directions) * ROOM + _PART * theirs

    def refusal(self, op: Op, moving: bool) -> str:
        """Return why the weights of an op stay float; empty if they become int8."""
        weights = self.weights[op]
        count = _count(weights)
        if count < LEAST_ELEMENTS:
            return f"with fewer than {LEAST_ELEMENTS:,} weights, 8 bits save less than rounding costs"
        if moving and op.type == "CONV_2D":
            return "beside recurrent states of a dynamic batch its kernel would lose what it computes of int8 weights"
        for value in weights:
            for reader in value.uses:
                if value not in self.weights.get(reader, ()):
                    return f"{reader.type} also reads {value.name}, and takes no int8"
        self._round_together(op)
        for value in weights:
            if self._narrow(value) is None:
                return f"the numbers of {value.name} have no scale"
        return ""

    def narrow(self, op: Op, out: list[Op], moving: bool) -> None:
        """Let an op read int8 weights. out: its graph's ops, up to and including the op."""
        weights = self.weights[op]
        is_unpacked = op in self.unpacked and not (moving and weights[0].rank != 2)
        made = {value: each for value in weights if (each := self._narrow(value)) is not None}
        if is_unpacked:
            before: list[Op] = []
            if moving:
                made = self._unpacked_in_each_run(made, before, op.sources)
            else:
                made = {value: Builder(before, value.name, op.sources).dequantize(each) for value, each in made.items()}
            out[-1:-1] = before
        for index, operand in enumerate(op.operands):
            if operand in made:
                op.set_operand(index, made[operand])  # type: ignore[index]
        if op.kind == "tfl.GATHER":
            _dequantize(op, out)
            return
        known = hybrid_weights(op)
        if known is not None and known.asymmetric and not is_unpacked:
            op.attrs["asymmetric_quantize_inputs"] = True

    def _unpacked_in_each_run(
        self, made: Mapping[Value, Value], out: list[Op], sources: tuple[str, ...]
    ) -> dict[Value, Value]:
        """Return matrices of int8 as floats, by what they were: of a shape together, as ops take bytes and time."""
        alike: dict[Shape | None, list[Value]] = {}
        for value in made:
            alike.setdefault(value.shape, []).append(value)
        found: dict[Value, Value] = {}
        for values in alike.values():
            key, tfl = tuple(values), Builder(out, "w", sources)  # longer names are 2% of a small file
            if key not in self._joined:
                self._joined[key] = _joined([made[value] for value in values])
            stored, scales = self._joined[key]
            attrs = {"in_data_type": "INT8", "out_data_type": "FLOAT32"}
            (wide,) = tfl.typed_op("CAST", [stored], [(types.FLOAT32, stored.shape)], attrs)
            wide = tfl.mul(wide, scales)
            found.update(zip(values, tfl.split(0, wide, num_splits=len(values)) if len(values) > 1 else [wide]))
        return found

    def _round_together(self, op: Op) -> None:
        """Round the weights of an op by what samples tell they are multiplied by, if there are any."""
        moments = self.moments.get(op.results[0])
        if moments is not None:
            from fuseconv.quantize.rounded_together import round_weights  # few conversions load it

            round_weights(op, moments, self._made, None if op.type in RECURRENT and op not in self.unpacked else 0)

    def _narrow(self, value: Value) -> Value | None:
        """Return the constant in 8 bits: with a scale a channel, if all that read it take the same ones."""
        if value not in self._made:
            axes = self._axes[value]
            axis, outputs = next(iter(axes)) if len(axes) == 1 else (None, None)
            self._made[value] = quantized_weights(value, axis, outputs=outputs)
        return self._made[value]


def _joined(matrices: list[Value]) -> tuple[Value, Value]:
    """Return integers of matrices [rows, inputs] one below the other, and their scales [rows of all, 1]."""
    integers = np.concatenate([each.data for each in matrices if each.data is not None])
    known = [(each.quantization, len(each.data)) for each in matrices if each.data is not None]
    scales = np.concatenate([np.full(rows, how.scale, np.float32) for how, rows in known if how is not None])
    name = matrices[0].name
    return constant(integers, types.INT8, name), constant(scales[:, None], types.FLOAT32, f"{name}/scales")


def _count(weights: Iterable[Value]) -> int:
    return sum(value.stored.size for value in weights if value.stored is not None)


def _weights_of(op: Op) -> tuple[tuple[int, ...], int | None, int | None]:
    """Return the operands of an op that are its weights, the axis of their scales, and that of outputs."""
    if op.kind == "tfl.GATHER":
        return (0,), None, None
    known = hybrid_weights(op)
    if known is None:
        return (), None, None
    return tuple(index for index in known.operands if index < len(op.operands)), known.axis, known.outputs


def _is_unpacked(op: Op, beside: bool) -> bool:
    """Return whether weights are dequantized in front of an op that XNNPACK has no hybrid kernel for. It unpacks them
    once and computes in floats, faster and more exactly than LiteRT's own hybrid kernel. So are those of fused
    recurrent ops, as that is more exact, of dense layers beside them, and in front of a logarithm: what a hybrid kernel
    rounds to 0 would be the least number of all."""
    if op.type in RECURRENT:
        directions = DIRECTIONS[op.type]
        read = (op.operands[index] for each in directions for index in (*each.of_x, *each.of_h))
        return _count(value for value in read if value is not None) <= _MOST_EXPANDED * len(directions)
    if op.type == "FULLY_CONNECTED":
        weights = op.operands[1]
        is_small = weights is not None and _count([weights]) <= _MOST_EXPANDED
        return (beside and is_small) or _is_before_log(op)
    if op.type != "DEPTHWISE_CONV_2D":
        return op.type == "TRANSPOSE_CONV"
    weights = op.operands[1]
    assert weights is not None and weights.data is not None
    return math.prod(weights.data.shape[1:3]) <= _MOST_UNPACKED


def _is_before_log(op: Op) -> bool:
    """Return whether a logarithm is taken of the results of a product, as of the filters of a spectrogram: of them, of
    their squares, or of sums of such that nothing but a floor is added to."""
    seen, pending = {op}, [op]
    while pending and len(seen) <= _MOST_BEFORE_LOG:
        current = pending.pop()
        if any(value is not None and _is_offset(current, value) for value in current.operands):
            continue
        readers = {reader for result in current.results for reader in result.uses} - seen
        if any(reader.type == "LOG" for reader in readers):
            return True
        readers = {reader for reader in readers if reader.type in _SMALL_OF_SMALL}
        seen |= readers
        pending += readers
    return False


def _is_offset(op: Op, value: Value) -> bool:
    """Return whether an op adds a constant to numbers that may be smaller, or takes the larger one."""
    is_term = op.type in ("ADD", "MAXIMUM") or (op.type == "FULLY_CONNECTED" and value is not op.operands[1])
    return is_term and value.data is not None and bool((abs(value.data) > _FLOOR).any())


def _data(op: Op) -> int:
    return 2 if op.type == "TRANSPOSE_CONV" else 0


def _dequantize(op: Op, out: list[Op]) -> None:
    """Let an op that picks rows of int8 make int8, and DEQUANTIZE floats of it."""
    table, result = op.operands[0], op.result
    assert table is not None
    narrow = op.results[0] = Value(table.dtype, result.shape, result.name, op)
    narrow.quantization = table.quantization
    wide = Builder(out, op.name, op.sources).dequantize(narrow)
    replace_uses(result, wide)
    wide.name = result.name
