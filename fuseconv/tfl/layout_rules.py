"""Forms of a tensor: its dimensions in another order, or with one of size 1 more or less; and TFLite ops on tensors in
a form.

A convolution on [n, c, h, w] is one on [n, h, w, c] between two transposes; one on [n, w, c] is one on [n, 1, w, c]
between two reshapes. What stands between such ops can be computed in the form that they have inside. A norm of groups
of one channel works on [n, h, w, c, 1] between two reshapes: it can be computed in the form that is outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.op_table import OpTable
from fuseconv.tfl.traits import ELEMENTWISE, REDUCTIONS, RESHAPES

# Kernels broadcast up to so many dimensions.
_MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class Form:
    """For each dimension of the tensor in the form, which dimension of the tensor it is; None for one of size 1.

    dropped: a dimension of the tensor, of size 1, that the form has not."""

    order: tuple[int | None, ...]
    dropped: int | None = None

    @cached_property
    def rank(self) -> int:
        """Return the number of dimensions of tensors that can have the form."""
        return sum(axis is not None for axis in self.order) + (self.dropped is not None)

    @property
    def reshapes(self) -> bool:
        """Return whether a dimension of size 1 is added or dropped."""
        return None in self.order or self.dropped is not None

    def takes(self, shape: Shape) -> bool:
        """Return whether a tensor of this shape can have the form."""
        return len(shape) == self.rank and (self.dropped is None or shape[self.dropped] == 1)

    def place(self, axis: int) -> int | None:
        """Return where the form has a dimension of the tensor; None if it has not."""
        axis %= self.rank
        return self.order.index(axis) if axis != self.dropped else None

    def shape(self, shape: Shape) -> Shape:
        return tuple(1 if axis is None else shape[axis] for axis in self.order)

    def array(self, array: np.ndarray) -> np.ndarray:
        """Arrange an array that broadcasts to the tensor, so that it broadcasts to the tensor in the form."""
        full = array.reshape((1,) * (self.rank - array.ndim) + array.shape)
        if self.dropped is not None:
            return full.squeeze(self.dropped)
        moved = full.transpose([axis for axis in self.order if axis is not None])
        return np.expand_dims(moved, [i for i, axis in enumerate(self.order) if axis is None])


def taken_off(op: Op) -> Form | None:
    """Return the form that the operand of a transpose or reshape has of its result."""
    x = op.operands[0] if op.operands else None
    if op.kind == "tfl.TRANSPOSE" and op.operands[1].data is not None:  # type: ignore[union-attr]
        perm = op.operands[1].data.tolist()  # type: ignore[union-attr]
        return Form(tuple(perm.index(place) for place in range(len(perm))))
    if op.dialect == "tfl" and op.type in RESHAPES and x is not None:
        return _of_reshape(op.result.shape, x.shape)
    return None


def put_on(op: Op) -> Form | None:
    """Return the form that the result of a transpose or reshape has of its operand."""
    x = op.operands[0] if op.operands else None
    if op.kind == "tfl.TRANSPOSE" and op.operands[1].data is not None:  # type: ignore[union-attr]
        return Form(tuple(op.operands[1].data.tolist()))  # type: ignore[union-attr]
    if op.dialect == "tfl" and op.type in RESHAPES and x is not None:
        return _of_reshape(x.shape, op.result.shape)
    return None


# The shapes of a model are few, and asked for whenever a group comes by.
@lru_cache(maxsize=4096)
def _of_reshape(shape: Shape | None, formed: Shape | None) -> Form | None:
    """Return the form in which a tensor of one shape has the other, a dimension of size 1 more or less."""
    return _with_unit(shape, formed) or _without_unit(shape, formed)


def _with_unit(flat: Shape | None, deep: Shape | None) -> Form | None:
    if flat is None or deep is None or len(deep) > _MOST_DIMENSIONS:
        return None
    place = _unit(flat, deep)
    return None if place is None else Form((*range(place), None, *range(place, len(flat))))


def _without_unit(deep: Shape | None, flat: Shape | None) -> Form | None:
    if flat is None or deep is None or len(deep) <= _MOST_DIMENSIONS:
        return None
    place = _unit(flat, deep)
    return None if place is None else Form((*range(place), *range(place + 1, len(deep))), place)


def _unit(flat: Shape, deep: Shape) -> int | None:
    """Return the dimension of size 1 that one shape has more than the other, if that is all."""
    if len(deep) != len(flat) + 1:
        return None
    for place, dim in enumerate(deep):
        if dim == 1 and deep[:place] + deep[place + 1 :] == flat:
            return place
    return None


@dataclass
class Arranged:
    """An op on tensors in a form.

    operands: True for one that must be in the form, a value in its place for a constant, None for one that stays.
    attrs: what changes. plain: its result is what it was, not in the form."""

    operands: list[bool | Value | None]
    attrs: dict[str, Any] = field(default_factory=dict)
    plain: bool = False


_RULES: OpTable[Callable[[Op, Form], Arranged | None]] = OpTable()
_rule = _RULES.declare


def arranged(op: Op, form: Form) -> Arranged | None:
    """Return what the op is on tensors in the form; None if it cannot be computed on them."""
    rule = _RULES.get(op.type)
    if rule is None or op.dialect != "tfl" or len(op.results) != 1 or op.result.content is not None:
        return None
    for value in (*op.results, *op.operands):
        if value is not None and (value.shape is None or value.variable or value.quantization is not None):
            return None
    return rule(op, form) if op.operands[0] is not None else None


@_rule(*ELEMENTWISE)
def _elementwise(op: Op, form: Form) -> Arranged | None:
    """Arrange an element-wise op: constants go into the form, scalars stay."""
    if not form.takes(op.result.shape):  # type: ignore[arg-type]
        return None
    operands: list[bool | Value | None] = []
    for value in op.operands:
        if value is None or (value.rank not in (0, form.rank) and not value.is_const):
            return None
        if value.is_const and value.rank != 0:
            operands.append(_constant(value, form.array(value.data)))  # type: ignore[arg-type]
        else:
            # Scalars fit any form, unless it is the form of a scalar.
            operands.append(True if value.rank == form.rank and not value.is_const else None)
    return Arranged(operands)


@_rule("PAD", "PADV2", "MIRROR_PAD")
def _padded(op: Op, form: Form) -> Arranged | None:
    x, pads = op.operands[:2]
    fits = all(value is not None and form.takes(value.shape) for value in (x, op.result))  # type: ignore[arg-type]
    if not fits or pads is None or pads.data is None:
        return None
    rows = [[0, 0] if axis is None else pads.data[axis].tolist() for axis in form.order]
    return Arranged([True, _constant(pads, np.array(rows, pads.data.dtype)), *[None] * (len(op.operands) - 2)])


@_rule(*REDUCTIONS)
def _reduced(op: Op, form: Form) -> Arranged | None:
    """Arrange a reduction: its axes are those of the form. Without `keep_dims` the result is plain, if what is left of
    the dimensions is in its old order."""
    x, axes = op.operands
    if x is None or not form.takes(x.shape) or axes is None or axes.data is None:  # type: ignore[arg-type]
        return None
    reduced = {place for axis in axes.data.reshape(-1) if (place := form.place(int(axis))) is not None}
    plain = not op.attrs.get("keep_dims")
    if not reduced or (plain and form.dropped is not None):
        return None
    if plain:
        reduced |= {place for place, axis in enumerate(form.order) if axis is None}
        left = [axis for place, axis in enumerate(form.order) if place not in reduced]
        if left != sorted(left):  # type: ignore[type-var]
            return None
    return Arranged([True, _constant(axes, np.array(sorted(reduced), axes.data.dtype))], plain=plain)


@_rule("CONCATENATION")
def _joined(op: Op, form: Form) -> Arranged | None:
    if not form.takes(op.result.shape) or any(value is None or value.is_const for value in op.operands):  # type: ignore[arg-type]
        return None
    axis = form.place(int(op.attrs.get("axis", 0)))
    return None if axis is None else Arranged([True] * len(op.operands), {"axis": axis})


@_rule("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")
def _along_last(op: Op, form: Form) -> Arranged | None:
    last = form.order[-1] == form.rank - 1
    return Arranged([True]) if last and form.takes(op.result.shape) else None  # type: ignore[arg-type]


@_rule("FULLY_CONNECTED")
def _rows(op: Op, form: Form) -> Arranged | None:
    """Arrange a product of each row, whatever dimensions the rows have."""
    if not op.attrs.get("keep_num_dims") or op.operands[0].rank != op.result.rank:  # type: ignore[union-attr]
        return None
    found = _along_last(op, form)
    return found and Arranged([True, *[None] * (len(op.operands) - 1)])


def _constant(like: Value, array: np.ndarray) -> Value:
    return constant(np.asarray(array, order="C"), like.dtype, like.name)


def moves_only_units(shape: Shape, order: Sequence[int | None]) -> bool:
    """Return whether a transpose keeps the order of the dimensions that are not 1, so that no element moves."""
    moved = [axis for axis in order if axis is not None and shape[axis] != 1]
    return moved == sorted(moved)
