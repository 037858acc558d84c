"""What a branch returns, without the branch: what both sides return, flags, scalars.

    If(c) {True} else {done}      ->  LogicalOr(c, done)
    If(c) {x, a} else {x, b}      ->  x, If(c) {a} else {b}
    If(c) {i + 1} else {i}        ->  SelectV2(c, i + 1, i)

Autograph writes `and`, `or`, `break` and `continue` so, and hands every variable that one side sets through both.
TFLite runs a branch in a subgraph of its own, and copies what goes in and comes out.
"""

from __future__ import annotations

from fuseconv.ir.graph import Module, Op, Value, constant, copy_op, replace_uses
from fuseconv.ir.types import BOOL, FLOAT32, INT32, INT64
from fuseconv.tf.batching_rules import is_safe
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.side_effects import is_repeatable

_SELECTED = (BOOL, FLOAT32, INT32, INT64)
# Pow of integers fails where the exponent is negative.
_SCALAR_OPS = frozenset({*UNARY, *BINARY, "SelectV2"}) - {"Pow"}
# A scalar that takes more ops than this is computed where the branch is taken.
_MOST_OPS = 8


def reduce_branch_results(op: Op, out: list[Op], module: Module) -> None:
    """Let the readers of a branch's results read what is known without it; what that takes is appended to `out`."""
    condition = op.operands[0]
    two_sides = op.attrs["then_branch"].name != op.attrs["else_branch"].name
    if two_sides and condition is not None and condition.dtype is BOOL and condition.shape == ():
        _Branch(op, condition, out, module).run()


class _Branch:
    """A branch on a scalar bool, and the values of its sides as they are outside."""

    def __init__(self, op: Op, condition: Value, out: list[Op], module: Module) -> None:
        self.op = op
        self.condition = condition
        self.sides = [module.functions[op.attrs[name].name] for name in ("then_branch", "else_branch")]
        self.tf = TfBuilder(out, op)
        self.outer: dict[Value, Value] = {}
        for side in self.sides:
            self.outer |= {x: v for x, v in zip(side.inputs, op.operands[1:]) if v is not None}

    def run(self) -> None:
        self.replace_condition()
        first: dict[tuple[Value, Value], Value] = {}
        for result, *made in zip(self.op.results, *(side.outputs for side in self.sides)):
            if result.uses:
                value = self.without(*made) or first.setdefault((made[0], made[1]), result)
                replace_uses(result, value)

    def replace_condition(self) -> None:
        """Replace the condition by what it is in either side, and what negates it by the opposite."""
        for index, operand in enumerate(self.op.operands[1:]):
            same = operand is self.condition
            if same or _negates(operand, self.condition) or _negates(self.condition, operand):
                for side, taken in zip(self.sides, (True, False)):
                    replace_uses(side.inputs[index], constant(taken is same, BOOL, self.op.name))

    def without(self, then: Value, other: Value) -> Value | None:
        """Return what stands for a result of these two values; None if the branch has to make it."""
        outside = [self.outer.get(value, value) for value in (then, other)]
        if outside[0] is outside[1] and (then in self.outer or then.is_const):
            return outside[0]
        if then.dtype not in _SELECTED or then.shape != () or other.shape != ():
            return None
        steps = [self.steps(value) for value in (then, other)]
        if None in steps or sum(map(len, steps)) > _MOST_OPS:  # type: ignore[arg-type]
            return None
        a, b = (self.computed(value, ops) for value, ops in zip((then, other), steps))  # type: ignore[arg-type]
        return self.chosen(a, b)

    def steps(self, value: Value) -> list[Op] | None:
        """Return the ops of scalars alone that make a value of a side, in their order; None if others take part."""
        ops: dict[Op, None] = {}
        pending = [value]
        while pending:
            value = pending.pop()
            if value.is_const or value in self.outer:
                if value.shape == ():
                    continue
                return None
            op = value.op
            if op is None or len(ops) > _MOST_OPS or not _is_scalar_op(op):
                return None
            # What is read more than once comes before all that read it.
            ops.pop(op, None)
            ops[op] = None
            pending += [operand for operand in op.operands if operand is not None]
        return [*ops][::-1]

    def computed(self, value: Value, steps: list[Op]) -> Value:
        """Return a value of a side, computed outside by these ops."""
        for op in steps:
            if op.result not in self.outer:
                copy = copy_op(op, [self.outer.get(v, v) for v in op.operands])  # type: ignore[arg-type]
                self.tf.out.append(copy)
                self.outer[op.result] = copy.add_result(op.result.dtype, op.result.shape, op.result.name)
        return self.outer.get(value, value)

    def chosen(self, then: Value, other: Value) -> Value:
        """Return `then` where the condition holds, else `other`: scalars of one type."""
        if then.data is not None and other.data is not None and then.data.tobytes() == other.data.tobytes():
            return then
        known = next((value for value in (then, other) if value.data is not None), None)
        if then.dtype is not BOOL or known is None or known.data is None:
            return self.tf.add("SelectV2", [self.condition, then, other], {}, then.dtype, ())
        # One side is a known flag: it decides where it is taken, and elsewhere the other does.
        flag, rest = bool(known.data), other if known is then else then
        decides = self.condition
        if flag != (known is then):
            decides = self.tf.add("LogicalNot", [decides], {}, BOOL, ())
        if rest.data is not None:
            return decides
        return self.tf.add("LogicalOr" if flag else "LogicalAnd", [decides, rest], {}, BOOL, ())


def _negates(value: Value | None, of: Value | None) -> bool:
    op = None if value is None else value.op
    return op is not None and op.kind == "tf.LogicalNot" and op.operands[0] is of


def _is_scalar_op(op: Op) -> bool:
    """Return True for an op on scalars that may be computed though nobody needs it."""
    scalars = all(value is not None and value.shape == () for value in (*op.operands, *op.results))
    plain = op.dialect == "tf" and op.type in _SCALAR_OPS and all(not v.dtype.is_handle for v in op.results)
    return scalars and plain and is_repeatable(op) and (op.type == "SelectV2" or is_safe(op))
