"""Folders of elementwise ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from fuseconv.ir.dims import Dim, either, plain_names
from fuseconv.ir.graph import Op
from fuseconv.ir.types import STRING
from fuseconv.tf.folders.registry import TABLE, Declined, kernel, require, rounded_once, widened
from fuseconv.tf.operands import nonnegative


@kernel("Add", "AddV2")
def add(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x + y


@kernel("Sub")
def sub(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x - y


@kernel("Mul")
def mul(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x * y


@kernel("AddN")
def add_n(op: Op, *terms: np.ndarray) -> np.ndarray:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _integer(x: np.ndarray) -> bool:
    return x.dtype.kind in "iuO"


def _divisor(y: np.ndarray) -> None:
    """Decline an integer division by zero, which TensorFlow makes an error."""
    if _integer(y):
        require(not any(d == 0 for d in y.flat) if y.dtype == object else bool(np.all(y != 0)))


@kernel("RealDiv")
def real_div(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    require(not _integer(x))
    return x / y


@kernel("Div")
def div(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _truncate_div(x, y) if _integer(x) else x / y


@kernel("TruncateDiv")
def truncate_div(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    require(_integer(x))
    return _truncate_div(x, y)


def _truncate_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    _divisor(y)
    require(x.dtype != object and y.dtype != object)
    quotient = np.floor_divide(x, y)
    # Floor and truncation differ by one where the signs differ and there is a remainder.
    inexact = (quotient * y != x) & ((x < 0) != (y < 0))
    return quotient + inexact.astype(quotient.dtype)


@kernel("FloorDiv")
def floor_div(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    _divisor(y)
    # TensorFlow floors the rounded quotient; numpy takes the floor of the exact one.
    return np.floor_divide(x, y) if _integer(x) else np.floor(x / y)


@kernel("FloorMod")
def floor_mod(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    _divisor(y)
    return np.mod(x, y) if _integer(x) else _float_mod(x, y)


def _float_mod(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    remainder = np.fmod(x, y)
    return np.where((remainder != 0) & ((remainder < 0) != (y < 0)), remainder + y, remainder)


@kernel("Mod", "TruncateMod")
def truncate_mod(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    _divisor(y)
    return np.fmod(x, y)


@kernel("DivNoNan")
def div_no_nan(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, y.dtype.type(0), x / y)


@kernel("MulNoNan")
def mul_no_nan(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, y.dtype.type(0), x * y)


@kernel("Pow")
def power(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if _integer(y):
        require(bool(np.all(y >= 0)))
    return rounded_once(np.power)(x, y)


@kernel("Maximum")
def maximum(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _larger(x, y) if object in (x.dtype, y.dtype) else np.maximum(x, y)


@kernel("Minimum")
def minimum(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if object not in (x.dtype, y.dtype):
        return np.minimum(x, y)
    return -_larger(*(-each.astype(object) for each in (x, y)))  # the negative of a single number is no array


@functools.partial(np.vectorize, otypes=[object])
def _larger(x: Dim, y: Dim) -> Dim:
    """Return the larger of two expressions over sizes, if that does not depend on the sizes or they are plain
    unknowns."""
    if nonnegative(x - y):
        return x
    if plain_names(x) and plain_names(y):
        return either(x, y)
    require(nonnegative(y - x))
    return y


@kernel("SquaredDifference")
def squared_difference(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    difference = x - y
    return difference * np.conj(difference)


@kernel("Atan2")
def atan2(op: Op, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    return rounded_once(np.arctan2)(y, x)


@kernel("Xdivy")
def xdivy(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x.dtype.type(0), x / y)


@kernel("Xlogy")
def xlogy(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x.dtype.type(0), x * rounded_once(np.log)(y))


@kernel("Xlog1py")
def xlog1py(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x.dtype.type(0), x * rounded_once(np.log1p)(y))


@kernel("Complex")
def complex_(op: Op, real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    made = np.empty(np.broadcast_shapes(real.shape, imag.shape), op.result.dtype.numpy)
    made.real, made.imag = real, imag
    return made


@kernel("Equal")
def equal(op: Op, x: np.ndarray, y: np.ndarray, *, incompatible_shape_error: bool = True) -> np.ndarray:
    require(incompatible_shape_error or _compatible(x, y))
    return np.equal(x, y).astype(bool, copy=False)


@kernel("NotEqual")
def not_equal(op: Op, x: np.ndarray, y: np.ndarray, *, incompatible_shape_error: bool = True) -> np.ndarray:
    require(incompatible_shape_error or _compatible(x, y))
    return np.not_equal(x, y).astype(bool, copy=False)


def _compatible(x: np.ndarray, y: np.ndarray) -> bool:
    padded = zip(reversed(x.shape), reversed(y.shape))
    return all(a == b or 1 in (a, b) for a, b in padded)


@kernel("ApproximateEqual")
def approximate_equal(op: Op, x: np.ndarray, y: np.ndarray, *, tolerance: float = 1e-5) -> np.ndarray:
    return np.abs(x - y) < x.dtype.type(tolerance)


@kernel("Invert")
def invert(op: Op, x: np.ndarray) -> np.ndarray:
    return np.invert(x)


@kernel("LeftShift")
def left_shift(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.left_shift(x, _shift(x, y))


@kernel("RightShift")
def right_shift(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.right_shift(x, _shift(x, y))


def _shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the shift distance, clamped to the bits of the type as TensorFlow does."""
    return np.clip(y, 0, x.dtype.itemsize * 8 - 1)


