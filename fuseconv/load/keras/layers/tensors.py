"""Functions of tensors and literals, which `keras.ops` and the functions of TensorFlow have in common."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.ir.types import DType
from fuseconv.load.keras.call import HALVES, Call
from fuseconv.load.keras.layers.core import product
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import is_number

_INTEGERS = (types.BOOL, types.UINT8, types.INT32, types.INT64)


def operands(k: Call, *items: Any) -> list[Value]:
    """Return tensors and literals as tensors of one type: a literal takes that of the tensors; types of tensors are
    brought together as Keras 3 does, and refused in a file of tf-keras."""
    tensors = [item if isinstance(item, Value) else _constant(k, item) for item in items if not is_number(item)]
    if not tensors:
        k.refuse("none of its operands is a tensor")
    dtype = _common(k, [tensor.dtype for tensor in tensors])
    if not dtype.is_float and any(isinstance(item, float) for item in items):
        dtype = _promoted(k, dtype, types.FLOAT32)
    rest = iter(tensors)
    return [k.tf.number(item, dtype) if is_number(item) else cast(k, next(rest), dtype) for item in items]


def _constant(k: Call, item: Any) -> Value:
    """Return an array, or nested lists of numbers, as a constant."""
    array = item if isinstance(item, np.ndarray) else np.array(item)
    if array.dtype.kind == "f":
        array = array.astype(np.float32) if not isinstance(item, np.ndarray) else array
    elif array.dtype.kind == "i" and not isinstance(item, np.ndarray):
        array = array.astype(np.int32)
    return k.constant(array)  # type: ignore[no-any-return]


def _common(k: Call, dtypes: Sequence[DType]) -> DType:
    first = dtypes[0]
    for other in dtypes[1:]:
        first = first if other is first else _promoted(k, first, other)
    return first


def _promoted(k: Call, a: DType, b: DType) -> DType:
    """Return the type of a result of two: floats before integers, larger ones before smaller ones."""
    if not k.model.keras3:
        k.refuse(f"its operands are of the types {a} and {b}")
    if a.is_float and b.is_float and {a, b} <= {*HALVES, types.FLOAT32}:
        return types.FLOAT32
    if a.is_float != b.is_float and {a, b} & set(_INTEGERS):
        return a if a.is_float else b
    if a in _INTEGERS and b in _INTEGERS:
        return max(a, b, key=_INTEGERS.index)
    k.refuse(f"its operands are of the types {a} and {b}")


def cast(k: Call, x: Value, dtype: DType) -> Value:
    return x if x.dtype is dtype else k.tf.Cast(x, dtype=dtype)


def binary(k: Call, kind: str, a: Any, b: Any, dtype: DType | None = None) -> Value:
    """Build an op of two operands. dtype: the result's, if it is another than theirs."""
    x, y = operands(k, a, b)
    if x.dtype is types.BOOL and dtype is None:
        k.refuse("its operands are boolean")
    return k.tf.add(kind, [x, y], {}, dtype or x.dtype)


def divided(k: Call, a: Any, b: Any) -> Value:
    """Divide as floats; integers become float32 before in Keras 3, and are refused in tf-keras."""
    x, y = operands(k, a, b)
    dtype = x.dtype if x.dtype.is_float else _promoted(k, x.dtype, types.FLOAT32)
    return k.tf.RealDiv(cast(k, x, dtype), cast(k, y, dtype))


def floats(k: Call, x: Any) -> Value:
    """Return a tensor that must be one of floats."""
    if not isinstance(x, Value) or not x.dtype.is_float:
        k.refuse(f"its operand {x.dtype if isinstance(x, Value) else str(x)[:60]} is no tensor of floats")
    return x


def numbers(k: Call, x: Any) -> Value:
    """Return a tensor that must be one of floats or of int32 or int64."""
    if not isinstance(x, Value) or not (x.dtype.is_float or x.dtype in (types.INT32, types.INT64)):
        k.refuse("its operand is no tensor of numbers")
    return x


def counted(k: Call, x: Any) -> Value:
    """Return a tensor as `numbers`; booleans as ones and zeros."""
    return numbers(k, cast(k, x, types.INT32) if isinstance(x, Value) and x.dtype is types.BOOL else x)


