"""Read the state that a loop ends with, where of the rows that it has written only the last one is read."""

from __future__ import annotations

from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Graph, Op, Value, detach, replace_uses
from fuseconv.ir.slice_spec import Insert, Pick, SliceSpec, Take
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of, is_reversal
from fuseconv.tf.traits import SLICES


def read_last_row(loop: Op, graph: Graph, rows: Value, state: Value, place: Dim) -> bool:
    """Let slices of the last row read the state: StridedSlice(Transpose(rows, [1, 0, 2]), [:, -1]) -> state.

    rows, state: results of the loop; row number `place` is the state. Returns whether nothing else of the rows is read,
    and the slices read the state now."""
    taken = _slices(rows, place)
    if not taken:
        return False
    out: list[Op] = []
    for op, axis in taken:
        picked = op.result.rank == state.rank
        made = state if picked else TfBuilder(out, op).ExpandDims(state, axis)
        made.shape = op.result.shape if made.shape is None else made.shape
        replace_uses(op.result, made)
        detach(op)
    gone = {op for op, _ in taken}
    position = graph.ops.index(loop) + 1
    graph.ops = [*graph.ops[:position], *out, *(op for op in graph.ops[position:] if op not in gone)]
    return True


def _slices(rows: Value, place: Dim) -> list[tuple[Op, int]] | None:
    """Return the slices that take one row, and along which dimension; None if anything else reads the rows."""
    found: list[tuple[Op, int]] = []
    pending = [(rows, list(range(rows.rank or 0)), place)]
    while pending:
        value, order, row = pending.pop()
        axis, others = order.index(0), [dim for dim in order if dim]
        count = (value.shape or order)[axis]
        for reader in value.uses:
            moved = content_of(reader.operands[1]) if reader.kind == "tf.Transpose" else None
            if moved is not None:
                pending.append((reader.result, [order[dim] for dim in moved.reshape(-1)], row))
            elif reader.kind == "tf.ReverseV2" and is_reversal(reader, axis):
                pending.append((reader.result, order, count - 1 - row))
            elif reader.kind in SLICES and others == sorted(others) and _takes_row(reader, axis, row):
                found.append((reader, axis))
            else:
                return None
    return found


def _takes_row(op: Op, axis: int, place: Dim) -> bool:
    """Return whether a slice takes one row along a dimension, and all of the others."""
    spec, shape = SliceSpec.of(op), op.operands[0].shape  # type: ignore[union-attr]
    entries = None if spec is None or shape is None else spec.unfold(len(shape))
    if entries is None or shape is None or len(entries) != len(shape):
        return False
    count, entry = shape[axis], entries[axis]
    others = [*zip(entries[:axis], shape), *zip(entries[axis + 1 :], shape[axis + 1 :])]
    if any(isinstance(one, Insert) or not one.takes_all(size) for one, size in others):
        return False
    if isinstance(entry, Pick):
        return entry.index in (place, place - count)
    if not isinstance(entry, Take) or entry.stride != 1:
        return False
    if not all(bound is None or isinstance(bound, int) for bound in (entry.begin, entry.end)):
        return False
    if isinstance(count, int):
        return [*range(count)][entry.begin : entry.end] == [place]
    # Of rows whose number a run tells, the first and the last one can be named.
    named = {0: (entry.begin or 0, entry.end) == (0, 1), count - 1: (entry.begin, entry.end) == (-1, None)}
    return named.get(place, False)
