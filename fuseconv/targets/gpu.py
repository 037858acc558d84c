"""LiteRT's GPU delegates.

Source: `tflite/tools/versioning/gpu_compatibility.cc` of google-ai-edge/LiteRT, with broadcasting as it is assumed of
files ("enhanced"); ranks, 64-bit types and options that it does not read, such as `adj_y` of BATCH_MATMUL, by
`tflite/delegates/gpu/common/model_builder.cc`. The closed accelerator
(ML Drift) differs by version: RELU_0_TO_1 was taken in 2.1.3 and is refused since 2.1.5 (LiteRT#8598). Both compute in
float16 where it is allowed. Constants beyond it, such as -1e9 in a mask, are told and kept. A number that 16 bits hold
in their place would give other results in 32 bits, where scores are large or a whole row is masked.
"""

from __future__ import annotations

from fuseconv.targets.conditions import (
    FLOATS,
    activation,
    computed,
    constant,
    custom,
    operands,
    option,
    padded_as_the_data,
    plain_bounds,
    positive,
    rank,
    ranks_up_to,
    results,
    types,
    within_float16,
    without_types,
)
from fuseconv.targets.signature import OpSignature, TensorSpec
from fuseconv.targets.target import Condition, Target, table, takes

_ACTIVATIONS = activation("RELU", "RELU_N1_TO_1", "RELU6", "TANH")
_STRIDES = positive("stride_h", "stride_w")
_DILATION = positive("dilation_h_factor", "dilation_w_factor")
_POOL = positive("filter_height", "filter_width", "stride_h", "stride_w")
# An operand that is computed, and constants besides.
_UNARY = (computed(1), results(1))
_BINARY = (operands(2), computed(1, 2), results(1), _ACTIVATIONS)
_AXES = (operands(2), computed(1), constant(1), types("int32", 1), results(1))
_CONVOLUTION = (computed(1, 2), results(1), _STRIDES)
_SLICED = (option("ellipsis_mask", 0), option("new_axis_mask", 0), option("shrink_axis_mask", 0))


def _depthwise(op: OpSignature) -> str | None:
    x, filter, bias = op.operand(0), op.operand(1), op.operand(2)
    if x is None or filter is None or not (x.rank == filter.rank == op.results[0].rank == 4):
        return "data, filter and result must have 4 dimensions"
    depth = op.results[0].shape[3]
    if filter.shape[3] != depth or depth != x.shape[3] * op.options.get("depth_multiplier", 1):
        return "depth_multiplier and the sizes of the filter do not fit the result"
    return None if bias is None or bias.size == depth else "the bias has not as many elements as there are channels"


def _cast(op: OpSignature) -> str | None:
    x = op.operand(0)
    pair = ("" if x is None else x.dtype), op.results[0].dtype
    numbers = set(pair) <= {"float32", "int32"}
    truths = "bool" in pair and any(dtype in FLOATS.split() for dtype in pair)
    return None if numbers or truths else f"it casts {pair[0]} to {pair[1]}"


def _branches(op: OpSignature) -> str | None:
    condition, shape = op.operand(0), op.results[0].shape
    if condition is None or condition.dtype not in ("bool", *FLOATS.split()):
        return "the condition must be of bool or float"
    aligned = shape[len(shape) - condition.rank :] if condition.rank <= len(shape) else None
    if aligned is None or any(mine not in (1, size) for mine, size in zip(condition.shape, aligned)):
        return "the condition does not broadcast to the result"
    if condition.size > 1 and condition.rank != len(shape):
        return f"the condition of {condition.rank} dimensions is read as one of others"
    for tensor in op.operands[1:]:
        if tensor is None or (tensor.shape != shape and tensor.shape not in ((), (1,))):
            return "a branch is neither of the result's shape nor a scalar"
        if tensor.is_const and tensor.size > 1 and tensor.rank != 4:
            return f"a constant branch has {tensor.rank} dimensions, and not 4"
        if not tensor.is_const and tensor.rank == 2:
            return "a branch that is computed has 2 dimensions"
    return None