def averaged(k: Call, x: Any) -> Value:
    """Return a tensor as floats, in which Keras 3 averages integers and booleans."""
    whole = isinstance(x, Value) and x.dtype in (types.BOOL, types.INT32)
    return cast(k, x, types.FLOAT32) if whole else floats(k, x)


def reduced(k: Call, kind: str, x: Value, axis: Any, keepdims: bool) -> Value:
    rank = len(k.shape(x))
    axes = list(range(rank)) if axis is None else axes_of(k, axis, rank)
    return k.tf.add(kind, [x, k.tf.ints(axes)], {"keep_dims": keepdims}, x.dtype)


def variance(k: Call, x: Value, axis: Any, keepdims: bool) -> Value:
    """Return the mean of squared differences from the mean, in the steps of tf.math.reduce_variance."""
    difference = k.tf.Sub(x, reduced(k, "Mean", x, axis, True))
    return reduced(k, "Mean", k.tf.Square(difference), axis, keepdims)


def normalized(k: Call, x: Value, axis: Any, epsilon: float, before: bool) -> Value:
    """Divide by the L2 norm; epsilon is the least sum of squares `before` the root, or norm."""
    tf = k.tf
    total = reduced(k, "Sum", tf.Square(x), axis, True)
    if before:
        return tf.Mul(x, tf.Rsqrt(tf.Maximum(total, tf.number(epsilon, x.dtype))))
    return tf.Mul(x, tf.Minimum(tf.Rsqrt(total), tf.number(1 / epsilon, x.dtype)))


def accumulated(
    k: Call, kind: str, x: Any, axis: int, exclusive: bool = False, reverse: bool = False
) -> Value:
    """Build running sums or products along an axis."""
    (axis,) = axes_of(k, axis, len(k.shape(numbers(k, x))))
    return k.tf.add(kind, [x, k.tf.ints(axis)], {"exclusive": exclusive, "reverse": reverse}, x.dtype)


def logsumexp(k: Call, x: Value, axis: Any, keepdims: bool) -> Value:
    """Return log(sum(exp(x))), in the steps of tf.math.reduce_logsumexp."""
    tf, zero = k.tf, k.tf.number(0, x.dtype)
    most = reduced(k, "Max", x, axis, True)
    most = tf.SelectV2(tf.IsFinite(most, dtype=types.BOOL), most, zero, dtype=x.dtype)
    made = tf.AddV2(tf.Log(reduced(k, "Sum", tf.Exp(tf.Sub(x, most)), axis, True)), most)
    axes = list(range(len(k.shape(x)))) if axis is None else axes_of(k, axis, len(k.shape(x)))
    return made if keepdims else tf.Squeeze(made, squeeze_dims=axes)


def top_k(k: Call, x: Any, count: int, ordered: bool) -> list[Value]:
    """Return the largest elements along the last dimension, and their positions."""
    size = k.shape(numbers(k, x))[-1]
    if type(count) is not int or not 0 < count < 1 << 31 or (isinstance(size, int) and count > size):
        k.refuse(f"k={str(count)[:60]} of {size} elements")
    return k.tf.several("TopKV2", [x, k.tf.ints(count)], {"sorted": ordered}, [x.dtype, types.INT32])


def band(k: Call, x: Any, lower: int, upper: int) -> Value:
    """Return matrices with zeros but for so many diagonals below and above the middle one; -1 for all."""
    if not all(type(count) is int and -1 <= count < 1 << 31 for count in (lower, upper)) or len(k.shape(x)) < 2:
        k.refuse(f"the diagonals {str(lower)[:60]} to {str(upper)[:60]}")
    ends = (k.tf.number(count, types.INT64) for count in (lower, upper))
    return k.tf.MatrixBandPart(numbers(k, x), *ends, dtype=x.dtype)


def vector(k: Call, sizes: Any) -> Value:
    """Return a shape of ints and scalars as a tensor."""
    if isinstance(sizes, Value):
        return cast(k, sizes, types.INT32)
    listed = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    if not all(isinstance(size, Value) or (type(size) is int and abs(size) < 1 << 31) for size in listed):
        k.refuse(f"the shape {str(sizes)[:60]}")
    if not any(isinstance(size, Value) for size in listed):
        return k.tf.ints(listed)
    return k.tf.Pack(*(cast(k, size, types.INT32) if isinstance(size, Value) else k.tf.ints(size) for size in listed))


