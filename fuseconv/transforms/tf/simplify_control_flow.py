"""Branches and loops as TFLite has them: cases as branches, conditions as bools, only what changes carried."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.facts import NO_TF1_CONTROL_FLOW
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.types import BOOL, INT32, STRING
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.folders import evaluate
from fuseconv.tf.side_effects import is_repeatable
from fuseconv.tf.traits import BRANCHES, EMPTY_LISTS, FORWARDS, LOOPS
from fuseconv.transforms.tf.inline import move_body

_CASES = {"tf.Case": "tf.If", "tf.StatelessCase": "tf.StatelessIf"}
_LOGIC = frozenset({"tf.Equal", "tf.LogicalAnd", "tf.LogicalNot", "tf.LogicalOr", "tf.NotEqual"})
# Constants up to this size are compared by their contents, larger ones by identity.
_SMALL_BYTES = 256


@module_pass("simplify-control-flow", requires=(NO_TF1_CONTROL_FLOW,))
def simplify_control_flow(module: Module, report: Report) -> None:
    """Reduce control flow to what TFLite has: Case -> If, If(True) -> then_branch, invariants out of a loop's operands.

    A loop carries only what changes: an invariant that is constant moves into the body, and one that nobody reads (a
    frozen variable's handle, say) goes. Conditions become bools."""
    for graph in list(module.graphs()):
        _nest_cases(graph, module)
    for graph in list(module.graphs()):
        _express_conditions(graph, module)
    graphs = list(module.graphs())
    # Constants go into functions from where these are run; what these do not read, they need not be given.
    for graph in (*graphs, *reversed(graphs)):
        ops, graph.ops = graph.ops, []
        for op in ops:
            if op.kind in LOOPS:
                _prune_loop(op, module)
            if op.kind in BRANCHES and op.operands[0] is not None and op.operands[0].is_const:
                _take_branch(op, graph, module, report)
            else:
                if op.kind in BRANCHES:
                    _prune_branches(op, module)
                graph.ops.append(op)


def has_known_branch(module: Module) -> bool:
    """Whether there is a branch on a constant."""
    branches = (op.operands[0] for graph in module.graphs() for op in graph.ops if op.kind in BRANCHES)
    return any(condition is not None and condition.is_const for condition in branches)


@module_pass("fold-default-branches", requires=(NO_TF1_CONTROL_FLOW,))
def fold_default_branches(module: Module, report: Report) -> None:
    """Take the default side of a branch that nobody feeds: If(PlaceholderWithDefault(True)) -> then_branch.

    This comes before variables are looked at: what the other side writes is never written."""
    pending = list(module.graphs())
    while pending:
        graph = pending.pop()
        ops, graph.ops = graph.ops, []
        for op in ops:
            known = _default(op.operands[0]) if op.kind in BRANCHES else None
            if known is None:
                graph.ops.append(op)
                continue
            op.set_operand(0, constant(known, types.of_array(known), op.name))
            _take_branch(op, graph, module, report)
            # There may be branches in what has been put there.
            pending += [graph] if graph not in pending else []


def _default(value: Value | None) -> np.ndarray | None:
    """What a condition is if nobody feeds it anything else; None if that is not known."""
    if value is None or value.is_const or value.op is None:
        return None if value is None else value.data
    if value.op.kind in FORWARDS:
        return _default(value.op.operands[value.index])
    operands = [_default(operand) for operand in value.op.operands] if value.op.kind in _LOGIC else [None]
    known = [operand for operand in operands if operand is not None]
    made = evaluate(value.op, known) if len(known) == len(operands) else None
    return None if made is None else made[0]


def _nest_cases(graph: Graph, module: Module) -> None:
    """A case becomes a branch on whether its index is 0, with the other branches nested in its second side.

    An index out of range takes the last branch."""
    for op in graph.ops:
        if op.kind not in _CASES:
            continue
        branches: list[FuncRef] = op.attrs.pop("branches")
        op.set_kind(_CASES[op.kind])
        index = op.operands[0]
        assert index is not None
        for reference in branches:
            # Both sides of a branch take the same operands.
            body = module.functions[reference.name]
            body.inputs.insert(0, Value(index.dtype, index.shape, "index"))
        last = branches.pop()
        for number in range(len(branches) - 1, 0, -1):
            last = _side(op, number, branches[number], last, module)
        made: list[Op] = []
        condition = _is_number(TfBuilder(made, op), index, 0) if branches else constant(False, BOOL, op.name)
        op.set_operands([condition, *op.operands])
        op.attrs |= {"then_branch": branches[0] if branches else last, "else_branch": last}
        place = graph.ops.index(op)
        graph.ops[place:place] = made


def _side(case: Op, number: int, then: FuncRef, other: FuncRef, module: Module) -> FuncRef:
    """A function that takes a case's operands and runs `then` if the index is `number`, else `other`."""
    name = f"{case.name}/branch{number}"
    while name in module.functions:
        name += "'"
    graph = module.functions[name] = Graph(name)
    inputs = [graph.add_input(v.dtype, v.shape, v.name) for v in case.operands if v is not None]
    condition = _is_number(TfBuilder(graph.ops, case), inputs[0], number)
    attrs = {"then_branch": then, "else_branch": other}
    branch = Op(case.kind, [condition, *inputs], attrs, case.name, case.sources)
    for result in case.results:
        branch.add_result(result.dtype, result.shape)
    graph.ops.append(branch)
    graph.outputs = branch.results
    return FuncRef(name)


def _is_number(tf: TfBuilder, index: Value, number: int) -> Value:
    return tf.Equal(index, constant(number, index.dtype), dtype=BOOL)


def _express_conditions(graph: Graph, module: Module) -> None:
    """Conditions become bools: a number holds unless it is 0, and what is no scalar unless it is empty."""
    ops, graph.ops = graph.ops, []
    for op in ops:
        if op.kind in LOOPS:
            cond = module.functions[op.attrs["cond"].name]
            cond.outputs = [_truth(TfBuilder(cond.ops, op), cond.outputs[0])]
        elif op.kind in BRANCHES and op.operands[0] is not None:
            op.set_operand(0, _truth(TfBuilder(graph.ops, op), op.operands[0]))
        graph.ops.append(op)


def _truth(tf: TfBuilder, condition: Value) -> Value:
    if condition.is_const or condition.rank is None or condition.dtype.is_handle:
        return condition
    if condition.rank > 0:
        return tf.Greater(tf.Size(condition, dtype=INT32), 0, dtype=BOOL)
    if condition.dtype is BOOL or condition.dtype is STRING:
        return condition
    return tf.NotEqual(condition, constant(0, condition.dtype), dtype=BOOL)


def _prune_loop(op: Op, module: Module) -> None:
    cond, body = (module.functions[op.attrs[name].name] for name in ("cond", "body"))
    dropped = _unite_variables(op, cond, body)
    for index, operand in enumerate(op.operands):
        assert operand is not None
        inside, outside = body.inputs[index], cond.inputs[index]
        if body.outputs[index] is not inside or index in dropped:
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
        makers = {body.outputs[i].op for i in dropped}
        body.outputs = [body.outputs[i] for i in keep]
        dead = {made for made in makers if made is not None and not any(result.uses for result in made.results)}
        for made in dead:
            detach(made)
        body.ops = [inner for inner in body.ops if inner not in dead]
        for graph in (cond, body):
            graph.inputs = [graph.inputs[i] for i in keep]
        _keep_results(op, keep)
        op.set_operands([op.operands[i] for i in keep])


def _unite_variables(op: Op, cond: Graph, body: Graph) -> set[int]:
    """Lets variables that start from the same, and of which each step makes the same, be one; returns those that nobody
    reads any more."""
    known: dict[Any, int] = {}
    united: set[int] = set()
    for index, (inside, made) in enumerate(zip(body.inputs, body.outputs)):
        start = _start(op.operands[index])
        keys = (start, id(made)), (start, _made_of(inside, made))
        first = min((known[key] for key in keys if key in known), default=index)
        known |= dict.fromkeys(keys, first)
        if first != index:
            for graph in (body, cond):
                replace_uses(graph.inputs[index], graph.inputs[first])
            replace_uses(op.results[index], op.results[first])
            united.add(index)
    return united


def _start(value: Value | None) -> Any:
    """What two values have in common only if they are the same: lists without elements too."""
    if value is not None and value.data is not None and value.data.nbytes <= _SMALL_BYTES:
        return value.dtype.name, value.data.shape, value.data.tobytes()
    if value is not None and value.op is not None and value.op.kind in EMPTY_LISTS:
        return value.op.kind, _attributes(value.op), *map(_start, value.op.operands)
    return id(value)


def _made_of(inside: Value, made: Value) -> Any:
    """What a step makes of a variable, apart from its name."""
    if made is inside:
        return "unchanged"
    if made.op is None or inside not in made.op.operands or not is_repeatable(made.op):
        return id(made)
    operands = ["itself" if v is inside else _start(v) for v in made.op.operands]
    return made.op.kind, _attributes(made.op), made.index, *operands


def _attributes(op: Op) -> str:
    return repr(sorted(op.attrs.items()))


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
