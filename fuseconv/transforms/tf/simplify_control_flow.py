"""Simplify branches and loops to what TFLite has: cases as branches, conditions as bools, only what changes carried."""

from __future__ import annotations

import numpy as np

from fuseconv.facts import NO_TF1_CONTROL_FLOW
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Rejection, Value, constant, replace_uses
from fuseconv.ir.rewriter import add_function, erase_ops, ops_of_kinds, replace_uses_except, rewrite_ops
from fuseconv.ir.terms import op_of
from fuseconv.ir.types import BOOL, INT32, STRING
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import BRANCHES, LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm
from fuseconv.transforms.loops.reduce_while_operands import merge_equal_variables
from fuseconv.transforms.tf.branch_results import reduce_branch_results
from fuseconv.transforms.tf.inline import move_body
from fuseconv.transforms.tf.possible_side import possible_side

_CASES = {"tf.Case": "tf.If", "tf.StatelessCase": "tf.StatelessIf"}
_RUNNERS = LOOPS | BRANCHES
_CONTROL_FLOW = _RUNNERS | _CASES.keys()


@module_pass("simplify-control-flow", requires=(NO_TF1_CONTROL_FLOW,), kinds=_CONTROL_FLOW)
def simplify_control_flow(module: Module, report: Report) -> None:
    """Reduce control flow to what TFLite has: Case -> If, If(True) -> then_branch, invariants out of a loop's operands.

    So does a branch of which only one side makes tensors of the ranks that their readers take: TensorFlow fails where
    it takes the other. A loop carries only what changes: an invariant that is constant moves into the body, and one
    that nobody reads (a frozen variable's handle, say) goes. Conditions become bools, and flags that branches return
    LOGICAL ops."""

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        if op.kind in LOOPS:
            _prune_loop(op, module, report)
        elif op.operands[0] is not None and op.operands[0].is_const:
            return inline_known_branch(op, out, module, report)
        elif (side := possible_side(op, module)) is not None:
            return _inline_side(op, side, "the other side makes what its readers cannot take", out, module, report)
        else:
            _choose_by_negated(op)
            reduce_branch_results(op, out, module)
            _prune_branches(op, module)
        return None

    for graph in list(module.graphs()):
        _nest_cases(graph, module)
    for graph in list(module.graphs()):
        _convert_conditions_to_bool(graph, module)
    graphs = list(module.graphs())
    # Constants go into functions from where these are run; what these do not read, they need not be given.
    for graph in (*graphs, *reversed(graphs)):
        rewrite_ops(graph, _RUNNERS, rewrite)


def _choose_by_negated(op: Op) -> None:
    """Let a branch go by what its condition negates: If(LogicalNot(b), f, g) -> If(b, g, f).

    One that is no scalar holds unless it is empty, negated or not."""
    condition = op.operands[0]
    negation = None if condition is None or condition.rank != 0 else condition.op
    if negation is not None and negation.kind == "tf.LogicalNot":
        op.set_operand(0, negation.operands[0])
        op.attrs |= {"then_branch": op.attrs["else_branch"], "else_branch": op.attrs["then_branch"]}


def has_known_branch(module: Module) -> bool:
    """Return whether there is a branch on a constant."""
    branches = (op.operands[0] for graph in module.graphs() for op in ops_of_kinds(graph, BRANCHES))
    return any(condition is not None and condition.is_const for condition in branches)


def _nest_cases(graph: Graph, module: Module) -> None:
    """Nest the branches of a case: Case(i, f, g, h) -> If(i == 0, f, If(i == 1, g, h)).

    An index out of range takes the last branch; one that is clamped, as JAX clamps it, is compared as it was before:
    Case(clamp(i, 0, 2), f, g, h) -> If(i < 1, f, If(i < 2, g, h))."""
    for op in ops_of_kinds(graph, _CASES):
        branches: list[FuncRef] = op.attrs.pop("branches")
        op.set_kind(_CASES[op.kind])
        index = op.operands[0]
        assert index is not None
        source = _unclamped(index, len(branches))
        test = "Equal" if source is None else "Less"
        index = source or index
        op.set_operand(0, index)
        for reference in branches:
            # Both sides of a branch take the same operands.
            body = module.functions[reference.name]
            body.inputs.insert(0, Value(index.dtype, index.shape, "index"))
        last = branches.pop()
        for number in range(len(branches) - 1, 0, -1):
            last = _side(op, test, number, branches[number], last, module)
        made: list[Op] = []
        condition = _is_number(TfBuilder(made, op), test, index, 0) if branches else constant(False, BOOL, op.name)
        op.set_operands([condition, *op.operands])
        op.attrs |= {"then_branch": branches[0] if branches else last, "else_branch": last}
        place = graph.ops.index(op)
        graph.ops[place:place] = made


