"""The intermediate representation: values, ops, graphs and the module that holds them.

One IR serves both dialects: an op's kind is "tf.<OpName>" or "tfl.<BUILTIN_NAME>". A graph is a list of ops in an order
in which they can run, which is also the order of side effects. A constant is a value with `data` and no op; it may be
read from any graph of the module.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, Shape, is_empty, is_static
from fuseconv.ir.types import DType

# NumPy has no arrays whose sizes but for zeros make more than this, in bytes of any type.
_MOST_ELEMENTS = ((1 << 63) - 1) // 16


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: real = scale * (stored - zero_point), per tensor or along `axis`.

    blocks: scales of weights [outputs, inputs] in blocks, instead: a constant of float16 [outputs, inputs / size], a
    number for each `size` inputs that follow each other; `scale` and `zero_point` are empty then."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0
    blocks: Value | None = None


@dataclass(frozen=True)
class FuncRef:
    """An attribute that names a function of the module; in `_implements`, an annotation with attributes."""

    name: str
    attrs: dict[str, Any] = field(default_factory=dict, hash=False)


class Value:
    """What an op makes or a graph takes: a tensor, or a handle.

    shape: None if not even the rank is known; dimensions are ints or `Sym`s.
    data: the array of a constant, possibly memory-mapped; never written to.
    content: for a small integer tensor, its elements as ints and `Sym`s (an object array); None if not known.
    variable: a TFLite variable tensor, which keeps its contents from one invoke to the next.
    """

    __slots__ = ("content", "data", "dtype", "index", "name", "op", "quantization", "shape", "uses", "variable")

    def __init__(
        self, dtype: DType, shape: Shape | None, name: str = "", op: Op | None = None, index: int = 0
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name
        self.op = op
        self.index = index
        self.data: np.ndarray | None = None
        self.content: np.ndarray | None = None
        self.quantization: Quantization | None = None
        self.variable = False
        self.uses: dict[Op, int] = {}

    @property
    def is_const(self) -> bool:
        return self.data is not None

    @property
    def stored(self) -> np.ndarray | None:
        """Return the array that a constant is written from: its data, or what a `Product` is made of."""
        return self.data

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        return is_static(self.shape)

    def __repr__(self) -> str:
        shape = "*" if self.shape is None else ",".join(map(str, self.shape))
        return f"<{self.name or '?'}: {self.dtype}[{shape}]{' const' if self.is_const else ''}>"


def constant(data: np.ndarray | Any, dtype: DType | None = None, name: str = "") -> Value:
    """Return a constant value. Data that is no array is converted to `dtype`'s numpy type.

    Raises InputError if the conversion's budget has no room for it."""
    array = data if isinstance(data, np.ndarray) else np.array(data, dtype.numpy if dtype else None)
    budget.charge(array, name)
    value = Value(dtype or types.of_array(array), array.shape, name)
    value.data = array
    return value


def empty_constants(results: Sequence[tuple[DType, Shape | None]], name: str = "") -> list[Value]:
    """Return constants for results that have no elements, whatever they are made of; [] if one may have some.

    Kernels and delegates refuse tensors without elements, each in cases of its own: a constant needs none of them."""
    for dtype, shape in results:
        if shape is None or not is_empty(shape) or dtype.is_handle:
            return []
        if math.prod([size for size in shape if size]) > _MOST_ELEMENTS:  # type: ignore[operator]
            return []
    return [constant(np.empty(shape, dtype.numpy), dtype, name) for dtype, shape in results]  # type: ignore[arg-type]


class Rejection(NamedTuple):
    """Why a pass could not handle an op, which stays for the lowering to refuse.

    why: the reason, in the words of a refusal. hopeless: no kernel could run the op where it stands, TensorFlow's own
    neither; another op may become a CUSTOM one."""

    why: str
    hopeless: bool = False


@functools.lru_cache(maxsize=1024)
def _parts(kind: str) -> tuple[str, str, str]:
    """Split a kind of ops into its dialect and type: the same texts for all such ops, which makes them fast as keys."""
    dialect, _, type = kind.partition(".")
    return kind, dialect, type


# An attribute of ops that only the model knows, and of the CUSTOM ops that stand for such as these: that running the op
# may change what outlives it. So it runs though nothing reads its results, and once for each time it stands there.
STATEFUL = "_stateful"

_edits = 0


def count_edits() -> int:
    """Return how many times an op of any graph was made, or its kind or an operand of it set, since the process
    started: two counts differ if the IR was so changed in between. (What only sets attributes, types, shapes or names,
    or takes ops without operands out of a graph, does not count.)"""
    return _edits


