"""LiteRT's Core ML delegate, with Core ML 3 (iOS 13 and later), as it is by default.

Source: `tflite/delegates/coreml/coreml_delegate.mm` and `builders/*.cc` of google-ai-edge/LiteRT. It computes floats
only. With Core ML 3 it takes no RESHAPE; with `coreml_version` 2 those to 3 or 4 dimensions.
"""

from __future__ import annotations

from fuseconv.targets.conditions import activation, constant, has_bias, operands, option, rank, types, version
from fuseconv.targets.signature import OpSignature, TensorSpec
from fuseconv.targets.target import Target, table, takes

_LARGEST_KERNEL = 16384
_FLOAT = types("float32", 0)
_ACTIVATIONS = activation("RELU", "RELU_N1_TO_1", "RELU6", "TANH")


def _in_four(tensor: TensorSpec) -> tuple[int, ...]:
    return (1,) * (4 - tensor.rank) + tensor.shape


def _broadcasts(op: OpSignature) -> str | None:
    x, y = op.operands[:2]
    if x is None or y is None or max(x.rank, y.rank) > 4:
        return "an operand has more than 4 dimensions"
    left, right = _in_four(x), _in_four(y)
    if left[0] != right[0] and not any(tensor.is_const and tensor.size == 1 for tensor in (x, y)):
        return "the batches of its operands differ"
    planes = left[1:3], right[1:3]
    if planes[0] != planes[1] and (1, 1) not in planes:
        return "rows and columns of its operands differ, and none has one of each"
    return None if left[3] == right[3] or 1 in (left[3], right[3]) else "the channels of its operands differ"


def _addends(op: OpSignature) -> str | None:
    for tensor in op.operands[:2]:
        half = tensor is not None and tensor.dtype == "float16" and tensor.is_const
        if tensor is not None and tensor.dtype != "float32" and not half:
            return f"an operand is of {tensor.dtype}"
    return None


def _joins_channels(op: OpSignature) -> str | None:
    x = op.operand(0)
    if x is None or x.rank not in (3, 4):
        return "its operands must have 3 or 4 dimensions"
    last = op.options.get("axis", 0) in (-1, x.rank - 1)
    return None if last and len(op.operands) > 1 else "it must join two or more tensors along the last dimension"


def _kernel(op: OpSignature) -> str | None:
    weights = op.operand(1)
    large = weights is None or max(weights.shape[1:3], default=0) > _LARGEST_KERNEL
    return f"the kernel is larger than {_LARGEST_KERNEL}" if large else None


def _one_channel(op: OpSignature) -> str | None:
    """Demand one channel of the data or of the result: `convolution_op_builder.cc` lays weights out as those of a
    convolution, [out, in, h, w], where Core ML reads those of a deconvolution, [in, out, h, w]."""
    weights = op.operand(1)
    single = weights is not None and weights.rank == 4 and 1 in (weights.shape[0], weights.shape[3])
    return None if single else "its weights are of several channels on both sides"


def _single_row(op: OpSignature) -> str | None:
    x = op.operand(0)
    return None if x is not None and x.shape[-1:] == (x.size,) else "the data has more than one row"


def _planes(op: OpSignature) -> str | None:
    axes = op.operand(1)
    values = axes.values() if axes is not None else None
    reduced = values is not None and {int(axis) % 4 for axis in values.ravel()} <= {1, 2}
    return None if reduced else "it must reduce rows and columns"


def _pads_planes(op: OpSignature) -> str | None:
    paddings = op.operand(1)
    if paddings is None or paddings.shape != (4, 2):
        return "the data must have 4 dimensions"
    values = paddings.values()
    inner = values is not None and not values.reshape(4, 2)[[0, 3]].any()
    return None if inner else "it pads the batch or the channels"


_PAD = (constant(1), _pads_planes)
_CONVOLUTION = (_FLOAT, constant(1, 2), _kernel)

OPS = table(
    takes("ADD MUL", version(1), _FLOAT, _addends, _broadcasts),
    takes("AVERAGE_POOL_2D MAX_POOL_2D", version(1), _FLOAT, activation()),
    takes("CONCATENATION", version(1), _FLOAT, activation(), _joins_channels),
    takes("CONV_2D", version(1), *_CONVOLUTION, has_bias, _ACTIVATIONS),
    takes("DEPTHWISE_CONV_2D", version(2), *_CONVOLUTION, has_bias, _ACTIVATIONS),
    takes("TRANSPOSE_CONV", version(1), operands(3), types("float32", 2), constant(0, 1), _kernel, activation(),
          _one_channel),
    takes("FULLY_CONNECTED", version(6), option("weights_format", "DEFAULT"), _FLOAT, types("float32 float16", 1, 2),
          constant(1, 2), _single_row, _ACTIVATIONS),
    takes("HARD_SWISH LOGISTIC RELU RELU6 RELU_N1_TO_1 TANH", version(1), _FLOAT),
    takes("MEAN", version(1), _FLOAT, option("keep_dims", True), rank(0, 4), constant(1), _planes),
    takes("PAD PADV2", version(1), _FLOAT, *_PAD),
    takes("MIRROR_PAD", version(1), _FLOAT, option("mode", "REFLECT"), *_PAD),
    takes("RESIZE_BILINEAR", option("half_pixel_centers", False), version(1), _FLOAT, constant(1)),
    takes("SOFTMAX", version(1), _FLOAT, option("beta", 1.0)),
)  # fmt: skip

TARGETS = [Target("coreml", "LiteRT delegates/coreml with Core ML 3, 2026-08-21", OPS)]
