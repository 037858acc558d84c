"""TensorLists -> tensors: TFLite has no lists, so a list becomes the tensor of its elements, stacked on axis 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.types import DType
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.reify_dims import Sizes
from fuseconv.tf.shape_functions.tensor_lists import stated
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.tensor_list_rules import REWRITES, zero
from fuseconv.tf.traits import FORWARDS, LOOPS

# Ops that make a list without elements to take its element shape from, with the operand that counts them.
_MAKERS = {"tf.TensorListReserve": 1, "tf.EmptyTensorList": None}
# op -> which operand holds what is written, and whether it is elements stacked rather than one element
_WRITES = {
    "tf.TensorListFromTensor": (0, True),
    "tf.TensorListScatter": (0, True),
    "tf.TensorListScatterV2": (0, True),
    "tf.TensorListScatterIntoExistingList": (1, True),
    "tf.TensorListPushBack": (1, False),
    "tf.TensorListSetItem": (2, False),
}
# op -> which result holds elements
_READS = {
    "tf.TensorListConcat": 0, "tf.TensorListConcatV2": 0, "tf.TensorListGather": 0, "tf.TensorListGetItem": 0,
    "tf.TensorListPopBack": 1, "tf.TensorListStack": 0,
}  # fmt: skip
# op -> the operand that states the shape of an element, besides those that make lists
_STATES = {
    "tf.TensorListFromTensor": 1, "tf.TensorListGetItem": 2, "tf.TensorListGather": 2, "tf.TensorListPopBack": 1,
    "tf.TensorListStack": 1, "tf.TensorListReserve": 0, "tf.EmptyTensorList": 0,
}  # fmt: skip
_NO_SHAPE = "the shape of its elements is not known where the list is made"
_MIXED = "elements of different shapes are written into the list"


@module_pass("lower-tensor-lists")
def lower_tensor_lists(module: Module, report: Report) -> bool:
    """Replace lists by the tensors of their elements, stacked: TensorListGetItem(list, i) -> tensor[i].

    This takes the lists whose element shape is known, through loops and branches; canonicalization may then tell the
    shapes of more. Returns whether there were any.

    The elements of a list must have one shape; where the model does not state it, it is that of what is written. Lists
    that cannot be a tensor stay, with the reason in the attribute `_why` of their ops."""
    if any(value.dtype is types.VARIANT for graph in module.graphs() for value in _values(graph)):
        _part(module)
        found = _lists(module)
        ready = [each for each in found if each.settle()]
        if ready:
            _rewrite(module, ready, report)
            return True
        for each in found:
            for op, _, _ in each.ops:
                op.attrs["_why"] = each.why
    for graph in module.graphs():
        for op in graph.ops:
            if op.attrs.get("_whole") and not _covers(op):
                op.attrs["_why"] = _MIXED
    return False


def _values(graph: Graph) -> Iterator[Value]:
    yield from graph.inputs
    for op in graph.ops:
        yield from op.results


@module_pass("infer-list-elements")
def infer_list_elements(module: Module) -> bool:
    """State the element shape of lists that are made without it: TensorListReserve(-1) -> TensorListReserve([2, 8]).

    Returns whether there were such lists."""
    changed = False
    for each in _lists(module):
        makers = [op for op, _, _ in each.ops if op.kind in _MAKERS and _stated(op) is None]
        written = [shape for op, _, _ in each.ops if (shape := _written(op)) is not None]
        if makers and written and len({len(shape) for shape in written}) == 1:
            axes = [set(sizes) for sizes in zip(*written)]
            sizes = [next(iter(axis)) if len(axis) == 1 else -1 for axis in axes]
            element = np.array([size if isinstance(size, int) else -1 for size in sizes], np.int32)
            for op in makers:
                op.set_operand(_STATES[op.kind], constant(element, types.INT32, op.name))
            changed = True
    return changed


def _part(module: Module) -> None:
    """Gives each reader of an empty list one of its own, right before it: what they write into it may have different
    shapes, and the later it is made, the more sizes are known there."""
    for graph in module.graphs():
        makers = {op.result: op for op in graph.ops if op.kind in _MAKERS and op.result.uses}
        ops, graph.ops = graph.ops, []
        taken: set[Value] = set()
        for op in ops:
            for index, value in enumerate(op.operands):
                maker = None if value is None else makers.get(value)
                if value is None or maker is None:
                    continue
                if value in taken:
                    maker = Op(maker.kind, maker.operands, dict(maker.attrs), maker.name, maker.sources)
                    op.set_operand(index, maker.add_result(value.dtype, value.shape))
                taken.add(value)
                graph.ops.append(maker)
            if op.kind not in _MAKERS or op.result not in makers:
                graph.ops.append(op)


def _covers(op: Op) -> bool:
    """True if the row that an op writes is as large as the rows that are there."""
    x, row = op.operands[:2]
    assert x is not None and row is not None
    return x.shape is not None and row.shape is not None and x.shape[1:] == row.shape[1:]


class _List:
    """The values, of all graphs, that can be one and the same list, and the ops on them.

    ops: each with its graph and where it stands there. why: why the list cannot become a tensor."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.ops: list[tuple[Op, Graph, int]] = []
        self.dtype: DType | None = None
        self.element: Shape | None = None
        self.why = ""

    def settle(self) -> bool:
        """Finds the type and shape of the elements. False if that, or something else, is in the way."""
        if not self.why:
            self._find_dtype()
        if not self.why:
            self._find_shape()
        return not self.why

    def _find_dtype(self) -> None:
        found = {dtype for op, _, _ in self.ops if (dtype := _element_dtype(op)) is not None}
        if any(dtype.is_handle for dtype in found):
            self.why = "it holds lists or other handles"
            return
        if len(found) != 1:
            self.why = "it holds elements of several types" if found else "the type of its elements is not known"
            return
        (self.dtype,) = found

    def _find_shape(self) -> None:
        written = [shape for op, _, _ in self.ops if (shape := _written(op)) is not None]
        said = [s for op, _, _ in self.ops if (s := _stated(op)) is not None]
        if len({len(shape) for shape in (*written, *said)}) > 1:
            self.why = _MIXED
        elif written or said:
            rank = len((*written, *said)[0])
            axes = [self._size([shape[axis] for shape in (*written, *said)]) for axis in range(rank)]
            if None in axes:
                self.why = self.why or _NO_SHAPE
            else:
                self.element = tuple(axes)  # type: ignore[arg-type]
        elif any(op.kind in _WRITES or (op.kind in _STATES and op.kind not in _MAKERS) for op, _, _ in self.ops):
            self.why = _NO_SHAPE
        else:
            self.element = ()

    def _size(self, alternatives: list[Dim]) -> Dim | None:
        """The one size of a dimension that ops tell; None if they do not agree, or where the list is made none is."""
        known = {dim for dim in alternatives if isinstance(dim, int)}
        if len(known) > 1:
            self.why = _MIXED
            return None
        if known:
            return known.pop()
        makers = [Sizes(_before(graph, place)) for op, graph, place in self.ops if op.kind in _MAKERS]
        return next((dim for dim in alternatives if all(sizes.knows(dim) for sizes in makers)), None)