def _one_hot(op: OpSignature) -> str | None:
    indices, on, off = op.operand(0), op.operand(2), op.operand(3)
    if indices is None or on is None or off is None or not (on.is_const and off.is_const):
        return "the two values must be constant"
    if on.size > 1 or off.size > 1 or max(on.rank, off.rank) > 1:
        return "the two values must be scalars"
    first = 1 if indices.rank > 3 else 0
    if any(size != 1 for size in indices.shape[first:-1]):
        return "a dimension of the indices besides the batch and the last is not 1"
    return None


def _lookup(op: OpSignature) -> str | None:
    table, shape = op.operand(1), op.results[0].shape
    if table is None or table.rank < 2 or table.shape[1:] != shape[1:]:
        return "the result must be rows of a table of 2 dimensions or more"
    return None


def _same_ranks(op: OpSignature) -> str | None:
    x = op.operand(0)
    kept = not op.options.get("keep_num_dims") or (x is not None and x.rank == op.results[0].rank)
    return None if kept else "keep_num_dims is set, and the ranks of data and result differ"


def _rows(op: OpSignature) -> str | None:
    """Demand channels for what weights multiply, and places as they are: products are convolutions of 1x1."""
    x, weights = op.operand(0), op.operand(1)
    if x is None or weights is None or x.shape[-1:] != weights.shape[-1:]:
        return "the data's last dimension is not as long as rows of the weights"
    same = _bhwc(x.shape)[:-1] == _bhwc(op.results[0].shape)[:-1]
    return None if same else "the dimensions of the result are not those of the data but for the last"


