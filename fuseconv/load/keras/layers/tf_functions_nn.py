"""Functions of TensorFlow as layers of tf-keras that are no plain arithmetic: tensors made of sizes, sums along an
axis, windows and pictures."""

from __future__ import annotations

from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers import pooling, tensors
from fuseconv.load.keras.layers.pictures import resized
from fuseconv.load.keras.layers.reshaping import repeated
from fuseconv.load.keras.layers.settings import axes_of, sizes
from fuseconv.load.keras.layers.tf_functions import function

_FLOATS = {"math.round": "Round", "math.sinh": "Sinh", "math.cosh": "Cosh", "math.asin": "Asin", "math.acos": "Acos",
           "math.atan": "Atan", "math.asinh": "Asinh", "math.acosh": "Acosh", "math.atanh": "Atanh"}  # fmt: skip
_CHECKED = {"math.is_nan": "IsNan", "math.is_inf": "IsInf", "math.is_finite": "IsFinite"}


def _unary(kind: str, dtype: types.DType | None = None) -> Any:
    return lambda k, x: k.tf.add(kind, [tensors.floats(k, x)], {}, dtype or x.dtype)


for _name, _kind in _FLOATS.items():
    function(_name)(_unary(_kind))
for _name, _kind in _CHECKED.items():
    function(_name)(_unary(_kind, types.BOOL))


@function("math.atan2")
def atan2(k: Call, y: Any, x: Any) -> Value:
    return tensors.binary(k, "Atan2", tensors.floats(k, y), tensors.floats(k, x))


@function("math.divide_no_nan")
def divide_no_nan(k: Call, x: Any, y: Any) -> Value:
    a, b = tensors.operands(k, x, y)
    return k.tf.DivNoNan(tensors.floats(k, a), b)


@function("math.add_n")
def add_n(k: Call, inputs: Any) -> Value:
    values = tensors.operands(k, *inputs)
    return k.tf.add("AddN", values, {}, values[0].dtype)


@function("nn.bias_add")
def bias_add(k: Call, value: Value, bias: Any, data_format: str | None = None) -> Value:
    if data_format not in (None, "NHWC", "N..C"):
        k.refuse(f"data_format={str(data_format)[:60]}")
    x, y = tensors.operands(k, tensors.floats(k, value), bias)
    return k.tf.BiasAdd(x, y)