def rolled(k: Call, x: Value, shift: Any, axis: Any) -> Value:
    """Move elements along one dimension or several; those at the end come to the front."""
    shifts, axes = ([item] if type(item) is int else list(item) for item in (shift, axis))
    axes_of(k, axes, len(k.shape(x)))
    if len(shifts) != len(axes) or not all(type(each) is int and abs(each) < 1 << 31 for each in shifts):
        k.refuse(f"shift={str(shift)[:60]}, axis={str(axis)[:60]}")
    return k.tf.Roll(x, k.tf.ints(shifts), k.tf.ints([each % len(k.shape(x)) for each in axes]))


def ordered(k: Call, x: Any, axis: int, descending: bool = False) -> list[Value]:
    """Sort the elements along an axis, the least first or the largest; return them and their positions."""
    rank = len(k.shape(floats(k, x)))
    (axis,) = axes_of(k, axis, rank)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    last = k.tf.transpose(x, order)
    given = last if descending else k.tf.Neg(last)
    made, at = k.tf.several("TopKV2", [given, k.tf.dim(last, -1)], {}, [x.dtype, types.INT32])
    return [k.tf.transpose(each, order) for each in (made if descending else k.tf.Neg(made), at)]


def dotted(k: Call, a: Any, b: Any, axes: Any) -> Value:
    """Sum products over the last dimensions of one tensor and the first of another, or over those that are listed."""
    x, y = operands(k, a, b)
    ranks = len(k.shape(floats(k, x))), len(k.shape(y))
    if type(axes) is int and not 0 < axes <= min(ranks):
        k.refuse(f"axes={axes}")
    pairs = [list(range(ranks[0] - axes, ranks[0])), list(range(axes))] if type(axes) is int else axes
    left, right = ([each] if type(each) is int else list(each) for each in pairs)
    if not len(left) == len(right) == len(axes_of(k, left, ranks[0])) == len(axes_of(k, right, ranks[1])):
        k.refuse(f"axes={str(axes)[:60]}")
    first, second = list(string.ascii_letters[: ranks[0]]), list(string.ascii_letters[ranks[0] : sum(ranks)])
    for one, other in zip(left, right):
        second[other] = first[one]
    kept = "".join(letter for letter in first + second if (letter in first) != (letter in second))
    return k.tf.Einsum(x, y, equation=f"{''.join(first)},{''.join(second)}->{kept}")


def matmul(k: Call, a: Any, b: Any, adj_a: bool = False, adj_b: bool = False) -> Value:
    """Multiply matrices [..., n, m] x [..., m, p] -> [..., n, p]; `adj_a` and `adj_b` transpose them before."""
    x, y = operands(k, a, b)
    ranks = len(k.shape(floats(k, x))), len(k.shape(y))
    if min(ranks) < 2:
        k.refuse("a product of a vector")
    if ranks == (2, 2):
        return k.tf.MatMul(x, y, transpose_a=adj_a, transpose_b=adj_b)
    if ranks[1] == 2 and not adj_a and not adj_b:
        return product(k, x, y)
    return k.tf.BatchMatMulV2(x, y, adj_x=adj_a, adj_y=adj_b)


def sliced(k: Call, x: Value, key: Any) -> Value:
    """Build x[key] of numbers, slices, None and an ellipsis."""
    items = list(key) if isinstance(key, (list, tuple)) else [key]
    spec = {"begin": [], "end": [], "strides": []}  # type: dict[str, list[int]]
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    for at, item in enumerate(items):
        begin, end, step, held = _sliced_along(k, item)
        for name, number in zip(spec, (begin, end, step)):
            spec[name].append(number)
        for name in held:
            masks[name] |= 1 << at
    if bin(masks["ellipsis_mask"]).count("1") > 1 or len(items) > 31:
        k.refuse(f"the index {str(key)[:60]}")
    return k.tf.StridedSlice(x, *spec.values(), **masks)


