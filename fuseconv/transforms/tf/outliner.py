"""Move parts of a graph to functions, where the graph says by its ops alone which parts these are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fuseconv.ir.graph import Graph, Module, Op, Value, copy_op, detach
from fuseconv.ir.rewriter import add_function
from fuseconv.report.records import Report
from fuseconv.tf.side_effects import has_effect
from fuseconv.tf.traits import STEERING


class Outliner:
    """Move parts of a graph to functions. The graph itself changes at the end, in `finish`: what is done for each part
    takes no longer if there are many."""

    def __init__(self, graph: Graph, module: Module, report: Report) -> None:
        self.graph = graph
        self.module = module
        self.report = report
        # Where ops stand in the graph; those made stand where what they replace did.
        self.places = {op: place for place, op in enumerate(graph.ops)}
        self.made: list[Op] = []
        self.gone: set[Op] = set()
        self.known_effects: dict[str, bool] = {}

    def function(self, name: str) -> Graph:
        """Add an empty function to the module."""
        graph = Graph(name)
        add_function(self.module, graph)
        return graph

    def insert(self, ops: list[Op], before: Op) -> None:
        """Put ops before another one, which is about to go."""
        self.made += ops
        self.places.update(dict.fromkeys(ops, self.places[before]))

    def has_effect(self, op: Op) -> bool:
        return has_effect(op, self.module, self.known_effects)

    def drop(self, ops: Iterable[Op]) -> None:
        """Take ops, and then what only they read, out of the graph."""
        pending = [*ops]
        for op in pending:
            if op in self.gone:
                continue
            self.gone.add(op)
            if op.kind in STEERING:
                self.report.removed(op, "functionalize-control-flow", "While and If say the same")
            makers = [value.op for value in op.operands if value is not None and value.op is not None]
            detach(op)
            pending += [maker for maker in makers if self.is_dead(maker)]

    def is_dead(self, op: Op) -> bool:
        return bool(op.results) and not any(result.uses for result in op.results) and not self.has_effect(op)

    def finish(self) -> None:
        """Give the graph the ops that are left, each after those it reads, else as they stood."""
        if not self.made:
            return
        self.drop([op for op in reversed(self.graph.ops) if self.is_dead(op)])
        left = [op for op in (*self.graph.ops, *self.made) if op not in self.gone]
        self.graph.ops = in_order(sorted(left, key=self.places.__getitem__))


class Copy:
    """Build a function's graph from the ops that its outputs need.

    values: what stands for a value in the function. Others that `inside` does not hold for become inputs, through
    `capture`."""

    def __init__(self, graph: Graph, values: dict[Value, Value]) -> None:
        self.graph = graph
        self.values = values
        self.twins: dict[Op, Op] = {}

    def inside(self, value: Value) -> bool:
        """Return whether a value is made in the function."""
        raise NotImplementedError

    def capture(self, value: Value) -> Value:
        """Return the input, or constant, that stands for a value from outside."""
        raise NotImplementedError

    def of(self, value: Value) -> Value:
        """Return the value in the function, with the ops that make it."""
        stack = [value]
        while stack:
            top = stack[-1]
            if top in self.values or top.is_const:
                stack.pop()
            elif top.op is None or not self.inside(top):
                self.values[top] = self.capture(top)
            else:
                missing = [v for v in top.op.operands if v is not None and not v.is_const and v not in self.values]
                if missing:
                    stack += missing
                    continue
                self.copy(top.op)
        return value if value.is_const else self.values[value]

    def copy(self, op: Op) -> None:
        operands = [v if v is None or v.is_const else self.values[v] for v in op.operands]
        twin = copy_op(op, operands)
        for old in op.results:
            self.values[old] = twin.add_result(old.dtype, old.shape)
        self.graph.ops.append(twin)
        self.twins[op] = twin

    def copy_effect(self, op: Op) -> None:
        """Copy an op that nothing may read, and those that make its operands."""
        if op not in self.twins:
            for value in op.operands:
                if value is not None:
                    self.of(value)
            self.copy(op)

    def keep_order(self, places: dict[Op, int]) -> None:
        """Order the function's ops as they stand in the graph: what reads a variable stays before what writes it."""
        self.graph.ops = in_order([self.twins[op] for op in sorted(self.twins, key=places.__getitem__)])


def in_order(ops: list[Op]) -> list[Op]:
    """Return ops in an order in which each comes after those it reads, else as they are."""
    order: list[Op] = []
    entered: set[Op] = set()
    for root in ops:
        stack = [(root, _makers(root))] if root not in entered else []
        entered.add(root)
        while stack:
            op, makers = stack[-1]
            maker = next((maker for maker in makers if maker not in entered), None)
            if maker is None:
                order.append(op)
                stack.pop()
            else:
                entered.add(maker)
                stack.append((maker, _makers(maker)))
    return order


def _makers(op: Op) -> Iterator[Op]:
    """Yield the ops that make the operands of an op, but for those of a loop's next iteration."""
    for index, value in enumerate(op.operands):
        loops_back = op.type == "Merge" and index > 0 and value is not None and made_by(value, "NextIteration")
        if value is not None and value.op is not None and not loops_back:
            yield value.op


def made_by(value: Value | None, kind: str) -> bool:
    return value is not None and value.op is not None and value.op.type == kind
