"""Find the TensorLists of a module, through loops and branches, and what is known of their elements."""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.types import DType
from fuseconv.tf.operands import content_of
from fuseconv.tf.reify_dims import DimReifier
from fuseconv.tf.shape_functions.tensor_lists import stated
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.tensor_list_rules import REWRITES
from fuseconv.tf.traits import FORWARDS, LOOPS
from fuseconv.transforms.tf.appended_lists import Appends

# Ops that make a list without elements to take its element shape from, with the operand that counts them.
MAKERS = {"tf.TensorListReserve": 1, "tf.EmptyTensorList": None}
# op -> which operand holds what is written, and whether it is elements stacked rather than one element
WRITES = {
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
STATES = {
    "tf.TensorListFromTensor": 1, "tf.TensorListGetItem": 2, "tf.TensorListGather": 2, "tf.TensorListPopBack": 1,
    "tf.TensorListStack": 1, "tf.TensorListReserve": 0, "tf.EmptyTensorList": 0,
}  # fmt: skip
# Ops that take elements of one shape only.
_STACKS = frozenset({"tf.TensorListGather", "tf.TensorListStack"})
# Ops that join elements of any number of rows, and those that a list may have to which elements are only appended.
_JOINS = frozenset({"tf.TensorListConcat", "tf.TensorListConcatV2"})
_JOINED = frozenset(MAKERS) | _JOINS | {"tf.TensorListLength", "tf.TensorListPushBack", "tf.TensorListSetItem"}
_NO_SHAPE = "the shape of its elements is not known where the list is made"
MIXED = "elements of different shapes are written into the list"


class TensorList:
    """The values, of all graphs, that can be one and the same list, and the ops on them.

    ops: each with its graph and where it stands there. why: why the list cannot become a tensor. joined: it becomes the
    tensor of its elements one behind the other, not stacked; `element` is then the shape of a row of these."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.ops: list[tuple[Op, Graph, int]] = []
        self.dtype: DType | None = None
        self.element: Shape | None = None
        self.why = ""
        self.joined = False

    def settle(self, appends: Appends) -> bool:
        """Find the type and shape of the elements; return False if that, or something else, is in the way."""
        if any(value.shape == () for value in self.values):
            self.why = "it is made of a scalar, which has no length"
        if not self.why:
            self._find_dtype()
        if not self.why and not self._find_row(appends):
            self._find_shape()
        return not self.why

    def is_stacked(self) -> bool:
        """Return whether elements of several shapes would be refused: they are stacked, and never concatenated."""
        kinds = {op.kind for op, _, _ in self.ops}
        return not kinds.isdisjoint(_STACKS) and kinds.isdisjoint(_JOINS)

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
        written = [shape for op, _, _ in self.ops if (shape := written_shape(op)) is not None]
        said = [s for op, _, _ in self.ops if (s := stated_shape(op)) is not None]
        if len({len(shape) for shape in (*written, *said)}) > 1:
            self.why = MIXED
        elif written or said:
            rank = len((*written, *said)[0])
            axes = [self._size([shape[axis] for shape in (*written, *said)]) for axis in range(rank)]
            if None in axes:
                self.why = self.why or _NO_SHAPE
            else:
                self.element = tuple(axes)  # type: ignore[arg-type]
        elif any(op.kind in WRITES or (op.kind in STATES and op.kind not in MAKERS) for op, _, _ in self.ops):
            self.why = _NO_SHAPE
        else:
            self.element = ()

    def _find_row(self, appends: Appends) -> bool:
        """Find the shape of a row if elements of different numbers of rows are appended, and joined in the end; return
        whether it was found."""
        kinds = {op.kind for op, _, _ in self.ops}
        if kinds.isdisjoint(_JOINS) or not kinds <= _JOINED:
            return False
        writes = [op for op, _, _ in self.ops if op.kind in WRITES]
        written = [shape for op in writes if (shape := written_shape(op))]
        said = [shape for op, _, _ in self.ops if (shape := stated_shape(op)) is not None]
        shapes = [*written, *said]
        if len(written) < len(writes) or len({len(shape) for shape in shapes}) != 1:
            return False
        counts = {shape[0] for shape in written}
        known = any(isinstance(shape[0], int) for shape in said)
        if known or (len(counts) == 1 and self._size(list(counts)) is not None):
            return False
        if not all(_joins_rows(op) for op, _, _ in self.ops) or not appends.all_of(writes):
            return False
        row = [self._size([shape[axis] for shape in shapes]) for axis in range(1, len(shapes[0]))]
        self.joined = None not in row
        self.element = tuple(row) if self.joined else None  # type: ignore[arg-type]
        return self.joined

    def _size(self, alternatives: list[Dim]) -> Dim | None:
        """Return the size of a dimension that ops agree on and that is known where the list is made, else None."""
        known = {dim for dim in alternatives if isinstance(dim, int)}
        if len(known) > 1:
            self.why = MIXED
            return None
        if known:
            return known.pop()
        makers = [DimReifier(values_before(graph, place)) for op, graph, place in self.ops if op.kind in MAKERS]
        return next((dim for dim in alternatives if all(sizes.knows(dim) for sizes in makers)), None)


def _element_dtype(op: Op) -> DType | None:
    if "element_dtype" in op.attrs:
        return op.attrs["element_dtype"]
    if op.kind in WRITES:
        value = op.operands[WRITES[op.kind][0]]
        return None if value is None else value.dtype
    return op.results[_READS[op.kind]].dtype if op.kind in _READS else None


def _joins_rows(op: Op) -> bool:
    """Return False if an op needs the elements of a list apart: for their number, or that of their rows."""
    if op.kind == "tf.TensorListLength":
        return all(use.kind == "tf.TensorListSetItem" and use.operands[1] is op.result for use in op.result.uses)
    if op.kind not in _JOINS:
        return True
    shape = stated(op.operands[1]) if op.kind == "tf.TensorListConcatV2" and op.operands[1] is not None else None
    return not op.results[1].uses and not (shape and isinstance(shape[0], int))


def written_shape(op: Op) -> Shape | None:
    if op.kind == "tf.TensorListSplit":
        tensor, _, lengths = op.operands
        known = content_of(lengths)
        if tensor is None or tensor.shape is None or known is None or len(set(known)) != 1:
            return None
        return (known[0], *tensor.shape[1:])
    if op.kind not in WRITES:
        return None
    index, stacked = WRITES[op.kind]
    value = op.operands[index]
    if value is None or value.shape is None:
        return None
    return value.shape[1:] if stacked else value.shape


def stated_shape(op: Op) -> Shape | None:
    value = op.operands[STATES[op.kind]] if op.kind in STATES else None
    return None if value is None else stated(value)


def values_before(graph: Graph, place: int) -> Iterator[Value]:
    """Yield the values that a size can be read off at a place.

    What is read from a list is none: when that list becomes a tensor, its sizes get other names, so the lists that need
    them have to come after it."""
    yield from graph.inputs
    for op in graph.ops[:place]:
        if op.type not in REWRITES:
            yield from op.results


def has_variants(module: Module) -> bool:
    """Return whether a module has values that may be lists."""
    for graph in module.graphs():
        for op in graph.ops:
            for result in op.results:
                if result.dtype is types.VARIANT:
                    return True
    return any(value.dtype is types.VARIANT for graph in module.graphs() for value in graph.inputs)


def tensor_lists(module: Module) -> list[TensorList]:
    """Return the lists of a module that are not tensors yet."""
    if not has_variants(module):
        return []
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
    lists: dict[Value, TensorList] = {}
    for value in parents:
        lists.setdefault(root(value), TensorList()).values.append(value)
    for graph in module.graphs():
        for place, op in enumerate(graph.ops):
            touched = {root(value) for value in (*op.operands, *op.results) if value in parents}  # type: ignore[arg-type]
            for value in touched:
                if op.type in REWRITES or op.kind in MAKERS:
                    lists[value].ops.append((op, graph, place))
                elif op.kind not in FORWARDS and not any(True for _ in bodies(op, module)):
                    lists[value].why = f"{op.type} takes or makes it"
                    lists[value].ops.append((op, graph, place))
    return [each for each in lists.values() if each.ops]


def _same(op: Op, module: Module) -> Iterator[tuple[Value | None, Value | None]]:
    """Yield the pairs of values that are one list if they are lists."""
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