def _sliced_along(k: Call, item: Any) -> tuple[int, int, int, tuple[str, ...]]:
    """Return begin, end and stride of an item of an index, and the masks that hold for it."""
    if item is ... or (isinstance(item, dict) and item.get("class_name") == "__ellipsis__"):
        return 0, 0, 1, ("ellipsis_mask",)
    if item is None:
        return 0, 0, 1, ("new_axis_mask",)
    if isinstance(item, dict) and item.keys() == {"start", "stop", "step"}:
        item = slice(item["start"], item["stop"], item["step"])
    if isinstance(item, slice):
        ends = (item.start, item.stop, item.step)
        if all(end is None or (type(end) is int and abs(end) < 1 << 31) for end in ends) and item.step != 0:
            open_ends = [name for name, end in (("begin_mask", item.start), ("end_mask", item.stop)) if end is None]
            return item.start or 0, item.stop or 0, item.step or 1, tuple(open_ends)
    if type(item) is int and abs(item) < 1 << 30:
        return item, item + 1, 1, ("shrink_axis_mask",)
    k.refuse(f"the index {str(item)[:60]}")


def taken(k: Call, x: Value, indices: Any, axis: int, wraps: bool) -> Value:
    """Take slices along an axis; negative indices count from the end if it `wraps`."""
    (axis,) = axes_of(k, axis, len(k.shape(x)))
    size = k.shape(x)[axis]
    if isinstance(indices, Value):
        if indices.dtype not in (types.INT32, types.INT64):
            k.refuse(f"indices of {indices.dtype}")
        if wraps:
            zero, count = k.tf.number(0, indices.dtype), cast(k, k.tf.dim(x, axis), indices.dtype)
            negative = k.tf.Less(indices, zero, dtype=types.BOOL)
            indices = k.tf.SelectV2(negative, k.tf.AddV2(indices, count), indices, dtype=indices.dtype)
        return k.tf.GatherV2(x, indices, k.tf.ints(axis), dtype=x.dtype)
    array = np.asarray(indices)
    if array.dtype.kind != "i" or not isinstance(size, int) or not array.size:
        k.refuse(f"the indices {str(indices)[:60]} of {size} elements")
    if array.max() >= size or array.min() < (-size if wraps else 0):
        k.refuse(f"the indices {str(indices)[:60]} of {size} elements")
    return k.tf.GatherV2(x, k.tf.array(array % size, types.INT32), k.tf.ints(axis), dtype=x.dtype)


def joined(k: Call, inputs: Any, axis: int) -> Value:
    if not isinstance(inputs, (list, tuple)):
        k.refuse("it is called on no list of tensors")
    values = operands(k, *inputs)
    (axis,) = axes_of(k, axis, len(k.shape(values[0])))
    return k.tf.ConcatV2(*values, k.tf.ints(axis), dtype=values[0].dtype)


def stacked(k: Call, inputs: Any, axis: int) -> Value:
    if not isinstance(inputs, (list, tuple)):
        k.refuse("it is called on no list of tensors")
    values = operands(k, *inputs)
    (axis,) = axes_of(k, axis, len(k.shape(values[0])) + 1)
    return k.tf.Pack(*values, axis=axis)


def unstacked(k: Call, x: Value, count: int | None, axis: int) -> list[Value]:
    (axis,) = axes_of(k, axis, len(k.shape(x)))
    size = k.known(x, axis)
    if count not in (None, size):
        k.refuse(f"num={count} of {size} elements")
    return k.tf.several("Unpack", [x], {"axis": axis}, [x.dtype] * _counted(k, size))


def _counted(k: Call, count: int) -> int:
    """Return a number of results, each of which counts as an op."""
    for _ in range(count):
        k.tf.spend()
    return count


def split(k: Call, x: Value, parts: int | list[int], axis: int) -> list[Value]:
    """Split into as many equal parts, or parts of these sizes."""
    (axis,) = axes_of(k, axis, len(k.shape(x)))
    size = k.known(x, axis)
    if isinstance(parts, int):
        if parts < 1 or size % parts:
            k.refuse(f"{parts} parts of {size} elements")
        return k.tf.split(x, _counted(k, parts), axis)
    if not parts or min(parts) < 0 or sum(parts) != size:
        k.refuse(f"parts of {str(parts)[:60]} of {size} elements")
    return k.tf.several("SplitV", [x, k.tf.array(parts, types.INT32), k.tf.ints(axis)], {},
                        [x.dtype] * _counted(k, len(parts)))  # fmt: skip


