"""Shape functions of ops that work element by element."""

from __future__ import annotations

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.passes.shapes.operands import broadcast, same_shape, shape_of
from fuseconv.passes.shapes.registry import infers

UNARY = (
    "Abs", "Acos", "Acosh", "Angle", "Asin", "Asinh", "Atan", "Atanh", "BesselI0e", "BesselI1e", "Bitcast_", "Cast",
    "Ceil", "Complex_", "ComplexAbs", "Conj", "Cos", "Cosh", "Digamma", "Elu", "Erf", "Erfc", "Erfinv", "Exp", "Expm1",
    "Floor", "Imag", "Inv", "Invert", "IsFinite", "IsInf", "IsNan", "LeakyRelu", "Lgamma", "Log", "Log1p",
    "LogicalNot", "Ndtri", "Neg", "Real", "Reciprocal", "Relu", "Relu6", "Rint", "Round", "Rsqrt", "Selu", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Square", "Tan", "Tanh",
    # Of the shape of their first operand, though not element by element.
    "Softmax", "LogSoftmax", "LRN", "ZerosLike", "OnesLike", "InvertPermutation", "Bucketize",
    "FakeQuantWithMinMaxArgs", "EluGrad_",
)  # fmt: skip
