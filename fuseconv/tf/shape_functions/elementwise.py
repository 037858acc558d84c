"""Shape functions of ops whose result has the shape of an operand, or of operands broadcast together."""

from __future__ import annotations

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.types import DType
from fuseconv.tf.operands import (
    Contradiction,
    agree,
    axis_held_by,
    axis_in,
    broadcast,
    ints,
    same,
    same_shape,
    shape_of,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers

UNARY = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BesselI0", "BesselI0e", "BesselI1",
    "BesselI1e", "Cast", "Ceil", "Conj", "Cos", "Cosh", "Digamma", "Elu", "Erf", "Erfc", "Erfinv",
    "Exp", "Expm1", "Floor", "Inv", "Invert", "IsFinite", "IsInf", "IsNan", "LeakyRelu", "Lgamma", "Log",
    "Log1p", "LogicalNot", "Ndtri", "Neg", "PopulationCount", "Reciprocal", "Relu", "Relu6", "Rint",
    "Round", "Rsqrt", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Square", "Tan",
    "Tanh",
)  # fmt: skip

# Not element by element, but of the shape of their first operand.
LIKE_FIRST = (
    "Bucketize", "FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D",
    "LRN", "LogSoftmax", "MatrixBandPart", "OnesLike", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",
    "QuantizeAndDequantizeV4", "RandomShuffle", "StatelessShuffle", "Softmax", "QuantizeAndDequantize", "XlaSharding",
    "ZerosLike", "BatchMatrixBandPart", "BatchNormWithGlobalNormalization", "DataFormatDimMap",
)  # fmt: skip

# Of two operands of one shape, which TensorFlow does not broadcast.
GRADIENTS = (
    "EluGrad", "InvGrad", "LeakyReluGrad", "ReciprocalGrad", "Relu6Grad", "ReluGrad", "RsqrtGrad",
    "SeluGrad", "SigmoidGrad", "SoftplusGrad", "SoftsignGrad", "SqrtGrad", "TanhGrad",
)

# Of whole numbers, they refuse to divide by 0.
_QUOTIENTS = ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod")

BINARY = (
    "Add", "AddV2", "Atan2", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "DivNoNan",
    "Equal", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "Igamma", "Igammac", "LeftShift", "Less", "LessEqual",
    "LogicalAnd", "LogicalOr", "Maximum", "Minimum", "Mod", "Mul", "MulNoNan", "NextAfter", "NotEqual", "Polygamma",
    "Pow", "RealDiv", "RightShift", "SquaredDifference", "Sub", "TruncateDiv", "TruncateMod", "Xdivy", "Xlog1py",
    "Xlogy", "Zeta",
)  # fmt: skip


@infers(*UNARY)
def unary(op: Op, x: Value) -> Shapes:
    return x.shape


@infers("Angle", "ComplexAbs", "Imag", "Real")
def complex_part(op: Op, x: Value) -> Shapes:
    _agree_on_precision(x.dtype, op.result.dtype)
    return x.shape


@infers("Complex")
def complex_of_parts(op: Op, real: Value, imag: Value) -> Shapes:
    _agree_on_precision(op.result.dtype, real.dtype)
    return broadcast(real.shape, imag.shape)


def _agree_on_precision(whole: DType, part: DType) -> None:
    """Refuse parts of complex64 that are not float32, and of complex128 that are not float64."""
    fits = not whole.is_complex or whole.numpy.itemsize == 2 * part.numpy.itemsize
    agree(fits, f"the parts of {whole} are not {part}")


@infers(*LIKE_FIRST)
def like_first(op: Op, x: Value, *others: Value) -> Shapes:
    return x.shape