def padded(k: Call, x: Value, pairs: Any, mode: str, value: Any) -> Value:
    """Pad by [before, after] elements along each dimension."""
    rank = len(k.shape(x))
    counts = np.asarray(pairs)
    if counts.shape != (rank, 2) or counts.dtype.kind != "i" or counts.min() < 0 or counts.max() >= 1 << 31:
        k.refuse(f"padding by {str(pairs)[:60]}")
    widths = k.tf.array(counts, types.INT32)
    if mode in ("reflect", "symmetric") and not value:
        return k.tf.MirrorPad(x, widths, mode=mode.upper())
    if mode != "constant" or not (value is None or is_number(value)):
        k.refuse(f"mode={mode!r}, constant_values={str(value)[:60]}")
    return k.tf.PadV2(x, widths, k.tf.number(value, x.dtype)) if value else k.tf.Pad(x, widths)


def tiled(k: Call, x: Value, repeats: Any) -> Value:
    """Repeat along each dimension; the first dimensions may be left out."""
    counts = [repeats] if isinstance(repeats, int) else list(repeats)
    if not all(type(count) is int and 0 < count < 1 << 31 for count in counts):
        k.refuse(f"repeats={str(repeats)[:60]}")
    for _ in range(len(counts) - len(k.shape(x))):
        x = k.tf.ExpandDims(x, 0)
    return k.tf.Tile(x, [1] * (len(k.shape(x)) - len(counts)) + counts)


def reshaped(k: Call, x: Value, shape: Any) -> Value:
    """Give a tensor a shape of ints, of which one may be -1."""
    sizes = [shape] if type(shape) is int else list(shape)
    if not all(type(size) is int and -1 <= size < 1 << 31 for size in sizes) or sizes.count(-1) > 1:
        k.refuse(f"the shape {str(shape)[:60]}")
    return k.tf.Reshape(x, k.tf.ints(sizes))


def permuted(k: Call, x: Value, order: Any) -> Value:
    """Transpose; without an order, the dimensions are turned round."""
    rank = len(k.shape(x))
    axes = list(reversed(range(rank))) if order is None else [axis % rank for axis in order]
    if sorted(axes) != list(range(rank)):
        k.refuse(f"the order {str(order)[:60]} of {rank} dimensions")
    return k.tf.transpose(x, axes)


def squeezed(k: Call, x: Value, axis: Any) -> Value:
    shape = k.shape(x)
    axes = [at for at, size in enumerate(shape) if size == 1] if axis is None else axes_of(k, axis, len(shape))
    if any(shape[at] != 1 for at in axes) or (axis is None and not all(isinstance(size, int) for size in shape)):
        k.refuse(f"axis={axis} of the shape {shape}")
    return k.tf.Squeeze(x, squeeze_dims=axes) if axes else x


def chosen(k: Call, condition: Any, a: Any, b: Any) -> Value:
    if not isinstance(condition, Value) or a is None or b is None:
        k.refuse("it is called on other than a condition and two tensors")
    x, y = operands(k, a, b)
    return k.tf.SelectV2(cast(k, condition, types.BOOL), x, y, dtype=x.dtype)


def clipped(k: Call, x: Value, least: Any, most: Any) -> Value:
    x, low, high = operands(k, numbers(k, x), least, most)
    return k.tf.Maximum(k.tf.Minimum(x, high), low)


def one_hot(k: Call, x: Value, depth: int, axis: int, dtype: str) -> Value:
    if dtype not in ("float32", "int32", "int64") or x.dtype not in (types.INT32, types.INT64):
        k.refuse(f"dtype={dtype!r} of {x.dtype}")
    if not 0 < depth < 1 << 31 or not -1 <= axis <= len(k.shape(x)):
        k.refuse(f"{depth} classes along the axis {axis}")
    kind = types.BY_NAME[dtype]
    return k.tf.OneHot(x, k.tf.ints(depth), k.tf.number(1, kind), k.tf.number(0, kind), dtype=kind, axis=axis)