def _bhwc(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return batch, height, width and channels, as the delegate reads a shape of fewer dimensions."""
    return (*shape[:1], *(1,) * (4 - len(shape)), *shape[1:])


def _aligned(op: OpSignature) -> str | None:
    """Demand operands whose dimensions the delegate takes for those of the result that they are."""
    rank = op.results[0].rank
    for tensor in op.operands:
        if tensor is None or tensor.size <= 1:
            continue
        if _as_read(tensor) != _bhwc((1,) * (rank - tensor.rank) + tensor.shape):
            return f"its operand of {tensor.rank} dimensions is read as one of others"
    return None


def _as_read(tensor: TensorSpec) -> tuple[int, ...] | None:
    """Return batch, height, width and channels of an operand as the delegate reads it: constants have no batch."""
    shape = tensor.shape
    if not tensor.is_const:
        return _bhwc(shape)
    if set(shape[:-1]) <= {1}:
        return (1, 1, 1, *shape[-1:])
    return None if tensor.rank == 4 and shape[0] != 1 else ((1,) * (4 - tensor.rank) + shape)


def _slopes(op: OpSignature) -> str | None:
    """Demand constant slopes, one of each channel or of each element of an image."""
    x, alpha = op.operand(0), op.operand(1)
    if x is None or alpha is None or not alpha.is_const:
        return "its slopes are computed"
    read, image = _as_read(alpha), _bhwc(x.shape)
    row = alpha.rank > 0 and set(alpha.shape[:-1]) <= {1}
    fits = read == (1, 1, 1, image[3]) if row else alpha.rank > 2 and read == (1, *image[1:])
    return None if fits else "its slopes are neither of the channels nor of an image"


def _in_full(op: OpSignature) -> str | None:
    """Demand that constants have all dimensions: they are read without a look at how many those of others are."""
    short = any(tensor is not None and tensor.is_const and tensor.rank != 4 for tensor in op.operands)
    return "a constant that is joined has not 4 dimensions" if short else None


def _matrix(op: OpSignature) -> str | None:
    """Demand what the delegate multiplies; `adj_x` and `adj_y` it does not read at all."""
    x, y = op.operand(0), op.operand(1)
    computed = x is not None and y is not None and not x.is_const and (not y.is_const or y.rank == 2)
    return None if computed else "a constant is no matrix on the right"


def _summed_axis(op: OpSignature) -> str | None:
    """Demand an axis that the delegate finds: it counts axes from the last dimension on, and those of fewer dimensions
    as if none were missing between the batch and the others."""
    x, axis = op.operand(0), op.operand(1)
    values = None if axis is None else axis.values()
    found = x is not None and values is not None and values.size == 1 and int(values.ravel()[0]) >= (x.rank < 4)
    return None if found else "the axis is counted from the end, or is the first of less than 4 dimensions"


def _given(op: OpSignature) -> str | None:
    x = op.operand(0)
    return "the data is constant" if x is None or x.is_const else None


def _paddings(op: OpSignature) -> str | None:
    """Demand the paddings of 4 dimensions; those of 3 are read as height, width and channels, and a batch of 1."""
    x, paddings = op.operand(0), op.operand(1)
    if x is None or paddings is None or paddings.shape not in ((3, 2), (4, 2)):
        return "the paddings must be of the shape 3x2 or 4x2"
    first = None if paddings.shape[0] == 4 else paddings.values()
    whole = paddings.shape[0] == 4 or (x.shape[0] == 1 and first is not None and not first.reshape(3, 2)[0].any())
    return None if whole else "the data has 3 dimensions, and a batch"


def _whole_batch(op: OpSignature) -> str | None:
    """Demand 4 dimensions, a batch of 1, or all of it by a mask: 3 bounds are read as those of rows, columns, channels,
    of one row where a mask leaves the bound unread."""
    x = op.operand(0)
    first = [None if tensor is None else tensor.values() for tensor in (op.operand(1), op.operand(3))]
    begins = all(row is not None and row.ravel()[0] == at for row, at in zip(first, (0, 1)))
    whole = begins and op.options.get("end_mask", 0) & 1
    return None if x is None or x.rank == 4 or x.shape[0] == 1 or whole else "the data has 3 dimensions, and a batch"


def _corners(op: OpSignature) -> str | None:
    both = op.options.get("align_corners") and op.options.get("half_pixel_centers")
    return "align_corners is set with half_pixel_centers" if both else None


def _lstm(op: OpSignature) -> str | None:
    if op.options.get("kernel_type") != "BASIC":
        fits = len(op.operands) in (20, 24) and len(op.results) == 1
        return None if fits else "an LSTM must have 20 or 24 operands and 1 result"
    clipped = op.options.get("cell_clip") or op.options.get("proj_clip")
    fits = len(op.results) == 4 and len(op.runtime_operands) == 3 and op.results[3].shape[-1] % 4 == 0 and not clipped
    return None if fits else "a basic LSTM has 3 computed operands, 4 results, multiples of 4 units, and clips nothing"


def _update(op: OpSignature) -> str | None:
    x, part, start = op.operand(0), op.operand(1), op.operand(2)
    if x is None or part is None or start is None or x.dtype != part.dtype or x.rank != part.rank:
        return "the data and its part must be of one type and rank"
    return None if start.rank == 1 and start.dtype == "int32" else "the start must be a vector of int32"


def _broadcast_in_dim(op: OpSignature) -> str | None:
    x, dims = op.operand(0), op.operand(1)
    return None if x is not None and dims is not None and dims.shape == (x.rank,) else "a dimension must go somewhere"


def _like(index: int) -> Condition:
    def check(op: OpSignature) -> str | None:
        x, bound = op.operand(1), op.operand(index)
        fits = x is not None and bound is not None and bound.shape in (x.shape, (), (1,)) and bound.dtype == x.dtype
        return None if fits else "a bound is neither of the data's shape nor a scalar"

    return check


OPS = table(
    takes("ADD MUL", operands(2), _ACTIVATIONS, _aligned),
    takes("ADD_N", operands(2)),
    takes("AVERAGE_POOL_2D MAX_POOL_2D", *_UNARY, _POOL, _ACTIVATIONS),
    takes("BATCH_MATMUL", operands(2), results(1), _matrix, option("adj_x", False), option("adj_y", False)),
    takes("CONV_2D", *_CONVOLUTION, _DILATION, _ACTIVATIONS),
    takes("DEPTHWISE_CONV_2D", *_CONVOLUTION, _DILATION, _ACTIVATIONS, _depthwise),
    takes("TRANSPOSE_CONV", *_CONVOLUTION, activation(), padded_as_the_data(False)),
    takes("FULLY_CONNECTED", option("weights_format", "DEFAULT"), computed(1, 2), _given, _same_ranks, _rows),
    takes("BITCAST QUANTIZE RESHAPE HARD_SWISH TILE TRANSPOSE RESIZE_NEAREST_NEIGHBOR", *_UNARY),
    takes("RESIZE_BILINEAR", *_UNARY, _corners),
    takes("TOPK_V2", computed(1), results(2)),
    takes("CAST", *_UNARY, _cast),
    takes("CONCATENATION PACK", _in_full),
    takes("PRELU", _slopes),
    takes("RELU RELU6 RELU_N1_TO_1 LEAKY_RELU SPLIT SPLIT_V"),
    takes("CUMSUM", operands(2), results(1), types(FLOATS, 0), types("int32", 1), constant(1),
          option("exclusive", False), option("reverse", False), _summed_axis),
    takes("DENSIFY", computed(0), results(1)),
    takes("DEPTH_TO_SPACE SPACE_TO_DEPTH", *_UNARY,
          lambda op: None if op.options.get("block_size", 0) > 1 else "the block must be larger than 1"),
    takes("DEQUANTIZE", operands(1), results(1),
          lambda op: "it dequantizes int16" if op.tensors[0].dtype == "int16" else None),
    takes("DYNAMIC_UPDATE_SLICE", operands(3), _update),
    takes("EMBEDDING_LOOKUP", operands(2), results(1), rank(0, 1), types("int8 int4 int2 float32", 1), _lookup),
    takes("GATHER", operands(2), computed(1, 2), results(1), rank(1, 1), types("int32", 1), option("batch_dims", 0)),
    takes("LSTM", _lstm, option("fused_activation_function", "TANH", "SIGMOID")),
    takes("MEAN SUM REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD REVERSE_V2", *_AXES),
    takes("ONE_HOT", operands(4), results(1), types("int32", 0), types("float32", 2, 3), option("axis", -1), _one_hot),
    takes("SELECT SELECT_V2", operands(3), results(1), _branches),
    takes("SLICE", operands(3), rank(0, 3, 4)),
    takes("STRIDED_SLICE", operands(4), *_SLICED, rank(0, 3, 4), plain_bounds, _whole_batch),
    takes("SOFTMAX", option("beta", 1.0), rank(0, 2, 3, 4)),
    takes("PAD PADV2", *_UNARY, _paddings),
    takes("MIRROR_PAD", *_UNARY, _paddings, option("mode", "REFLECT")),
    takes("ABS CEIL COS ELU EXP FLOOR GELU LOG LOGICAL_NOT LOGISTIC NEG ROUND RSQRT SIGN SIN SQRT SQUARE TANH",
          operands(1), *_UNARY),
    takes("ATAN2 DIV EQUAL FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR "
          "MAXIMUM MINIMUM NOT_EQUAL POW RIGHT_SHIFT SQUARED_DIFFERENCE STABLEHLO_REMAINDER STABLEHLO_SHIFT_LEFT SUB",
          *_BINARY, _aligned),
    takes("STABLEHLO_BROADCAST_IN_DIM", operands(2), computed(1), constant(1), types("int32", 1), _broadcast_in_dim),
    takes("STABLEHLO_CBRT", *_UNARY, types("float32 float16 bfloat16", 0)),
    takes("STABLEHLO_CLAMP", operands(3), computed(3), results(1), _like(0), _like(2)),
    takes("CUSTOM", custom("Convolution2DTransposeBias", "MaxPoolingWithArgmax2D", "MaxUnpooling2D", "Resampler")),
)  # fmt: skip

TARGETS = [
    Target(
        "gpu", "LiteRT gpu_compatibility.cc and model_builder.cc, 2026-08-21", OPS,
        every=(ranks_up_to(4), without_types("int64 uint64 float64 complex64 complex128 string")),
        remarks=(within_float16("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM", "SELECT", "SELECT_V2"),),
    )
]  # fmt: skip
