"""Find the TensorLists of a module, through loops and branches, and what is known of their elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, fresh, is_static
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.types import DType
from fuseconv.tf.operands import content_of
from fuseconv.tf.reify_dims import DimReifier
from fuseconv.tf.shape_functions.tensor_lists import only_length, stated
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
# Ops that make a list with elements, or put some there.
_HOLDING = frozenset({*WRITES, "tf.TensorListSplit"})
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
# The ops of lists onto which elements are pushed, and popped from: gradients' of what a loop's steps computed.
_STACK = frozenset({"tf.EmptyTensorList", "tf.TensorListLength", "tf.TensorListPopBack", "tf.TensorListPushBack"})
# Ops that take elements of one shape only.
_STACKS = frozenset({"tf.TensorListGather", "tf.TensorListStack"})
JOINS = frozenset({"tf.TensorListConcat", "tf.TensorListConcatV2"})
# What becomes of a list to which elements were only appended, and the ops that such a list may have.
_ENDS = JOINS | {"tf.TensorListStack"}
_GROWN = frozenset(MAKERS) | _ENDS | {"tf.TensorListLength", "tf.TensorListPushBack", "tf.TensorListSetItem"}
# Why a list cannot be a tensor that ops take or make which are none of lists.
_FOREIGN = dict.fromkeys(
    ("tf.RaggedTensorFromVariant", "tf.RaggedTensorToVariant"),
    "of ragged tensors only dense rows can go into a loop and come out of it, each with a step; let the function that "
    "is mapped take and return dense tensors (to_tensor, tf.pad), or do without tf.map_fn",
)
NO_SHAPE = "the shape of its elements is not known where the list is made"
MIXED = "elements of different shapes are written into the list"


class TensorList:
    """The values, of all graphs, that can be one and the same list, and the ops on them.

    ops: each with its graph and where it stands there.
    why: why the list cannot become a tensor.
    uniform: TensorFlow refuses elements of several shapes: they are stacked, or their shape is stated where the list
        is made.
    element: the shape of what the tensor has one behind the other.
    form: what that is: "stacked", elements, as many as the list has; "grown", elements that were appended so far; or
        "joined", the rows of these.
    open: sizes of such an element that nothing tells where the list is made.
    count: how many elements a grown list has at least when it is stacked."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.ops: list[tuple[Op, Graph, int]] = []
        self.dtype: DType | None = None
        self.element: Shape | None = None
        self.why = ""
        self.form = "stacked"
        self.uniform = False
        self.open: frozenset[Dim] = frozenset()
        self.count = 0

    def settle(self, appends: Appends) -> bool:
        """Find the type and shape of the elements; return False if that, or something else, is in the way, or they may
        have different numbers of rows where `grow` knows a form for that."""
        if not self.why and any(value.shape == () for value in self.values):
            self.why = "it is made of a scalar, which has no length"
        if not self.why:
            self._find_dtype()
        if not self.why:
            self._find_shape()
        if not self.why and self._is_ragged() and self._is_appended(appends):
            self.why = MIXED
        self.uniform = self._is_uniform()
        return not self.why

    def _kinds(self) -> set[str]:
        return {op.kind for op, _, _ in self.ops}

    def is_stack(self) -> bool:
        """Return whether the elements are those that were pushed, and no others."""
        return self._kinds() <= _STACK

    def _is_ragged(self) -> bool:
        """Return whether elements of different numbers of rows are joined."""
        counts = {shape[0] for op, _, _ in self.ops if op.kind in WRITES and (shape := written_shape(op))}
        return len(counts) > 1 and not self._kinds().isdisjoint(JOINS)

    def _is_uniform(self) -> bool:
        """Return whether TensorFlow refuses elements of several shapes; see `uniform`."""
        if not self._kinds().isdisjoint(_STACKS | JOINS):
            rows = [written_shape(op) for op, _, _ in self.ops if op.kind in WRITES]
            counts = {shape[0] if shape else None for shape in rows}
            # Elements that are joined may differ in their numbers of rows, and nothing else.
            if self._kinds().isdisjoint(JOINS) or (len(counts) == 1 and isinstance(next(iter(counts)), int)):
                return True
        origins = self.origins()
        return bool(origins) and all(is_static(stated_shape(op)) for op in origins)

    def origins(self) -> list[Op]:
        """Return the ops that make the list of no other."""
        return [op for op, _, _ in self.ops if all(v is None or v.dtype is not types.VARIANT for v in op.operands)]

    def _is_appended(self, appends: Appends) -> bool:
        """Return whether the list is written in order, and nothing but stacked or concatenated in the end."""
        kinds, writes = self._kinds(), [op for op, _, _ in self.ops if op.kind in WRITES]
        ends = kinds & _ENDS
        if len(ends) != 1 or not kinds <= _GROWN or not all(_takes_all(op) for op, _, _ in self.ops):
            return False
        if ends == {"tf.TensorListStack"} and self._least() is None:
            return False
        return appends.all_of(writes)

    def _least(self) -> int | None:
        """Return with how many elements the list is made, which are zeros unless they are written."""
        counts = {op.operands[place] if place is not None else None for op, place in self._makers()}
        known = [content_of(count) if count is not None else np.array(0) for count in counts]
        numbers = {None if n is None else n[()] for n in known}
        (number,) = numbers if len(numbers) == 1 else (None,)
        return number if isinstance(number, int) else None

    def _makers(self) -> list[tuple[Op, int | None]]:
        """Return the ops that make the list without elements, with the operand that counts these."""
        return [(op, MAKERS[op.kind]) for op, _, _ in self.ops if op.kind in MAKERS]

    def grow(self, appends: Appends) -> bool:
        """Find a form for a list that is not settled: what was appended so far. Return whether there is one."""
        if self.dtype is None or self.why not in (MIXED, NO_SHAPE) or not self._is_appended(appends):
            return False
        written = [written_shape(op) for op, _, _ in self.ops if op.kind in WRITES]
        said = [shape for op, _, _ in self.ops if (shape := stated_shape(op)) is not None]
        shapes = [*filter(None, written), *said]
        if not written or None in written or len({len(shape) for shape in shapes}) != 1:
            return False
        self.form = "grown" if self._kinds().isdisjoint(JOINS) else "joined"
        axes = list(zip(*shapes))[self.form == "joined" :]
        if any(len({size for size in axis if isinstance(size, int)}) > 1 for axis in axes):
            return False
        sizes = [self._size(list(axis)) for axis in axes]
        self.element = tuple(fresh("element") if size is None else size for size in sizes)
        self.open = frozenset(dim for dim, size in zip(self.element, sizes) if size is None)
        self.count, self.why = self._least() or 0, ""
        return True

    def _find_dtype(self) -> None:
        """Set the type of the elements, or why it is not one that a tensor has."""
        found = {dtype for op, _, _ in self.ops if (dtype := _element_dtype(op)) is not None}
        if any(dtype.is_handle for dtype in found):
            self.why = "it holds lists or other handles"
            return
        if len(found) != 1:
            self.why = "it holds elements of several types" if found else "the type of its elements is not known"
            return
        (self.dtype,) = found

    def _find_shape(self) -> None:
        """Set the shape of the elements, by what is written and what is stated, or why there is none."""
        written = [shape for op, _, _ in self.ops if (shape := written_shape(op)) is not None]
        said = [s for op, _, _ in self.ops if (s := stated_shape(op)) is not None]
        if len({len(shape) for shape in (*written, *said)}) > 1:
            self.why = MIXED
        elif written or said:
            rank = len((*written, *said)[0])
            axes = [self._size([shape[axis] for shape in (*written, *said)]) for axis in range(rank)]
            if None in axes:
                self.why = self.why or NO_SHAPE
            else:
                self.element = tuple(axes)  # type: ignore[arg-type]
        elif any(op.kind in _HOLDING or (op.kind in STATES and op.kind not in MAKERS) for op, _, _ in self.ops):
            self.why = NO_SHAPE
        else:
            self.element = ()

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


