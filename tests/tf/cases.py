"""The ops that shape functions and kernels are compared with TensorFlow on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tests.tf.harness import Case

CASES: list[Case] = []


def row(
    op: str,
    operands: Callable[..., Sequence[Any]],
    *,
    fresh: bool = False,
    declined: bool = False,
    name: str = "",
    **attrs: Any,
) -> None:
    """Adds a case; `operands` may have parameters with defaults after the batch."""
    CASES.append(Case(op, operands, attrs, fresh, declined, name))


def f(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Random numbers of both signs, the same for the same shape."""
    numbers = np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)
    return numbers.astype(dtype)


def p(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Random numbers between 0.1 and 0.9."""
    return np.random.default_rng(sum(shape)).uniform(0.1, 0.9, shape).astype(dtype)


def n(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int32) -> np.ndarray:
    """Random integers, low to high - 1."""
    return np.random.default_rng(sum(shape) + high).integers(low, high, shape).astype(dtype)


def i(*elements: Any) -> np.ndarray:
    return np.array(elements, np.int32)


def s(element: int, dtype: Any = np.int32) -> np.ndarray:
    return np.array(element, dtype)


SPECIAL = np.array([0, -0.0, 1, -1, 2.5, -2.5, 0.5, 1.5, np.inf, -np.inf, np.nan, 1e-30, 88, -104], np.float32)

# Elementwise: one operand.
for _op in (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Erfc", "Exp",
    "Expm1", "Floor", "Inv", "IsFinite", "IsInf", "IsNan", "LeakyRelu", "Log", "Log1p", "Neg", "OnesLike",
    "Reciprocal", "Relu", "Relu6", "Rint", "Round", "Rsqrt", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
    "Softsign", "Sqrt", "Square", "Tan", "Tanh", "ZerosLike",
):  # fmt: skip
    row(_op, lambda b: [f(b, 7)])
    row(_op, lambda b: [p(b, 2, 3)], name="unit")
    row(_op, lambda b: [SPECIAL], name="special")
for _op in (
    "Digamma", "Lgamma", "Ndtri", "Erfinv", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "L2Loss", "Softmax",
    "LogSoftmax",
):  # fmt: skip
    row(_op, lambda b: [p(b, 7)])
for _op in ("Abs", "Neg", "OnesLike", "Sign", "Square", "ZerosLike", "Invert", "Relu", "Relu6"):
    row(_op, lambda b: [n(b, 7)], name="int")
row("Round", lambda b: [n(b, 7)], name="int", declined=True)
row("Abs", lambda b: [f(b, 3, dtype=np.float64)], name="float64")
row("Exp", lambda b: [f(b, 3, dtype=np.float16)], name="float16")
row("LeakyRelu", lambda b: [f(b, 3)], alpha=0.3)
row("LogicalNot", lambda b: [f(b, 3) > 0])
for _op in ("Real", "Imag", "Angle", "ComplexAbs"):
    row(_op, lambda b: [f(b, 3).astype(np.complex64) * (1 + 2j)])
row("Conj", lambda b: [f(b, 3).astype(np.complex64) * (1 + 2j)])
row("Complex", lambda b: [f(b, 3), f(b, 1)])

# Elementwise: two operands.
_BINARY = (
    "Add", "AddV2", "Div", "DivNoNan", "Equal", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "Less",
    "LessEqual", "Maximum", "Minimum", "Mod", "Mul", "MulNoNan", "NotEqual", "RealDiv", "SquaredDifference", "Sub",
    "Xdivy", "Atan2", "NextAfter", "TruncateMod",
)  # fmt: skip
for _op in _BINARY:
    row(_op, lambda b: [f(b, 1, 7), f(4, 1)], name="broadcast")
    row(_op, lambda b: [f(b, 7), f(b, 7) + 1])
    row(_op, lambda b: [f(b, 7), np.float32(2)], name="scalar")
    row(_op, lambda b: [SPECIAL[:, None], SPECIAL[None, :]], name="special")
for _op in ("Pow", "Xlogy", "Xlog1py", "Igamma", "Igammac"):
    row(_op, lambda b: [p(b, 1, 7), p(4, 1)])
_INTEGER = (
    "Add", "AddV2", "Div", "Equal", "FloorDiv", "FloorMod", "Greater", "LessEqual", "Maximum", "Minimum", "Mod", "Mul",
    "NotEqual", "SquaredDifference", "Sub", "TruncateDiv", "TruncateMod",
)  # fmt: skip
for _op in _INTEGER:
    for _type in (np.int32, np.int64):
        row(_op, lambda b, d=_type: [n(b, 1, 9, dtype=d), np.array([[3], [-3], [7]], d)], name=np.dtype(_type).name)
for _op in ("Add", "Sub", "Mul", "Maximum", "FloorDiv", "Div"):
    row(_op, lambda b: [n(b, 9, low=0, dtype=np.uint8), n(b, 9, low=1, dtype=np.uint8)], name="uint8")
row("Pow", lambda b: [n(b, 4), n(b, 4, low=0, high=4)], name="int")
for _op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    row(_op, lambda b: [n(b, 4), n(b, 1)])
for _op in ("LeftShift", "RightShift"):
    row(_op, lambda b: [n(b, 4), n(b, 4, low=0, high=6)])
for _op in ("LogicalAnd", "LogicalOr"):
    row(_op, lambda b: [f(b, 4) > 0, f(b, 1) > 0])
row("ApproximateEqual", lambda b: [f(b, 4), f(b, 4) + np.float32(0.1)], tolerance=0.2)
for _op in (
    "EluGrad", "InvGrad", "LeakyReluGrad", "ReciprocalGrad", "Relu6Grad", "ReluGrad", "RsqrtGrad", "SeluGrad",
    "SigmoidGrad", "SoftplusGrad", "SoftsignGrad", "SqrtGrad", "TanhGrad",
):  # fmt: skip
    row(_op, lambda b: [p(b, 7), f(b, 7)])
row("AddN", lambda b: [[f(b, 4), f(b, 4), f(b, 4)]])
row("Polygamma", lambda b: [np.ones((b, 4), np.float32), p(b, 4)])
row("Zeta", lambda b: [p(b, 4) + 2, p(b, 4)])
row("PopulationCount", lambda b: [n(b, 4)])
row("Betainc", lambda b: [p(b, 4), p(b, 4), p(b, 4)])
row("ClipByValue", lambda b: [f(b, 4), np.float32(-0.3), np.float32(0.4)])
row("Select", lambda b: [f(b, 4) > 0, f(b, 4), -f(b, 4)])
row("Select", lambda b: [f(b) > 0, f(b, 4), -f(b, 4)], name="rows")
row("Select", lambda b: [np.array(True), f(b, 4), -f(b, 4)], name="scalar")
row("SelectV2", lambda b: [f(b, 1) > 0, f(b, 4), np.float32(1)])
row("SelectV2", lambda b: [f(1, 4) > 0, s(2), n(b, 4)], name="int")
row("BiasAdd", lambda b: [f(b, 3, 4, 6), f(6)])
row("BiasAdd", lambda b: [f(b, 6, 3, 4), f(6)], data_format="NCHW")
row("BiasAdd", lambda b: [f(b, 6, 3, 4, 2), f(6)], data_format="NCHW")
row("BiasAddV1", lambda b: [f(b, 6), f(6)])
for _source, _targets in {
    np.float32: (np.float64, np.float16, np.int32, np.int64, np.uint8, np.bool_, np.complex64),
    np.int32: (np.float32, np.int64, np.int8, np.uint8, np.bool_),
    np.int64: (np.int32, np.float32),
    np.bool_: (np.float32, np.int32),
    np.complex64: (np.float32,),
}.items():
    for _target in _targets:
        low = 0 if _target is np.uint8 and _source is np.float32 else -9
        row(
            "Cast",
            lambda b, d=_source, low=low: [(n(b, 6, low=low) + np.float32(0.75)).astype(d)],
            DstT=tf.as_dtype(_target),
            name=np.dtype(_source).name,
        )
row("Cast", lambda b: [np.array([300, -1, 128, 255, -129], np.int32)], DstT=tf.int8, name="wrap")
row("Cast", lambda b: [n(b, 3)], DstT=tf.bfloat16)

# Convolutions, pools, normalization.
for _pool in ("FractionalAvgPool", "FractionalMaxPool"):
    _cells: dict[str, Any] = {"pooling_ratio": [1.0, 1.5, 2.3, 1.0], "deterministic": True, "seed": 3, "seed2": 5}
    row(_pool, lambda b: [f(b, 9, 10, 4)], **_cells)
for _padding in ("SAME", "VALID"):
    for _stride in (1, 2):
        _common: dict[str, Any] = {"padding": _padding, "strides": [1, _stride, _stride, 1]}
        row("Conv2D", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 6)], **_common)
        row("Conv2D", lambda b: [f(b, 7 + b, 10, 4), f(3, 2, 2, 6)], name="grouped", **_common)
        row("DepthwiseConv2dNative", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 2)], **_common)
        for _pool in ("MaxPool", "AvgPool"):
            row(_pool, lambda b: [f(b, 9, 10, 4)], ksize=[1, 3, 2, 1], **_common)
        row("MaxPoolWithArgmax", lambda b: [f(b, 9, 10, 4)], ksize=[1, 3, 2, 1], **_common)
        row("MaxPoolV2", lambda b, k=_stride: [f(b, 9, 10, 4), i(1, 3, 2, 1), i(1, k, 2, 1)], padding=_padding)
        row("Dilation2D", lambda b: [f(b, 9, 10, 4), f(3, 2, 4)], rates=[1, 2, 1, 1], **_common)
        row(
            "ExtractImagePatches", lambda b: [f(b, 9, 10, 4)],
            ksizes=[1, 3, 2, 1], rates=[1, 1, 2, 1], strides=[1, _stride, 2, 1], padding=_padding,
        )  # fmt: skip
        _volume: dict[str, Any] = {"padding": _padding, "strides": [1, _stride, 1, _stride, 1]}
        row("Conv3D", lambda b: [f(b, 5, 6, 7, 2), f(2, 3, 2, 2, 3)], **_volume)
        row("ExtractVolumePatches", lambda b: [f(b, 5, 6, 7, 2)], ksizes=[1, 2, 3, 2, 1], **_volume)
        for _pool in ("MaxPool3D", "AvgPool3D"):
            row(_pool, lambda b: [f(b, 5, 6, 7, 2)], ksize=[1, 2, 3, 2, 1], **_volume)
row("Conv2D", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 6)], padding="SAME", strides=[1, 1, 1, 1], dilations=[1, 2, 3, 1])
row("Conv2D", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 6)], padding="VALID", strides=[1, 1, 1, 1], dilations=[1, 2, 3, 1])
row(
    "Conv2D", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 6)],
    padding="EXPLICIT", strides=[1, 2, 2, 1], explicit_paddings=[0, 0, 1, 2, 3, 0, 0, 0],
)  # fmt: skip
row(
    "MaxPool", lambda b: [f(b, 9, 10, 4)], ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="EXPLICIT",
    explicit_paddings=[0, 0, 2, 0, 1, 1, 0, 0],
)  # fmt: skip
row(
    "Conv2D", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 6)], strides=[1, 2, 1, 1], padding="EXPLICIT",
    explicit_paddings=[0, 0, 2, 0, 1, 3, 0, 0],
)  # fmt: skip
row("Conv", lambda b: [f(b, 9, 10, 4), f(3, 2, 4, 6)], padding="SAME", strides=[1, 2, 1, 1])
for _sizes in (lambda b: i(b, 8, 8, 4), lambda b: i(8, 8)):
    row(
        "Conv2DBackpropInput", lambda b, sizes=_sizes: [sizes(b), f(3, 3, 4, 6), f(b, 4, 4, 6)],
        strides=[1, 2, 2, 1], padding="SAME",
    )  # fmt: skip
row(
    "DepthwiseConv2dNativeBackpropInput", lambda b: [i(b, 8, 8, 4), f(3, 3, 4, 2), f(b, 4, 4, 8)],
    strides=[1, 2, 2, 1], padding="SAME",
)  # fmt: skip
row(
    "Conv3DBackpropInputV2", lambda b: [i(b, 4, 6, 4, 2), f(2, 3, 3, 2, 3), f(b, 2, 3, 2, 3)],
    strides=[1, 2, 2, 2, 1], padding="SAME",
)  # fmt: skip
row(
    "Conv2DBackpropFilter", lambda b: [f(b, 8, 8, 4), i(3, 3, 4, 6), f(b, 4, 4, 6)],
    strides=[1, 2, 2, 1], padding="SAME",
)  # fmt: skip
row(
    "DepthwiseConv2dNativeBackpropFilter", lambda b: [f(b, 8, 8, 4), i(3, 3, 4, 2), f(b, 4, 4, 8)],
    strides=[1, 2, 2, 1], padding="SAME",
)  # fmt: skip
row(
    "Conv3DBackpropFilterV2", lambda b: [f(b, 4, 6, 4, 2), i(2, 3, 3, 2, 3), f(b, 2, 3, 2, 3)],
    strides=[1, 2, 2, 2, 1], padding="SAME",
)  # fmt: skip
row(
    "AvgPool3DGrad", lambda b: [i(b, 4, 6, 4, 2), f(b, 2, 3, 2, 2)], ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1],
    padding="SAME",
)  # fmt: skip
row(
    "MaxPool3DGrad", lambda b: [f(b, 4, 6, 4, 2), f(b, 2, 3, 2, 2), f(b, 2, 3, 2, 2)], ksize=[1, 2, 2, 2, 1],
    strides=[1, 2, 2, 2, 1], padding="SAME",
)  # fmt: skip
row("AvgPoolGrad", lambda b: [i(b, 8, 6, 4), f(b, 4, 3, 4)], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
row(
    "MaxPoolGrad", lambda b: [f(b, 8, 6, 4), f(b, 4, 3, 4), f(b, 4, 3, 4)], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
    padding="SAME",
)  # fmt: skip
for _op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    row(
        _op, lambda b: [f(b, 3, 4, 6), p(6), p(6), p(6), p(6)],
        is_training=False, fresh=_op.endswith("V3"),
    )  # fmt: skip
for _op in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"):
    row(
        _op, lambda b, op=_op: [f(b, 3, 4, 6), f(b, 3, 4, 6), p(6), p(6), p(6), *[p(6)] * op.endswith("V3")],
        is_training=True, fresh=True,
    )  # fmt: skip
row("LRN", lambda b: [f(b, 3, 4, 6)])
row("SoftmaxCrossEntropyWithLogits", lambda b: [f(b, 6), p(b, 6)])
row("SoftmaxCrossEntropyWithLogits", lambda b: [f(1, 6), p(b, 6)], name="of one row")
row("SoftmaxCrossEntropyWithLogits", lambda b: [f(b, 1), p(1, 6)], name="of one class")
row("SparseSoftmaxCrossEntropyWithLogits", lambda b: [f(b, 6), n(b, low=0, high=6)])
row("InTopKV2", lambda b: [f(b, 6), n(b, low=0, high=6), s(2)])
row("FakeQuantWithMinMaxArgs", lambda b: [f(b, 6)])
row("FakeQuantWithMinMaxVars", lambda b: [f(b, 6), np.float32(-1), np.float32(1)])
row("FakeQuantWithMinMaxVarsPerChannel", lambda b: [f(b, 6), -p(6), p(6)])
for _op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
    row(_op, lambda b: [f(b, 6), np.float32(-1), np.float32(1)])
row("QuantizeAndDequantizeV3", lambda b: [f(b, 6), np.float32(-1), np.float32(1), s(8)])
for _op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
    row(_op, lambda b: [f(b, 3, 4, 6), i(5, 2 * b)])
row("ResizeNearestNeighborGrad", lambda b: [f(b, 5, 8, 6), i(3, 2 * b)])
row("ResizeBilinearGrad", lambda b: [f(b, 5, 8, 6), f(b, 3, 4, 6)])
for _op in ("ExtractGlimpse", "ExtractGlimpseV2"):
    row(_op, lambda b: [f(b, 9, 7, 2), i(3, 4), f(b, 2)], uniform_noise=False, noise="zero")
row("CropAndResize", lambda b: [f(b, 9, 9, 2), p(4, 4), i(0, 1, 2, 0), i(3, 4)])
for _op in ("RGBToHSV", "HSVToRGB"):
    row(_op, lambda b: [p(b, 4, 3)])
for _op in ("AdjustHue", "AdjustSaturation", "AdjustContrastv2"):
    row(_op, lambda b: [p(b, 4, 4, 3), np.float32(0.1)])
_BOXES = np.array([[0, 0, 1, 1], [0, 0, 1, 0.95], [0, 2, 1, 3], [4, 4, 5, 5]], np.float32)
_SCORES = np.array([0.9, 0.8, 0.7, 0.6], np.float32)
_HALF = np.float32(0.5)
row("NonMaxSuppression", lambda b: [_BOXES, _SCORES, s(3)], fresh=True)
row("NonMaxSuppressionV2", lambda b: [_BOXES, _SCORES, s(3), _HALF], fresh=True)
row("NonMaxSuppressionV3", lambda b: [_BOXES, _SCORES, s(3), _HALF, _HALF], fresh=True)
for _pad in (True, False):
    row(
        "NonMaxSuppressionV4", lambda b: [_BOXES, _SCORES, s(3), _HALF, _HALF],
        fresh=not _pad, pad_to_max_output_size=_pad,
    )  # fmt: skip
    row(
        "NonMaxSuppressionV5", lambda b: [_BOXES, _SCORES, s(3), _HALF, _HALF, np.float32(0)],
        fresh=not _pad, pad_to_max_output_size=_pad,
    )  # fmt: skip
    row(
        "CombinedNonMaxSuppression", lambda b: [p(b, 6, 1, 4), p(b, 6, 2), s(3), s(9), _HALF, _HALF], pad_per_class=_pad
    )
row("ScaleAndTranslate", lambda b: [f(2, 4, 4, 3), i(b, 6), p(2), p(2)])
_PROJECTION = np.array([[1, 0.1, 0, 0, 1, 0, 0, 0]], np.float32)
row("ImageProjectiveTransformV2", lambda b: [f(2, 4, 4, 3), _PROJECTION, i(b, 6)], interpolation="NEAREST")
row("ImageProjectiveTransformV3", lambda b: [f(2, 4, 4, 3), _PROJECTION, i(b, 6), np.float32(1)],
    interpolation="BILINEAR")  # fmt: skip

# Reductions, histograms and segments that few models have.
row("ApproxTopK", lambda b: [f(b, 7)], k=3, aggregate_to_topk=True)
row("UniqueWithCountsV2", lambda b: [n(b, low=0, high=3), i(0)], fresh=True)
row("DenseBincount", lambda b: [n(b, 4, low=0, high=6), s(b), f(0)], binary_output=False)
row("DenseBincount", lambda b: [n(b, low=0, high=6), s(4), f(0)], name="vector", binary_output=False)
row("HistogramFixedWidth", lambda b: [p(b, 3), np.array([0, 1], np.float32), s(b)])
row("InTopK", lambda b: [f(b, 4), n(b, low=0, high=4)], k=2)
for _kind in ("Mean", "SqrtN", "Sum"):
    row(f"SparseSegment{_kind}", lambda b: [f(b, 4), i(0, 2, 1), i(0, 0, 2)], fresh=True)
    row(f"SparseSegment{_kind}WithNumSegments", lambda b: [f(b, 4), i(0, 2, 1), i(0, 0, 2), s(b)])
row("BiasAddGrad", lambda b: [f(3, b)])
row("BiasAddGrad", lambda b: [f(3, b, 2, 2)], data_format="NCHW")

# Recurrent cells.
row("LSTMBlockCell", lambda b: [f(b, 3), f(b, 4), f(b, 4), f(7, 16), f(4), f(4), f(4), f(16)])
row("GRUBlockCell", lambda b: [f(b, 3), f(b, 4), f(7, 8), f(7, 4), f(8), f(4)])