@infers("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(op: Op, x: Value, low: Value, high: Value, *, num_bits: int = 8) -> Shapes:
    _agree_on_bits(num_bits)
    if low.rank == 1 and x.shape:
        same_shape([x.shape[-1:], low.shape, high.shape])
    return x.shape


@infers("FakeQuantWithMinMaxArgs")
def fake_quant_args(op: Op, x: Value, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8) -> Shapes:
    _agree_on_bits(num_bits)
    agree(min < max, f"its range is from {min} to {max}")
    return x.shape


def _agree_on_bits(count: int) -> None:
    agree(2 <= count <= 16, f"it quantizes to {count} bits")


@infers("InvertPermutation")
def invert_permutation(op: Op, x: Value) -> Shapes:
    if x.data is not None:
        agree(sorted(x.data.reshape(-1).tolist()) == [*range(x.data.size)], "its operand is no permutation")
    return x.shape


@infers("ApproximateEqual")
def alike(op: Op, x: Value, y: Value) -> Shapes:
    return same_shape([x.shape, y.shape])


@infers(*GRADIENTS)
def gradient(op: Op, x: Value, y: Value) -> Shapes:
    """Let a constant have one row for all, which propagate-splats puts in the place of equal ones."""
    if None not in (x.shape, y.shape) and (x.is_const or y.is_const):
        return broadcast(x.shape, y.shape)
    return same_shape([x.shape, y.shape])


@infers("Reverse")
def reverse_marked(op: Op, x: Value, dims: Value) -> Shapes:
    if x.shape is not None:
        same(with_rank(dims, 1)[0], len(x.shape))
    return x.shape


@infers("ReverseV2")
def reverse(op: Op, x: Value, axis: Value) -> Shapes:
    if x.shape is not None and axis.is_const:
        axes = [axis_in(each, len(x.shape)) for each in ints(axis)]
        agree(len({*axes}) == len(axes), f"it reverses a dimension twice, by the axes {axes}")
    return x.shape


@infers("ReverseSequence")
def reverse_sequence(op: Op, x: Value, seq_lengths: Value, *, seq_dim: int, batch_dim: int = 0) -> Shapes:
    if x.shape is not None:
        sequence, batch = axis_in(seq_dim, len(x.shape)), axis_in(batch_dim, len(x.shape))
        agree(sequence != batch, f"its dimension {batch} is to be both its batch and its sequence")
        same(with_rank(seq_lengths, 1)[0], x.shape[batch])
    return x.shape


@infers("Roll")
def roll(op: Op, x: Value, shift: Value, axis: Value) -> Shapes:
    same_shape([shift.shape, axis.shape])
    if x.shape is not None and axis.is_const:
        for each in ints(axis):
            axis_in(each, len(x.shape))
    return x.shape


@infers("DataFormatVecPermute")
def data_format_vec_permute(op: Op, x: Value, *, src_format: str = "NHWC", dst_format: str = "NCHW") -> Shapes:
    agree(sorted(src_format) == sorted(dst_format), f"'{src_format}' and '{dst_format}' do not have the same letters")
    if x.shape is not None:
        agree(len(x.shape) in (1, 2), f"it has an operand of {len(x.shape)} dimensions")
        fits = not isinstance(x.shape[0], int) or x.shape[0] in (len(src_format), len(src_format) - 2)
        agree(fits, f"it has {x.shape[0]} sizes for the format '{src_format}'")
        agree(len(x.shape) == 1 or same(x.shape[1], 2) == 2, "it has rows that are no pairs")
    return x.shape


@infers("Cumprod", "Cumsum", "CumulativeLogsumexp")
def cumulative(op: Op, x: Value, axis: Value) -> Shapes:
    agree(axis.rank in (None, 0), "its axis is no scalar")
    if axis.is_const and x.shape is not None:
        axis_held_by(axis, len(x.shape))
    return x.shape


@infers(*(name for name in BINARY if name not in _QUOTIENTS))
def binary(op: Op, x: Value, y: Value) -> Shapes:
    return broadcast(x.shape, y.shape)


@infers(*_QUOTIENTS)
def quotient(op: Op, x: Value, y: Value) -> Shapes:
    if y.data is not None and y.dtype.is_integer and not y.data.all() and x.shape is not None and 0 not in x.shape:
        raise Contradiction("it divides by 0")
    return broadcast(x.shape, y.shape)


@infers("SelectV2")
def ternary(op: Op, x: Value, y: Value, z: Value) -> Shapes:
    return broadcast(x.shape, y.shape, z.shape)


@infers("Betainc")
def betainc(op: Op, a: Value, b: Value, x: Value) -> Shapes:
    # A scalar goes with any, and no other shape is broadcast.
    same_shape([value.shape for value in (a, b, x) if value.shape])
    return broadcast(a.shape, b.shape, x.shape)


@infers("ClipByValue")
def clip(op: Op, x: Value, low: Value, high: Value) -> Shapes:
    same_shape([x.shape, *(limit.shape for limit in (low, high) if limit.rank != 0)])
    return x.shape


@infers("AddN", "AccumulateNV2")
def add_n(op: Op, *terms: Value) -> Shapes:
    return same_shape([term.shape for term in terms])


@infers("Select")
def select(op: Op, condition: Value, x: Value, y: Value) -> Shapes:
    shape = same_shape([x.shape, y.shape])
    if shape and condition.rank == 1:
        same(shape_of(condition)[0], shape[0])
    elif condition.rank != 0:
        same_shape([condition.shape, shape])
    return condition.shape if shape is None and condition.rank not in (None, 0, 1) else shape


@infers("BiasAdd", "BiasAddV1")
def bias_add(op: Op, x: Value, bias: Value, *, data_format: str = "NHWC") -> Shapes:
    shape = shape_of(x)
    agree(len(shape) >= (3 if data_format == "NCHW" else 2), f"it adds a bias to {len(shape)} dimensions")
    if bias.shape is None:
        return shape
    with_rank(bias, 1)
    channel = 1 if data_format == "NCHW" else len(shape) - 1
    return tuple(same(dim, bias.shape[0]) if i == channel else dim for i, dim in enumerate(shape))