def _takes_all(op: Op) -> bool:
    """Return False if an op needs the elements of a list apart: for their number, or that of their rows."""
    if op.kind == "tf.TensorListLength":
        return all(use.kind == "tf.TensorListSetItem" and use.operands[1] is op.result for use in op.result.uses)
    if op.kind not in JOINS:
        return True
    shape = stated(op.operands[1]) if op.kind == "tf.TensorListConcatV2" and op.operands[1] is not None else None
    return not op.results[1].uses and not (shape and isinstance(shape[0], int))


def written_shape(op: Op) -> Shape | None:
    """Return the shape of an element that an op writes into a list; None if it writes none, or one of unknown shape."""
    if op.kind == "tf.TensorListSplit":
        tensor, _, lengths = op.operands
        known = None if lengths is None else only_length(lengths)
        return None if tensor is None or tensor.shape is None or known is None else (known, *tensor.shape[1:])
    if op.kind not in WRITES:
        return None
    index, stacked = WRITES[op.kind]
    value = op.operands[index]
    if value is None or value.shape is None:
        return None
    return value.shape[1:] if stacked else value.shape


def stated_shape(op: Op) -> Shape | None:
    """Return the shape of an element that an op states in its operands; None if it does not."""
    value = op.operands[STATES[op.kind]] if op.kind in STATES else None
    return None if value is None else stated(value)


def values_before(graph: Graph, place: int) -> Iterator[Value]:
    """Yield the values that a size can be read off at a place.

    What is read from a list is none: when that list becomes a tensor, its sizes get other names, so the lists that need
    them have to come after it."""
    yield from graph.inputs
    for op in graph.ops[:place]:
        if not _takes_lists(op):
            yield from op.results


def _takes_lists(op: Op) -> bool:
    """Return whether an op takes or makes lists; AddN and ZerosLike may also be ops on tensors."""
    if op.type not in REWRITES:
        return False
    return any(value is not None and value.dtype is types.VARIANT for value in (*op.operands, *op.results))


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
        while (parent := parents.setdefault(value, value)) is not value:
            parents[value] = parents[parent]  # halves the way there for whoever asks next
            value = parent
        return value

    def unite(a: Value | None, b: Value | None) -> None:
        if a is not None and b is not None and a.dtype is types.VARIANT and b.dtype is types.VARIANT:
            parents[root(a)] = root(b)

    for graph in module.graphs():
        for value in graph.inputs:
            unite(value, value)
        for op in graph.ops:
            for a, b in _aliases(op, module):
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
                    lists[value].why = _FOREIGN.get(op.kind, f"{op.type} takes or makes it")
                    lists[value].ops.append((op, graph, place))
    return [each for each in lists.values() if each.ops]


def _aliases(op: Op, module: Module) -> Iterator[tuple[Value | None, Value | None]]:
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