@function("math.cumsum")
def cumsum(k: Call, x: Value, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Value:
    return tensors.accumulated(k, "Cumsum", x, axis, exclusive, reverse)


@function("math.cumprod")
def cumprod(k: Call, x: Value, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Value:
    return tensors.accumulated(k, "Cumprod", x, axis, exclusive, reverse)


@function("math.reduce_logsumexp")
def reduce_logsumexp(k: Call, input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Value:
    return tensors.logsumexp(k, tensors.floats(k, input_tensor), axis, keepdims)


@function("math.top_k")
def top_k(call: Call, input: Value, k: int = 1, sorted: bool = True, index_type: str = "int32") -> list[Value]:
    if index_type != "int32":
        call.refuse(f"index_type={index_type[:60]}")
    return tensors.top_k(call, input, k, sorted)


@function("linalg.band_part")
def band_part(k: Call, input: Value, num_lower: int, num_upper: int) -> Value:
    return tensors.band(k, input, num_lower, num_upper)


@function("roll")
def roll(k: Call, input: Value, shift: Any, axis: Any) -> Value:
    return tensors.rolled(k, input, shift, axis)


@function("sort")
def sort(k: Call, values: Value, axis: int = -1, direction: str = "ASCENDING") -> Value:
    return _ordered(k, values, axis, direction)[0]


@function("argsort")
def argsort(
    k: Call, values: Value, axis: int = -1, direction: str = "ASCENDING", stable: bool = False
) -> Value:
    return _ordered(k, values, axis, direction)[1]


def _ordered(k: Call, x: Value, axis: int, direction: str) -> list[Value]:
    return tensors.ordered(k, x, axis, {"ASCENDING": False, "DESCENDING": True}[direction])


@function("tensordot")
def tensordot(k: Call, a: Any, b: Any, axes: Any) -> Value:
    return tensors.dotted(k, a, b, axes)


@function("slice")
def slice_(k: Call, input_: Value, begin: Any, size: Any) -> Value:
    return k.tf.Slice(input_, tensors.vector(k, begin), tensors.vector(k, size))


@function("broadcast_to")
def broadcast_to(k: Call, input: Value, shape: Any) -> Value:
    return k.tf.BroadcastTo(input, tensors.vector(k, shape), dtype=input.dtype)


@function("fill")
def fill(k: Call, dims: Any, value: Any) -> Value:
    if not tensors.is_number(value):
        k.refuse(f"value={str(value)[:60]}")
    kind = types.FLOAT32 if isinstance(value, float) else types.INT32
    return k.tf.Fill(tensors.vector(k, dims), k.tf.number(value, kind), dtype=kind)


@function("size", "compat.v1.size")
def size(k: Call, input: Value, out_type: str = "int32") -> Value:
    if out_type != "int32":
        k.refuse(f"out_type={str(out_type)[:60]}")
    return tensors.reduced(k, "Prod", k.tf.shape(input), None, False)


@function("rank")
def rank(k: Call, input: Value) -> Value:
    return k.tf.ints(len(k.shape(input)))


@function("math.count_nonzero")
def count_nonzero(
    k: Call, input: Value, axis: Any = None, keepdims: bool | None = None, dtype: str = "int64"
) -> Value:
    if dtype not in ("int32", "int64"):
        k.refuse(f"dtype={str(dtype)[:60]}")
    whether = tensors.cast(k, input, types.BOOL)
    return tensors.reduced(k, "Sum", tensors.cast(k, whether, types.BY_NAME[dtype]), axis, bool(keepdims))


@function("repeat")
def repeat(k: Call, input: Value, repeats: int, axis: int) -> Value:
    if type(repeats) is not int or not 0 < repeats < 1 << 31:
        k.refuse(f"repeats={str(repeats)[:60]}")
    (axis,) = axes_of(k, axis, len(k.shape(input)))
    return repeated(k, input, repeats, axis)


@function("range")
def range_(k: Call, start: Any, limit: Any = None, delta: Any = 1, dtype: str | None = None) -> Value:
    ends = [0, start] if limit is None else [start, limit]
    values = [each if isinstance(each, Value) else k.tf.ints(each) for each in (*ends, delta)]
    if dtype not in (None, "int32") or any(value.dtype is not types.INT32 or k.shape(value) for value in values):
        k.refuse("a range of other numbers than int32")
    return k.tf.Range(*values)


@function("zeros_like")
def zeros_like(k: Call, input: Value, dtype: str | None = None) -> Value:
    return _filled(k, k.tf.shape(input), 0, dtype or input.dtype.name)


@function("ones_like")
def ones_like(k: Call, input: Value, dtype: str | None = None) -> Value:
    return _filled(k, k.tf.shape(input), 1, dtype or input.dtype.name)


@function("zeros")
def zeros(k: Call, shape: Any, dtype: str = "float32") -> Value:
    return _filled(k, tensors.vector(k, shape), 0, dtype)


@function("ones")
def ones(k: Call, shape: Any, dtype: str = "float32") -> Value:
    return _filled(k, tensors.vector(k, shape), 1, dtype)


def _filled(k: Call, shape: Value, number: int, dtype: str) -> Value:
    if dtype not in types.BY_NAME or dtype == "string":
        k.refuse(f"dtype={dtype[:60]}")
    kind = types.BY_NAME[dtype]
    return k.tf.Fill(shape, k.tf.number(number, kind), dtype=kind)


@function("nn.depth_to_space", "compat.v1.depth_to_space")
def depth_to_space(k: Call, input: Value, block_size: int, data_format: str = "NHWC") -> Value:
    return _blocks(k, "DepthToSpace", input, block_size, data_format)


@function("nn.space_to_depth", "compat.v1.space_to_depth")
def space_to_depth(k: Call, input: Value, block_size: int, data_format: str = "NHWC") -> Value:
    return _blocks(k, "SpaceToDepth", input, block_size, data_format)


def _blocks(k: Call, kind: str, x: Value, block_size: int, data_format: str) -> Value:
    k.shape(x, 4)
    if data_format != "NHWC" or type(block_size) is not int or not 2 <= block_size < 1 << 15:
        k.refuse(f"block_size={str(block_size)[:60]}, data_format={str(data_format)[:60]}")
    return k.tf.add(kind, [x], {"block_size": block_size}, x.dtype)


@function("nn.max_pool2d")
def max_pool2d(k: Call, input: Value, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC") -> Value:
    return _pooled(k, input, True, (ksize, strides), padding, data_format)


@function("nn.avg_pool2d")
def avg_pool2d(k: Call, input: Value, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC") -> Value:
    return _pooled(k, input, False, (ksize, strides), padding, data_format)


def _pooled(k: Call, x: Value, maximum: bool, window: tuple[Any, Any], padding: Any, data_format: str) -> Value:
    size, steps = (each[1:3] if isinstance(each, list) and len(each) == 4 and each[0] == each[3] == 1 else each
                   for each in window)  # fmt: skip
    if padding not in ("SAME", "VALID") or data_format != "NHWC":
        k.refuse(f"padding={str(padding)[:60]}, data_format={str(data_format)[:60]}")
    return pooling.pool(k, tensors.floats(k, x), 2, maximum, size, sizes(k, steps, 2), padding.lower(), None)


@function("image.resize")
def resize(
    k: Call, images: Value, size: Any, method: str = "bilinear", preserve_aspect_ratio: bool = False,
    antialias: bool = False,
) -> Value:  # fmt: skip
    k.shape(images, 4)
    if preserve_aspect_ratio or not isinstance(method, str):
        k.refuse(f"method={str(method)[:60]}, preserve_aspect_ratio={preserve_aspect_ratio}")
    new = size if isinstance(size, Value) else k.tf.ints(sizes(k, size, 2))
    return resized(k, images, new, method, antialias)


@function("keras.backend.batch_flatten")
def batch_flatten(k: Call, x: Value) -> Value:
    return k.tf.reshaped(x, [-1, _product(k, x)])


def _product(k: Call, x: Value) -> int:
    size = 1
    for at in range(1, len(k.shape(x))):
        size *= k.known(x, at)
    return size