def _binary(function: Callable) -> Callable:
    def run(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return function(x, y)

    return run


_BINARY: dict[str, Callable] = {
    "Greater": np.greater, "GreaterEqual": np.greater_equal, "Less": np.less, "LessEqual": np.less_equal,
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor, "NextAfter": np.nextafter,
}  # fmt: skip
for _name, _ufunc in _BINARY.items():
    TABLE.declare(_name)(_binary(_ufunc))


@kernel("Select")
def select(op: Op, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # A vector picks rows.
    if condition.ndim == 1 and x.ndim > 1:
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    return np.where(condition, x, y)


@kernel("SelectV2")
def select_v2(op: Op, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(condition, x, y)


@kernel("ClipByValue")
def clip_by_value(op: Op, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(x, low), high)


@kernel("Cast")
def cast(op: Op, x: np.ndarray, *, Truncate: bool = False) -> np.ndarray:
    target = op.result.dtype.numpy
    if x.dtype == object:
        return x
    if x.dtype.kind == "c" and target.kind != "c":
        x = x.real
    if target.kind in "iu" and x.dtype.kind not in "iub":
        if target in (np.int32, np.int64):
            # Where the number does not fit (-inf of log(0) in T5's buckets), what comes out depends on the processor,
            # whose instruction numpy's loops use as TensorFlow's do.
            return widened(x).astype(target)
        # Into smaller types a vector of TensorFlow's may be packed in another way than a single number.
        whole = np.trunc(x.astype(np.float64))
        info = np.iinfo(target)
        require(bool(np.all((whole >= info.min) & (whole <= info.max) & (whole < 2.0**63))))
        return whole.astype(target)
    require(not Truncate)
    return x.astype(target, copy=False)


def _unary(function: Callable) -> Callable:
    def run(op: Op, x: np.ndarray) -> np.ndarray:
        return function(x)

    return run


_UNARY: dict[str, Callable] = {
    "Abs": np.abs, "Ceil": np.ceil, "Conj": np.conj, "Floor": np.floor, "IsFinite": np.isfinite, "IsInf": np.isinf,
    "IsNan": np.isnan, "LogicalNot": np.logical_not, "Neg": np.negative, "Rint": np.rint, "Sqrt": np.sqrt,
    "Square": np.square, "ComplexAbs": np.abs, "Real": np.real, "Imag": np.imag, "Angle": np.angle,
}  # fmt: skip
_TRANSCENDENTAL: dict[str, Callable] = {
    "Acos": np.arccos, "Acosh": np.arccosh, "Asin": np.arcsin, "Asinh": np.arcsinh, "Atan": np.arctan,
    "Atanh": np.arctanh, "Cos": np.cos, "Cosh": np.cosh, "Exp": np.exp, "Expm1": np.expm1, "Log": np.log,
    "Log1p": np.log1p, "Sin": np.sin, "Sinh": np.sinh, "Tan": np.tan, "Tanh": np.tanh,
}  # fmt: skip
_UNARY |= {_name: rounded_once(_ufunc) for _name, _ufunc in _TRANSCENDENTAL.items()}
for _name, _ufunc in _UNARY.items():
    TABLE.declare(_name)(_unary(_ufunc))


@kernel("Round")
def round_(op: Op, x: np.ndarray) -> np.ndarray:
    # On integers TensorFlow's kernel does not simply return them.
    require(not _integer(x))
    return np.rint(x)


@kernel("Sign")
def sign(op: Op, x: np.ndarray) -> np.ndarray:
    require(x.dtype.kind != "c")
    return np.sign(x)


@kernel("Rsqrt")
def rsqrt(op: Op, x: np.ndarray) -> np.ndarray:
    return x.dtype.type(1) / np.sqrt(x)


@kernel("Reciprocal", "Inv")
def reciprocal(op: Op, x: np.ndarray) -> np.ndarray:
    require(not _integer(x))
    return x.dtype.type(1) / x


@kernel("Erf")
def erf(op: Op, x: np.ndarray) -> np.ndarray:
    return _each(math.erf, x)


@kernel("Erfc")
def erfc(op: Op, x: np.ndarray) -> np.ndarray:
    return _each(math.erfc, x)


@kernel("Lgamma")
def lgamma(op: Op, x: np.ndarray) -> np.ndarray:
    require(bool(np.all(x > 0)))
    return _each(math.lgamma, x)


def _each(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """Return an elementwise function of Python's math module, in float64 and rounded once; declines arrays that would
    take long."""
    if x.size > 1 << 16:
        raise Declined
    made = np.fromiter((function(float(element)) for element in x.flat), np.float64, x.size)
    return made.reshape(x.shape).astype(x.dtype)


@kernel("ZerosLike")
def zeros_like(op: Op, x: np.ndarray) -> np.ndarray:
    require(op.result.dtype is not STRING)
    return np.broadcast_to(np.zeros((), op.result.dtype.numpy), x.shape)


@kernel("OnesLike")
def ones_like(op: Op, x: np.ndarray) -> np.ndarray:
    require(op.result.dtype is not STRING)
    return np.broadcast_to(np.ones((), op.result.dtype.numpy), x.shape)