def _element_dtype(op: Op) -> DType | None:
    if "element_dtype" in op.attrs:
        return op.attrs["element_dtype"]
    if op.kind in _WRITES:
        value = op.operands[_WRITES[op.kind][0]]
        return None if value is None else value.dtype
    return op.results[_READS[op.kind]].dtype if op.kind in _READS else None


def _written(op: Op) -> Shape | None:
    if op.kind == "tf.TensorListSplit":
        tensor, _, lengths = op.operands
        known = content_of(lengths)
        if tensor is None or tensor.shape is None or known is None or len(set(known)) != 1:
            return None
        return (known[0], *tensor.shape[1:])
    if op.kind not in _WRITES:
        return None
    index, stacked = _WRITES[op.kind]
    value = op.operands[index]
    if value is None or value.shape is None:
        return None
    return value.shape[1:] if stacked else value.shape


def _stated(op: Op) -> Shape | None:
    value = op.operands[_STATES[op.kind]] if op.kind in _STATES else None
    return None if value is None else stated(value)


def _before(graph: Graph, place: int) -> Iterator[Value]:
    """What a size can be read off at a place. What is read from a list is not: when that list becomes a tensor, its
    sizes get other names, so the lists that need them have to come after it."""
    yield from graph.inputs
    for op in graph.ops[:place]:
        if op.type not in REWRITES:
            yield from op.results


