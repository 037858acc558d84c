"""Whether the rows of indices are distinct, as the TF ops that make them tell: then a scatter writes nothing twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.terms import op_of
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import ADDS, FORWARDS, INJECTIVE, LOOPS, REORDERS, REPEATS, RESHAPES, SLICES

# So many values are looked at: there is no end of ways through columns that are put together from each other.
_MOST_VALUES = 256


def has_distinct_rows(indices: Value, variables: Mapping[Value, int] | None = None) -> bool:
    """Return whether all rows of integers [..., n] are known to differ from each other. They are if a column is a
    range, if Where makes them, or if TopKV2 does in each row of a batch whose number is a column as well. False tells
    nothing. variables: those of loops of which something is known, as `numbering_variables` tells."""
    return _has_distinct_rows(indices, _Search(variables))


def numbering_variables(module: Module) -> dict[Value, int]:
    """Return the integers in the bodies of loops which number one axis, the same in each step, with that axis: what a
    range is before a loop, which was hoisted out of it."""
    axes: dict[Value, int | None] = {}
    for graph in module.graphs() if module.functions else ():
        for op in graph.ops:
            if op.kind not in LOOPS:
                for function, _ in bodies(op, module):
                    # Which may be a loop's body as well.
                    axes.update(dict.fromkeys(function.inputs))
                continue
            body = module.functions[op.attrs["body"].name]
            for before, variable, after in zip(op.operands, body.inputs, body.outputs):
                if before is not None and variable is after and before.rank and before.dtype.is_integer:
                    axis = _numbered_axis(before, _Search())
                    # Another loop may have the same body.
                    axes[variable] = axis if axes.get(variable, axis) == axis else None
    return {variable: axis for variable, axis in axes.items() if axis is not None}


class _Search:
    """What a search through values knows of the variables of loops, and how many values it may yet look at."""

    def __init__(self, variables: Mapping[Value, int] | None = None) -> None:
        self.variables = variables or {}
        self.left = _MOST_VALUES

    def is_over(self) -> bool:
        """Count another value. Return whether they were too many."""
        self.left -= 1
        return self.left < 0


def _has_distinct_rows(indices: Value, search: _Search) -> bool:
    """Return as `has_distinct_rows`."""
    if indices.data is not None:
        table = indices.data.reshape(-1, indices.data.shape[-1])
        return len(np.unique(table, axis=0)) == len(table)
    if search.is_over() or indices.shape is None:
        return False
    if indices.shape[-1:] == (1,):
        return _has_distinct_elements(indices, search)
    op = indices.op
    if op is None or op.kind == "tf.Where":
        return op is not None
    operands = [operand for operand in op.operands if operand is not None]
    last = (-1, len(indices.shape) - 1)
    if op.kind in FORWARDS or _keeps_integers(op):
        return _has_distinct_rows(operands[indices.index], search)
    if op.kind == "tf.Pack" and op.attrs.get("axis", 0) in last:
        single = any(_has_distinct_elements(column, search) for column in operands)
        return single or _number_all_axes(operands, indices.shape[:-1], search)
    if op.kind == "tf.ConcatV2" and any(operands[-1].data == axis for axis in last):
        single = any(_has_distinct_rows(columns, search) for columns in operands[:-1])
        return single or _number_all_axes(operands[:-1], indices.shape[:-1], search)
    return False


def _number_all_axes(columns: Sequence[Value], shape: Shape, search: _Search) -> bool:
    """Return whether columns of these dimensions, and perhaps one of 1 behind them, tell where along each axis a row
    stands: those that number an axis, and places of TopKV2 for the last one."""
    axes = {_numbered_axis(column, search) for column in columns}
    rest = {axis for axis, size in enumerate(shape) if size != 1} - axes
    return not rest or (rest == {len(shape) - 1} and any(_is_best(column, shape, search) for column in columns))


def _numbered_axis(value: Value, search: _Search) -> int | None:
    """Return the axis along which the elements of an integer tensor differ, if they are the same along all others."""
    op, shape = value.op, value.shape
    if shape is None:
        return None
    if value.data is not None:
        axes = (axis for axis, size in enumerate(value.data.shape) if size > 1)
        return next((axis for axis in axes if _numbers(np.moveaxis(value.data, axis, 0))), None)
    if value in search.variables:
        return search.variables[value]
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    if len(wide) == 1 and _has_distinct_elements(value, search):
        return wide[0]
    if op is None or search.is_over():
        return None
    x = op.operands[value.index] if op.kind in FORWARDS else op.operands[0] if op.operands else None
    if x is None or x.shape is None:
        return None
    if op.kind in FORWARDS or _keeps_integers(op):
        return _numbered_axis(x, search)
    axis = _numbered_axis(x, search) if op.kind in REPEATS else None
    if axis is None:
        return None
    at = axis + len(shape) - len(x.shape)
    return at if shape[at] == x.shape[axis] else None


def _others(value: Value, axis: int) -> Iterator[Dim]:
    """Yield the sizes of all axes but one."""
    return (size for other, size in enumerate(value.shape or ()) if other != axis)


def _numbers(data: np.ndarray) -> bool:
    """Return whether the rows of data are each of one number, and these differ."""
    rows = data.reshape(len(data), -1)
    return bool((rows == rows[:, :1]).all()) and len(np.unique(rows[:, 0])) == len(rows)


def _is_best(value: Value, shape: Shape, search: _Search) -> bool:
    """Return whether these are places that TopKV2 tells for each row, sorted or not: those of one row differ."""
    op = value.op
    if op is None or search.is_over() or value.shape not in (shape, (*shape, 1)):
        return False
    if op.kind == "tf.TopKV2":
        x = op.operands[0]
        return value.index == 1 or (x is not None and x.shape is not None and _is_best(x, x.shape, search))
    x = op.operands[value.index] if op.kind in FORWARDS else _before_injective(op)
    if x is None and (op.kind in RESHAPES or _keeps_integers(op)):
        x = op.operands[0]
    return x is not None and _is_best(x, shape, search)


def _before_injective(op: Op) -> Value | None:
    """Return the operand of which an op maps distinct integers to distinct ones: what tf.sort does before and behind
    TopKV2, say. None if there is none."""
    operands = [operand for operand in op.operands if operand is not None]
    if op.kind in ADDS or op.kind == "tf.Sub":
        pairs = (operands, operands[::-1])
        return next((each for each, other in pairs if other.shape == ()), None)
    return operands[0] if op.kind in INJECTIVE else None


def _has_distinct_elements(value: Value, search: _Search) -> bool:
    """Return whether all elements of an integer tensor are known to differ from each other."""
    if value.data is not None:
        return bool(np.unique(value.data).size == value.data.size)
    op = value.op
    if op is None or search.is_over():
        return value in search.variables and all(size == 1 for size in _others(value, search.variables[value]))
    if op.kind == "tf.Range":
        return True
    operands = [operand for operand in op.operands if operand is not None]
    if op.kind == "tf.Where":
        return operands[0].rank == 1
    if op.kind == "tf.TopKV2":
        return value.rank == 1 and (value.index == 1 or _has_distinct_elements(operands[0], search))
    if op.kind in FORWARDS or _keeps_integers(op):
        return _has_distinct_elements(operands[value.index], search)
    if op.kind in RESHAPES or op.kind in SLICES or op.kind in REORDERS:
        return _has_distinct_elements(operands[0], search)
    before = _before_injective(op)
    if before is not None:
        return _has_distinct_elements(before, search)
    if op.kind == "tf.Pack":
        # tf.range(n)[:, None] may be the only column of many.
        return len(operands) == 1 and _has_distinct_elements(operands[0], search)
    return False


def _keeps_integers(op: Op) -> bool:
    """Return whether an op casts integers to a type that holds them: places that Where tells are small."""
    source, result = op.operands[0] if op.operands else None, op.results[0]
    if op.kind != "tf.Cast" or source is None or {source.dtype.numpy.kind, result.dtype.numpy.kind} != {"i"}:
        return False
    size = result.dtype.numpy.itemsize
    is_small = op_of(source, "tf.Where") is not None and size >= types.INT32.numpy.itemsize
    return is_small or size >= source.dtype.numpy.itemsize
