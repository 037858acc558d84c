"""Trace where the sequences come from that a loop walks along."""

from __future__ import annotations

from dataclasses import dataclass

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.rnn.recurrence import Input


@dataclass(frozen=True)
class Sequence:
    """A tensor without the transpositions and reversals before it. moves: these, the first to be done first."""

    source: Value
    moves: tuple[Op, ...]
    time_axis: int
    backwards: bool

    @classmethod
    def of(cls, given: Input) -> Sequence:
        """Return the sequence that a loop reads: [batch, time, n] or [time, batch, n]; a mask may lack the n."""
        value, axis, backwards = given.tensor, given.axis, given.backwards
        moves: list[Op] = []
        while value.op is not None and value.op.operands and value.rank in (2, 3):
            op, axes = value.op, value.op.operands[1] if len(value.op.operands) == 2 else None
            numbers = None if axes is None or axes.data is None else [int(n) for n in axes.data.reshape(-1)]
            if op.kind == "tf.Transpose" and numbers == [1, 0, 2][: value.rank]:
                axis = 1 - axis
            elif op.kind == "tf.ReverseV2" and numbers == [axis]:
                backwards = not backwards
            elif not (op.kind == "tf.ExpandDims" and value.dtype is types.BOOL and numbers in ([-1], [2])):
                break
            moves.insert(0, op)
            assert op.operands[0] is not None
            value = op.operands[0]
        return cls(value, tuple(moves), axis, backwards)

    def moved(self, out: list[Op], value: Value) -> Value:
        """Return what the moves make of another tensor in the place of the source."""
        for move in self.moves:
            value = TfBuilder(out, move).add(move.type, [value, move.operands[1]], {}, value.dtype, move.result.shape)
        return value
