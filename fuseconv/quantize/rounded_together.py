"""Weights of few bits beside floats, rounded as `error_feedback` does, by what samples tell they are multiplied by.

Without samples, something is known of fused recurrent layers: what they multiply their own output by is what they make
of random inputs, more or less, and rows of a table are those that it holds. That takes a tenth off the largest errors,
and up to two thirds where training made outputs that go together."""

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
from fuseconv.tfl.directions import DIRECTIONS, outputs_of, takes_operands
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.recurrent_kernels import KERNELS, Unserved
from fuseconv.tfl.traits import LAYOUT_CHANGES

# Random inputs: sequences, steps of each, and the deviation of numbers, which real ones that go together have as well.
_SEQUENCES, _STEPS, _DEVIATION = 64, 24, 0.5
# More outputs take longer than they gain, as fewer rows tell of each.
_MOST_OUTPUTS = 128
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
    """Do as `round_weights` for a fused recurrent op of which no samples tell: where x is rows of a table, for all its
    weights, else for those of h."""
    widest = max(outputs_of(op, direction) for direction in DIRECTIONS[op.type])
    if not takes_operands(op) or widest > _MOST_OUTPUTS:
        return
    table = _table(op)
    moments = _of_random_inputs(op, table)
    if moments is None:
        return
    for gates, part in _parts(op, moments):
        if table is None:
            inputs = _size(gates[0][0])
            gates, part = [weights[1:] for weights in gates], part.part(range(inputs, part.mean.size))
        _round(op, gates, part, made)


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


def _of_random_inputs(op: Op, table: np.ndarray | None) -> Moments | None:
    """Return what the weights of a recurrent op are multiplied by where x is random: rows of a table, or numbers. None
    for a form of the op that no function computes."""
    random, directions = np.random.default_rng(0), DIRECTIONS[op.type]
    operands: list[Any] = [None if value is None else value.data for value in op.operands[1:]]
    for direction in directions:
        for index in direction.states:
            operands[index - 1] = np.zeros((_SEQUENCES, outputs_of(op, direction)), np.float32)
    if table is None:
        inputs = _size(_operand(op, directions[0].of_x[-1]))
        x = random.normal(0.0, _DEVIATION, (_STEPS, _SEQUENCES, inputs)).astype(np.float32)
    else:
        x = table[random.integers(0, len(table), (_STEPS, _SEQUENCES))]
    attrs = {name: value for name, value in op.attrs.items() if name not in _LAYOUT}
    try:
        outputs = KERNELS[op.kind](x, *operands, **attrs, time_major=True)
    except Unserved:
        return None
    first = [np.zeros_like(output[:1]) for output in outputs]
    moments = Moments()
    moments.add(np.concatenate([x, *before_each(op, outputs, first, 0)], axis=2).reshape(_STEPS * _SEQUENCES, -1))
    return moments


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
        pairs = [
            [_operand(op, of_x), _operand(op, of_h)]
            for of_x, of_h in zip(direction.of_x, direction.of_h)
            if op.operands[of_x] is not None  # an LSTM may couple its input gate to another
        ]
        yield pairs, moments.part(inputs + outputs)


def _size(weights: Value) -> int:
    assert weights.stored is not None
    return int(weights.stored.shape[1])


def _operand(op: Op, index: int) -> Value:
    value = op.operands[index]
    assert value is not None
    return value
