"""Functions of `keras.ops` that stand as layers in Keras 3's functional models, such as those that make masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import ANY, layer

_COMPARED = {"NotEqual": "NotEqual", "Equal": "Equal", "Greater": "Greater", "GreaterEqual": "GreaterEqual",
             "Less": "Less", "LessEqual": "LessEqual"}  # fmt: skip
_LOGICAL = {"LogicalAnd": "LogicalAnd", "LogicalOr": "LogicalOr"}
_ARITHMETIC = {"Add": "AddV2", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum"}


def _operands(k: Call, a: Any, b: Any) -> tuple[Value, Value]:
    """Return both operands as tensors of one type; a number takes that of the tensor."""
    tensor = a if isinstance(a, Value) else b
    if not isinstance(tensor, Value):
        k.refuse("none of its operands is a tensor")
    made = []
    for item in (a, b):
        if isinstance(item, Value):
            made.append(item)
        elif isinstance(item, bool) or not isinstance(item, (int, float)) or (
            isinstance(item, float) and not tensor.dtype.is_float
        ):
            k.refuse(f"its operand {str(item)[:60]}")
        else:
            made.append(k.tf.number(item, tensor.dtype))
    if made[0].dtype is not made[1].dtype:
        k.refuse("its operands are of several types")
    return made[0], made[1]


def _binary(kind: str, dtype: types.DType | None) -> Callable[..., Value]:
    def build(k: Call, x1: Any, x2: Any) -> Value:
        a, b = _operands(k, x1, x2)
        return k.tf.add(kind, [a, b], {}, dtype or a.dtype)

    return build


for _name, _kind in {**_COMPARED, **_LOGICAL}.items():
    layer(f"ops>{_name}", takes=ANY)(_binary(_kind, types.BOOL))
for _name, _kind in _ARITHMETIC.items():
    layer(f"ops>{_name}", takes=ANY)(_binary(_kind, None))


@layer("ops>Any", takes=ANY)
def any_(k: Call, x: Value, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
    if x.dtype is not types.BOOL:
        k.refuse("its operand is not boolean")
    rank = len(k.shape(x))
    axes = list(range(rank)) if axis is None else axes_of(k, axis, rank)
    return k.tf.Any(x, k.tf.ints(axes), dtype=types.BOOL, keep_dims=keepdims)


@layer("ops>Squeeze", takes=ANY)
def squeeze(k: Call, x: Value, *, axis: int | list[int] | None = None) -> Value:
    if axis is None:
        k.refuse("axis=None")
    return k.tf.Squeeze(x, squeeze_dims=axes_of(k, axis, len(k.shape(x))))


@layer("ops>ExpandDims", takes=ANY)
def expand_dims(k: Call, x: Value, *, axis: int) -> Value:
    (axis,) = axes_of(k, axis, len(k.shape(x)) + 1)
    return k.tf.ExpandDims(x, axis)
