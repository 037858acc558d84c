"""Replaces calls by the bodies of the functions that they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, detach, replace_uses
from fuseconv.passes.effects import references
from fuseconv.report.records import Report

CALLS = frozenset({"tf.PartitionedCall", "tf.StatefulPartitionedCall"})
# Far beyond any model; forty functions that each call the next one twice would be a million million ops.
_MAX_OPS = 1 << 22
_MAX_DEPTH = 100


def inline(module: Module, report: Report, keep: Callable[[Graph], bool] = lambda function: False) -> None:
    """Inlines every call but those of functions that `keep` holds, to any depth and in one walk.

    A function that stays (kept, or the body of a loop or branch) is copied for each op that refers to it, so that every
    function left has one user: shapes and constants can flow into it. An op of a body is named "call/op".

    Raises InputError for functions that call themselves, or each other too deep or too often to be written out.
    """
    _check_calls(module)
    inliner = _Inliner(module.functions, report, keep)
    for signature in module.signatures:
        inliner.expand(signature.graph)
    module.functions = inliner.instances
    if inliner.constants:
        report.record("folded", "constant", inliner.constants, why="an op that needs it holds or reads it")


def dissolve(module: Module, report: Report) -> None:
    """Puts the bodies of the calls that `inline` kept in the calls' places. Each has one user, so it is moved."""
    for graph in module.graphs():
        pending, graph.ops = graph.ops[::-1], []
        while pending:
            op = pending.pop()
            callee = callee_of(op, module.functions)
            if callee is None:
                graph.ops.append(op)
                continue
            moved: list[Op] = []
            for old, new in zip(op.results, move_body(callee, op.operands, moved)):
                replace_uses(old, new)
            pending.extend(moved[::-1])
            report.removed(op, "inline", f"the body of {callee.name} stands in its place")
            detach(op)


def callee_of(op: Op, functions: dict[str, Graph]) -> Graph | None:
    """The function that a call calls; None if the op is no call."""
    reference = op.attrs.get("f") if op.kind in CALLS else None
    return functions.get(reference.name) if isinstance(reference, FuncRef) else None


def implements(graph: Graph) -> bool:
    """True of a function that says which composite it is."""
    return annotation(graph) is not None


def annotation(graph: Graph) -> FuncRef | None:
    """The composite that a function implements, with the annotation's own attributes; None if it implements none."""
    found = graph.attrs.get("_implements")
    return found if isinstance(found, FuncRef) else None


def original(graph: Graph) -> str:
    """The model's name of the function that a kept function is a copy of."""
    return graph.name.partition("@")[0]


def move_body(body: Graph, arguments: Sequence[Value | None], out: list[Op]) -> list[Value]:
    """Moves the ops of a function that nothing else uses to `out`, on these arguments; returns what it returns."""
    for inner, argument in zip(body.inputs, arguments):
        if argument is not None:
            replace_uses(inner, argument)
    results = list(body.outputs)
    out.extend(body.ops)
    body.ops, body.outputs = [], []
    return results


def _check_calls(module: Module) -> None:
    # The ops of each function with all calls written out, and how deep its calls go.
    size: dict[str, int] = {}
    depth: dict[str, int] = {}
    for root in module.functions:
        stack = [root]
        open_calls: set[str] = set()
        while stack:
            name = stack[-1]
            called = [n for op in module.functions[name].ops for n in references(op) if n in module.functions]
            waiting = [n for n in called if n not in size] if name not in size else []
            if waiting:
                open_calls.add(name)
                for circular in open_calls.intersection(waiting):
                    raise InputError(f"The function '{circular}' calls itself; TFLite has no recursion.")
                stack += waiting
                continue
            stack.pop()
            open_calls.discard(name)
            size[name] = len(module.functions[name].ops) + sum(size[n] for n in called)
            depth[name] = 1 + max((depth[n] for n in called), default=0)
    total = sum(size.get(n, 0) for s in module.signatures for op in s.graph.ops for n in references(op))
    deepest = max(depth.values(), default=0)
    if total > _MAX_OPS or deepest > _MAX_DEPTH:
        raise InputError(f"The model's functions call each other {deepest} deep, for {total} operations in all.")


