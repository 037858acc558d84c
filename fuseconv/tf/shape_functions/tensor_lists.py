"""Shape functions of TensorLists, as tensors of stacked elements: (number of elements, *shape of an element). The shape
of a list is that of its elements, stacked: (number of elements, *shape of an element)."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import UnknownShape, content_of, scalar, shape_of
from fuseconv.tf.shape_functions.registry import Shapes, infers


def only_length(lengths: Value) -> Dim | None:
    """Return what all elements of a vector are, if they are known to be the same."""
    for kind, operand in (("tf.Cast", 0), ("tf.Fill", 1)):
        if lengths.op is not None and lengths.op.kind == kind:
            lengths = lengths.op.operands[operand] or lengths
    content = content_of(lengths)
    numbers = set() if content is None else set(content.reshape(-1))
    return numbers.pop() if len(numbers) == 1 else None


def stated(element_shape: Value) -> Shape | None:
    """Return the shape that the operand `element_shape` holds; None if its rank is not known."""
    content = content_of(element_shape)
    if content is None or content.ndim != 1:
        return None
    return tuple(dims.fresh() if isinstance(dim, int) and dim < 0 else dim for dim in content)


def _element(listed: Value, element_shape: Value) -> Shape | None:
    """Return the element shape, merged from the shape of the list and the op's own."""
    said = stated(element_shape)
    if listed.shape is None:
        return said
    known = listed.shape[1:]
    if said is None or len(said) != len(known):
        return known
    return tuple(b if isinstance(b, int) else a for a, b in zip(known, said))


def _list(count: Dim, element: Shape | None) -> Shape | None:
    return None if element is None else (count, *element)


@infers()
def TensorListFromTensor(op: Op, tensor: Value, element_shape: Value) -> Shapes:
    return tensor.shape


@infers()
def TensorListSplit(op: Op, tensor: Value, element_shape: Value, lengths: Value) -> Shapes:
    # Parts of different lengths have no shape together.
    length = only_length(lengths)
    return None if length is None else _list(shape_of(lengths)[0], (length, *shape_of(tensor)[1:]))


@infers()
def TensorListReserve(op: Op, element_shape: Value, num_elements: Value) -> Shapes:
    return _list(scalar(num_elements), stated(element_shape))


@infers()
def EmptyTensorList(op: Op, element_shape: Value, max_num_elements: Value) -> Shapes:
    return _list(0, stated(element_shape))


@infers()
def TensorListSetItem(op: Op, listed: Value, index: Value, item: Value) -> Shapes:
    if listed.shape is None:
        return None if item.shape is None else (dims.fresh(), *item.shape)
    count = dims.fresh() if op.attrs.get("resize_if_index_out_of_bounds") else listed.shape[0]
    return (count, *listed.shape[1:])


@infers()
def TensorListGetItem(op: Op, listed: Value, index: Value, element_shape: Value) -> Shapes:
    return _element(listed, element_shape)


@infers()
def TensorListStack(op: Op, listed: Value, element_shape: Value, *, num_elements: int = -1) -> Shapes:
    count = shape_of(listed)[0] if listed.shape is not None else dims.fresh()
    if num_elements >= 0:
        count = num_elements
    return _list(count, _element(listed, element_shape))


@infers()
def TensorListGather(op: Op, listed: Value, indices: Value, element_shape: Value) -> Shapes:
    return _list(shape_of(indices)[0], _element(listed, element_shape))


@infers("TensorListScatter", "TensorListScatterV2")
def tensor_list_scatter(
    op: Op, tensor: Value, indices: Value, element_shape: Value, num_elements: Value | None = None
) -> Shapes:
    count = scalar(num_elements) if num_elements is not None else dims.fresh()
    if isinstance(count, int) and count < 0:
        count = dims.fresh()
    return _list(count, shape_of(tensor)[1:])


@infers()
def TensorListScatterIntoExistingList(op: Op, listed: Value, tensor: Value, indices: Value) -> Shapes:
    return listed.shape


@infers()
def TensorListPushBack(op: Op, listed: Value, item: Value) -> Shapes:
    if listed.shape is None:
        return None if item.shape is None else (dims.fresh(), *item.shape)
    return (listed.shape[0] + 1, *listed.shape[1:])


@infers()
def TensorListPopBack(op: Op, listed: Value, element_shape: Value) -> Shapes:
    if listed.shape is None:
        return [None, stated(element_shape)]
    return [(listed.shape[0] - 1, *listed.shape[1:]), _element(listed, element_shape)]


@infers()
def TensorListLength(op: Op, listed: Value) -> Shapes:
    return ()


@infers()
def TensorListResize(op: Op, listed: Value, size: Value) -> Shapes:
    return (scalar(size), *shape_of(listed)[1:])


@infers()
def TensorListElementShape(op: Op, listed: Value) -> Shapes:
    return (len(shape_of(listed)) - 1,)


@infers()
def TensorListConcatLists(op: Op, a: Value, b: Value) -> Shapes:
    count, *element = shape_of(a)
    return (count + shape_of(b)[0], *element)


@infers("TensorListConcat", "TensorListConcatV2")
def tensor_list_concat(
    op: Op, listed: Value, element_shape: Value | None = None, leading_dims: Value | None = None
) -> Shapes:
    if listed.shape is None or len(listed.shape) < 2:
        raise UnknownShape
    count, first, *rest = listed.shape
    return [(count * first, *rest), (count,)]