def _side(case: Op, test: str, number: int, then: FuncRef, other: FuncRef, module: Module) -> FuncRef:
    """Return a function that takes a case's operands and runs `then` if the index is `number`, else `other`."""
    graph = Graph(f"{case.name}/branch{number}")
    inputs = [graph.add_input(v.dtype, v.shape, v.name) for v in case.operands if v is not None]
    condition = _is_number(TfBuilder(graph.ops, case), test, inputs[0], number)
    attrs = {"then_branch": then, "else_branch": other}
    branch = Op(case.kind, [condition, *inputs], attrs, case.name, case.sources)
    for result in case.results:
        branch.add_result(result.dtype, result.shape)
    graph.ops.append(branch)
    graph.outputs = branch.results
    return add_function(module, graph)


def _is_number(tf: TfBuilder, test: str, index: Value, number: int) -> Value:
    """Return whether an index is a number; with `Less`, of an index that is no smaller one, index < number + 1."""
    bound = number + 1 if test == "Less" else number
    return tf.add(test, [index, constant(bound, index.dtype)], {}, BOOL)


def _unclamped(index: Value, count: int) -> Value | None:
    """Return i of clamp(i, 0, count - 1): Minimum(Maximum(i, 0), count - 1); None of another index."""
    for bound, kind in ((count - 1, "tf.Minimum"), (0, "tf.Maximum")):
        op = op_of(index, kind)
        if op is None:
            return None
        x, limit = op.operands
        if x is None or limit is None or limit.rank != 0 or limit.data is None or limit.data != bound:
            return None
        index = x
    return index


def _convert_conditions_to_bool(graph: Graph, module: Module) -> None:
    """Turn conditions into bools: a number holds unless it is 0, and what is no scalar unless it is empty."""

    def rewrite(op: Op, out: list[Op]) -> None:
        if op.kind in LOOPS:
            cond = module.functions[op.attrs["cond"].name]
            cond.outputs = [truth] = [_truth(TfBuilder(cond.ops, op), cond.outputs[0])]
            if truth.dtype is not BOOL and truth.rank is not None:
                op.rejection = Rejection(f"its condition is of type {truth.dtype}, and not a bool")
        elif op.operands[0] is not None:
            op.set_operand(0, _truth(TfBuilder(out, op), op.operands[0]))

    rewrite_ops(graph, _RUNNERS, rewrite)


def _truth(tf: TfBuilder, condition: Value) -> Value:
    if condition.data is not None:
        return constant(np.array(_holds(condition.data)), BOOL, condition.name)
    if condition.rank is None or condition.dtype.is_handle:
        return condition
    if condition.rank > 0:
        return tf.Greater(tf.Size(condition, dtype=INT32), 0, dtype=BOOL)
    if condition.dtype is BOOL or condition.dtype is STRING:
        return condition
    return tf.NotEqual(condition, constant(0, condition.dtype), dtype=BOOL)


def _holds(condition: np.ndarray) -> bool:
    return bool(condition.size) if condition.ndim else bool(condition)


def _prune_loop(op: Op, module: Module, report: Report) -> None:
    """Take variables that are equal to another, constant, or read by nothing out of a loop."""
    loop = LoopForm(op, module)
    cond, body = loop.cond, loop.body
    made = list(body.outputs)
    dropped = merge_equal_variables(loop)
    for index, operand in enumerate(op.operands):
        assert operand is not None
        inside, outside = body.inputs[index], cond.inputs[index]
        if index in dropped or not loop.is_invariant(index):
            continue
        replace_uses(op.results[index], operand)
        if operand.is_const:
            for value in (inside, outside):
                replace_uses_except(value, operand, (body.terminator,))
            for other, value in enumerate(body.outputs):
                if value is inside and other != index:  # another variable becomes what this one is
                    body.terminator.set_operand(other, operand)
            dropped.add(index)
        elif inside.uses == {body.terminator: 1} and not outside.uses:
            dropped.add(index)
    if dropped:
        loop.drop(dropped)
        ops = {made[i].op for i in dropped}
        makers = {each for each in ops if each is not None and not any(r.uses for r in each.results)}
        for maker in makers:
            report.removed(maker, "simplify-control-flow", "another variable of the loop is the same")
        erase_ops(body, makers)


def _prune_branches(op: Op, module: Module) -> None:
    """Prune branches: constants move into them, and operands and results that nobody reads go."""
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


def inline_known_branch(op: Op, out: list[Op], module: Module, report: Report) -> list[Value]:
    """Move the body of the side that a branch on a constant takes to `out`; return what the branch makes."""
    taken = _holds(op.operands[0].data)  # type: ignore[arg-type, union-attr]
    return _inline_side(op, "then_branch" if taken else "else_branch", "its condition is constant", out, module, report)


def _inline_side(op: Op, side: str, why: str, out: list[Op], module: Module, report: Report) -> list[Value]:
    reference: FuncRef = op.attrs[side]
    report.removed(op, "simplify-control-flow", f"{why}; {reference.name} stands in its place")
    return move_body(module.functions[reference.name], op.operands[1:], out)


def _keep_results(op: Op, keep: list[int]) -> None:
    op.results = [op.results[i] for i in keep]
    for index, result in enumerate(op.results):
        result.index = index
