"""Remove ops that nobody reads and that leave nothing behind."""

from __future__ import annotations

from operator import attrgetter

from fuseconv.ir.graph import Graph, Module, Op, detach
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.side_effects import bodies, has_effect, is_idle

_USES = attrgetter("uses")


@module_pass("dead-code-elimination", after_changes=True)
def eliminate_dead_code(module: Module, report: Report) -> bool:
    """Drop what nothing reads: y = f(x), return x -> return x. `canonicalize` does so last, and looks at all first."""
    before = [len(graph.ops) for graph in module.graphs()]
    remove_dead_code(module, report)
    return [len(graph.ops) for graph in module.graphs()] != before


def remove_dead_code(module: Module, report: Report) -> None:
    """Drop ops without readers, backwards, so that chains go at once; then functions that nothing refers to."""
    effects: dict[str, bool] = {}
    for graph in module.graphs():
        kept: list[Op] = []
        for op in reversed(graph.ops):
            if any(map(_USES, op.results)):
                kept.append(op)
            elif is_idle(op):
                _drop(op, report, "it only checks, logs or orders")
            elif has_effect(op, module, effects):
                kept.append(op)
            else:
                _drop(op, report, "nothing reads it")
        graph.ops = kept[::-1]
    if not module.functions:
        return
    reached = _reached(module)
    for name, graph in module.functions.items():
        if name not in reached:
            for op in graph.ops:
                _drop(op, report, "the function that holds it is not called")
            graph.outputs = []
    module.functions = {name: graph for name, graph in module.functions.items() if name in reached}


def _drop(op: Op, report: Report, why: str) -> None:
    report.removed(op, "dead code", why)
    detach(op)


def _reached(module: Module) -> set[str]:
    reached: set[str] = set()
    pending: list[Graph] = [signature.graph for signature in module.signatures]
    while pending:
        for op in pending.pop().ops:
            for graph, _ in bodies(op, module):
                if graph.name not in reached:
                    reached.add(graph.name)
                    pending.append(graph)
    return reached
