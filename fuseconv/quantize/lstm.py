"""The integer kernel of UNIDIRECTIONAL_SEQUENCE_LSTM: what it demands, and the range of its cell state.

Source of the contract: `unidirectional_sequence_lstm.cc` and `lstm_eval.cc` of LiteRT. Weights have one scale a matrix.
The output state has the output's scale; the cell state is int16, its scale a power of two. Of the five intermediates
the last, the output before a projection, is always read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Quantization, Value, constant
from fuseconv.quantize.affine import LARGEST, Range, quantized_weights, symmetric_integers, symmetric_scales
from fuseconv.quantize.error_feedback import Moments, round_gates, round_with_feedback
from fuseconv.tfl.integer import LSTM
from fuseconv.tfl.traits import activation_of

KIND = f"tfl.{LSTM}"
OUTPUT_STATE, CELL_STATE = 18, 19
# With layer norm, whether there is one or not: TFLite Micro counts them.
_OPERANDS = 24
_WEIGHTS, _PEEPHOLES, _BIASES, _PROJECTION, _NORMS = range(1, 9), range(9, 12), range(12, 16), 16, range(20, 24)
# tanh of the cell state takes up to 6 bits before the point; with others the kernel computes garbage.
_CELL_EXPONENTS = -15, -9
_STATE_WRITERS = ("tfl.FILL", "tfl.TILE")
# The output before a projection is a gate times a tanh: below 1.
_LARGEST_HIDDEN, _LEAST_HIDDEN = 1.0, 1 / 128
_UNREAD = Quantization((1.0,), (0,))


def refusal(op: Op) -> str:
    """Return why an LSTM cannot compute in integers; empty if it can, as far as its operands tell."""
    operands = [*op.operands, *[None] * (_OPERANDS - len(op.operands))]
    constants = [operands[index] for index in (*_WEIGHTS, *_PEEPHOLES, *_BIASES, _PROJECTION)]
    if any(value is not None and (value.data is None or not np.isfinite(value.data).all()) for value in constants):
        return "its weights are computed, or not finite"
    if any(value is not None and value.dtype is not types.FLOAT32 for value in constants):
        return "its weights are quantized already"
    if activation_of(op) != "TANH":
        return "the integer kernel has no activation but tanh"
    if op.attrs.get("diagonal_recurrent_tensors") or any(operands[index] is not None for index in (17, *_NORMS)):
        return "the integer kernel is not used with layer norm, a projection's bias or diagonal weights"
    if operands[_PROJECTION] is not None and any(operands[index] is not None for index in _PEEPHOLES):
        return "with a projection, the integer kernel computes peepholes wrong"
    states = [operands[index] for index in (OUTPUT_STATE, CELL_STATE)]
    if any(state is None or len(state.uses) != 1 for state in states):
        return "other ops read its state"
    if any(state.op is not None and state.op.kind not in _STATE_WRITERS for state in states):  # type: ignore[union-attr]
        return "its state is written by an op of floats"
    return ""


def cell_scale(cell: Range) -> Quantization:
    """Return the power of two that holds a cell state in int16, within what the kernel takes."""
    least, largest = _CELL_EXPONENTS
    exponent = math.ceil(math.log2(abs(cell) / 32767)) if abs(cell) else least
    return Quantization((2.0 ** min(max(exponent, least), largest),), (0,))


def integer_operands(
    op: Op, data: Value, output: Quantization, moments: Mapping[Value, Moments] = MappingProxyType({})
) -> list[Value | None]:
    """Return the operands with constants in integers. data: the operand in int8; output: the result's scale, which
    goes to the intermediates of `op` as well. moments: what `Recurrence.measured` tells, if that was measured."""
    operands = [*op.operands, *[None] * (_OPERANDS - len(op.operands))]
    operands[0] = data
    of_gates, of_hidden = moments.get(op.result), _of_hidden(operands, moments)
    if of_gates is not None and of_gates.is_measured:
        _round_together(operands, of_gates)
    if of_hidden is not None:
        operands[_PROJECTION] = _rounded_projection(operands, of_hidden)
    for index in (*_WEIGHTS, _PROJECTION):
        value = operands[index]
        if value is not None and value.dtype is types.FLOAT32:
            operands[index] = _of_one_scale(value, types.INT8)
    for index in _PEEPHOLES:
        value = operands[index]
        operands[index] = None if value is None else _of_one_scale(value, types.INT16)
    assert data.quantization is not None
    for index, weights in zip(_BIASES, operands[1:5]):
        bias = operands[index]
        if bias is not None and weights is not None and weights.quantization is not None and bias.data is not None:
            scale = float(np.float32(data.quantization.scale[0]) * np.float32(weights.quantization.scale[0]))
            limit = 2**31 - 1
            made = constant(np.clip(np.rint(bias.data / scale), -limit, limit).astype(np.int32), name=bias.name)
            made.quantization = Quantization((scale,), (0,))
            operands[index] = made
    hidden = output
    if operands[_PROJECTION] is not None:
        largest = _LARGEST_HIDDEN if of_hidden is None else of_hidden.largest
        hidden = Quantization((float(np.float32(largest / LARGEST[types.INT8])),), (0,))
    op.attrs["intermediates"] = [*(_intermediate(op, types.INT16, _UNREAD) for _ in range(4)),
                                 _intermediate(op, types.INT8, hidden)]  # fmt: skip
    return operands


def _round_together(operands: list[Value | None], moments: Moments) -> None:
    """Round the weights of each gate together, and let its bias take in what that moves its mean by."""
    gates = [gate for gate in range(4) if _arrays(operands, gate)]
    exact = [_arrays(operands, gate) for gate in gates]
    found = [[symmetric_scales(array, None) for array in arrays] for arrays in exact]
    scales = [[scale for scale in pair if scale is not None] for pair in found]
    if not gates or any(len(pair) < 2 for pair in scales):
        return
    stored = round_gates(exact, scales, LARGEST[types.INT8], moments)
    for gate, arrays, integers, pair in zip(gates, exact, stored, scales):
        bias = operands[_BIASES[gate]]
        assert bias is not None and bias.data is not None
        errors = [array - each * scale for array, each, scale in zip(arrays, integers, pair)]
        shift = np.concatenate(errors, axis=1) @ moments.mean
        operands[_BIASES[gate]] = constant((bias.data + shift).astype(np.float32), name=bias.name)
        for index, each, scale in zip((1 + gate, 5 + gate), integers, pair):
            value = operands[index]
            assert value is not None
            operands[index] = symmetric_integers(value, each, scale)


def _of_hidden(operands: Sequence[Value | None], moments: Mapping[Value, Moments]) -> Moments | None:
    """Return the moments of what is projected; None if nothing is, or it was not measured or is hardly there."""
    projection = operands[_PROJECTION]
    found = None if projection is None else moments.get(projection)
    return found if found is not None and found.is_measured and found.largest >= _LEAST_HIDDEN else None


def _rounded_projection(operands: Sequence[Value | None], moments: Moments) -> Value | None:
    """Return the projection, which has no bias, in integers."""
    projection = operands[_PROJECTION]
    assert projection is not None and projection.data is not None
    scale = symmetric_scales(projection.data, None)
    if scale is None:
        return projection
    stored = round_with_feedback(projection.data, scale, LARGEST[types.INT8], moments.covariance(centered=False))
    return symmetric_integers(projection, stored, scale)


def _arrays(operands: Sequence[Value | None], gate: int) -> list[np.ndarray]:
    """Return the weights of a gate, by x and by h; none if it has none, or no bias."""
    if operands[_BIASES[gate]] is None:
        return []
    weights = (operands[1 + gate], operands[5 + gate])
    return [value.data for value in weights if value is not None and value.data is not None]


def _of_one_scale(value: Value, dtype: types.DType) -> Value | None:
    return quantized_weights(value, None, dtype, outputs=0)


def _intermediate(op: Op, dtype: types.DType, scale: Quantization) -> Value:
    value = Value(dtype, (0,), f"{op.name}/intermediate")
    value.quantization = scale
    return value


@dataclass
class Recurrence:
    """An LSTM computed in numpy, for the range of its cell state over all steps: the runtime tells that of the last.

    output, cell: the states [batch, n] that the next run begins with, if nothing writes them. moments, hidden: those of
    [x, h], and of what is projected, over all steps and runs."""

    op: Op
    output: np.ndarray | None = None
    cell: np.ndarray | None = None
    moments: Moments = field(default_factory=Moments)
    hidden: Moments = field(default_factory=Moments)

    @property
    def measured(self) -> dict[Value, Moments]:
        """Return the moments of [x, h] by the op's result, and those of what is projected by the projection."""
        projection = self.op.operands[_PROJECTION]
        return {self.op.result: self.moments, **({} if projection is None else {projection: self.hidden})}

    def run(self, x: np.ndarray, output: np.ndarray | None, cell: np.ndarray | None) -> Range:
        """Return the range of the cell state. x: [batch, time, in], or [time, batch, in] of a time-major op; output,
        cell: what is written into the states before the run, if anything."""
        steps = x if self.op.attrs.get("time_major") else np.swapaxes(x, 0, 1)
        batch = steps.shape[1]
        h = self._state(output, self.output, batch, OUTPUT_STATE)
        c = self._state(cell, self.cell, batch, CELL_STATE)
        found = Range.of(c)
        rows, hidden, projects = [], [], self.op.operands[_PROJECTION] is not None
        for step in steps:
            rows.append(np.concatenate([step, h], axis=1))
            last, c = self._step(step, h, c)
            if projects:
                hidden.append(last)
            h = self._projected(last)
            found |= Range.of(c)
        if rows:
            self.moments.add(np.concatenate(rows))
        if hidden:
            self.hidden.add(np.concatenate(hidden))
        self.output, self.cell = h, c
        return found

    def _state(self, written: np.ndarray | None, kept: np.ndarray | None, batch: int, index: int) -> np.ndarray:
        state = self.op.operands[index]
        assert state is not None and state.shape is not None
        if written is None and state.op is None and kept is not None and len(kept) == batch:
            return kept
        return np.zeros((batch, state.shape[1]), np.float32) if written is None else written  # type: ignore[arg-type]

    def _step(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the output, before it is projected, and the cell state."""
        forget = _sigmoid(self._gate(1, x, h, c))
        enter = 1 - forget if self.op.operands[1] is None else _sigmoid(self._gate(0, x, h, c))
        c = forget * c + enter * np.tanh(self._gate(2, x, h, None))
        c = _clipped(c, self.op.attrs.get("cell_clip", 0.0))
        return _sigmoid(self._gate(3, x, h, c)) * np.tanh(c), c

    def _projected(self, hidden: np.ndarray) -> np.ndarray:
        projection = self._array(_PROJECTION)
        return hidden if projection is None else _clipped(hidden @ projection.T, self.op.attrs.get("proj_clip", 0.0))

    def _gate(self, number: int, x: np.ndarray, h: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Return what goes into the activation of a gate: 0 input, 1 forget, 2 cell, 3 output."""
        of_x, of_h, bias = (self._array(first + number) for first in (1, 5, 12))
        assert of_x is not None and of_h is not None and bias is not None
        total = x @ of_x.T + h @ of_h.T + bias
        peephole = self._array((9, 10, 0, 11)[number]) if number != 2 else None
        return total if peephole is None or c is None else total + peephole * c

    def _array(self, index: int) -> np.ndarray | None:
        value = self.op.operands[index]
        return None if value is None else value.data


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * np.tanh(0.5 * x) + 0.5


def _clipped(x: np.ndarray, bound: float) -> np.ndarray:
    return np.clip(x, -bound, bound) if bound else x
