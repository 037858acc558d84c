"""Normalize loops that count down (tf.scan(reverse=True), tf.foldr): they count up, as all that looks at loops
expects."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, replace_uses
from fuseconv.ir.rewriter import replace_uses_except
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import ADDS, LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop, scalar

# Comparisons of a counter with the last number that it takes, by its place; True if it stops one above that.
_TESTS = {
    ("tf.GreaterEqual", 0): False, ("tf.Greater", 0): True, ("tf.LessEqual", 1): False, ("tf.Less", 1): True,
}  # fmt: skip


@module_pass("normalize-loops", kinds=LOOPS)
def normalize_loops(module: Module) -> bool:
    """Let loops count up from 0 by 1: for (i = n; i >= m; --i) -> for (t = 0; t < n - m + 1; ++t) with i = n - t.

    m is constant. Returns whether there was such a loop; what was made has no inferred shapes then."""
    found: list[Op] = []

    def visit(op: Op, graph: Graph) -> None:
        loop = LoopForm(op, module)
        for i, value in enumerate(loop.body.inputs):
            test = _test(loop, i)
            if test is not None and _is_previous(loop.body.outputs[i], value):
                _turn(loop, i, *test, graph)
                found.append(op)

    for_each_loop(module, visit)
    return bool(found)


def _is_previous(made: Value, value: Value) -> bool:
    """Return whether a step takes 1 off a whole number."""
    op = made.op
    if op is None or value.dtype not in (types.INT32, types.INT64) or value.shape != () or value not in op.operands:
        return False
    other = op.operands[1 - op.operands.index(value)] if len(op.operands) == 2 else None
    if other is None or other.data is None or other.data.size != 1:
        return False
    number = int(other.data.reshape(()))
    return (op.kind == "tf.Sub" and op.operands[0] is value and number == 1) or (
        op.kind in ADDS and number == -1
    )


def _test(loop: LoopForm, i: int) -> tuple[Op, int] | None:
    """Return what compares a variable with a constant in the condition, and the last number for which it holds."""
    value = loop.cond.inputs[i]
    for reader in value.uses:
        place = next((n for n, operand in enumerate(reader.operands) if operand is value), 0)
        above = _TESTS.get((reader.kind, place))
        bound = reader.operands[1 - place] if above is not None else None
        if bound is not None and bound.data is not None and bound.data.size == 1:
            return reader, int(bound.data.reshape(())) + bool(above)
    return None


def _turn(loop: LoopForm, i: int, test: Op, last: int, graph: Graph) -> None:
    """Let a counter that falls from `start` to `last` count the steps instead: inside, i -> start - i, and the test i
    >= last -> i < start - last + 1. graph: that of the loop."""
    op, start = loop.op, loop.op.operands[i]
    assert start is not None
    before, after = TfBuilder([], op), TfBuilder([], op)
    # The number of steps, of which others may be known to be the same, is all that the loop is given.
    steps = before.AddV2(start, scalar(1 - last, start))
    loop.carry(steps)
    for body in (loop.cond, loop.body):
        tf = TfBuilder([], op)
        first = tf.AddV2(body.inputs[-1], scalar(last - 1, start))
        _replace(body.inputs[i], tf.Sub(first, body.inputs[i]))
        body.ops = [*tf.out, *body.ops]
    tf = TfBuilder([], op)
    replace_uses(test.result, tf.Less(loop.cond.inputs[i], loop.cond.inputs[-1], dtype=types.BOOL))
    loop.cond.ops = [*tf.out, *loop.cond.ops]
    tf = TfBuilder(loop.body.ops, op)
    loop.body.outputs = [
        tf.AddV2(value, scalar(1, start)) if n == i else made
        for n, (value, made) in enumerate(zip(loop.body.inputs, loop.body.outputs))
    ]
    op.set_operand(i, scalar(0, start))
    _replace(op.results[i], after.Sub(start, op.results[i]))
    at = graph.ops.index(op)
    graph.ops[at : at + 1] = [*before.out, op, *after.out]


def _replace(old: Value, new: Value) -> None:
    """Let all read another value that is made of this one."""
    replace_uses_except(old, new, (new.op,))
