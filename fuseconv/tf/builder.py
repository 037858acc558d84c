"""Build tf ops in the place of one that a pass takes apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.types import DType


class TfBuilder:
    """`tf.AddV2(a, b)` appends an op to `out`, with the name and sources of `op`, and returns its first result.

    An operand may be a Value, or a number or list of numbers, which becomes an int32 constant. The result has the
    type `dtype`, that of the first operand if this is not given, and no shape until it is inferred."""

    __slots__ = ("op", "out")

    def __init__(self, out: list[Op], op: Op) -> None:
        self.out = out
        self.op = op

    def __getattr__(self, kind: str) -> Callable[..., Value]:
        def build(
            self: TfBuilder, *operands: Value | int | Sequence[int], dtype: DType | None = None, **attrs: Any
        ) -> Value:
            values = [v if isinstance(v, Value) else self.ints(v) for v in operands]
            return self.add(kind, values, attrs, dtype or values[0].dtype)

        if kind.isidentifier() and kind[0].isupper():
            setattr(TfBuilder, kind, build)  # a method that is there costs a tenth of one that is not
        return build.__get__(self)

    def add(
        self,
        kind: str,
        operands: Sequence[Value | None],
        attrs: dict[str, Any],
        dtype: DType,
        shape: Shape | None = None,
    ) -> Value:
        """Append an op with one result."""
        op = Op(f"tf.{kind}", operands, attrs, self.op.name, self.op.sources)
        self.out.append(op)
        return op.add_result(dtype, shape)

    def split(self, value: Value, count: int, axis: int) -> list[Value]:
        """Split a value into equal parts along an axis."""
        op = Op("tf.Split", [self.ints(axis), value], {}, self.op.name, self.op.sources)
        self.out.append(op)
        return [op.add_result(value.dtype, None) for _ in range(count)]

    def ints(self, numbers: int | Sequence[int]) -> Value:
        """Return an int32 constant."""
        return constant(np.array(numbers, np.int32), types.INT32, self.op.name)

    def size(self, x: Value, axis: int = 0) -> Value:
        """Return the size of a dimension, a scalar of int32."""
        return self.StridedSlice(self.shape(x), [axis], [axis + 1], [1], shrink_axis_mask=1)

    def shape(self, x: Value) -> Value:
        """Return the sizes of all dimensions, a vector of int32."""
        return self.Shape(x, dtype=types.INT32)

    def as_int32(self, x: Value) -> Value:
        """Return x as int32; x itself if it is."""
        return x if x.dtype is types.INT32 else self.Cast(x, dtype=types.INT32)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Return a tensor with its dimensions in this order."""
        return x if [*order] == [*range(len(order))] else self.Transpose(x, [*order])
