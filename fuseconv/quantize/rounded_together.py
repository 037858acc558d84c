"""Weights of few bits beside floats, rounded as `error_feedback` does, by what samples tell they are multiplied by.

Without samples, something is known of a fused recurrent layer that reads an embedding: x is rows of its table, and h is
what the layer makes of them. That makes 0.7 to 0.9 of the error. Noise in place of other x tells too little: with some
it makes half of the error, with other noise three times as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import look_through, op_of
from fuseconv.quantize.affine import LARGEST, as_floats, symmetric_integers, symmetric_scales
from fuseconv.quantize.error_feedback import Moments, round_gates
from fuseconv.quantize.multiplied import before_each
from fuseconv.tfl.directions import DIRECTIONS, Direction, outputs_of, takes_operands
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.recurrent_kernels import KERNELS, Unserved
from fuseconv.tfl.traits import LAYOUT_CHANGES

# Rows that are drawn, in at most so many sequences.
_ROWS, _SEQUENCES = 1536, 32
# Larger matrices wake the threads of OpenBLAS, which wait for the next one in a loop: a tenth of a second of the
# processor's time. These are inputs that are rounded together, products of a step, and rows that are summed up at once.
_MOST_INPUTS, _MOST_PRODUCTS, _PART = 128, 1 << 18, 16
# What hands on the rows of a table.
_HANDS_ON = frozenset(f"tfl.{type}" for type in ("DEQUANTIZE", "REVERSE_V2", *LAYOUT_CHANGES))
# Attributes that tell of no numbers.
_LAYOUT = ("asymmetric_quantize_inputs", "merge_outputs", "time_major")


def round_weights(op: Op, moments: Moments, made: dict[Value, Value | None]) -> None:
    """Add to `made` the weights of an op in 8 bits, unless they are there or have no scales. moments: what `Multiplied`
    tells of the op."""
    for gates, part in _parts(op, moments):
        _round(op, gates, part, made)


def round_recurrent_weights(op: Op, made: dict[Value, Value | None]) -> None:
    """Do as `round_weights` for a small fused recurrent op of which no samples tell, if it reads rows of a table."""
    table = _table(op)
    if table is not None and takes_operands(op):
        for direction, moments in zip(DIRECTIONS[op.type], _of_rows(op, table)):
            _round(op, _pairs(op, direction), moments, made)


def _round(op: Op, gates: list[list[Value]], moments: Moments, made: dict[Value, Value | None]) -> None:
    if any(value in made for weights in gates for value in weights):
        return
    axis = None if op.type in DIRECTIONS else 0
    exact = [[value.data for value in weights if value.data is not None] for weights in gates]
    found = [[symmetric_scales(array, axis) for array in arrays] for arrays in exact]
    scales = [[each for each in of_gate if each is not None] for of_gate in found]
    if [len(each) for each in scales] != [len(each) for each in found]:
        return
    steps = [[each if axis is None else each[:, None] for each in of_gate] for of_gate in scales]
    stored = round_gates(exact, steps, LARGEST[types.INT8], moments, centered=False)
    for weights, integers, of_gate in zip(gates, stored, scales):
        for value, each, scale in zip(weights, integers, of_gate):
            made[value] = symmetric_integers(value, each, scale, axis=axis)


def _table(op: Op) -> np.ndarray | None:
    """Return the table whose rows x is; None if it is something else."""
    x = op.operands[0]
    gather = None if x is None else op_of(look_through(x, _HANDS_ON), "tfl.GATHER")
    table = None if gather is None else gather.operands[0]
    of_x = op.operands[DIRECTIONS[op.type][0].of_x[-1]]
    if table is None or not table.is_const or table.rank != 2 or of_x is None or table.shape[1] != of_x.shape[1]:  # type: ignore[index]
        return None
    return as_floats(table)


def _of_rows(op: Op, table: np.ndarray) -> list[Moments]:
    """Return for each direction of a recurrent op what its weights are multiplied by where x is rows of a table: none
    for a large op, or a form of it that no function computes."""
    random, directions = np.random.default_rng(0), DIRECTIONS[op.type]
    sizes = [outputs_of(op, direction) for direction in directions]
    inputs, widest = table.shape[1], max(sizes)
    products = max(inputs, widest) * widest * len(directions[0].of_h)
    sequences = min(_SEQUENCES, _MOST_PRODUCTS // products)
    if inputs + widest > _MOST_INPUTS or sequences < _SEQUENCES // 2:
        return []
    operands: list[Any] = [None if value is None else value.data for value in op.operands[1:]]
    for direction, size in zip(directions, sizes):
        for index in direction.states:
            operands[index - 1] = np.zeros((sequences, size), np.float32)
    x = table[random.integers(0, len(table), (_ROWS // sequences, sequences))]
    attrs = {name: value for name, value in op.attrs.items() if name not in _LAYOUT}
    try:
        outputs = KERNELS[op.kind](x, *operands, **attrs, time_major=True)
    except Unserved:
        return []
    first = [np.zeros_like(output[:1]) for output in outputs]
    return [_moments(np.concatenate([x, h], axis=2)) for h in before_each(op, outputs, first, 0)]


def _moments(rows: np.ndarray) -> Moments:
    rows = rows.reshape(-1, rows.shape[-1]).astype(np.float64)
    parts = np.split(rows, range(_PART, len(rows), _PART))
    return Moments(len(rows), rows.sum(axis=0), sum(part.T @ part.copy() for part in parts), float(np.abs(rows).max()))


def _parts(op: Op, moments: Moments) -> Iterator[tuple[list[list[Value]], Moments]]:
    """Yield what is rounded at once: of one direction the weights of each gate, of x and of h, with the moments of what
    they are multiplied by."""
    if op.type not in DIRECTIONS:
        yield [[_operand(op, LAYOUTS[op.type].weights)]], moments
        return
    directions = DIRECTIONS[op.type]
    at = moments.mean.size - sum(outputs_of(op, each) for each in directions)
    inputs = [*range(at)]
    for direction in directions:
        outputs = [*range(at, at + outputs_of(op, direction))]
        at += len(outputs)
        yield _pairs(op, direction), moments.part(inputs + outputs)


def _pairs(op: Op, direction: Direction) -> list[list[Value]]:
    """Return the weights of each gate of a direction, of x and of h."""
    return [
        [_operand(op, of_x), _operand(op, of_h)]
        for of_x, of_h in zip(direction.of_x, direction.of_h)
        if op.operands[of_x] is not None  # an LSTM may couple its input gate to another
    ]


def _size(weights: Value) -> int:
    assert weights.stored is not None
    return int(weights.stored.shape[1])


def _operand(op: Op, index: int) -> Value:
    value = op.operands[index]
    assert value is not None
    return value
