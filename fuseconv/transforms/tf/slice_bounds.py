"""Tell which slice it is that starts and ends where sizes of its operand say: min(2, n) ... max(n - 1, 0) -> [2:-1]."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import Value
from fuseconv.ir.terms import op_of
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import RESHAPES

# An element of a vector: known, or the scalar or vector of one element that it is.
Element = Dim | Value
# What a size goes through on its way to a bound, at most.
_MOST_OPS = 16
# Sizes are told apart up to twice the sum of the constants that they are compared with.
_MOST_SIZES = 1 << 16
_ARITHMETIC = {
    "tf.Add": np.add, "tf.AddV2": np.add, "tf.Maximum": np.maximum, "tf.Minimum": np.minimum, "tf.Sub": np.subtract,
}  # fmt: skip


def elements_of(vector: Value | None) -> list[Element] | None:
    """Return the elements of a vector, as far as they are known; None if it is not known of what it is joined."""
    content = content_of(vector)
    if content is not None:
        return [*content.reshape(-1)]
    op = op_of(vector, ("tf.ConcatV2", "tf.Pack"))
    if op is None:
        return None
    made: list[Element] = []
    for part in op.operands[:-1] if op.kind == "tf.ConcatV2" else op.operands:
        known = content_of(part)
        if known is not None:
            made += [*known.reshape(-1)]
        elif part is not None and part.shape in ((), (1,)):
            made.append(part)
        else:
            return None
    return made


def slice_bounds(start: Element, taken: Element, size: Dim) -> tuple[int, Dim] | None:
    """Return begin and end of the slice of so many elements from `start` on, moved so that it lies within the
    dimension, or None. A begin below 0 counts from the end, as do ends below 0; the size is the end of all.

    All that is made of a size n by sums with constants, minima and maxima is linear in n beyond twice the sum of the
    constants. So what holds up to there, and a bit further, holds of every size."""
    if isinstance(size, int):
        numbers = np.array([size])
    else:
        least = _Bounds(size, np.arange(1))
        if least.of(start) is None or least.of(taken) is None or least.constants > _MOST_SIZES:
            return None
        numbers = np.arange(2 * least.constants + 4)
    bounds = _Bounds(size, numbers)
    first, count = bounds.of(start), bounds.of(taken)
    if first is None or count is None:
        return None
    first = np.clip(first, 0, numbers - count)
    begin, end, most = int(first[-1]), int((first + count)[-1]), int(numbers[-1])
    if not isinstance(size, int):
        begin, end = (bound - most if bound > most // 2 else bound for bound in (begin, end))
    ends = numbers if end in (0, most) and count[-1] else _counted_from_end(end, numbers)
    begins = _counted_from_end(begin, numbers)
    # A slice of more than there is has no meaning.
    valid = (count >= 0) & (count <= numbers)
    same = (np.maximum(ends - begins, 0) == count) & ((first == begins) | (count == 0))
    if not valid[-1] or not same[valid].all():
        return None
    return begin, size if ends is numbers else end


def _counted_from_end(bound: int, sizes: np.ndarray) -> np.ndarray:
    """Return where a bound lies, which is below 0 if it is counted from the end."""
    return np.minimum(bound, sizes) if bound >= 0 else np.maximum(sizes + bound, 0)


class _Bounds:
    """Expressions of one size, for many numbers that it may be. constants: the sum of what was met."""

    def __init__(self, size: Dim, numbers: np.ndarray) -> None:
        self.size, self.numbers = size, numbers
        self.constants = self.ops = 0

    def of(self, element: Element | None) -> np.ndarray | None:
        """Return the values of an expression; None if it is of something else."""
        if isinstance(element, Value):
            content = content_of(element)
            if content is None:
                return self._computed(element)
            element = content.reshape(-1)[0] if content.size == 1 else None
        if element is None:
            return None
        more = element - self.size if isinstance(element, Sym) else element
        if isinstance(more, Sym):
            return None
        self.constants += abs(int(more))
        return self.numbers + int(more) if isinstance(element, Sym) else np.full_like(self.numbers, int(more))

    def _computed(self, value: Value) -> np.ndarray | None:
        op = value.op
        self.ops += 1
        if op is None or self.ops > _MOST_OPS:
            return None
        if op.kind in RESHAPES:
            return self.of(op.operands[0])
        if op.kind not in _ARITHMETIC and op.kind != "tf.Mul":
            return None
        x, y = map(self.of, op.operands)
        if x is None or y is None:
            return None
        if op.kind != "tf.Mul":
            return _ARITHMETIC[op.kind](x, y)
        negated = any((factor == -1).all() for factor in (x, y))
        return x * y if negated else None