def _lists(module: Module) -> list[_List]:
    """The lists of a module that are not tensors yet."""
    parents: dict[Value, Value] = {}

    def root(value: Value) -> Value:
        while parents.setdefault(value, value) is not value:
            value = parents[value]
        return value

    def unite(a: Value | None, b: Value | None) -> None:
        if a is not None and b is not None and a.dtype is types.VARIANT and b.dtype is types.VARIANT:
            parents[root(a)] = root(b)

    for graph in module.graphs():
        for value in graph.inputs:
            unite(value, value)
        for op in graph.ops:
            for a, b in _same(op, module):
                unite(a, b)
    lists: dict[Value, _List] = {}
    for value in parents:
        lists.setdefault(root(value), _List()).values.append(value)
    for graph in module.graphs():
        for place, op in enumerate(graph.ops):
            touched = {root(value) for value in (*op.operands, *op.results) if value in parents}  # type: ignore[arg-type]
            for value in touched:
                if op.type in REWRITES or op.kind in _MAKERS:
                    lists[value].ops.append((op, graph, place))
                elif op.kind not in FORWARDS and not any(True for _ in bodies(op, module)):
                    lists[value].why = f"{op.type} takes or makes it"
                    lists[value].ops.append((op, graph, place))
    return [each for each in lists.values() if each.ops]


def _same(op: Op, module: Module) -> Iterator[tuple[Value | None, Value | None]]:
    """The pairs of values that are one list if they are lists."""
    inner = list(bodies(op, module))
    loop = op.kind in LOOPS
    for body, offset in inner:
        yield from zip(op.operands[offset:], body.inputs)
        if not loop or body.name == op.attrs["body"].name:
            yield from zip(body.outputs, op.results)
    if loop or op.kind in FORWARDS:
        yield from zip(op.operands, op.results)
    elif not inner:
        handles = [v for v in (*op.operands, *op.results) if v is not None and v.dtype is types.VARIANT]
        yield from ((handles[0], value) for value in handles)


def _rewrite(module: Module, lists: list[_List], report: Report) -> None:
    made = {op: each for each in lists for op, _, _ in each.ops}
    for each in lists:
        assert each.dtype is not None
        for value in each.values:
            value.dtype = each.dtype
            if value.shape is not None and each.element is not None:
                value.shape = (value.shape[0], *each.element)
    for graph in module.graphs():
        ops, graph.ops = graph.ops, []
        for op in ops:
            if op not in made:
                graph.ops.append(op)
                continue
            tf = TfBuilder(graph.ops, op)
            count = len(graph.ops)
            results = _made(tf, op, made[op], graph)
            for old, new in zip(op.results, results):
                replace_uses(old, new)
            if len(graph.ops) == count:
                report.removed(op, "tensor lists", "the list is a tensor")
            detach(op)


def _made(tf: TfBuilder, op: Op, of: _List, graph: Graph) -> list[Value]:
    assert of.element is not None and of.dtype is not None
    if op.kind in _MAKERS:
        index = _MAKERS[op.kind]
        count = tf.ints(0) if index is None else op.operands[index]
        sizes = Sizes(_before(graph, len(graph.ops)))
        dims = [tf.ints(dim) if isinstance(dim, int) else sizes.build(tf, dim) for dim in of.element]
        shape = tf.add("Pack", [count, *dims], {}, types.INT32)
        return [tf.Fill(shape, zero(of.dtype), dtype=of.dtype)]
    made = REWRITES[op.type](tf, op, len(of.element), *op.operands)
    if op.kind == "tf.TensorListSetItem":
        tf.out[-1].attrs["_whole"] = True
    return [made] if isinstance(made, Value) else list(made)
