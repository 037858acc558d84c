"""Ops that work element by element: arithmetic, comparison, logic, activations, casts, selection."""

from __future__ import annotations

import itertools

from fuseconv.ir import types
from fuseconv.ir.dims import fresh
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.types import DType
from fuseconv.tfl.opdef import ResultType, op
from fuseconv.tfl.type_inference import ShapeError, broadcast, merged, same


def _one_type(x: Value, y: Value) -> DType:
    """Return the type of both operands. Raises ShapeError for two types: no kernel converts one to the other."""
    if x.dtype is not y.dtype:
        raise ShapeError(f"its operands are of {x.dtype} and {y.dtype}")
    return x.dtype


@op({
    "FLOOR_DIV": "FloorDivOptions", "FLOOR_MOD": "FloorModOptions", "POW": "PowOptions",
    "MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions",
    "SQUARED_DIFFERENCE": "SquaredDifferenceOptions", "BITWISE_XOR": "BitwiseXorOptions",
    "RIGHT_SHIFT": "RightShiftOptions", "LOGICAL_AND": "LogicalAndOptions", "LOGICAL_OR": "LogicalOrOptions",
})  # fmt: skip
def binary(x: Value, y: Value) -> ResultType:
    """Return the type of operands of one type, and the shape that they broadcast to."""
    return _one_type(x, y), broadcast(x.shape, y.shape)


@op({
    "EQUAL": "EqualOptions", "NOT_EQUAL": "NotEqualOptions", "LESS": "LessOptions", "LESS_EQUAL": "LessEqualOptions",
    "GREATER": "GreaterOptions", "GREATER_EQUAL": "GreaterEqualOptions",
})  # fmt: skip
def comparison(x: Value, y: Value) -> ResultType:
    _one_type(x, y)
    return types.BOOL, broadcast(x.shape, y.shape)


def real_part(dtype: DType) -> DType:
    """Return the type of the parts of a complex number."""
    return types.FLOAT64 if dtype is types.COMPLEX128 else types.FLOAT32


@op("AddOptions")
def add(x: Value, y: Value, *, fused_activation_function: str = "NONE", pot_scale_int16: bool = True) -> ResultType:
    return binary(x, y)


@op("SubOptions")
def sub(x: Value, y: Value, *, fused_activation_function: str = "NONE", pot_scale_int16: bool = True) -> ResultType:
    return binary(x, y)


@op("MulOptions")
def mul(x: Value, y: Value, *, fused_activation_function: str = "NONE") -> ResultType:
    return binary(x, y)


@op("DivOptions")
def div(x: Value, y: Value, *, fused_activation_function: str = "NONE") -> ResultType:
    """Divide; integers toward zero."""
    return binary(x, y)


@op("ATan2Options")
def atan2(y: Value, x: Value) -> ResultType:
    return add_n(y, x)


@op()
def stablehlo_and(x: Value, y: Value) -> ResultType:
    """Return the bits that both have; the operands have one shape."""
    return add_n(x, y)


@op("AddNOptions")
def add_n(*xs: Value) -> ResultType:
    """Add operands of one shape."""
    return xs[0].dtype, merged(*(x.shape for x in xs))


# ROUND takes halves to the even neighbor.
@op({
    "LOGICAL_NOT": "LogicalNotOptions", "ABS": "AbsOptions", "NEG": "NegOptions", "SIGN": "SignOptions",
    "SQUARE": "SquareOptions", "EXP": "ExpOptions", "LOG": None, "SQRT": None, "RSQRT": None, "SIN": None,
    "COS": "CosOptions", "FLOOR": None, "CEIL": None, "ROUND": None, "TANH": None, "LOGISTIC": None, "RELU": None,
    "RELU6": None, "RELU_N1_TO_1": None, "RELU_0_TO_1": None, "ELU": None, "HARD_SWISH": "HardSwishOptions",
})  # fmt: skip
def unary(x: Value) -> ResultType:
    return same(x)


@op("LeakyReluOptions")
def leaky_relu(x: Value, *, alpha: float = 0.0) -> ResultType:
    return same(x)


@op()
def prelu(x: Value, alpha: Value) -> ResultType:
    """alpha broadcasts to x."""
    merged(x.shape, broadcast(x.shape, alpha.shape))
    return same(x)


@op("GeluOptions")
def gelu(x: Value, *, approximate: bool = False) -> ResultType:
    return same(x)


def operand_type(cast: Op) -> str:
    x = cast.operands[0]
    assert x is not None
    return x.dtype.name.upper()


@op("CastOptions", derived={"in_data_type": operand_type})
def cast(x: Value, *, in_data_type: str | None = None, out_data_type: str = "FLOAT32") -> ResultType:
    """in_data_type need not be given: it is the operand's."""
    return types.BY_NAME[out_data_type.lower()], x.shape


@op("BitcastOptions")
def bitcast(x: Value, *, results: list[ResultType]) -> ResultType:
    return results[0]


@op("QuantizeOptions")
def quantize(x: Value, *, results: list[ResultType]) -> ResultType:
    """Quantize x; the caller sets the quantization of the result's value."""
    return results[0]


@op("DequantizeOptions")
def dequantize(x: Value) -> ResultType:
    return types.FLOAT32, x.shape


@op("FakeQuantOptions")
def fake_quant(
    x: Value, *, min: float = 0.0, max: float = 0.0, num_bits: int = 0, narrow_range: bool = False
) -> ResultType:
    return same(x)


@op({
    "REAL": None, "IMAG": None, "COMPLEX_ABS": None,
})  # fmt: skip
def part_of_complex(x: Value) -> ResultType:
    return real_part(x.dtype), x.shape


@op("SelectOptions")
def select(condition: Value, x: Value, y: Value) -> ResultType:
    """x and y have one shape; the condition has it too, or is a scalar, or has x's first dimension."""
    shape = merged(x.shape, y.shape)
    if shape is not None and condition.shape:
        merged(condition.shape, shape[:1] if len(condition.shape) == 1 else shape)
    return x.dtype, shape


@op("SelectV2Options")
def select_v2(condition: Value, x: Value, y: Value) -> ResultType:
    return x.dtype, broadcast(condition.shape, x.shape, y.shape)


@op("WhereOptions")
def where(condition: Value) -> ResultType:
    """Return the indices of the elements that are not zero: [how many, rank]."""
    return types.INT64, None if condition.shape is None else (fresh("where"), len(condition.shape))


@op("BucketizeOptions")
def bucketize(x: Value, *, boundaries: tuple[float, ...] | None = None) -> ResultType:
    """boundaries ascend."""
    if any(low > high for low, high in itertools.pairwise(boundaries or ())):
        raise ShapeError("its boundaries do not ascend")
    return types.INT32, x.shape
