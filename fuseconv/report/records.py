"""Conversion records: the fate of each op of the model, and the origin of each op of the file."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.tfl.arena import Arena, Subgraph, arena, better_plan, of_graphs

# How the sentence of a composite begins whose body and fused op were run against each other.
AGREES = ("the body agrees", "the pattern agrees")
# From the strongest claim to the weakest: an op that was fused and whose remains were removed counts as fused.
KINDS = ("unsupported", "fused", "lowered", "folded", "removed", "refused")
_MOST_SCOPES = 100  # between an op and the function that it stood in


class Record(NamedTuple):
    """One thing that happened to ops of the model.

    kind: `fused` into a TFLite op by a fusion, `lowered` by a rule, `folded` into a constant, `removed` without a
        trace, `unsupported`; `refused` says that a fusion was not made and does not account for an op.
    rule: the fusion, rule or pass that did it. sources: names of nodes of the model. emitted: types of TFLite ops.
    why: a sentence for a person; empty where the kind says all. expected: of what is refused, whether a person expects
    a fusion there: of a composite, a recurrent layer, or one that was asked for.
    """

    kind: str
    rule: str
    sources: tuple[str, ...]
    emitted: tuple[str, ...] = ()
    why: str = ""
    expected: bool = False


@dataclass(frozen=True)
class EmittedOp:
    """An op of the file: its subgraph and index there, its type (the code of a custom one), and the nodes of the model
    that it was built from.

    bytes: of the constants that no op before it reads."""

    subgraph: int
    index: int
    type: str
    sources: tuple[str, ...]
    bytes: int = 0
    custom: bool = False


class Tensor(NamedTuple):
    """An input or output of the file. shape: -1 for a size that is not fixed; None if not even the rank is known."""

    name: str
    type: str
    shape: tuple[int, ...] | None


class Ends(NamedTuple):
    """What a subgraph that a runtime runs takes and gives. names: of its signatures; () where the file has none."""

    names: tuple[str, ...]
    inputs: list[Tensor]
    outputs: list[Tensor]


class PassRun(NamedTuple):
    """One run of a pass: its seconds, and how many edits of ops it made (0: it left the module as it was)."""

    name: str
    seconds: float
    changes: int


class Quantized(NamedTuple):
    """What quantization made of a constant, or of an op.

    op: the type of the op (of the first that reads the constant). name: the constant's tensor, or empty for the op
    itself. type: in which it is stored, or computed ("float32" where it stayed). before, after: bytes of the constant.
    why: why it stayed float; else empty. sources: the nodes of the model."""

    op: str
    name: str
    type: str
    before: int
    after: int
    why: str
    sources: tuple[str, ...]


class ComparedOp(NamedTuple):
    """An op beside what it was in floats.

    tensor: its first result. type: of what it computes on, and of its weights where these differ. before, after: bytes
    of the constants that it reads. why: why it stayed float; else empty. error: how its result differs (see
    `TensorError` in `quantize/tensor_errors.py`); None where that was not measured. sources: the nodes of the model."""

    op: str
    tensor: str
    type: str
    before: int
    after: int
    why: str
    error: dict[str, Any] | None
    sources: tuple[str, ...]


class Compared(NamedTuple):
    """A quantized file beside that of floats. samples: how many ran; held_back: whether others than those that ranges
    were measured on."""

    samples: int
    held_back: bool
    ops: list[ComparedOp]


class Cut(NamedTuple):
    """The tensors at which a signature was cut: their names in full, by the names that the user gave."""

    inputs: dict[str, str]
    outputs: dict[str, str]


@dataclass(repr=False)
class Report:
    """Collect records while a model is converted."""

    # The paths as they were given; the output is empty where the bytes are returned instead.
    model: str = ""
    output: str = ""
    # Each node of the model with its op type.
    sources: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    emitted: list[EmittedOp] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # What the target makes of the file, and the ops that were written in other forms for it, by their type and those of
    # their forms.
    target: dict[str, Any] | None = None
    rewritten: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    # Bytes needed at once, before and after ops were written in other forms; and before and after they were tiled.
    arena_for_target: tuple[int, int] | None = None
    arena_of_tiles: tuple[int, int] | None = None
    # By stage.
    seconds: dict[str, float] = field(default_factory=dict)
    output_bytes: int = 0
    # Their runs, in order.
    passes: list[PassRun] = field(default_factory=list)
    # Where the signature was cut; new names of inputs and outputs, by the old ones; the least and the largest number of
    # inputs: as far as the user asked.
    cut: Cut = field(default_factory=lambda: Cut({}, {}))
    renamed: dict[str, str] = field(default_factory=dict)
    input_ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    # What quantization did, in order; and the quantized ops beside those of floats, if that was asked for.
    quantized: list[Quantized] = field(default_factory=list)
    compared: Compared | None = None
    # Whether the names that each node reads are wanted, and these.
    graph: bool = False
    edges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # What the file takes and gives.
    signatures: list[Ends] = field(default_factory=list)
    # By which the arena is planned, and whether an input has unknown sizes, which count as 1 there.
    subgraphs: list[Subgraph] = field(default_factory=list)
    dynamic: bool = False
    # Whether the file brings a plan of its own.
    plans_arena: bool = False
    # Whether tensors between inputs and outputs have no names, as in C arrays, and what that saves.
    strips_names: bool = False
    bytes_of_names: int = 0
    # Of the text of a C array.
    bytes_of_c: int = 0
    # What each fusion does, in a sentence.
    summaries: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        nodes = f"{len(self.sources)} nodes -> {len(self.emitted)} ops, {sum(self.fusions.values())} fusions"
        return f"<Report of {self.model or 'a model'}: {nodes}{warned}>"

    def __str__(self) -> str:
        """Return what the command line prints of a conversion, and the warnings."""
        from fuseconv.report.tables import conversion_text  # which tells of this class

        return conversion_text(self)

    @property
    def fusions(self) -> Counter[str]:
        """Return how often each fusion was made, by its name."""
        return Counter(record.rule for record in self.records if record.kind == "fused")

    def source(self, name: str, type: str) -> None:
        """Register a node of the model; `account` must know its fate in the end."""
        self.sources[name] = type

    def record(self, kind: str, rule: str, sources: Iterable[str], emitted: Iterable[str] = (), why: str = "") -> None:
        self.records.append(Record(kind, rule, tuple(sources), tuple(emitted), why))

    def refused(self, rule: str, sources: Iterable[str], why: str, expected: bool = False) -> None:
        """Record that a fusion was tried and not made. expected: see `Record`."""
        self.records.append(Record("refused", rule, tuple(sources), (), why, expected))

    def forget_refusals(self, rules: Iterable[str]) -> None:
        """Take back that these fusions were refused."""
        names = set(rules)
        self.records = [record for record in self.records if record.kind != "refused" or record.rule not in names]

    def removed(self, op: Op, rule: str, why: str) -> None:
        """Record that an op of the model is gone; records nothing for an op without source nodes."""
        if op.sources:
            self.record("removed", rule, op.sources, why=why)

    def ran(self, name: str, seconds: float, changes: int) -> None:
        """Record one run of a pass."""
        self.passes.append(PassRun(name, seconds, changes))

    def quantize(self, op: Op, name: str, type: str, before: int = 0, after: int = 0, why: str = "") -> None:
        """Record what quantization made of a constant that an op reads, or of the op itself if `name` is empty."""
        self.quantized.append(Quantized(op.type, name, type, before, after, why, op.sources))

    def pass_totals(self) -> list[tuple[str, int, int, float]]:
        """Return the name of each pass with the number of its runs, its changes and its seconds, in order."""
        totals: dict[str, tuple[int, int, float]] = {}
        for run in self.passes:
            runs, changes, seconds = totals.get(run.name, (0, 0, 0.0))
            totals[run.name] = runs + 1, changes + run.changes, seconds + run.seconds
        return [(name, *total) for name, total in totals.items()]

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to the stage's."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @contextlib.contextmanager
    def rewriting(self, module: Module, rule: str, why: str) -> Iterator[None]:
        """Record as removed, with this reason, the nodes that are in the module as the block begins, or become known in
        it, and are not in the end, except those that the block itself records. For passes that put a whole construct
        into another form."""
        before, known, recorded = _sources(module), len(self.sources), list(self.records)
        yield
        told = set(map(id, recorded))
        said = [record.sources for record in self.records if id(record) not in told]
        gone = self.sources.keys() - set().union(*_sources(module), *said)
        if gone:
            gone &= set().union(*before, islice(self.sources, known, None))
        if gone:
            self.record("removed", rule, [name for name in self.sources if name in gone], why=why)

    def account(self) -> dict[str, str]:
        """Return the fate of each node of the model: the strongest kind among its records; "" if there is none."""
        fates = dict.fromkeys(self.sources, "")
        rank = {kind: index for index, kind in enumerate(KINDS)} | {"": len(KINDS)}
        for record in self.records:
            if record.kind == "refused":
                continue
            for name in record.sources:
                if name in fates and rank[record.kind] < rank[fates[name]]:
                    fates[name] = record.kind
        return fates

    def totals(self) -> Counter[str]:
        """Return how many nodes of the model met each fate."""
        return Counter(self.account().values())

    def connect(self, module: Module) -> None:
        """Note what each node of the model reads, if that is wanted: the model is inlined, and nothing else yet."""
        if not self.graph:
            return
        for graph in module.graphs():
            for op in graph.ops:
                read = (self._node(value, op) for value in op.operands if value is not None)
                self.edges[op.name] = tuple(name for name in read if name)

    def finish(self, module: Module, graphs: Sequence[Graph], stored: Callable[[Value], tuple[int, int]]) -> None:
        """Note the ops that were written, and the ends of signatures.

        graphs: the subgraphs of the file. stored: the buffer of a constant, which equal ones share, and its bytes."""
        counted: set[int] = set()
        self.emitted = [
            EmittedOp(
                number, index, op.attrs.get("custom_code", op.type), op.sources, _first_read(op, counted, stored),
                op.type == "CUSTOM",
            )
            for number, graph in enumerate(graphs)
            for index, op in enumerate(graph.ops)
        ]  # fmt: skip
        self.signatures = [
            Ends(
                tuple(signature.names), _tensors(signature.inputs, signature.graph.inputs),
                _tensors(signature.outputs, signature.graph.outputs),
            )
            for signature in module.signatures
        ]  # fmt: skip

        self.subgraphs = of_graphs(graphs, module.functions)
        self.dynamic = any(not value.is_static for graph in graphs[:1] for value in graph.inputs)

    @functools.cached_property
    def arena(self) -> Arena | None:
        """Return what the activations of the file take; see `tfl/arena.py`."""
        found = arena(self.subgraphs)
        plan = better_plan(self.subgraphs) if self.plans_arena and not self.dynamic else None
        return found if found is None or plan is None else found._replace(size=plan[0])

    def _node(self, value: Value, reader: Op) -> str:
        """Return the node that makes a value: an op, or a constant of the function that the reader stood in; "" if that
        is not known."""
        if value.op is not None:
            return value.op.name if value.op.name in self.sources else ""
        scope = reader.name
        for _ in range(_MOST_SCOPES):
            scope = scope.rpartition("/")[0]
            name = f"{scope}/{value.name}" if scope else value.name
            if name in self.sources or not scope:
                return name if name in self.sources else ""
        return ""


def _first_read(op: Op, counted: set[int], stored: Callable[[Value], tuple[int, int]]) -> int:
    """Return the bytes of the constants that an op is the first to read, which are counted then."""
    total = 0
    for value in op.operands:
        if value is not None and value.op is None and value.is_const:
            buffer, size = stored(value)
            total += 0 if buffer in counted else size
            counted.add(buffer)
    return total


def _tensors(names: Iterable[str], values: Iterable[Value]) -> list[Tensor]:
    return [Tensor(name, value.dtype.name, _sizes(value.shape)) for name, value in zip(names, values)]


def _sizes(shape: Shape | None) -> tuple[int, ...] | None:
    return None if shape is None else tuple(size if isinstance(size, int) else -1 for size in shape)


def _sources(module: Module) -> list[tuple[str, ...]]:
    """Return the nodes of the model from which each op of the module was built."""
    return [op.sources for graph in module.graphs() for op in graph.ops]
