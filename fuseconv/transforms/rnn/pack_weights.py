"""Build the weights that a recognized cell's fused op takes, as tf ops on the weights of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value, constant
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.rnn.match_cell import Cell, Gate
from fuseconv.transforms.rnn.polynomial import Part, Poly, Vector, factors


@dataclass(frozen=True)
class Weights:
    """The weights of n gates side by side: kernel [in, n * units], recurrent [out, n * units], bias [n * units]. An
    LSTM may also have a peephole [3 * units], of three gates, and a projection [units, out]."""

    kernel: Value
    recurrent: Value
    bias: Value
    peephole: Value | None
    projection: Value | None


def build_weights(tf: TfBuilder, cell: Cell) -> Weights:
    gates, units = cell.gates, cell.units
    peephole = None
    if any(gate.peephole is not None for gate in gates):
        peephole = _side_by_side(tf, [_vector(tf, gates[number].peephole, units) for number in (0, 1, 3)], 0)
    return Weights(
        _matrix(tf, gates, lambda gate: gate.kernel),
        _matrix(tf, gates, lambda gate: gate.recurrent),
        _side_by_side(tf, [_signed(tf, gate, _bias(tf, gate.bias, units)) for gate in gates], 0),
        peephole,
        None if cell.projection is None else build_part(tf, cell.projection),
    )


def _vector(tf: TfBuilder, part: Part | None, units: int) -> Value:
    return _filled(tf, 0.0, units) if part is None else build_part(tf, part)


def _filled(tf: TfBuilder, number: float, units: int) -> Value:
    return constant(np.full(units, number, np.float32), types.FLOAT32, tf.op.name)


def build_part(tf: TfBuilder, part: Part) -> Value:
    """Return a part of a weight: [n], or [rows, columns]."""
    value, (start, _) = part.value, part.columns
    shape = value.shape
    if part.rows is None:
        if value.rank != 1:
            value, shape = tf.Reshape(value, [-1]), (part.value.data.size,)  # type: ignore[union-attr]
        return value if shape == (part.width,) else tf.Slice(value, [start], [part.width])
    if part.transposed and shape is not None:
        value, shape = tf.Transpose(value, [1, 0]), shape[::-1]
    if shape == (part.height, part.width):
        return value
    return tf.Slice(value, [part.rows[0], start], [part.height, part.width])


def _bias(tf: TfBuilder, bias: Poly, units: int) -> Value:
    """Return a sum of vectors and a number: [units]."""
    number = 0.0
    parts: list[Part] = []
    for monomial, coefficient in bias.terms:
        atoms = factors(monomial)
        if atoms:
            (vector,) = atoms
            assert isinstance(vector, Vector)
            parts.append(vector.part)
        else:
            number = coefficient
    values = [build_part(tf, part) for part in sorted(parts, key=lambda part: part.order)]
    if number or not values:
        values.append(_filled(tf, number, units))
    return _total(tf, values)


def _total(tf: TfBuilder, values: Sequence[Value]) -> Value:
    total, *others = values
    for other in others:
        total = tf.AddV2(total, other)
    return total


def _side_by_side(tf: TfBuilder, values: Sequence[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else tf.ConcatV2(*values, axis)


def _signed(tf: TfBuilder, gate: Gate, value: Value) -> Value:
    return tf.Neg(value) if gate.negative else value


def _matrix(tf: TfBuilder, gates: Sequence[Gate], of: Callable[[Gate], tuple[Part, ...]]) -> Value:
    """Return the gates' matrices side by side, each the sum of its parts; neighbors in the model are cut out
    together."""
    if any(len(of(gate)) != 1 or gate.negative for gate in gates):
        sums = [_total(tf, [build_part(tf, p) for p in sorted(of(gate), key=lambda p: p.order)]) for gate in gates]
        return _side_by_side(tf, [_signed(tf, gate, total) for gate, total in zip(gates, sums)], 1)
    joined: list[Part] = []
    for gate in gates:
        (part,) = of(gate)
        last = joined[-1] if joined else None
        if last is not None and replace(last, columns=part.columns) == part and last.columns[1] == part.columns[0]:
            joined[-1] = replace(last, columns=(last.columns[0], part.columns[1]))
        else:
            joined.append(part)
    return _side_by_side(tf, [build_part(tf, part) for part in joined], 1)
