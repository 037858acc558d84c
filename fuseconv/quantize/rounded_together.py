"""Weights of few bits beside floats, rounded as `error_feedback` does, by what samples tell they are multiplied by.

Without samples nothing is known that helps: moments of noise in place of x, or of rows of the table that x is gathered
from, make half of the error with some seeds and three times as much with others."""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.quantize.affine import LARGEST, symmetric_integers, symmetric_scales
from fuseconv.quantize.error_feedback import Moments, round_gates
from fuseconv.tfl.directions import DIRECTIONS, Direction, outputs_of
from fuseconv.tfl.linear import LAYOUTS


def round_weights(op: Op, moments: Moments, made: dict[Value, Value | None], axis: int | None) -> None:
    """Add to `made` the weights of an op in 8 bits, unless they are there or have no scales. moments: what `Multiplied`
    tells of the op. axis: of outputs, 0, if each has a scale; None for one scale a matrix."""
    for gates, part in _parts(op, moments):
        _round(gates, part, made, axis)


def _round(
    gates: list[list[Value]], moments: Moments, made: dict[Value, Value | None], axis: int | None
) -> None:  # fmt: skip
    if any(value in made for weights in gates for value in weights):
        return
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


def _operand(op: Op, index: int) -> Value:
    value = op.operands[index]
    assert value is not None
    return value