class Op:
    """One operation. Operands may be None where the op allows it to be left out.

    dialect, type: the two parts of its kind: "tf" and "Conv2D", "tfl" and "CONV_2D".
    attrs: the attributes that differ from the op's defaults (type attributes, which the operands tell, are left out).
    sources: the names of the nodes of the model that this op stands for.
    rejection: why the op is to be refused; None if it is not.
    fits: whether the shapes of its results were inferred, from operands that fit together.
    """

    __slots__ = ("attrs", "dialect", "fits", "kind", "name", "operands", "rejection", "results", "sources", "type")

    def __init__(
        self,
        kind: str,
        operands: Sequence[Value | None] = (),
        attrs: dict[str, Any] | None = None,
        name: str = "",
        sources: tuple[str, ...] = (),
    ) -> None:
        global _edits
        _edits += 1
        self.kind, self.dialect, self.type = _parts(kind)
        self.operands: list[Value | None] = list(operands)
        self.attrs = attrs if attrs is not None else {}
        self.results: list[Value] = []
        self.name = name
        self.sources = sources
        self.rejection: Rejection | None = None
        self.fits = False
        for value in self.operands:
            if value is not None:
                uses = value.uses
                uses[self] = uses[self] + 1 if self in uses else 1

    def set_kind(self, kind: str) -> None:
        global _edits
        _edits += kind != self.kind
        self.kind, self.dialect, self.type = _parts(kind)

    @property
    def result(self) -> Value:
        """Return the only, or first, result."""
        return self.results[0]

    def add_result(self, dtype: DType, shape: Shape | None, name: str | None = None) -> Value:
        index = len(self.results)
        if name is None:
            name = self.name if index == 0 else f"{self.name}:{index}"
        value = Value(dtype, shape, name, self, index)
        self.results.append(value)
        return value

    def set_operands(self, operands: Sequence[Value | None]) -> None:
        """Let the op read these values: the use lists of the old operands and of the new ones follow. Counts as an edit
        if they differ."""
        global _edits
        before, self.operands = self.operands, list(operands)
        if before:
            _edits += before != self.operands
            _drop_uses(self, before)
        else:
            _edits += bool(operands)
        for value in self.operands:
            if value is not None:
                uses = value.uses
                uses[self] = uses[self] + 1 if self in uses else 1

    def set_operand(self, index: int, value: Value | None) -> None:
        global _edits
        old = self.operands[index]
        _edits += old is not value
        _drop_uses(self, (old,))
        self.operands[index] = value
        if value is not None:
            value.uses[self] = value.uses.get(self, 0) + 1

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


def _drop_uses(op: Op, operands: Iterable[Value | None]) -> None:
    for value in operands:
        if value is not None:
            uses = value.uses
            if uses[op] == 1:
                del uses[op]
            else:
                uses[op] -= 1


def replace_uses(old: Value, new: Value) -> None:
    """Make every reader of `old` (outputs of graphs too) read `new`."""
    global _edits
    if old is new or not old.uses:
        return
    _edits += 1
    readers = new.uses
    for op, count in old.uses.items():
        operands = op.operands
        if count == 1:
            operands[operands.index(old)] = new
        else:
            operands[:] = [new if value is old else value for value in operands]
        readers[op] = readers.get(op, 0) + count
    old.uses.clear()


def detach(op: Op) -> None:
    """Take an op out of the use lists of its operands, and its results off it: so it needs no search for garbage. The
    caller takes it out of the graph's list."""
    global _edits
    operands, op.operands = op.operands, []
    _edits += bool(operands)
    _drop_uses(op, operands)
    for value in op.results:
        value.op = None