class _Inliner:
    def __init__(self, functions: dict[str, Graph], report: Report, keep: Callable[[Graph], bool]) -> None:
        self.functions = functions
        self.report = report
        self.keep = keep
        self.instances: dict[str, Graph] = {}
        self.constants: dict[str, None] = {}

    def expand(self, graph: Graph) -> None:
        self.note_constants(graph, "")
        ops, graph.ops = graph.ops, []
        for op in ops:
            for old, new in zip(op.results, self.place(op, graph.ops)):
                replace_uses(old, new)

    def place(self, op: Op, out: list[Op]) -> list[Value]:
        """Puts an op into the graph that is being built: as it is, or the body of the function that it calls.

        Returns what stands for its results.
        """
        self.report.source(op.name, op.type)
        callee = callee_of(op, self.functions)
        if callee is None or self.keep(callee):
            op.attrs = {name: self.instantiate(value, op) for name, value in op.attrs.items()}
            out.append(op)
            return op.results
        results = self.copy_body(callee, op.name, op.operands, out)
        self.report.removed(op, "inline", f"the body of {callee.name} stands in its place")
        detach(op)
        return results

    def copy_body(self, body: Graph, prefix: str, arguments: Sequence[Value | None], out: list[Op]) -> list[Value]:
        """Builds the ops of `body` in `out`, on these arguments; returns what the body returns."""
        self.note_constants(body, prefix + "/")
        values: dict[Value, Value | None] = dict(zip(body.inputs, arguments))
        # The loops of TF1 are no functions: a Merge reads what a NextIteration makes further down.
        later: list[tuple[Op, int, Value]] = []
        for op in body.ops:
            name = f"{prefix}/{op.name}"
            copy = Op(op.kind, [_map(values, v) for v in op.operands], dict(op.attrs), name, (name,))
            if "frame_name" in copy.attrs:
                # TF1 knows a loop by its name, which each copy must have for itself.
                copy.attrs["frame_name"] = f"{prefix}/{copy.attrs['frame_name']}"
            later += [(copy, i, v) for i, v in enumerate(op.operands) if v is not None and not _is_known(values, v)]
            for old in op.results:
                copy.add_result(old.dtype, old.shape)
            values.update(zip(op.results, self.place(copy, out)))
        for copy, index, value in later:
            copy.set_operand(index, values[value])
        return [_map(values, v) for v in body.outputs]  # type: ignore[misc]

    def note_constants(self, graph: Graph, prefix: str) -> None:
        """Constants are no ops here, but they are nodes of the model, which the report accounts for."""
        for value in graph.constants():
            name = prefix + value.name
            if name not in self.report.sources:
                self.report.source(name, "Const")
                self.constants[name] = None

    def instantiate(self, value: Any, op: Op) -> Any:
        """A reference to a function becomes one to a copy that only this op uses."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.instantiate(item, op) for item in value)
        if not isinstance(value, FuncRef) or value.name not in self.functions:
            return value
        body = self.functions[value.name]
        name = f"{value.name}@{op.name}"
        while name in self.instances:
            name += "'"
        graph = Graph(name, dict(body.attrs))
        self.instances[name] = graph
        arguments = [graph.add_input(v.dtype, v.shape, v.name) for v in body.inputs]
        graph.outputs = self.copy_body(body, op.name, arguments, graph.ops)
        return FuncRef(name)


def _map(values: dict[Value, Value | None], value: Value | None) -> Value | None:
    """What stands for a value; None also for one that is made further down."""
    return value if value is None or value.is_const else values.get(value)


def _is_known(values: dict[Value, Value | None], value: Value) -> bool:
    return value.is_const or value in values
