"""Takes out of loops and branches what does not depend on them."""

from __future__ import annotations

from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, detach, replace_uses
from fuseconv.passes.inline import move_body
from fuseconv.report.records import Report

LOOPS = frozenset({"tf.While", "tf.StatelessWhile"})
_BRANCHES = frozenset({"tf.If", "tf.StatelessIf"})


def prune_control_flow(module: Module, report: Report) -> None:
    """Loops carry only what changes: an invariant that is constant moves into the body, one that nobody reads (a frozen
    variable's handle, say) goes. A branch on a constant becomes the branch taken."""
    for graph in list(module.graphs()):
        ops, graph.ops = graph.ops, []
        for op in ops:
            if op.kind in LOOPS:
                _prune_loop(op, module)
            if op.kind in _BRANCHES and op.operands[0] is not None and op.operands[0].is_const:
                _take_branch(op, graph, module, report)
            else:
                if op.kind in _BRANCHES:
                    _prune_branches(op, module)
                graph.ops.append(op)


def _prune_loop(op: Op, module: Module) -> None:
    cond, body = (module.functions[op.attrs[name].name] for name in ("cond", "body"))
    dropped: set[int] = set()
    for index, operand in enumerate(op.operands):
        assert operand is not None
        inside, outside = body.inputs[index], cond.inputs[index]
        if body.outputs[index] is not inside:
            continue
        replace_uses(op.results[index], operand)
        own_uses = inside.uses.get(body.terminator, 0) == 1 and len(inside.uses) == 1
        if operand.is_const:
            for value in (inside, outside):
                for reader in list(value.uses):
                    if reader is not body.terminator:
                        _replace_operand(reader, value, operand)
            dropped.add(index)
        elif own_uses and not outside.uses:
            dropped.add(index)
    if dropped:
        keep = [i for i in range(len(op.operands)) if i not in dropped]
        body.outputs = [body.outputs[i] for i in keep]
        for graph in (cond, body):
            graph.inputs = [graph.inputs[i] for i in keep]
        _keep_results(op, keep)
        op.set_operands([op.operands[i] for i in keep])


def _prune_branches(op: Op, module: Module) -> None:
    """Constants move into the branches; operands and results that nobody reads go."""
    graphs = [module.functions[op.attrs[name].name] for name in ("then_branch", "else_branch")]
    keep: list[int] = []
    for index, operand in enumerate(op.operands[1:]):
        assert operand is not None
        inner = [graph.inputs[index] for graph in graphs]
        if operand.is_const:
            for value in inner:
                replace_uses(value, operand)
        if any(value.uses for value in inner):
            keep.append(index)
    for graph in graphs:
        graph.inputs = [graph.inputs[i] for i in keep]
    op.set_operands([op.operands[0], *(op.operands[i + 1] for i in keep)])
    read = [i for i, result in enumerate(op.results) if result.uses]
    for graph in graphs:
        graph.outputs = [graph.outputs[i] for i in read]
    _keep_results(op, read)


def _take_branch(op: Op, graph: Graph, module: Module, report: Report) -> None:
    condition = op.operands[0].data  # type: ignore[union-attr]
    taken = bool(condition.size) if condition.ndim else bool(condition)  # type: ignore[union-attr]
    name = "then_branch" if taken else "else_branch"
    reference: FuncRef = op.attrs[name]
    results: list[Value] = move_body(module.functions[reference.name], op.operands[1:], graph.ops)
    for old, new in zip(op.results, results):
        replace_uses(old, new)
    report.removed(op, "constant branch", f"its condition is constant; {reference.name} stands in its place")
    detach(op)


def _replace_operand(reader: Op, old: Value, new: Value) -> None:
    for index, operand in enumerate(reader.operands):
        if operand is old:
            reader.set_operand(index, new)


def _keep_results(op: Op, keep: list[int]) -> None:
    op.results = [op.results[i] for i in keep]
    for index, result in enumerate(op.results):
        result.index = index
