"""Which operands of fused recurrent ops are weights and states, for each direction that they run in."""

from __future__ import annotations

from typing import NamedTuple

from fuseconv.ir.graph import Op

# Operands from which on others are multiplied by weights of their own.
_AUXILIARY = {"BIDIRECTIONAL_SEQUENCE_LSTM": 39, "BIDIRECTIONAL_SEQUENCE_RNN": 9}


class Direction(NamedTuple):
    """The operands of one direction of a fused recurrent op.

    of_x, of_h: for each gate the weights of x, and those of h. states: those that it begins with, h first. backward:
    it takes the last step first."""

    of_x: tuple[int, ...]
    of_h: tuple[int, ...]
    states: tuple[int, ...]
    backward: bool = False


def _lstm(first: int, state: int, backward: bool = False) -> Direction:
    of_x, of_h = (tuple(range(first + at, first + at + 4)) for at in (0, 4))
    return Direction(of_x, of_h, (state, state + 1), backward)


DIRECTIONS = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": (_lstm(1, 35), _lstm(18, 37, True)),
    "BIDIRECTIONAL_SEQUENCE_RNN": (Direction((1,), (2,), (4,)), Direction((5,), (6,), (8,), True)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (_lstm(1, 18),),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (Direction((1,), (2,), (4,)),),
}


def outputs_of(op: Op, direction: Direction) -> int:
    """Return the size of h."""
    weights = op.operands[direction.of_h[-1]]
    assert weights is not None and weights.shape is not None
    return int(weights.shape[1])  # type: ignore[arg-type]


def takes_operands(op: Op) -> bool:
    """Return whether a fused recurrent op multiplies x and h alone."""
    return not any(op.operands[_AUXILIARY.get(op.type, len(op.operands)) :])
