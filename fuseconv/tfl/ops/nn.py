"""Convolutions, pooling, dense layers, normalization, resizing and lookups."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, ceildiv, floordiv, fresh, product
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.traits import POOLS
from fuseconv.tfl.type_inference import (
    ShapeError,
    broadcast,
    content,
    exactly,
    ints,
    merge,
    merged,
    require_least,
    require_vector,
    same,
    sizes_of,
    unknown,
)


def window(size: Dim, kernel: Dim, stride: int, dilation: int, padding: str) -> Dim:
    """Return the number of positions of a window along one dimension."""
    if padding == "SAME":
        return ceildiv(size, stride)
    return ceildiv(size - (kernel - 1) * dilation, stride)


def windowed(
    x: Value, kernel: Sequence[Dim], out: Dim, strides: Sequence[int], dilations: Sequence[int], padding: str
) -> ResultType:
    """Return x [n,sizes...,c] -> [n,sizes'...,out]: an element for each position of the window along each of the
    sizes."""
    require_least(1, "a stride or dilation", *strides, *dilations)
    if x.shape is None:
        return x.dtype, None
    n, *sizes, _ = x.shape
    return x.dtype, (n, *(window(*each, padding) for each in zip(sizes, kernel, strides, dilations, strict=True)), out)


def _require_groups(x: Value, depth: Dim, out: Dim) -> None:
    """Raise ShapeError unless the channels of x are so many, or several groups of so many that make equal parts of the
    result."""
    channels = x.shape[-1] if x.shape is not None else None
    if isinstance(channels, int) and isinstance(depth, int):
        if channels % max(depth, 1):
            raise ShapeError(f"{channels} channels are no groups of {depth}")
        exactly(out, channels // max(depth, 1) or 1)


def _require_bias(bias: Value | None, out: Dim) -> None:
    """Raise ShapeError unless a bias has an element for each channel of the result."""
    if bias is not None and bias.shape is not None:
        merge((out, product(bias.shape)))


def _transposed(
    output_shape: Value, x: Value, kernel: Sequence[Dim], depth: Dim, strides: Sequence[int],
    dilations: Sequence[int], padding: str,
) -> ResultType:  # fmt: skip
    """Return the shape that `output_shape` holds. Raises ShapeError unless windows over it have the positions of x
    [n,sizes...,depth]."""
    require_least(1, "a stride", *strides)
    require_vector(output_shape, len(kernel) + 2)
    shape = sizes_of(output_shape)
    if shape is not None and x.shape is not None:
        _, positions = windowed(Value(x.dtype, shape), kernel, depth, strides, dilations, padding)
        assert positions is not None
        merged(positions[1:], x.shape[1:])
    return x.dtype, shape


@op("Conv2DOptions", ranks="4 4 *")
def conv_2d(
    x: Value, filter: Value, bias: Value, *, padding: str = "SAME", stride_w: int = 0, stride_h: int = 0,
    fused_activation_function: str = "NONE", dilation_w_factor: int = 1, dilation_h_factor: int = 1,
    quantized_bias_type: str = "FLOAT32",
) -> ResultType:  # fmt: skip
    """x [n,h,w,c], filter [out,kh,kw,in], bias [out] -> [n,h',w',out]. The kernel refuses to do without a bias."""
    if filter.shape is None:
        return x.dtype, None
    out, *kernel, depth = filter.shape
    _require_groups(x, depth, out)
    _require_bias(bias, out)
    return windowed(x, kernel, out, (stride_h, stride_w), (dilation_h_factor, dilation_w_factor), padding)


@op("DepthwiseConv2DOptions", ranks="4 4 1")
def depthwise_conv_2d(
    x: Value, filter: Value, bias: Value | None = None, *, padding: str = "SAME", stride_w: int = 0,
    stride_h: int = 0, depth_multiplier: int = 0, fused_activation_function: str = "NONE", dilation_w_factor: int = 1,
    dilation_h_factor: int = 1,
) -> ResultType:  # fmt: skip
    """x [n,h,w,c], filter [1,kh,kw,c*depth_multiplier] -> [n,h',w',c*depth_multiplier]."""
    if filter.shape is None:
        return x.dtype, None
    one, *kernel, out = filter.shape
    merge((one, 1))
    if x.shape is not None:
        exactly(out, x.shape[-1])
    _require_bias(bias, out)
    return windowed(x, kernel, out, (stride_h, stride_w), (dilation_h_factor, dilation_w_factor), padding)


@op("TransposeConvOptions", ranks="1 4 4 *")
def transpose_conv(
    output_shape: Index, filter: Value, x: Value, bias: Value | None = None, *, padding: str = "SAME",
    stride_w: int = 0, stride_h: int = 0, fused_activation_function: str = "NONE",
    quantized_bias_type: str = "FLOAT32",
) -> ResultType:  # fmt: skip
    """output_shape [4] of ints, filter [out,kh,kw,in], x [n,h,w,in] -> [output_shape]."""
    if filter.shape is None:
        return x.dtype, sizes_of(output_shape)
    out, *kernel, depth = filter.shape
    _require_bias(bias, out)
    return _transposed(output_shape, x, kernel, depth, (stride_h, stride_w), (1, 1), padding)


@op("Conv3DOptions", ranks="5 5 *")
def conv_3d(
    x: Value, filter: Value, bias: Value | None = None, *, padding: str = "SAME", stride_d: int = 0,
    stride_w: int = 0, stride_h: int = 0, fused_activation_function: str = "NONE", dilation_d_factor: int = 1,
    dilation_w_factor: int = 1, dilation_h_factor: int = 1,
) -> ResultType:  # fmt: skip
    """x [n,d,h,w,c], filter [kd,kh,kw,in,out] -> [n,d',h',w',out]."""
    if filter.shape is None:
        return x.dtype, None
    *kernel, depth, out = filter.shape
    if x.shape is not None:
        merge((x.shape[-1], depth))
    _require_bias(bias, out)
    dilations = dilation_d_factor, dilation_h_factor, dilation_w_factor
    return windowed(x, kernel, out, (stride_d, stride_h, stride_w), dilations, padding)


@op("Conv3DOptions", ranks="1 5 5 *")
def conv_3d_transpose(
    output_shape: Index, filter: Value, x: Value, bias: Value | None = None, *, padding: str = "SAME",
    stride_d: int = 0, stride_w: int = 0, stride_h: int = 0, fused_activation_function: str = "NONE",
    dilation_d_factor: int = 1, dilation_w_factor: int = 1, dilation_h_factor: int = 1,
) -> ResultType:  # fmt: skip
    """output_shape [5] of ints, filter [kd,kh,kw,out,in], x [n,d,h,w,in] -> [output_shape]."""
    if filter.shape is None:
        return x.dtype, sizes_of(output_shape)
    *kernel, out, depth = filter.shape
    _require_bias(bias, out)
    strides = stride_d, stride_h, stride_w
    dilations = dilation_d_factor, dilation_h_factor, dilation_w_factor
    dtype, shape = _transposed(output_shape, x, kernel, depth, strides, dilations, padding)
    if shape is not None and x.shape is not None:
        merged((shape[0], shape[-1]), (x.shape[0], out))
    return dtype, shape


@op("FullyConnectedOptions")
def fully_connected(
    x: Value,
    weights: Value,
    bias: Value | None = None,
    *,
    fused_activation_function: str = "NONE",
    weights_format: str = "DEFAULT",
    keep_num_dims: bool = False,
    asymmetric_quantize_inputs: bool = False,
    quantized_bias_type: str = "FLOAT32",
) -> ResultType:
    """x [...,in], weights [out,in] -> [...,out] if keep_num_dims, else [elements of x / in, out]."""
    if x.shape is None or weights.shape is None:
        return x.dtype, None
    out, depth = weights.shape
    _require_bias(bias, out)
    if keep_num_dims:
        merge((x.shape[-1], depth))
        return x.dtype, (*x.shape[:-1], out)
    return x.dtype, (floordiv(product(x.shape), depth), out)


@op("BatchMatMulOptions")
def batch_matmul(
    x: Value,
    y: Value,
    *,
    adj_x: bool = False,
    adj_y: bool = False,
    asymmetric_quantize_inputs: bool = False,
    results: list[ResultType] | None = None,
) -> ResultType:
    """x [...,m,k], y [...,k,n] -> [...,m,n]; the leading dimensions broadcast; adj swaps the last two of an operand. Of
    int8 the result is int32, and the exact one, if `results` say so."""
    if results is not None:
        return results[0]
    if x.shape is None or y.shape is None:
        return x.dtype, None
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    assert batch is not None
    merge((x.shape[-2 if adj_x else -1], y.shape[-1 if adj_y else -2]))
    return x.dtype, (*batch, x.shape[-1 if adj_x else -2], y.shape[-2 if adj_y else -1])


@op(dict.fromkeys(POOLS, "Pool2DOptions"), ranks="4")
def pool_2d(
    x: Value,
    *,
    padding: str = "SAME",
    stride_w: int = 0,
    stride_h: int = 0,
    filter_width: int = 0,
    filter_height: int = 0,
    fused_activation_function: str = "NONE",
) -> ResultType:
    """Return the type of x [n,h,w,c] -> [n,h',w',c]. AVERAGE_POOL_2D does not count the padding."""
    channels = x.shape[-1] if x.shape else 0
    return windowed(x, (filter_height, filter_width), channels, (stride_h, stride_w), (1, 1), padding)


@op("L2NormOptions")
def l2_normalization(x: Value, *, fused_activation_function: str = "NONE") -> ResultType:
    """Along the last dimension."""
    return same(x)


@op("LocalResponseNormalizationOptions", ranks="4")
def local_response_normalization(
    x: Value, *, radius: int = 0, bias: float = 0.0, alpha: float = 0.0, beta: float = 0.0
) -> ResultType:
    return same(x)


@op("SoftmaxOptions")
def softmax(x: Value, *, beta: float = 0.0) -> ResultType:
    """softmax(beta * x) along the last dimension."""
    return same(x)


@op("LogSoftmaxOptions")
def log_softmax(x: Value) -> ResultType:
    return same(x)


def _height_and_width(sizes: Value) -> Sequence[Dim]:
    require_vector(sizes, 2)
    return content(sizes) or unknown(2)


def resized(x: Value, size: Value) -> Shape | None:
    """Return x [n,h,w,c], size [height, width] -> [n,height,width,c]."""
    if x.shape is None:
        return None
    height, width = _height_and_width(size)
    require_least(1, "a height or width", height, width)
    return x.shape[0], height, width, x.shape[3]


@op(
    {"RESIZE_BILINEAR": "ResizeBilinearOptions", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions"},
    ranks="4 1",
)
def resize(x: Value, size: Index, *, align_corners: bool = False, half_pixel_centers: bool = False) -> ResultType:
    return x.dtype, resized(x, size)


@op(ranks="1 2+")
def embedding_lookup(ids: Index, table: Value) -> ResultType:
    """ids [n] of int32, table [rows, ...] -> [n, ...]. Rows of quantized tables come out as floats."""
    dtype = types.FLOAT32 if table.quantization is not None else table.dtype
    return dtype, None if ids.shape is None or table.shape is None else (*ids.shape, *table.shape[1:])


@op("EmbeddingLookupSparseOptions", ranks="1 2 1 1 2+")
def embedding_lookup_sparse(
    ids: Index, indices: Index, dense_shape: Index, weights: Value, table: Value, *, combiner: str = "SUM"
) -> ResultType:
    """ids [n], indices [n, rank], dense_shape [rank], weights [n], table [rows, ...] -> [dense_shape[:-1], ...]."""
    merged(ids.shape, None if indices.shape is None else indices.shape[:1], weights.shape)
    shape = sizes_of(dense_shape)
    return types.FLOAT32, None if shape is None or table.shape is None else (*shape[:-1], *table.shape[1:])


@op(ranks="1 1 1+")
def hashtable_lookup(lookup: Index, key: Value, value: Value) -> list[ResultType]:
    """lookup [n], key [rows], value [rows, ...] -> the rows [n, ...], and which were found [n]."""
    merged(key.shape, None if value.shape is None else value.shape[:1])
    rows = None if lookup.shape is None or value.shape is None else (*lookup.shape, *value.shape[1:])
    return [(value.dtype, rows), (types.UINT8, lookup.shape)]


@op("LSHProjectionOptions", ranks="2 1+ *")
def lsh_projection(hash: Value, x: Value, weight: Value | None = None, *, type: str = "UNKNOWN") -> ResultType:
    """hash [functions, bits] -> [functions] if SPARSE, [functions * bits] if DENSE."""
    if hash.shape is None:
        return types.INT32, None
    functions, bits = hash.shape
    require_least(1, "a first dimension", *(x.shape or ())[:1])
    return types.INT32, (functions if type == "SPARSE" else functions * bits,)


@op("SkipGramOptions")
def skip_gram(
    x: Value, *, ngram_size: int = 0, max_skip_size: int = 0, include_all_ngrams: bool = False
) -> ResultType:
    return types.STRING, (fresh(),)


@op("DilateOptions")
def dilate(x: Value, dilations: Index, padding_value: Value) -> ResultType:
    """dilations [rank]: a dimension d becomes (d - 1) * dilation + 1, the elements between hold padding_value."""
    if x.shape is None:
        return x.dtype, None
    factors = ints(dilations)
    if factors is None:
        return x.dtype, unknown(len(x.shape))
    return x.dtype, tuple((dim - 1) * factor + 1 for dim, factor in zip(x.shape, factors, strict=True))


@op("DensifyOptions")
def densify(x: Value) -> ResultType:
    return same(x)


@op("Rfft2dOptions", ranks="2+ 1")
def rfft2d(x: Value, fft_length: Index) -> ResultType:
    """x [...,h,w], fft_length [height, width] -> complex64 [..., height, width // 2 + 1]."""
    if x.shape is None:
        return types.COMPLEX64, None
    height, width = _height_and_width(fft_length)
    for size in (height, width):
        if isinstance(size, int) and (size < 1 or size & (size - 1)):
            raise ShapeError(f"a length of {size}, which is no power of two")
    return types.COMPLEX64, (*x.shape[:-2], height, floordiv(width, 2) + 1)
