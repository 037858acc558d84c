"""Infer how many dimensions an input has where the model does not tell, from what reads it.

Graphs of TF1 often have placeholders of no shape, for a threshold or a factor. Their rank follows backwards from ops
that take one rank only: the condition of a loop is a scalar, so are the operands of what compares for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from fuseconv.ir import dims
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.slice_spec import Insert, Pick, SliceSpec
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.shape_functions.ranks import only_ranks
from fuseconv.tf.traits import BRANCHES, CASES, FORWARDS, LOOPS

_BROADCASTS = frozenset({*(f"tf.{name}" for name in BINARY), "tf.SelectV2", "tf.ClipByValue"})
_ALIKE = FORWARDS | {f"tf.{name}" for name in UNARY}


@module_pass("infer-input-ranks")
def infer_input_ranks(module: Module, report: Report) -> bool:
    """Give inputs of unknown rank the one that their uses show, and warn: x: float32[*], Range(x, ...) -> x: float32[].

    Expects functions with one user each. Returns whether a shape changed."""
    unknown = [
        (name, value)
        for signature in module.signatures
        for name, value in zip(signature.inputs, signature.graph.inputs)
        if value.shape is None and not value.dtype.is_handle
    ]
    if not unknown:
        return False
    ranks = _Ranks(module)
    ranks.spread()
    ranks.suppose(value for _, value in unknown)
    for name, value in unknown:
        rank = ranks.of(value)
        if rank is not None:
            value.shape = tuple(dims.symbol(f"{name}.{axis}") for axis in range(rank))
            form = "a scalar" if rank == 0 else f"a tensor of rank {rank}"
            report.warnings.append(
                f"the model does not tell the rank of its input {name}; it is used as {form}, and taken for one"
                f" (--input-shape {name}=... says otherwise)"
            )
    return any(value.shape is not None for _, value in unknown)


class _Ranks:
    """The ranks of values, as ops demand them. Values that have one rank together are a class, told by its root."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parents: dict[Value, Value] = {}
        self.known: dict[Value, int] = {}
        # Classes of which the ops say different things.
        self.odd: set[Value] = set()
        self.readers: defaultdict[Value, list[Op]] = defaultdict(list)
        self.news: list[Value] = []
        self._told: set[Value] = set()
        for graph in module.graphs():
            for op in graph.ops:
                for one, other in self._alike(op):
                    self._join(one, other)
        for graph in module.graphs():
            for value in graph.inputs:
                self._learn(value, value.rank)
            for op in graph.ops:
                self._read(op)

    def of(self, value: Value) -> int | None:
        """Return the rank of a value; None if nothing tells it, or ops contradict each other."""
        root = self._root(value)
        return None if root in self.odd else self.known.get(root)

    def spread(self) -> None:
        """Follow what is known through the ops until nothing is new."""
        while self.news:
            for op in self.readers.get(self.news.pop(), ()):
                for value, rank in self._consequences(op):
                    self._learn(value, rank)

    def suppose(self, values: Iterable[Value]) -> None:
        """Suppose that those of the values of which single elements are read, x[0] or x[1, 2], have no more
        dimensions, where nothing tells."""
        for value in values:
            if self.of(value) is None:
                for op in self.readers.get(self._root(value), ()):
                    spec = SliceSpec.of(op)
                    if spec is not None and spec.entries and all(isinstance(entry, Pick) for entry in spec.entries):
                        self._learn(value, len(spec.entries))
                self.spread()

    def _root(self, value: Value) -> Value:
        while (parent := self.parents.get(value)) is not None:
            if (above := self.parents.get(parent)) is not None:
                self.parents[value] = above
            value = parent
        return value

    def _join(self, one: Value | None, other: Value | None) -> None:
        if one is not None and other is not None:
            first, second = self._root(one), self._root(other)
            if first is not second:
                self.parents[first] = second

    def _learn(self, value: Value | None, rank: int | None) -> None:
        if value is None or rank is None or rank < 0:
            return
        root = self._root(value)
        if self.known.setdefault(root, rank) != rank:
            self.odd.add(root)
        elif root not in self.odd and root not in self._told:
            self._told.add(root)
            self.news.append(root)

    def _read(self, op: Op) -> None:
        """Note who reads what, and what the op says of its operands by itself."""
        values = [value for value in (*op.operands, *op.results) if value is not None]
        for root in {self._root(value) for value in values}:
            self.readers[root].append(op)
        for value in values:
            self._learn(value, value.rank)
        for operand, rank in zip(op.operands, only_ranks(op)):
            self._learn(operand, rank)
        if op.kind in LOOPS:
            self._learn(self._function(op, "cond").outputs[0], 0)
        elif op.kind in BRANCHES | CASES:
            self._learn(op.operands[0], 0)

    def _alike(self, op: Op) -> Iterator[tuple[Value | None, Value | None]]:
        """Yield pairs of values that have one rank."""
        if op.kind in _ALIKE:
            yield from zip(op.operands, op.results)
        elif op.kind in LOOPS:
            body, condition = self._function(op, "body"), self._function(op, "cond")
            for carried in (body.inputs, condition.inputs, body.outputs, op.results):
                yield from zip(op.operands, carried)
        elif op.kind in BRANCHES | CASES:
            for side in self._sides(op):
                yield from zip(op.operands[1:], side.inputs)
                yield from zip(op.results, side.outputs)

    def _consequences(self, op: Op) -> Iterator[tuple[Value | None, int | None]]:
        """Yield what the ranks that are known say of others."""
        if op.kind in _BROADCASTS:
            ranks = [self.of(value) if value is not None else None for value in op.operands]
            if self.of(op.result) == 0:
                yield from ((value, 0) for value in op.operands)
            elif None not in ranks:
                yield op.result, max(ranks)  # type: ignore[type-var]
        elif op.kind == "tf.Pack":
            inside = next((rank for value in op.operands if value and (rank := self.of(value)) is not None), None)
            whole = self.of(op.result)
            yield from ((value, None if whole is None else whole - 1) for value in op.operands)
            yield op.result, None if inside is None else inside + 1
        elif op.kind == "tf.StridedSlice":
            yield op.operands[0], self._sliced_rank(op)

    def _sliced_rank(self, op: Op) -> int | None:
        """Return the rank of what is sliced, from that of the slice."""
        spec, rank = SliceSpec.of(op), self.of(op.result)
        if spec is None or rank is None:
            return None
        picked = sum(isinstance(entry, Pick) for entry in spec.entries)
        return rank + picked - sum(isinstance(entry, Insert) for entry in spec.entries)

    def _function(self, op: Op, name: str) -> Graph:
        return self.module.functions[op.attrs[name].name]

    def _sides(self, op: Op) -> list[Graph]:
        if op.kind in CASES:
            return [self.module.functions[branch.name] for branch in op.attrs["branches"]]
        return [self._function(op, name) for name in ("then_branch", "else_branch")]
