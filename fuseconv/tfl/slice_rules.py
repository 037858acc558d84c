"""Which part of its operands a TFLite op needs to make a part of its result: elements of a dimension, all others whole.

An op keeps a dimension of its result apart if each element along it depends on the element at the same place along one
dimension of an operand, or on operands as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_table import OpTable
from fuseconv.tfl.traits import ELEMENTWISE, REDUCTIONS


class Part(NamedTuple):
    """The elements from `begin` up to `end` of the dimension `axis`; both count from the end, which is then 0, if
    `begin` is negative."""

    axis: int
    begin: int
    end: int


# What each operand must give, None for the whole of it; None instead of a list if the op does not keep them apart.
Needs = list[Part | None] | None
_RULES: OpTable[Callable[[Op, Part], Needs]] = OpTable()
_rule = _RULES.declare


def needs(op: Op, part: Part) -> Needs:
    """Return what the operands must give for this part of the op's only result."""
    rule = _RULES.get(op.type)
    if rule is None or len(op.results) != 1 or any(v is None or v.shape is None for v in _data(op)):
        return None
    return rule(op, part) if op.result.shape is not None else None


def _data(op: Op) -> list[Value | None]:
    return op.operands[:2] if op.type == "BATCH_MATMUL" else op.operands[:1]


@_rule(*ELEMENTWISE)
def _elementwise(op: Op, part: Part) -> Needs:
    """Take the same part of each operand that has the dimension, and operands that are broadcast along it whole."""
    shape = op.result.shape
    wanted: list[Part | None] = []
    for value in op.operands:
        if value is None or value.shape is None or shape is None:
            return None
        axis = part.axis - (len(shape) - len(value.shape))
        if axis < 0 or (value.shape[axis] == 1 != shape[part.axis]):
            wanted.append(None)
        elif value.shape[axis] == shape[part.axis]:
            wanted.append(part._replace(axis=axis))
        else:
            return None
    return wanted


@_rule("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")
def _along_last(op: Op, part: Part) -> Needs:
    return [part] if part.axis < op.result.rank - 1 else None  # type: ignore[operator]


@_rule(
    "AVERAGE_POOL_2D", "CONV_2D", "CONV_3D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "L2_POOL_2D", "MAX_POOL_2D",
    "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_DEPTH",
)  # fmt: skip
def _of_images(op: Op, part: Part) -> Needs:
    return [part, *[None] * (len(op.operands) - 1)] if part.axis == 0 else None


@_rule("PAD", "PADV2", "MIRROR_PAD")
def _padded(op: Op, part: Part) -> Needs:
    pads = op.operands[1]
    whole = pads is None or pads.data is None or pads.data[part.axis].any()
    return None if whole else [part, *[None] * (len(op.operands) - 1)]


@_rule("FULLY_CONNECTED")
def _dense(op: Op, part: Part) -> Needs:
    before, after = op.operands[0].shape, op.result.shape  # type: ignore[union-attr]
    if before is None or after is None or before[:-1] != after[:-1] or part.axis == len(after) - 1:
        return None
    return [part, *[None] * (len(op.operands) - 1)]


@_rule(*REDUCTIONS)
def _reduction(op: Op, part: Part) -> Needs:
    x, axes = op.operands
    if x is None or x.shape is None or axes is None or axes.data is None:
        return None
    reduced = {int(axis) % len(x.shape) for axis in axes.data.reshape(-1)}
    kept = [axis for axis in range(len(x.shape)) if axis not in reduced or op.attrs.get("keep_dims")]
    axis = kept[part.axis]
    return None if axis in reduced else [part._replace(axis=axis), None]


@_rule("RESHAPE")
def _reshape(op: Op, part: Part) -> Needs:
    before, after = op.operands[0].shape, op.result.shape  # type: ignore[union-attr]
    same = before is not None and after is not None and before[: part.axis + 1] == after[: part.axis + 1]
    # The dimensions behind the part have as many elements together, before and after.
    return [part, *[None] * (len(op.operands) - 1)] if same else None


@_rule("TRANSPOSE")
def _transpose(op: Op, part: Part) -> Needs:
    perm = op.operands[1]
    return None if perm is None or perm.data is None else [part._replace(axis=int(perm.data[part.axis])), None]


@_rule("BATCH_MATMUL")
def _product(op: Op, part: Part) -> Needs:
    x, y = op.operands
    rank = len(op.result.shape)  # type: ignore[arg-type]
    if part.axis == rank - 2:
        inner = len(x.shape) - (1 if op.attrs.get("adj_x") else 2)  # type: ignore[union-attr,arg-type]
        return [part._replace(axis=inner), None]
    if part.axis == rank - 1:
        inner = len(y.shape) - (2 if op.attrs.get("adj_y") else 1)  # type: ignore[union-attr,arg-type]
        return [None, part._replace(axis=inner)]
    return None


@_rule("CONCATENATION")
def _joined(op: Op, part: Part) -> Needs:
    shape = op.result.shape
    return None if int(op.attrs.get("axis", 0)) % len(shape) == part.axis else [part] * len(op.operands)  # type: ignore[arg-type]
