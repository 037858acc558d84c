"""Shape functions of rare ops: deprecated, gradient, histogram and sparse ops."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import dims
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    UnknownShape,
    axis_in,
    extents,
    ints,
    same,
    same_shape,
    scalar,
    shape_of,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers(
    "BatchMatrixBandPart", "BatchNormWithGlobalNormalization", "DataFormatDimMap",
    "DataFormatVecPermute", "InplaceAdd", "InplaceSub", "InplaceUpdate",
)  # fmt: skip
def like_first(op: Op, x: Value, *others: Value) -> Shapes:
    return x.shape


@infers("AccumulateNV2")
def accumulate(op: Op, *inputs: Value) -> Shapes:
    return same_shape([x.shape for x in inputs])


@infers("BatchMatrixDiag")
def batch_matrix_diag(op: Op, diagonal: Value) -> Shapes:
    shape = shape_of(diagonal)
    return (*shape, shape[-1])


@infers("TopK")
def top_k(op: Op, x: Value, *, k: int) -> Shapes:
    return [(*shape_of(x)[:-1], k)] * 2


@infers("ApproxTopK")
def approximate_top_k(
    op: Op, x: Value, *, k: int, reduction_dimension: int = -1, aggregate_to_topk: bool = True
) -> Shapes:
    shape = list(shape_of(x))
    shape[axis_in(reduction_dimension, len(shape))] = k if aggregate_to_topk else dims.fresh("top")
    return [tuple(shape)] * 2


@infers("UniqueWithCountsV2")
def unique_with_counts(op: Op, x: Value, axis: Value) -> Shapes:
    shape = with_rank(x, 1)
    count = dims.fresh("unique")
    return [(count,), shape, (count,)]


@infers("DenseBincount")
def dense_bincount(op: Op, x: Value, size: Value, weights: Value) -> Shapes:
    return (*shape_of(x)[:-1], scalar(size, "bins"))


@infers("HistogramFixedWidth")
def histogram(op: Op, values: Value, value_range: Value, bins: Value) -> Shapes:
    return (scalar(bins, "bins"),)


@infers("InTopK")
def in_top_k(op: Op, predictions: Value, targets: Value) -> Shapes:
    return targets.shape


@infers("UnravelIndex")
def unravel_index(op: Op, indices: Value, sizes: Value) -> Shapes:
    return (*with_rank(sizes, 1), *shape_of(indices))


@infers("SparseToDense")
def sparse_to_dense(op: Op, indices: Value, shape: Value, values: Value, default: Value) -> Shapes:
    if indices.shape is not None and values.shape:
        same(indices.shape[0] if indices.shape else 1, values.shape[0])
    made = tuple(extents(shape, "dense"))
    if indices.shape is not None:
        same(indices.shape[1] if len(indices.shape) == 2 else 1, len(made))
    return made


@infers("Empty")
def empty(op: Op, shape: Value) -> Shapes:
    return tuple(extents(shape, "empty"))


@infers("StridedSliceGrad")
def strided_slice_grad(op: Op, shape: Value, *others: Value) -> Shapes:
    return tuple(extents(shape, "whole"))


@infers("SparseTensorDenseMatMul")
def sparse_matmul(
    op: Op, indices: Value, values: Value, shape: Value, b: Value, *, adjoint_a: bool = False, adjoint_b: bool = False
) -> Shapes:
    sizes, right = extents(shape, "rows"), with_rank(b, 2)
    if len(sizes) != 2:
        raise UnknownShape
    return (sizes[1 if adjoint_a else 0], right[0 if adjoint_b else 1])


@infers("SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum")
def sparse_segment(op: Op, data: Value, indices: Value, ids: Value) -> Shapes:
    return (dims.fresh("segments"), *shape_of(data)[1:])


@infers("SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSumWithNumSegments")
def sparse_segment_of_number(op: Op, data: Value, indices: Value, ids: Value, number: Value) -> Shapes:
    return (scalar(number, "segments"), *shape_of(data)[1:])


@infers("BiasAddGrad")
def bias_add_grad(op: Op, x: Value, *, data_format: str = "NHWC") -> Shapes:
    shape = shape_of(x)
    return (shape[1 if data_format == "NCHW" else -1],)


@infers("BroadcastGradientArgs")
def broadcast_gradient_args(op: Op, a: Value, b: Value) -> Shapes:
    return [(dims.fresh("axes"),), (dims.fresh("axes"),)]


@infers("MirrorPadGrad")
def mirror_pad_grad(op: Op, x: Value, paddings: Value) -> Shapes:
    shape, amounts = shape_of(x), ints(paddings)
    return tuple(size - amounts[2 * axis] - amounts[2 * axis + 1] for axis, size in enumerate(shape))


@infers("ParallelConcat")
def parallel_concat(op: Op, *values: Value, shape: Shape) -> Shapes:
    return shape


@infers("ScaleAndTranslate")
def scale_and_translate(op: Op, images: Value, size: Value, scale: Value, translation: Value) -> Shapes:
    batch, _, _, channels = with_rank(images, 4)
    return (batch, *_pair(extents(size, "size")), channels)


@infers("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def project(op: Op, images: Value, transforms: Value, size: Value, fill: Value | None = None) -> Shapes:
    batch, _, _, channels = with_rank(images, 4)
    return (batch, *_pair(extents(size, "size")), channels)


@infers("LSTMBlockCell")
def lstm_block_cell(op: Op, x: Value, state: Value, *others: Value) -> Shapes:
    return [state.shape] * 7


@infers("GRUBlockCell")
def gru_block_cell(op: Op, x: Value, state: Value, *others: Value) -> Shapes:
    return [state.shape] * 4


def _pair(sizes: Sequence[dims.Dim]) -> Sequence[dims.Dim]:
    if len(sizes) != 2:
        raise UnknownShape
    return sizes
