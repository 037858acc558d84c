"""Find ops that make the same: f(x), f(x) -> f(x). `canonicalize` merges them."""

from __future__ import annotations

from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.product import Product
from fuseconv.ir.value_numbering import SMALL_BYTES, attrs_key, value_key
from fuseconv.tf.side_effects import is_repeatable

# Ops that can make the same zeros from different operands.
_ZEROS = frozenset({"tf.Fill", "tf.ZerosLike"})
# Small constants are compared by their contents, as operands of any op; those up to this size, which weights have, of
# TFLite ops only, and by the contents where their ends are equal; others by identity.
_COMPARED_BYTES = 1 << 20


class CommonSubexpressions:
    """The ops of a module that were seen, by what they make."""

    def __init__(self) -> None:
        # Large constants by what tells most of them apart.
        self.constants: dict[Any, list[Value]] = {}

    def find(self, op: Op, seen: dict[Any, Op]) -> Op | None:
        """Find the op among those seen in the graph that makes the same as this one; None if it is the first."""
        if op.kind not in _ZEROS:
            # Few ops share all operands that ops make: only of those are constants and attributes compared.
            alike = (op.kind, *[None if value is None or value.op is None else value for value in op.operands])
            other = seen.setdefault(alike, op)
            if other is op:
                return None
            if is_repeatable(other):
                seen.setdefault(self.key(other), other)
        # An empty list says nothing of its elements: two that begin alike need not hold the same shapes.
        if not is_repeatable(op) or any(result.dtype is types.VARIANT for result in op.results):
            return None
        key = self.key(op)
        first = seen.setdefault(key, op)
        if first is op and (zeros := _zeros(op)) is not None:
            # A Fill stays a Fill: it is what the states of recurrent ops are written with.
            first = seen[key] = seen.setdefault(zeros, op) if op.kind == "tf.Fill" else seen.get(zeros, op)
        return None if first is op else first

    def key(self, op: Op) -> Any:
        """Return what ops that make the same have in common."""
        # Type attributes are left out of attrs: what a Cast makes, only its result tells; so do those of QUANTIZE.
        made = tuple([(result.dtype, result.quantization) for result in op.results])
        operands = tuple([value_key(self.representative(v) if op.dialect == "tfl" else v) for v in op.operands])
        return (op.kind, made, operands, attrs_key(op.attrs), op.rejection)

    def representative(self, value: Value | None) -> Value | None:
        """Return the first of the constants that are equal to a value, or the value itself."""
        data = None if value is None or isinstance(value, Product) else value.data
        if value is None or data is None or not SMALL_BYTES < data.nbytes <= _COMPARED_BYTES or data.dtype == object:
            return value
        ends = data.flat[0].tobytes() + data.flat[-1].tobytes()
        alike = self.constants.setdefault((value.dtype.name, data.shape, ends, value.quantization), [])
        for other in alike:
            if other is value or other.data.tobytes() == data.tobytes():  # type: ignore[union-attr]
                return other
        alike.append(value)
        return value


def _zeros(op: Op) -> Any:
    """Return what ops that make the same zeros have in common, whatever they take the sizes from; None of other ops.

    -0 is no such zero."""
    number = op.operands[1] if op.kind == "tf.Fill" else None
    if op.kind != "tf.ZerosLike" and (number is None or number.data is None or any(number.data.tobytes())):
        return None
    return None if op.result.shape is None else ("zeros", op.result.dtype, op.result.shape)
