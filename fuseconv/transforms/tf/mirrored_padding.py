"""Pad by a mirror what is joined with its own rows in reverse: ConcatV2(ReverseV2(x[1:3]), x) -> MirrorPad(x).

`jnp.pad` writes "reflect" and "symmetric" so, each side of each dimension by itself.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of


def mirrored_padding(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a join of a tensor with rows of its own in reverse, and add it to the padding before."""
    axis = content_of(op.operands[-1])
    if len(op.operands) != 3 or axis is None or op.result.shape is None:
        return None
    along = int(axis) % len(op.result.shape)
    for side, (part, x) in enumerate((op.operands[:2], op.operands[1::-1])):
        mirrored = _mirrored(part, x, along, side)
        if mirrored is None or x is None or x.shape is None:
            continue
        count, mode = mirrored
        paddings = np.zeros((len(x.shape), 2), np.int32)
        before = _paddings(x, mode)
        if before is not None:
            source, padded = before
            assert source.shape is not None
            size = source.shape[along]
            # Rows that are padding already would be mirrored otherwise.
            inner = isinstance(size, int) and count <= size - (mode == "REFLECT")
            if inner and not padded[along, side]:
                x, paddings = source, padded.astype(np.int32)
        paddings[along, side] = count
        return [tf.add("MirrorPad", [x, constant(paddings)], {"mode": mode}, x.dtype, op.result.shape)]
    return None


def _mirrored(part: Value | None, x: Value | None, along: int, side: int) -> tuple[int, str] | None:
    """Return how many rows of x at its start (side 0) or end a value has, in reverse, and MirrorPad's mode."""
    turned = part.op if part is not None else None
    if part is None or turned is None or x is None or x.shape is None:
        return None
    axes = content_of(turned.operands[1]) if turned.kind == "tf.ReverseV2" else None
    if axes is None or axes.size != 1 or int(axes.reshape(-1)[0]) % len(x.shape) != along:
        return None
    rows = turned.operands[0].op if turned.operands[0] is not None else None
    spec, size = SliceSpec.of(rows), x.shape[along]
    takes = spec.takes() if spec is not None else None
    if rows is None or rows.operands[0] is not x or takes is None or len(takes) != len(x.shape):
        return None
    if not isinstance(size, int) or not all(
        take.takes_all(dim) for axis, (take, dim) in enumerate(zip(takes, x.shape)) if axis != along
    ):
        return None
    begin, end = takes[along].begin or 0, size if takes[along].end is None else takes[along].end
    if not isinstance(begin, int) or not isinstance(end, int) or not 0 <= begin < end <= size:
        return None
    margin = begin if side == 0 else size - end
    return (end - begin, ("SYMMETRIC", "REFLECT")[margin]) if margin < 2 else None


def _paddings(x: Value, mode: str) -> tuple[Value, np.ndarray] | None:
    """Return what a tensor was padded from in this mode, and by how much."""
    op = x.op
    if op is None or op.kind != "tf.MirrorPad" or op.attrs.get("mode") != mode:
        return None
    source, paddings = op.operands
    known = source is not None and source.shape is not None and paddings is not None and paddings.data is not None
    return (source, paddings.data.copy()) if known else None  # type: ignore[return-value, union-attr]
