"""Functions of TensorFlow that tf-keras has as layers: TFOpLambda, by their names and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import HALVES, Call
from fuseconv.load.keras.layers import activations, tensors
from fuseconv.load.keras.model import flat
from fuseconv.load.keras.registry import AS_THEY_ARE, builtin

_Function = Callable[..., Any]
_FUNCTIONS: dict[str, _Function] = {}


def function(*names: str) -> Callable[[_Function], _Function]:
    """Enter the decorated function as the meaning of functions of TensorFlow; its parameters have their names."""

    def enter(built: _Function) -> _Function:
        _FUNCTIONS.update(dict.fromkeys(names, built))
        return built

    return enter


@builtin("TFOpLambda", "SlicingOpLambda", takes=AS_THEY_ARE, half=True)
def op_lambda(k: Call, *args: Any, function: str) -> Any:
    return _call(k, function, args, k.all_options())


def _call(k: Call, function: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Call a function of TensorFlow by its name, with Python's own rules for its arguments. Refuses one that is not
    known, and on 16 bits one that does not round once."""
    known = _FUNCTIONS.get(function)
    if known is None:
        k.refuse(f"the function tf.{function[:60]} is not read as data")
    if function not in _EXACT and any(isinstance(x, Value) and x.dtype in HALVES for x in flat([args, dict(options)])):
        k.refuse(f"tf.{function} is called on 16 bits")
    given = {name: value for name, value in options.items() if name != "name"}
    try:
        bound = inspect.signature(known).bind(k, *args, **given)
    except TypeError as error:
        k.refuse(f"tf.{function} is called with arguments that are not read as data ({error})")
    return known(*bound.args, **bound.kwargs)


def _binary(kind: str, dtype: types.DType | None = None) -> _Function:
    def build(k: Call, x: Any, y: Any) -> Value:
        return tensors.binary(k, kind, x, y, dtype)

    return build


def _logical(kind: str) -> _Function:
    def build(k: Call, x: Value, y: Value) -> Value:
        if x.dtype is not types.BOOL or y.dtype is not types.BOOL:
            k.refuse("its operands are not boolean")
        return k.tf.add(kind, [x, y], {}, types.BOOL)

    return build


def _unary(kind: str, of: Callable[[Call, Any], Value] = tensors.floats) -> _Function:
    def build(k: Call, x: Any) -> Value:
        return k.tf.add(kind, [of(k, x)], {}, x.dtype)

    return build


def _features(kind: str) -> _Function:
    def build(k: Call, features: Any) -> Value:
        return k.tf.add(kind, [tensors.floats(k, features)], {}, features.dtype)

    return build


