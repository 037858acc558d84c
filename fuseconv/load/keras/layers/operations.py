"""Functions of `keras.ops` that stand as layers in Keras 3's functional models. None of them casts its inputs by a
policy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers import activations, tensors
from fuseconv.load.keras.layers.reshaping import repeated
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import AS_THEY_ARE, builtin


def operation(name: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return builtin(f"ops>{name}", takes=AS_THEY_ARE, **options)


def _binary(kind: str, dtype: types.DType | None = None) -> Callable[..., Value]:
    return lambda k, x1, x2: tensors.binary(k, kind, x1, x2, dtype)


def _logical(kind: str) -> Callable[..., Value]:
    def build(k: Call, x1: Any, x2: Any) -> Value:
        a, b = (tensors.cast(k, x, types.BOOL) for x in tensors.operands(k, x1, x2))
        return k.tf.add(kind, [a, b], {}, types.BOOL)

    return build


def _unary(kind: str, of: Callable[[Call, Any], Value] = tensors.floats) -> Callable[..., Value]:
    return lambda k, x: k.tf.add(kind, [of(k, x)], {}, x.dtype)


def _reduction(kind: str, of: Callable[[Call, Any], Value] = tensors.numbers) -> Callable[..., Value]:
    def build(k: Call, x: Any, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
        return tensors.reduced(k, kind, of(k, x), axis, keepdims)

    return build


def _truth(kind: str) -> Callable[..., Value]:
    def build(k: Call, x: Value, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
        return tensors.reduced(k, kind, tensors.cast(k, x, types.BOOL), axis, keepdims)

    return build


def _extremum(kind: str) -> Callable[..., Value]:
    of_booleans = _truth("Any" if kind == "Max" else "All")

    def build(k: Call, x: Value, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
        if x.dtype is types.BOOL:
            return of_booleans(k, x, axis=axis, keepdims=keepdims)
        return tensors.reduced(k, kind, tensors.numbers(k, x), axis, keepdims)

    return build


_ARITHMETIC = {"Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum", "Power": "Pow",
               "FloorDivide": "FloorDiv", "Mod": "FloorMod", "SquaredDifference": "SquaredDifference"}  # fmt: skip
_COMPARED = ("NotEqual", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual")
_FLOATS = {"Sqrt": "Sqrt", "Rsqrt": "Rsqrt", "Exp": "Exp", "Expm1": "Expm1", "Log": "Log", "Log1p": "Log1p",
           "Sin": "Sin", "Cos": "Cos", "Tan": "Tan", "Tanh": "Tanh", "Sigmoid": "Sigmoid", "Erf": "Erf",
           "Floor": "Floor", "Ceil": "Ceil", "Reciprocal": "Reciprocal", "Relu": "Relu", "Relu6": "Relu6",
           "Selu": "Selu", "Softplus": "Softplus", "Softsign": "Softsign"}  # fmt: skip
_NUMBERS = {"Absolute": "Abs", "Abs": "Abs", "Negative": "Neg", "Square": "Square", "Sign": "Sign"}
_ACTIVATIONS = {"Silu": "silu", "HardSigmoid": "hard_sigmoid", "HardSilu": "hard_silu", "LogSigmoid": "log_sigmoid",
                "HardTanh": "hard_tanh", "TanhShrink": "tanh_shrink"}  # fmt: skip
# What is rounded once, whatever it is computed in, and so computes in 16 bits what Keras does.
_EXACT = frozenset({
    "Subtract", "Multiply", "Maximum", "Minimum", "Absolute", "Abs", "Negative", "Square", "Sign", "Relu", "Relu6",
    "Floor", "Ceil", "Sqrt",
})  # fmt: skip

for _name, _kind in _ARITHMETIC.items():
    operation(_name, half=_name in _EXACT, pointwise=True)(_binary(_kind))
for _name in _COMPARED:
    operation(_name, half=True, pointwise=True)(_binary(_name, types.BOOL))
for _name in ("LogicalAnd", "LogicalOr"):
    operation(_name, pointwise=True)(_logical(_name))
for _name, _kind in _FLOATS.items():
    operation(_name, half=_name in _EXACT, pointwise=True)(_unary(_kind))
for _name, _kind in _NUMBERS.items():
    operation(_name, half=_name in _EXACT, pointwise=True)(_unary(_kind, tensors.numbers))
for _name in ("Any", "All"):
    operation(_name)(_truth(_name))
for _name in ("Max", "Min"):
    operation(_name, initial=None)(_extremum(_name))
for _name, _kind in (("Amax", "Max"), ("Amin", "Min")):
    operation(_name)(_extremum(_kind))
operation("Sum")(_reduction("Sum", tensors.counted))
operation("Prod", dtype=None)(_reduction("Prod"))
operation("Mean")(_reduction("Mean", tensors.averaged))
for _name in ("TrueDivide", "Divide"):
    operation(_name, half=True, pointwise=True)(lambda k, x1, x2: tensors.divided(k, x1, x2))


def _activated(name: str) -> Callable[..., Value]:
    return lambda k, x: activations.activate(k, tensors.floats(k, x), name)


for _name, _kind in _ACTIVATIONS.items():
    operation(_name, pointwise=True)(_activated(_kind))


@operation("Add", half=True, pointwise=True)
def add(k: Call, x1: Any, x2: Any) -> Value:
    a, b = tensors.operands(k, x1, x2)
    if a.dtype is types.BOOL:
        k.refuse("its operands are boolean")
    return activations.added(k, a, b)


@operation("LogicalNot", pointwise=True)
def logical_not(k: Call, x: Value) -> Value:
    return k.tf.LogicalNot(tensors.cast(k, x, types.BOOL))


@operation("Gelu", pointwise=True)
def gelu(k: Call, x: Value, *, approximate: bool = True) -> Value:
    x = tensors.floats(k, x)
    return activations.gelu_by_tanh(k, x) if approximate else activations.gelu(k, x)


@operation("LeakyRelu", pointwise=True)
def leaky_relu(k: Call, x: Value, *, negative_slope: float = 0.2) -> Value:
    return activations.leaky_relu(k, tensors.floats(k, x), negative_slope)


@operation("Elu", pointwise=True)
def elu(k: Call, x: Value, *, alpha: float = 1.0) -> Value:
    return activations.elu(k, tensors.floats(k, x), alpha=alpha)


@operation("Softmax")
def softmax(k: Call, x: Value, *, axis: int = -1) -> Value:
    return activations.softmax(k, tensors.floats(k, x), axis)


@operation("LogSoftmax")
def log_softmax(k: Call, x: Value, *, axis: int = -1) -> Value:
    return activations.log_softmax(k, tensors.floats(k, x), axis)


@operation("Var")
def var(k: Call, x: Value, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
    return tensors.variance(k, tensors.floats(k, x), axis, keepdims)


@operation("Std")
def std(k: Call, x: Value, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
    return k.tf.Sqrt(tensors.variance(k, tensors.floats(k, x), axis, keepdims))


@operation("Argmax")
def argmax(k: Call, x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    return _extreme(k, "ArgMax", x, axis, keepdims)


@operation("Argmin")
def argmin(k: Call, x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    return _extreme(k, "ArgMin", x, axis, keepdims)


def _extreme(k: Call, kind: str, x: Value, axis: int | None, keepdims: bool) -> Value:
    """Return the position of the largest or smallest element; -0.0 is less than 0.0, as Keras has it."""
    tf = k.tf
    if x.dtype not in (types.FLOAT32, types.INT32):
        k.refuse(f"it is called on {x.dtype}")
    if axis is None:
        if keepdims:
            k.refuse("axis=None, keepdims=True")
        x, axis = tensors.reshaped(k, x, -1), 0
    (axis,) = axes_of(k, axis, len(k.shape(x)))
    if x.dtype is types.FLOAT32:
        sign = tf.Less(tf.Bitcast(x, dtype=types.INT32), tf.ints(0), dtype=types.BOOL)
        zero = tf.LogicalAnd(tf.Equal(x, tf.number(0, x.dtype), dtype=types.BOOL), sign)
        x = tf.SelectV2(zero, tf.number(-(2.0**-126), x.dtype), x, dtype=x.dtype)
    made = tf.add(kind, [x, tf.ints(axis)], {"output_type": types.INT32}, types.INT32)
    return tf.ExpandDims(made, axis) if keepdims else made


@operation("Clip", pointwise=True)
def clip(k: Call, x: Value, *, x_min: float, x_max: float) -> Value:
    if not x.dtype.is_float and not (isinstance(x_min, int) and isinstance(x_max, int)):
        k.refuse(f"x_min={x_min}, x_max={x_max} of {x.dtype}")
    return tensors.clipped(k, x, x_min, x_max)


@operation("Where", half=True, pointwise=True)
def where(k: Call, condition: Any, x1: Any = None, x2: Any = None) -> Value:
    return tensors.chosen(k, condition, x1, x2)


@operation("Cast", half=True, pointwise=True)
def cast(k: Call, x: Value, *, dtype: str) -> Value:
    if dtype not in types.BY_NAME:
        k.refuse(f"dtype={dtype[:60]!r}")
    return tensors.cast(k, x, types.BY_NAME[dtype])


@operation("ConvertToTensor", half=True, sparse=None, ragged=None)
def convert_to_tensor(k: Call, x: Value, *, dtype: str | None = None) -> Value:
    return x if dtype is None else cast(k, x, dtype=dtype)


@operation("GetItem", half=True)
def get_item(k: Call, x: Value, key: Any) -> Value:
    return tensors.sliced(k, x, key)


@operation("Take", half=True)
def take(k: Call, x: Value, indices: Any, *, axis: int) -> Value:
    return tensors.taken(k, x, indices, axis, wraps=True)


@operation("Matmul")
def matmul(k: Call, x1: Any, x2: Any) -> Value:
    """Multiply matrices; a vector is a row on the left and a column on the right, and leaves no dimension."""
    a, b = tensors.operands(k, x1, x2)
    row, column = len(k.shape(a)) == 1, len(k.shape(b)) == 1
    made = tensors.matmul(k, k.tf.ExpandDims(a, 0) if row else a, k.tf.ExpandDims(b, 1) if column else b)
    at = len(k.shape(made))
    gone = [at - 2] * row + [at - 1] * column
    return k.tf.Squeeze(made, squeeze_dims=gone) if gone else made


@operation("Einsum")
def einsum(k: Call, x1: Any, x2: Any = None, *, subscripts: str) -> Value:
    """Build an einsum of one or two tensors; where the equation does not say the result's letters, they are those that
    stand once, in their order."""
    values = tensors.operands(k, *([x1] if x2 is None else [x1, x2]))
    given = subscripts.replace(" ", "")
    if given.count(",") != len(values) - 1 or ("->" not in given and "." in given):
        k.refuse(f"the equation {subscripts[:60]!r}")
    if "->" not in given:
        given += "->" + "".join(sorted(letter for letter in set(given) - {","} if given.count(letter) == 1))
    return k.tf.Einsum(*(tensors.floats(k, x) for x in values), equation=given)


@operation("Concatenate", half=True)
def concatenate(k: Call, xs: Any, *, axis: int = 0) -> Value:
    return tensors.joined(k, xs, axis)


@operation("Stack", half=True)
def stack(k: Call, x: Any, *, axis: int = 0) -> Value:
    return tensors.stacked(k, x, axis)


@operation("Split", half=True)
def split(k: Call, x: Value, *, indices_or_sections: int | list[int], axis: int = 0) -> list[Value]:
    given = indices_or_sections
    if isinstance(given, list):
        (axis,) = axes_of(k, axis, len(k.shape(x)))
        ends = [0, *given, k.known(x, axis)]
        given = [end - start for start, end in itertools.pairwise(ends)]
    return tensors.split(k, x, given, axis)


@operation("Unstack", half=True)
def unstack(k: Call, x: Value, *, num: int | None = None, axis: int = 0) -> list[Value]:
    return tensors.unstacked(k, x, num, axis)


@operation("Squeeze", half=True)
def squeeze(k: Call, x: Value, *, axis: int | list[int] | None = None) -> Value:
    return tensors.squeezed(k, x, axis)


@operation("ExpandDims", half=True)
def expand_dims(k: Call, x: Value, *, axis: int | list[int]) -> Value:
    axes = [axis] if isinstance(axis, int) else axis
    for at in axes_of(k, axes, len(k.shape(x)) + len(axes)):
        x = k.tf.ExpandDims(x, at)
    return x


@operation("Reshape", half=True)
def reshape(k: Call, x: Value, *, newshape: int | list[int]) -> Value:
    return tensors.reshaped(k, x, newshape)


@operation("Ravel", half=True)
def ravel(k: Call, x: Value) -> Value:
    return tensors.reshaped(k, x, -1)


@operation("Transpose", half=True)
def transpose(k: Call, x: Value, *, axes: list[int] | None = None) -> Value:
    return tensors.permuted(k, x, axes)


@operation("Swapaxes", half=True)
def swapaxes(k: Call, x: Value, *, axis1: int, axis2: int) -> Value:
    rank = len(k.shape(x))
    (a,), (b,) = axes_of(k, axis1, rank), axes_of(k, axis2, rank)
    order = list(range(rank))
    order[a], order[b] = b, a
    return k.tf.transpose(x, order)


@operation("Moveaxis", half=True)
def moveaxis(k: Call, x: Value, *, source: int | list[int], destination: int | list[int]) -> Value:
    rank = len(k.shape(x))
    pairs = [[axis] if isinstance(axis, int) else axis for axis in (source, destination)]
    starts, ends = ([axes_of(k, axis, rank)[0] for axis in axes] for axes in pairs)
    if len(starts) != len(ends):
        k.refuse(f"source={source}, destination={destination}")
    order = [axis for axis in range(rank) if axis not in starts]
    for end, start in sorted(zip(ends, starts)):
        order.insert(end, start)
    return tensors.permuted(k, x, order)


@operation("Flip", half=True)
def flip(k: Call, x: Value, *, axis: int | list[int] | None = None) -> Value:
    rank = len(k.shape(x))
    return k.tf.ReverseV2(x, k.tf.ints(list(range(rank)) if axis is None else axes_of(k, axis, rank)))


@operation("Roll", half=True)
def roll(k: Call, x: Value, *, shift: int | list[int], axis: int | list[int] | None = None) -> Value:
    if axis is None:
        return k.tf.Reshape(tensors.rolled(k, tensors.reshaped(k, x, -1), shift, 0), k.tf.shape(x))
    return tensors.rolled(k, x, shift, axis)


@operation("Tile", half=True)
def tile(k: Call, x: Value, *, repeats: int | list[int]) -> Value:
    return tensors.tiled(k, x, repeats)


@operation("Repeat", half=True)
def repeat(k: Call, x: Value, *, repeats: int, axis: int) -> Value:
    (axis,) = axes_of(k, axis, len(k.shape(x)))
    if not 0 < repeats < 1 << 31:
        k.refuse(f"repeats={repeats}")
    return repeated(k, x, repeats, axis)


@operation("Pad", half=True)
def pad(k: Call, x: Value, constant_values: Any = None, *, pad_width: list, mode: str = "constant") -> Value:
    return tensors.padded(k, x, pad_width, mode, constant_values)


@operation("Normalize")
def normalize(
    k: Call, x: Value, *, axis: int | list[int] | None = -1, order: int = 2, epsilon: float | None = None
) -> Value:
    if order != 2:
        k.refuse(f"order={order}")
    return tensors.normalized(k, tensors.floats(k, x), axis, 1e-7 if epsilon is None else epsilon, before=False)


@operation("OneHot", sparse=False)
def one_hot(k: Call, x: Value, *, num_classes: int, axis: int = -1, dtype: str | None = None) -> Value:
    return tensors.one_hot(k, x, num_classes, axis, dtype or "float32")


@operation("ZerosLike")
def zeros_like(k: Call, x: Value, *, dtype: str | None = None) -> Value:
    return _filled_like(k, x, 0, dtype)


@operation("OnesLike")
def ones_like(k: Call, x: Value, *, dtype: str | None = None) -> Value:
    return _filled_like(k, x, 1, dtype)


def _filled_like(k: Call, x: Value, number: int, dtype: str | None) -> Value:
    kind = x.dtype if dtype is None else types.BY_NAME.get(dtype)
    if kind is None:
        k.refuse(f"dtype={str(dtype)[:60]!r}")
    return k.tf.Fill(k.tf.shape(x), k.tf.number(number, kind), dtype=kind)


@operation("Identity", half=True)
def identity(k: Call, x: Value) -> Value:
    return x
