"""Vectors that count: 0, 1, 2, ..."""

from __future__ import annotations

from fuseconv.ir.graph import Value
from fuseconv.tf.operands import content_of

# Ops that are followed from a vector to the Ranges that it is.
_MOST_STEPS = 64


def counts_up(value: Value | None) -> bool:
    """Return True for 0, 1, 2, ... in whatever shape.

    `tf.vectorized_map` writes such indices for x[i]: what it takes of a Range by a Range, none of it unless there is
    more than one."""
    pending = [value]
    for _ in range(_MOST_STEPS):
        if not pending:
            return True
        value = pending.pop()
        op = None if value is None else value.op
        if op is None or op.dialect != "tf":
            return False
        if op.type == "Range":
            start, _, delta = op.operands
            if not _is_number(start, 0) or not _is_number(delta, 1):
                return False
        elif op.type == "GatherV2":
            # Elements of a vector that counts are the indices, which must be within it.
            table, indices, axis = op.operands
            if not _is_number(axis, 0) or op.attrs.get("batch_dims") or table is None or table.rank != 1:
                return False
            pending += [table, indices]
        elif op.type == "SelectV2":
            pending.append(_several(*op.operands))
        elif op.type in ("ExpandDims", "Reshape") or (op.type == "Pack" and len(op.operands) == 1):
            pending.append(op.operands[0])
        else:
            return False
    return False


def _several(condition: Value | None, then: Value | None, other: Value | None) -> Value | None:
    """Return the vector of SelectV2(n > 1, vector, 0), if n is its size: counted up to 1, it is [0] too; else None."""
    test = None if condition is None else condition.op
    if test is None or test.kind != "tf.Greater" or not _is_number(test.operands[1], 1) or not _is_number(other, 0):
        return None
    size = content_of(test.operands[0])
    same = size is not None and size.size == 1 and then is not None and then.shape == (size.reshape(-1)[0],)
    return then if same and other is not None and other.rank == 0 else None


def _is_number(value: Value | None, number: int) -> bool:
    content = content_of(value)
    return content is not None and content.size == 1 and content.reshape(-1)[0] == number
