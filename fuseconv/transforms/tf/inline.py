"""Inline calls: the bodies of the functions that they call stand in their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir import budget
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, copy_graph, replace_uses
from fuseconv.ir.rewriter import replace_op
from fuseconv.pass_manager import module_pass, rewrite_pass
from fuseconv.report.records import Report
from fuseconv.tf.annotated_functions import callee_of, implements
from fuseconv.tf.side_effects import references
from fuseconv.tf.traits import CALLS

# Far beyond any model of any size; forty functions that each call the next one twice would be a million million ops.
_MAX_OPS = 1 << 22
MAX_DEPTH = 100


def inline(module: Module, report: Report, keep: Callable[[Graph], bool] = lambda function: False) -> bool:
    """Inline every call but those of functions that `keep` holds, to any depth and in one walk.

    A function that stays (kept, or the body of a loop or branch) is copied if several ops refer to it, so that every
    function left has one user: shapes and constants can flow into it. An op of a body is named "call/op". Returns
    whether there was a function: each goes, or gets the name of its user.

    Raises InputError for functions that call themselves, or each other too deep or too often to be written out.
    """
    functions = module.functions
    inliner = _Inliner(functions, _count_uses(module), report, keep)
    for signature in module.signatures:
        signature.graph.ops = inliner.expand(signature.graph)
    module.functions = inliner.instances
    if inliner.constants:
        report.record("folded", "constant", inliner.constants, why="an op that needs it holds or reads it")
    return bool(functions)


@module_pass("inline")
def inline_functions(module: Module, report: Report) -> bool:
    """Replace calls by the bodies of their functions, but those of annotated functions: call f(x) -> body of f."""
    changed = inline(module, report, keep=implements)
    report.connect(module)
    return changed


@module_pass("inline-all")
def inline_all(module: Module, report: Report) -> bool:
    """Replace every call by the body of its function, annotated functions too: call f(x) -> body of f."""
    return inline(module, report)


@rewrite_pass("inline-composites", CALLS, revisit=True)
def inline_composites(op: Op, out: list[Op], module: Module, report: Report) -> list[Value] | None:
    """Replace calls of composites that no fusion took by their bodies: call f(x) -> body of f.

    Each function has one user, so it is moved."""
    callee = callee_of(op, module.functions)
    if callee is None:
        return None
    report.removed(op, "inline", f"the body of {callee.name} stands in its place")
    return move_body(callee, op.operands, out)


def move_body(body: Graph, arguments: Sequence[Value | None], out: list[Op]) -> list[Value]:
    """Move the ops of a function that nothing else uses to `out`, on these arguments; return what it returns."""
    for inner, argument in zip(body.inputs, arguments):
        if argument is not None:
            replace_uses(inner, argument)
    results = list(body.outputs)
    out.extend(body.ops)
    body.ops, body.outputs = [], []
    return results


def _count_uses(module: Module) -> Counter[str]:
    """Return how often each function is there when all calls are written out. Raises InputError if that is not
    possible."""
    called = {name: _called(graph, module) for name, graph in module.functions.items()}
    # The ops of each function with all calls written out, and how deep its calls go; callees come first.
    size: dict[str, int] = {}
    depth: dict[str, int] = {}
    for root in module.functions:
        stack = [root]
        open_calls: set[str] = set()
        while stack:
            name = stack[-1]
            waiting = [n for n in called[name] if n not in size] if name not in size else []
            if waiting:
                open_calls.add(name)
                for circular in open_calls.intersection(waiting):
                    raise InputError(f"the function '{circular}' calls itself; TFLite has no recursion.")
                stack += waiting
                continue
            stack.pop()
            open_calls.discard(name)
            size[name] = len(module.functions[name].ops) + sum(size[n] for n in called[name])
            depth[name] = 1 + max((depth[n] for n in called[name]), default=0)
    uses = Counter(name for signature in module.signatures for name in _called(signature.graph, module))
    total = sum(size[name] * count for name, count in uses.items())
    deepest = max(depth.values(), default=0)
    if not budget.allows_operations(total, _MAX_OPS) or deepest > MAX_DEPTH:
        raise InputError(f"the model's functions call each other {deepest} deep, for {total} operations in all.")
    for caller in reversed(size):
        for name in called[caller]:
            uses[name] += uses[caller]
    return uses


def _called(graph: Graph, module: Module) -> list[str]:
    return [name for op in graph.ops if op.attrs for name in references(op) if name in module.functions]


class _Inliner:
    """uses: how often each function is needed. One that is needed once is not copied."""

    def __init__(
        self, functions: dict[str, Graph], uses: Counter[str], report: Report, keep: Callable[[Graph], bool]
    ) -> None:
        self.functions = functions
        self.uses = uses
        self.report = report
        self.keep = keep
        self.instances: dict[str, Graph] = {}
        self.constants: dict[str, None] = {}

    def expand(self, graph: Graph, prefix: str = "") -> list[Op]:
        """Expand the ops of a graph that nothing else uses, with the bodies of calls in their places."""
        self.note_constants(graph, prefix)
        ops: list[Op] = []
        for op in graph.ops:
            if prefix:
                _rename(op, prefix)
            self.report.source(op.name, op.type)
            callee = callee_of(op, self.functions)
            if callee is not None and not self.keep(callee):
                self.replace(op, callee, ops)
                continue
            if op.attrs and references(op):
                op.attrs = {name: self.instantiate(value, op) for name, value in op.attrs.items()}
            ops.append(op)
        return ops

    def replace(self, op: Op, callee: Graph, out: list[Op]) -> None:
        """Put the body of the function that an op calls into the graph that is being built."""
        body = self.instance(callee)
        body.ops = self.expand(body, f"{op.name}/")
        self.report.removed(op, "inline", f"the body of {callee.name} stands in its place")
        replace_op(op, move_body(body, op.operands, out))

    def instance(self, function: Graph) -> Graph:
        """Return a function for one user: itself, or a copy."""
        return function if self.uses[function.name] == 1 else copy_graph(function)

    def note_constants(self, graph: Graph, prefix: str) -> None:
        """Note constants: they are no ops here, but they are nodes of the model, which the report accounts for."""
        for value in graph.constants():
            name = prefix + value.name
            if name not in self.report.sources:
                self.report.source(name, "Const")
                self.constants[name] = None

    def instantiate(self, value: Any, op: Op) -> Any:
        """Instantiate the functions that an op refers to: a reference becomes one to a copy that only this op uses."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.instantiate(item, op) for item in value)
        if not isinstance(value, FuncRef) or value.name not in self.functions:
            return value
        name = f"{value.name}@{op.name}"
        while name in self.instances:
            name += "'"
        graph = self.instances[name] = self.instance(self.functions[value.name])
        graph.name = name
        graph.ops = self.expand(graph, f"{op.name}/")
        return FuncRef(name)


def _rename(op: Op, prefix: str) -> None:
    name = prefix + op.name
    op.name, op.sources = name, (name,)
    if "frame_name" in op.attrs:
        # TF1 knows a loop by its name, which each copy must have for itself.
        op.attrs = {**op.attrs, "frame_name": prefix + op.attrs["frame_name"]}
    for result in op.results:
        result.name = f"{name}:{result.index}" if result.index else name