def _reduction(kind: str, of: Callable[[Call, Any], Value] = tensors.numbers) -> _Function:
    def build(k: Call, input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Value:
        return tensors.reduced(k, kind, of(k, input_tensor), axis, keepdims)

    return build


def _truth(k: Call, x: Any) -> Value:
    if not isinstance(x, Value) or x.dtype is not types.BOOL:
        k.refuse("its operand is not boolean")
    return x


_BINARY = {"__operators__.add": "AddV2", "math.add": "AddV2", "math.subtract": "Sub", "math.multiply": "Mul",
           "math.maximum": "Maximum", "math.minimum": "Minimum", "math.pow": "Pow",
           "math.floordiv": "FloorDiv", "compat.v1.floor_div": "FloorDiv",
           "math.floormod": "FloorMod", "math.squared_difference": "SquaredDifference"}  # fmt: skip
_COMPARED = {"math.greater": "Greater", "math.greater_equal": "GreaterEqual", "math.less": "Less",
             "math.less_equal": "LessEqual", "math.equal": "Equal", "math.not_equal": "NotEqual",
             "__operators__.eq": "Equal", "__operators__.ne": "NotEqual"}  # fmt: skip
_FLOATS = {"math.sqrt": "Sqrt", "math.rsqrt": "Rsqrt", "math.exp": "Exp", "math.expm1": "Expm1", "math.log": "Log",
           "math.log1p": "Log1p", "math.sin": "Sin", "math.cos": "Cos", "math.tan": "Tan", "math.tanh": "Tanh",
           "nn.tanh": "Tanh", "math.sigmoid": "Sigmoid", "nn.sigmoid": "Sigmoid", "math.erf": "Erf",
           "math.floor": "Floor", "math.ceil": "Ceil", "math.reciprocal": "Reciprocal"}  # fmt: skip
_FEATURES = {"nn.relu": "Relu", "nn.relu6": "Relu6", "nn.elu": "Elu", "nn.selu": "Selu", "math.softplus": "Softplus",
             "nn.softplus": "Softplus", "nn.softsign": "Softsign"}  # fmt: skip
_NUMBERS = {"math.abs": "Abs", "math.negative": "Neg", "math.square": "Square", "math.sign": "Sign"}
# What is rounded once, whatever it is computed in, and so computes in 16 bits what TensorFlow does.
_EXACT = frozenset({
    "__operators__.add", "math.add", "math.subtract", "math.multiply", "math.maximum", "math.minimum", "math.truediv",
    "math.divide", "__operators__.truediv", "math.abs", "math.negative", "math.square", "math.sqrt", "nn.relu",
    "nn.relu6", "cast", "identity", "__operators__.getitem", "concat", "stack", "unstack", "split", "reshape",
    "transpose", "compat.v1.transpose", "expand_dims", "squeeze", "compat.v1.squeeze", "tile", "pad", "compat.v1.pad",
    "reverse", "gather", "compat.v1.gather", "shape", "compat.v1.shape", "where",
})  # fmt: skip
_REDUCED = {"math.reduce_sum": "Sum", "math.reduce_max": "Max", "math.reduce_min": "Min", "math.reduce_prod": "Prod"}

for _name, _kind in _BINARY.items():
    function(_name)(_binary(_kind))
for _name, _kind in _COMPARED.items():
    function(_name)(_binary(_kind, types.BOOL))
for _name in ("logical_and", "logical_or"):
    function(f"math.{_name}")(_logical("LogicalAnd" if _name == "logical_and" else "LogicalOr"))
for _name, _kind in _FLOATS.items():
    function(_name)(_unary(_kind))
for _name, _kind in _FEATURES.items():
    function(_name)(_features(_kind))
for _name, _kind in _NUMBERS.items():
    function(_name)(_unary(_kind, tensors.numbers))
for _name, _kind in _REDUCED.items():
    function(_name)(_reduction(_kind))
function("math.reduce_mean")(_reduction("Mean", tensors.floats))
function("math.reduce_any")(_reduction("Any", _truth))
function("math.reduce_all")(_reduction("All", _truth))


@function("math.logical_not")
def logical_not(k: Call, x: Any) -> Value:
    return k.tf.LogicalNot(_truth(k, x))


@function("math.truediv", "math.divide", "__operators__.truediv")
def divide(k: Call, x: Any, y: Any) -> Value:
    return tensors.divided(k, x, y)


@function("math.reduce_variance")
def reduce_variance(k: Call, input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Value:
    return tensors.variance(k, tensors.floats(k, input_tensor), axis, keepdims)


@function("math.reduce_std")
def reduce_std(k: Call, input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Value:
    return k.tf.Sqrt(reduce_variance(k, input_tensor, axis, keepdims))


@function("math.l2_normalize", "linalg.l2_normalize")
def l2_normalize(k: Call, x: Any, axis: Any = None, epsilon: float = 1e-12) -> Value:
    return tensors.normalized(k, tensors.floats(k, x), axis, epsilon, before=True)


@function("nn.softmax")
def softmax(k: Call, logits: Any, axis: int = -1) -> Value:
    return activations.softmax(k, tensors.floats(k, logits), axis)


@function("nn.log_softmax")
def log_softmax(k: Call, logits: Any, axis: int = -1) -> Value:
    return activations.log_softmax(k, tensors.floats(k, logits), axis)


@function("nn.silu", "nn.swish")
def silu(k: Call, features: Any, beta: float = 1.0) -> Value:
    if beta != 1:
        k.refuse(f"beta={beta}")
    return activations.silu(k, tensors.floats(k, features))


@function("nn.gelu")
def gelu(k: Call, features: Any, approximate: bool = False) -> Value:
    x = tensors.floats(k, features)
    return activations.gelu_by_tanh(k, x) if approximate else activations.gelu(k, x)


@function("nn.leaky_relu")
def leaky_relu(k: Call, features: Any, alpha: float = 0.2) -> Value:
    return activations.leaky_relu(k, tensors.floats(k, features), alpha)


@function("clip_by_value")
def clip_by_value(k: Call, t: Any, clip_value_min: Any, clip_value_max: Any) -> Value:
    return tensors.clipped(k, t, clip_value_min, clip_value_max)


@function("where")
def where(k: Call, condition: Any, x: Any = None, y: Any = None) -> Value:
    if not isinstance(condition, Value) or condition.dtype is not types.BOOL:
        k.refuse("its condition is not boolean")
    return tensors.chosen(k, condition, x, y)


@function("cast")
def cast(k: Call, x: Value, dtype: str) -> Value:
    if dtype not in types.BY_NAME:
        k.refuse(f"dtype={str(dtype)[:60]}")
    return tensors.cast(k, x, types.BY_NAME[dtype])


@function("identity")
def identity(k: Call, input: Value) -> Value:
    return input


@function("__operators__.getitem")
def get_item(k: Call, tensor: Value, slice_spec: Any = None, var: None = None) -> Value:
    return tensors.sliced(k, tensor, slice_spec)


@function("linalg.matmul")
def matmul(
    k: Call, a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
) -> Value:  # fmt: skip
    x, y = tensors.operands(k, a, b)
    turned = (bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b))
    return tensors.matmul(k, x, y, *turned)


@function("concat")
def concat(k: Call, values: Any, axis: int) -> Value:
    return tensors.joined(k, values, axis)


@function("stack")
def stack(k: Call, values: Any, axis: int = 0) -> Value:
    return tensors.stacked(k, values, axis)


@function("unstack")
def unstack(k: Call, value: Value, num: int | None = None, axis: int = 0) -> list[Value]:
    return tensors.unstacked(k, value, num, axis)


@function("split")
def split(k: Call, value: Value, num_or_size_splits: Any, axis: int = 0) -> list[Value]:
    return tensors.split(k, value, num_or_size_splits, axis)


@function("reshape")
def reshape(k: Call, tensor: Value, shape: Any) -> Value:
    if isinstance(shape, (list, tuple)) and any(isinstance(size, Value) for size in shape):
        return k.tf.Reshape(tensor, tensors.vector(k, shape))
    return tensors.reshaped(k, tensor, shape)


@function("transpose", "compat.v1.transpose")
def transpose(k: Call, a: Value, perm: Any = None, conjugate: bool = False) -> Value:
    return tensors.permuted(k, a, perm)


@function("expand_dims")
def expand_dims(k: Call, input: Value, axis: int) -> Value:
    return k.tf.ExpandDims(input, axis)


@function("squeeze", "compat.v1.squeeze")
def squeeze(k: Call, input: Value, axis: Any = None) -> Value:
    return tensors.squeezed(k, input, axis)


@function("tile")
def tile(k: Call, input: Value, multiples: list[int]) -> Value:
    if len(multiples) != len(k.shape(input)):
        k.refuse(f"multiples={str(multiples)[:60]}")
    return tensors.tiled(k, input, multiples)


@function("pad", "compat.v1.pad")
def pad(k: Call, tensor: Value, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Value:
    return tensors.padded(k, tensor, paddings, mode.lower(), constant_values)


@function("reverse")
def reverse(k: Call, tensor: Value, axis: Any) -> Value:
    return k.tf.ReverseV2(tensor, k.tf.ints(axis))


@function("gather", "compat.v1.gather")
def gather(k: Call, params: Value, indices: Any, validate_indices: None = None, axis: int | None = None,
           batch_dims: int = 0) -> Value:  # fmt: skip
    if batch_dims != 0:
        k.refuse(f"batch_dims={batch_dims}")
    return tensors.taken(k, params, indices, axis or 0, wraps=False)


@function("one_hot")
def one_hot(k: Call, indices: Value, depth: int, axis: int = -1, dtype: str = "float32") -> Value:
    return tensors.one_hot(k, indices, depth, axis, dtype)


@function("shape", "compat.v1.shape")
def shape(k: Call, input: Value, out_type: str = "int32") -> Value:
    if out_type != "int32":
        k.refuse(f"out_type={str(out_type)[:60]}")
    return k.tf.shape(input)


@function("math.argmax", "math.argmin")
def argmax(k: Call, input: Value, axis: int, output_type: str = "int64") -> Value:
    if output_type not in ("int32", "int64"):
        k.refuse(f"output_type={str(output_type)[:60]}")
    kind = "ArgMax" if k.owner.config["function"] == "math.argmax" else "ArgMin"
    dtype = types.BY_NAME[output_type]
    return k.tf.add(kind, [input, k.tf.ints(axis)], {"output_type": dtype}, dtype)