class Graph:
    """A function, or the subgraph of a signature.

    attrs: the function's own attributes, its annotations (`_implements`, `api_implements`) among them.
    The outputs are the operands of a terminator op, so that a use list names every reader.
    """

    def __init__(self, name: str, attrs: dict[str, Any] | None = None) -> None:
        self.name = name
        self.attrs = attrs if attrs is not None else {}
        self.inputs: list[Value] = []
        self.ops: list[Op] = []
        self.terminator = Op("ir.return", name=name)
        self._kinds: tuple[tuple[int, int], frozenset[str]] = (0, 0), frozenset()

    @property
    def kinds(self) -> frozenset[str]:
        """Return the kinds of the ops."""
        # Many passes ask, most of which find nothing to do and change nothing.
        state = _edits, len(self.ops)
        if self._kinds[0] != state:
            self._kinds = state, frozenset([op.kind for op in self.ops])
        return self._kinds[1]

    @property
    def outputs(self) -> list[Value]:
        return self.terminator.operands  # type: ignore[return-value]

    @outputs.setter
    def outputs(self, values: Sequence[Value]) -> None:
        self.terminator.set_operands(values)

    def add_input(self, dtype: DType, shape: Shape | None, name: str) -> Value:
        value = Value(dtype, shape, name)
        self.inputs.append(value)
        return value

    def constants(self) -> Iterator[Value]:
        """Yield each constant that is read, once, in the order of first use."""
        seen: set[Value] = set()
        for op in (*self.ops, self.terminator):
            for value in op.operands:
                if value is not None and value.op is None and value.is_const and value not in seen:
                    seen.add(value)
                    yield value
                    if value.quantization is not None and value.quantization.blocks is not None:
                        yield value.quantization.blocks


def copy_op(op: Op, operands: Sequence[Value | None]) -> Op:
    """Copy an op: another of its kind and attributes, on these operands and without results."""
    copy = Op(op.kind, operands, dict(op.attrs), op.name, op.sources)
    copy.rejection = op.rejection
    return copy


def copy_graph(graph: Graph) -> Graph:
    """Copy a graph, with ops and values of its own. The copy shares the constants, and the functions that its ops refer
    to."""
    copy = Graph(graph.name, dict(graph.attrs))
    values = {value: copy.add_input(value.dtype, value.shape, value.name) for value in graph.inputs}

    def inside(value: Value | None) -> Value | None:
        return value if value is None or value.is_const else values.get(value)

    for op in graph.ops:
        made = copy_op(op, [inside(value) for value in op.operands])
        values.update({old: made.add_result(old.dtype, old.shape, old.name) for old in op.results})
        copy.ops.append(made)
    # The loops of TF1 are no functions: a Merge reads what a NextIteration makes further down.
    for op, made in zip(graph.ops, copy.ops):
        for index, (value, known) in enumerate(zip(op.operands, made.operands)):
            if value is not None and known is None:
                made.set_operand(index, values[value])
    copy.outputs = [inside(value) for value in graph.outputs]  # type: ignore[misc]
    return copy


@dataclass
class Signature:
    """An entry point: its names (several if the model exports one function under several), its graph, and the model's
    own names of inputs and outputs, in the order of the graph's inputs and outputs."""

    names: list[str]
    graph: Graph
    inputs: list[str]
    outputs: list[str]


@dataclass
class Variable:
    """A variable of the model with its value in the checkpoint (None if the checkpoint has none)."""

    name: str
    dtype: DType
    shape: Shape | None
    data: np.ndarray | None = None


@dataclass
class Table:
    """A hash table: its keys and values, as the model's initializer leaves them."""

    name: str
    key_dtype: DType
    value_dtype: DType
    keys: np.ndarray | None = None
    values: np.ndarray | None = None


def _own_attributes(op: Op) -> dict[str, Any]:
    return dict(op.attrs)


@dataclass
class Module:
    """A whole model: signatures, the functions that they call, and what their handles refer to.

    variables and tables: by the name that a handle op carries in its attribute `shared_name`.
    attributes: gives all attributes of a TF op, those too that `Op.attrs` leaves out.
    metadata: of a .tflite file, besides what its writer computes. files: that go with it, by their names.
    has_stablehlo: whether functions of it were imported from StableHLO.
    is_held: whether what its outputs needed as it was loaded was held to what TensorFlow takes, or need not be.
    """

    signatures: list[Signature] = field(default_factory=list)
    functions: dict[str, Graph] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    attributes: Callable[[Op], dict[str, Any]] = _own_attributes
    metadata: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    has_stablehlo: bool = False
    is_held: bool = True

    def graphs(self) -> Iterable[Graph]:
        """Yield the graphs of the signatures, each once, then the functions."""
        yield from dict.fromkeys(signature.graph for signature in self.signatures)
        yield from self.functions.values()

    def take_apart(self) -> None:
        """Take the ops from their operands and results, when the module is done with: in a circle of references they
        would be garbage to search for."""
        for graph in self.graphs():
            for op in (*graph.ops, graph.terminator):
                op.operands = []
                for value in op.results:
                    value.op = None


__all__ = [
    "STATEFUL", "Dim", "FuncRef", "Graph", "Module", "Op", "Quantization", "Rejection", "Shape", "Signature", "Table",
    "Value", "Variable", "constant", "copy_graph", "copy_op", "count_edits", "detach", "replace_uses",
]  # fmt: skip
