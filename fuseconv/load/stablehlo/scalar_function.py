"""Tell what comparators and reducers compute, by running them on numbers that stand for all cases that they can tell
apart.

Such a body compares its scalar arguments, with each other, with 0 or with NaN, and selects among them. So what it does
for every order of its arguments, on either side of 0, says what it does for all numbers. NaN itself is left out: where
TFLite's kernels put it is not specified.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var
from fuseconv.load.stablehlo.scope import text

_COMPARE = {
    "EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less,
}  # fmt: skip
_LOGIC = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}
_SAMPLES = (-2, -1, -0.0, 0.0, 1, 2)
_FEWER = (-1, -0.0, 0.0, 1)
# More keys than these make too many orders to look at.
_MOST_KEYS, _MANY_KEYS = 4, 2


class Key(NamedTuple):
    """What rows are sorted by: an operand, whether its largest comes first, and whether -0 is less than 0."""

    operand: int
    descending: bool
    total: bool = False


def sort_keys(comparator: Region, count: int) -> list[Key] | None:
    """Return the keys of a comparator of `count` operands, the most significant first; None if it is no lexicographic
    order of operands."""
    used = {var for op in comparator.ops for var in op.operands}
    pairs = [tuple(comparator.arguments[2 * index : 2 * index + 2]) for index in range(count)]
    read = [index for index, pair in enumerate(pairs) if used.intersection(pair)]
    if not 0 < len(read) <= _MOST_KEYS or len(comparator.arguments) != 2 * count:
        return None
    samples = _SAMPLES if len(read) <= _MANY_KEYS else _FEWER
    grids = np.meshgrid(*[np.arange(len(samples) ** 2)] * len(read), indexing="ij")
    values = np.array(list(itertools.product(samples, repeat=2)))[np.stack([grid.reshape(-1) for grid in grids])]
    arguments: dict[Var, np.ndarray] = {}
    for index, columns in zip(read, values):
        for var, column in zip(pairs[index], (columns[:, 0], columns[:, 1])):
            arguments[var] = _as(column, var)
    first = _run(comparator, arguments)
    return None if first is None else _lexicographic(
        read, [(arguments[left], arguments[right]) for left, right in map(pairs.__getitem__, read)], first[0]
    )


def _lexicographic(
    read: list[int], values: list[tuple[np.ndarray, np.ndarray]], first: np.ndarray
) -> list[Key] | None:
    """Return the keys whose order puts the left row first exactly where the comparator does."""
    turns = itertools.product((False, True), repeat=len(read))
    for total, order, descending in itertools.product((False, True), itertools.permutations(range(len(read))), turns):
        expected, equal = np.zeros(len(first), bool), np.ones(len(first), bool)
        for place, down in zip(order, descending):
            left, right = map(_total_order, values[place]) if total else values[place]
            expected |= equal & ((left > right) if down else (left < right))
            equal &= left == right
        if np.array_equal(expected, first):
            return [Key(read[place], down, total) for place, down in zip(order, descending)]
    return None


def extreme_and_index(body: Region) -> str:
    """Return "ArgMax" or "ArgMin" if a reducer of (value, index) keeps the largest or least value with its index, the
    lower one of equal values; "" if it computes something else."""
    if len(body.arguments) != 4:
        return ""
    pairs = np.array(list(itertools.product(_SAMPLES, _SAMPLES, (0, 1), (0, 1))))
    columns = {var: _as(column, var) for var, column in zip(body.arguments, pairs.T[[0, 2, 1, 3]])}
    # Arguments are (value, index) of the left and of the right.
    left, right, i, j = (columns[var] for var in (body.arguments[0], body.arguments[2], body.arguments[1],
                                                  body.arguments[3]))  # fmt: skip
    made = _run(body, columns)
    if made is None or len(made) != 2:
        return ""
    for name, better in (("ArgMax", left > right), ("ArgMin", left < right)):
        chosen = better | ((left == right) & (i < j))
        if np.array_equal(made[0], np.where(chosen, left, right)) and np.array_equal(made[1], np.where(chosen, i, j)):
            return name
    return ""


def _as(column: np.ndarray, var: Var) -> np.ndarray:
    kind = var.type
    dtype = kind.dtype.numpy if isinstance(kind, TensorType) else np.dtype(np.float32)
    if dtype.kind == "u":
        column = column + 2
    return column.astype(dtype)


def _run(body: Region, arguments: dict[Var, np.ndarray]) -> list[np.ndarray] | None:
    """Return what a body returns for arrays of arguments; None if it does something else than compare and select."""
    known: dict[Var, Any] = dict(arguments)
    outside = [var.op for op in body.ops for var in op.operands if var.op is not None and var.op.name == "constant"]
    for op in (*outside, *body.ops[:-1]):
        if any(var not in known for var in op.operands):
            continue  # it reads an argument that is no key
        made = _step(op, [known[var] for var in op.operands])
        if made is None:
            return None
        known[op.results[0]] = made
    found = [known.get(var) for var in body.returned]
    if any(array is None for array in found):
        return None
    size = len(next(iter(arguments.values())))
    return [np.broadcast_to(array, (size,)) for array in found]  # type: ignore[arg-type]


def _step(op: Operation, operands: Sequence[np.ndarray]) -> np.ndarray | None:
    if op.name == "constant":
        value = op.attribute("value")
        allowed = isinstance(value, np.ndarray) and value.shape == () and (value == 0 or value != value)
        return value if allowed else None
    if op.name == "compare":
        if op.has("compare_type") and op.attribute("compare_type") == "TOTALORDER":
            operands = [_total_order(array) for array in operands]
        return _COMPARE[text(op.attribute("comparison_direction"))](*operands)
    if op.name == "select":
        return np.where(*operands)
    if op.name in _LOGIC and all(array.dtype == bool for array in operands):
        return _LOGIC[op.name](*operands)
    if op.name in ("maximum", "minimum"):
        return (np.maximum if op.name == "maximum" else np.minimum)(*operands)
    return None


def _total_order(array: np.ndarray) -> np.ndarray:
    """Return integers in the total order of floats, in which -0 is less than 0."""
    if array.dtype.kind != "f":
        return array
    bits = array.view(f"i{array.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


__all__ = ["Key", "extreme_and_index", "sort_keys"]
