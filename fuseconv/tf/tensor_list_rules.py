"""Rewrite rules of TensorList ops for lists that are tensors: elements stacked on axis 0, or joined on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.op_table import OpTable
from fuseconv.ir.terms import op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.shape_functions.tensor_lists import only_length

# Makes the op's results from the builder, the op, the operands (lists are tensors now) and the rank of an element.
Rewrite = Callable[..., Value | Sequence[Value]]
REWRITES: OpTable[Rewrite] = OpTable()
_rewrites = REWRITES.declare
# The same of lists that are only appended to: what was appended so far, stacked, or concatenated.
_GROWN: OpTable[Rewrite] = OpTable()
_JOINED: OpTable[Rewrite] = OpTable()
FORMS = {"stacked": REWRITES, "grown": _GROWN, "joined": _JOINED}
_grown, _joined = _GROWN.declare, _JOINED.declare


@_rewrites()
def TensorListFromTensor(tf: TfBuilder, op: Op, rank: int, tensor: Value, element_shape: Value) -> Value:
    return tensor


@_grown()
@_rewrites()
def TensorListStack(tf: TfBuilder, op: Op, rank: int, x: Value, element_shape: Value) -> Value:
    return x


@_rewrites()
def TensorListSetItem(tf: TfBuilder, op: Op, rank: int, x: Value, index: Value, item: Value) -> Value:
    if op.attrs.get("resize_if_index_out_of_bounds"):
        x = resized(tf, x, tf.Maximum(tf.size(x), tf.AddV2(index, 1)))
    return tf.XlaDynamicUpdateSlice(x, tf.ExpandDims(item, 0), _begin(tf, index, rank))


def _begin(tf: TfBuilder, index: Value, rank: int) -> Value:
    """Return the `begin` of the slice that holds the element with this index."""
    return tf.Pack(tf.as_int32(index), *[0] * rank) if rank else tf.Reshape(index, [1])


@_rewrites()
def TensorListGetItem(tf: TfBuilder, op: Op, rank: int, x: Value, index: Value, element_shape: Value) -> Value:
    return tf.GatherV2(x, index, 0)


@_rewrites()
def TensorListLength(tf: TfBuilder, op: Op, rank: int, x: Value) -> Value:
    return tf.size(x)


@_rewrites()
def TensorListElementShape(tf: TfBuilder, op: Op, rank: int, x: Value) -> Value:
    return tf.StridedSlice(tf.Shape(x, dtype=op.result.dtype), [1], [0], [1], end_mask=1)


@_rewrites()
def TensorListGather(tf: TfBuilder, op: Op, rank: int, x: Value, indices: Value, element_shape: Value) -> Value:
    return x if counts(indices, x) else tf.GatherV2(x, indices, 0)


def counts(indices: Value, x: Value) -> bool:
    """Return whether indices are known to be 0, 1, ..., n - 1, for x of n elements."""
    if x.shape is None or indices.shape is None or indices.shape[0] != x.shape[0]:
        return False
    known = content_of(indices)
    if known is not None:
        return list(known) == list(range(len(known)))
    numbers = op_of(indices, "tf.Range")
    if numbers is None:
        return False
    start, _, step = (content_of(operand) for operand in numbers.operands)
    return start is not None and step is not None and start == 0 and step == 1


@_rewrites("TensorListScatter", "TensorListScatterV2")
def tensor_list_scatter(
    tf: TfBuilder, op: Op, rank: int, tensor: Value, indices: Value, element_shape: Value, count: Value | None = None
) -> Value:
    """Return the given tensor where its elements are in order, else TensorScatterUpdate(zeros, indices, tensor). A
    count of elements that is -1, or not there, is the largest index and one."""
    same_count = op.result.shape is not None and tensor.shape is not None and op.result.shape[0] == tensor.shape[0]
    if counts(indices, tensor) and (count is None or same_count):
        return tensor
    said = content_of(count)
    if count is None or (said is not None and said == -1):
        count = tf.AddV2(tf.Max(indices, [0]), 1)
    elif said is None:
        # It may turn out to be -1.
        count = tf.Maximum(count, tf.AddV2(tf.Max(indices, [0]), 1))
    shape = tf.ConcatV2(tf.Reshape(count, [1]), _rest(tf, tensor), 0)
    zeros = tf.Fill(shape, zero(tensor.dtype), dtype=tensor.dtype)
    return tf.TensorScatterUpdate(zeros, tf.ExpandDims(indices, 1), tensor)


@_rewrites()
def TensorListScatterIntoExistingList(
    tf: TfBuilder, op: Op, rank: int, x: Value, tensor: Value, indices: Value
) -> Value:
    return tensor if counts(indices, x) else tf.TensorScatterUpdate(x, tf.ExpandDims(indices, 1), tensor)


@_rewrites()
def TensorListPushBack(tf: TfBuilder, op: Op, rank: int, x: Value, item: Value) -> Value:
    return tf.ConcatV2(x, tf.ExpandDims(item, 0), 0)


@_rewrites()
def TensorListPopBack(tf: TfBuilder, op: Op, rank: int, x: Value, element_shape: Value) -> list[Value]:
    left = tf.Sub(tf.size(x), 1)
    return [tf.Slice(x, [0] * (rank + 1), tf.ConcatV2(tf.Reshape(left, [1]), [-1] * rank, 0)), tf.GatherV2(x, left, 0)]


@_rewrites()
def TensorListResize(tf: TfBuilder, op: Op, rank: int, x: Value, size: Value) -> Value:
    known, count = content_of(size), None if x.shape is None else x.shape[0]
    if known is not None and isinstance(count, int) and isinstance(known[()], int) and known[()] <= count:
        return tf.Slice(x, [0] * (rank + 1), [int(known[()])] + [-1] * rank)
    longer = resized(tf, x, size)
    return tf.Slice(longer, [0] * (rank + 1), tf.ConcatV2(tf.Reshape(size, [1]), [-1] * rank, 0))


def resized(tf: TfBuilder, x: Value, size: Value) -> Value:
    """Return x padded with zero elements to at least `size` elements."""
    more = tf.Maximum(tf.Sub(size, tf.size(x)), 0)
    shape = tf.ConcatV2(tf.Reshape(more, [1]), _rest(tf, x), 0)
    return tf.ConcatV2(x, tf.Fill(shape, zero(x.dtype), dtype=x.dtype), 0)


@_rewrites()
def AddN(tf: TfBuilder, op: Op, rank: int, *lists: Value) -> Value:
    """Add lists of equally many elements, as gradients do, elementwise; one that was never written counts as 0."""
    return tf.AddN(*lists)


@_rewrites()
def ZerosLike(tf: TfBuilder, op: Op, rank: int, x: Value) -> Value:
    return tf.ZerosLike(x)


@_rewrites()
def TensorListConcatLists(tf: TfBuilder, op: Op, rank: int, x: Value, y: Value) -> Value:
    return tf.ConcatV2(x, y, 0)


@_rewrites("TensorListConcat", "TensorListConcatV2")
def tensor_list_concat(
    tf: TfBuilder, op: Op, rank: int, x: Value, element_shape: Value | None = None, leading: Value | None = None
) -> list[Value]:
    joined = tf.Reshape(x, tf.ConcatV2([-1], _rest(tf, x, 2), 0))
    length = tf.Cast(tf.size(x, 1), dtype=types.INT64)
    return [joined, tf.Fill(tf.Reshape(tf.size(x), [1]), length, dtype=types.INT64)]


@_joined("TensorListPushBack", "TensorListSetItem")
def append_rows(tf: TfBuilder, op: Op, rank: int, x: Value, *index_and_item: Value) -> Value:
    item = index_and_item[-1]
    return _appended(tf, op, x, item, None if item.shape is None else item.shape[1:])


@_grown("TensorListPushBack", "TensorListSetItem")
def append_element(tf: TfBuilder, op: Op, rank: int, x: Value, *index_and_item: Value) -> Value:
    item = index_and_item[-1]
    return _appended(tf, op, x, tf.ExpandDims(item, 0), item.shape)


def _appended(tf: TfBuilder, op: Op, x: Value, rows: Value, of: Shape | None) -> Value:
    """Return rows `of` a shape behind those of x, which is told how large a row is as long as it has none.

    If a later one is of another size, TensorFlow does not join them, and RESHAPE refuses the number of elements."""
    if op.result.shape is None or op.result.shape[1:] != of:
        x = tf.Reshape(x, tf.ConcatV2(tf.Reshape(tf.size(x), [1]), _rest(tf, rows), 0))
    return tf.ConcatV2(x, rows, 0)


@_joined("TensorListConcat", "TensorListConcatV2")
def rows_in_all(tf: TfBuilder, op: Op, rank: int, x: Value, *element_shape: Value) -> list[Value]:
    # Nobody reads the second result.
    return [x, tf.Cast(tf.ints([]), dtype=types.INT64)]


@_grown("TensorListLength")
@_joined("TensorListLength")
def index_of_appended(tf: TfBuilder, op: Op, rank: int, x: Value) -> Value:
    # It is read as the place of an element that is appended, which needs none.
    return tf.ints(0)


@_rewrites()
def TensorListSplit(tf: TfBuilder, op: Op, rank: int, tensor: Value, element_shape: Value, lengths: Value) -> Value:
    count = tf.Reshape(tf.size(lengths), [1])
    length = only_length(lengths)
    known = isinstance(length, int)
    first = tf.ints([length]) if known else tf.as_int32(tf.StridedSlice(lengths, [0], [1], [1]))  # type: ignore[list-item]
    return tf.Reshape(tensor, tf.ConcatV2(count, first, _rest(tf, tensor), 0))


def _rest(tf: TfBuilder, x: Value, axis: int = 1) -> Value:
    """Return the sizes of x from this axis on."""
    return tf.StridedSlice(tf.shape(x), [axis], [0], [1], end_mask=1)


def like_rows(tf: TfBuilder, x: Value, row: Value) -> Value:
    """Return one row, stacked alone, in the shape of the rows of x."""
    return tf.Reshape(row, tf.ConcatV2([1], _rest(tf, x), 0))


def zero(dtype: types.DType) -> Value:
    """Return the zero that TensorFlow reads from an element that was never written."""
    return constant(np.array(b"" if dtype is types.STRING else 0, dtype.numpy), dtype)
