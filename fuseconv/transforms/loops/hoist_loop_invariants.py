"""Hoist out of loops what does not depend on their state: loop-invariant code motion, for rows of sequences too.

    While(t, h): h = tanh(x[t] @ k + h @ r)  ->  y = x @ k;  While(t, h): h = tanh(y[t] + h @ r)

What a step computes of invariants alone is computed once, before the loop. What it computes of one row of a sequence
(and invariants) is computed of all rows at once, before the loop, and the step reads a row of that. So the projection
of an RNN's input, [batch, in] x [in, units] at each step, becomes one product of [steps, batch, in]. This is found by
following what each op depends on; it takes no knowledge of cells. Of a loop that maps rows, nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable

from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Graph, Module, Op, Value, copy_op, detach, replace_uses
from fuseconv.ir.slice_spec import UNKNOWN, WHOLE, Insert, Rest, SliceSpec, Take
from fuseconv.ir.terms import operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.tf.batching_rules import MOVES, batched, constant_axis_zero, is_safe, row_read
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.iota import counts_up
from fuseconv.tf.side_effects import bodies, is_repeatable
from fuseconv.tf.traits import ADDS, LOOPS, RESHAPES
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop
from fuseconv.transforms.loops.unroll_policy import UnrollPolicy

_ADDS = ADDS | {"tf.BiasAdd"}


@module_pass("hoist-loop-invariants", kinds=LOOPS)
def hoist_loop_invariants(module: Module) -> None:
    """Compute before a loop what does not depend on its state: While(x[t] @ w) -> y = x @ w, While(y[t])."""
    hoist(module)


@module_pass("hoist-out-of-unrolled-loops", kinds=LOOPS)
def hoist_out_of_unrolled_loops(module: Module, unroll_policy: UnrollPolicy) -> None:
    """Hoist also the ops that only move elements, out of loops of which unrolling will leave nothing."""
    hoist(module, unroll_policy.unrolls)


def hoist(module: Module, moves: Callable[[LoopForm], bool] = lambda loop: False) -> None:
    """Move computation from the bodies of loops to where the loops stand, those inside others first.

    moves: of which loops also the ops that only take tensors apart or put them together."""

    def visit(op: Op, graph: Graph) -> None:
        loop = LoopForm(op, module)
        _Hoister(loop, graph, module, moves(loop)).run()

    for_each_loop(module, visit)


class _Hoister:
    """Moves what one loop allows in front of it. moves: also ops that only take tensors apart or put them together.
    before: the ops that stand there then; carried: what they make, by the variable that holds it in the body."""

    def __init__(self, loop: LoopForm, graph: Graph, module: Module, moves: bool) -> None:
        self.moves = moves
        self.loop = loop
        self.graph = graph
        self.module = module
        self.before: list[Op] = []
        # What invariants of the body are before the loop, and what rows are: the index that they are read at, and all
        # of them stacked.
        self.invariants: dict[Value, Value] = {}
        self.rows: dict[Value, tuple[Value, Value]] = {}
        self.carried: dict[Value, Value] = {}
        self.erased: set[Op] = set()

    def run(self) -> None:
        """Hoist what the loop allows: the ops that move stand before it then, and the loop carries what they make."""
        loop = self.loop
        for i, inner in enumerate(loop.body.inputs):
            operand = loop.op.operands[i]
            if loop.is_invariant(i) and operand is not None and not operand.dtype.is_handle:
                self.invariants[inner] = operand
                self.carried.setdefault(operand, inner)
        self.hoist_out_of_condition()
        ops, loop.body.ops = loop.body.ops, []
        for op in (picked for sliced in ops for picked in self.pick_row(sliced)):
            if op not in self.erased:
                op = self.canonicalize_row_read(op)
                self.reassociate_sum(op)
                if not self.hoist_op(op):
                    loop.body.ops.append(op)
        for variable, made in enumerate(loop.body.outputs):
            self.forward_copied_rows(variable, made.op)
        at = self.graph.ops.index(loop.op)
        self.graph.ops[at:at] = self.before

    def hoist_out_of_condition(self) -> None:
        """Move what the condition computes of invariants alone before the loop. It runs in any case: once at least."""
        cond = self.loop.cond
        outside = {cond.inputs[self.loop.body.inputs.index(inner)]: outer for inner, outer in self.invariants.items()}
        kept: list[Op] = []
        for op in cond.ops:
            known = op.operands and all(v is not None and (v.is_const or v in outside) for v in op.operands)
            if not known or not self.may_move(op):
                kept.append(op)
            else:
                for result, outer in zip(op.results, self.moved(op, outside)):
                    inner = cond.inputs[self.loop.body.inputs.index(self.carry(outer))]
                    self.invariants.setdefault(self.carried[outer], outer)
                    outside[inner] = outer
                    replace_uses(result, inner)
                detach(op)
        cond.ops = kept

    def may_move(self, op: Op) -> bool:
        """Return whether the op makes tensors, the same ones wherever it stands."""
        handles = any(result.dtype.is_handle for result in op.results)
        return is_repeatable(op) and not handles and not any(True for _ in bodies(op, self.module))

    def moved(self, op: Op, outside: dict[Value, Value]) -> list[Value]:
        """Return the results of an op, computed before the loop."""
        moved = copy_op(op, [v if v is None else outside.get(v, v) for v in op.operands])
        self.before.append(moved)
        for result in op.results:
            moved.add_result(result.dtype, result.shape, result.name).content = result.content
        return moved.results

    def pick_row(self, op: Op) -> list[Op]:
        """Read a row, of which the runtime knows the size, where a slice takes one that is there in each step: x[:,
        t:t+1] -> ExpandDims(GatherV2(x, t, 1), 1)."""
        axis, index = self.sliced_row(op)
        if axis is None:
            return [op]
        x, shape = op.operands[0], op.result.shape
        assert x is not None and x.shape is not None and shape is not None
        out: list[Op] = []
        tf = TfBuilder(out, op)
        row = tf.GatherV2(x, index, axis)
        row.shape = (*shape[:axis], *shape[axis + 1 :])
        made = tf.ExpandDims(row, axis)
        made.shape = (*shape[:axis], 1, *shape[axis + 1 :])
        replace_uses(op.result, made)
        detach(op)
        return out

    def sliced_row(self, op: Op) -> tuple[int | None, Value | None]:
        """Return (axis, index) of a StridedSlice that takes one row of an invariant in each step, as it is neither
        before the first nor behind the last; (None, None) of any other op."""
        x = op.operands[0] if op.kind == "tf.StridedSlice" else None
        spec = SliceSpec.of(op) if x in self.invariants else None
        if x is None or x.shape is None or spec is None or op.result.rank != x.rank:
            return None, None
        entries = spec.unfold(len(x.shape)) or []
        axes = [axis for axis, entry in enumerate(entries) if entry != WHOLE]
        entry = entries[axes[0]] if len(axes) == 1 else None
        if not isinstance(entry, Take) or not isinstance(entry.begin, Value) or not isinstance(entry.end, Value):
            return None, None
        (axis,), course, steps = axes, self.loop.course(entry.begin), self.loop.steps()
        if course is None or steps is None or not _is_nonnegative(course, steps):
            return None, None
        first, change = course
        left = x.shape[axis] - (first + (steps - 1) * change if change > 0 else first)
        inside = entry.stride == 1 and isinstance(left, int) and left > 0
        return (axis, entry.begin) if inside and self.loop.course(entry.end) == (first + 1, change) else (None, None)

    def canonicalize_row_read(self, op: Op) -> Op:
        """Canonicalize a read of one row along any axis: x[:, t] -> GatherV2(transpose(x), t, 0), transposed before the
        loop."""
        axis, index = row_read(op)
        if axis is None:
            axis, index = self.counted_read(op)
        x = op.operands[0] if op.operands else None
        if axis is None or index is None or x is None or x not in self.invariants or x.rank is None:
            return op
        course, steps = self.loop.course(index), self.loop.steps()
        if op.kind == "tf.StridedSlice" and not _is_nonnegative(course, steps):
            return op  # a negative index counts from the end
        outer = self.invariants[x]
        if axis:
            order = [axis, *(i for i in range(x.rank) if i != axis)]
            outer = TfBuilder(self.before, op).Transpose(outer, order)
            outer.shape = None if x.shape is None else tuple(x.shape[i] for i in order)
        first = next((i for i, start in self.loop.counters.items() if start == 0), None)
        last_first = steps is not None and course == (steps - 1, -1)
        if last_first and first is not None and outer.shape is not None and outer.shape[0] == steps:
            shape, outer = outer.shape, TfBuilder(self.before, op).ReverseV2(outer, [0])
            outer.shape = shape
            index = self.loop.body.inputs[first]
        out: list[Op] = []
        tf = TfBuilder(out, op)
        row = tf.GatherV2(self.carry(outer), index, 0)
        row.shape = op.result.shape
        self.invariants.setdefault(self.carried[outer], outer)
        replace_uses(op.result, row)
        detach(op)
        return out[0]

    def counted_read(self, op: Op) -> tuple[int | None, Value | None]:
        """Return (0, i) for a StridedSlice that begins at row i of 0, 1, 2, ...: so `tf.vectorized_map` reads x[i]."""
        begin = op.operands[1] if op.kind == "tf.StridedSlice" else None
        spec = SliceSpec.of(op)
        if begin not in self.rows or spec is None or spec.picked() != (0, UNKNOWN):
            return None, None
        index, table = self.rows[begin]
        return (0, index) if counts_up(table) else (None, None)

    def outside(self, value: Value) -> Value:
        return value if value.is_const else self.invariants[value]

    def is_invariant(self, value: Value | None) -> bool:
        return value is not None and (value.is_const or value in self.invariants)

    def hoist_op(self, op: Op) -> bool:
        """Move an op before the loop; return False if it stays. What is moved leaves reads of its results behind."""
        if not self.may_move(op):
            return False
        if op.operands and all(self.is_invariant(value) for value in op.operands):
            return self.hoist_invariant(op)
        if constant_axis_zero(op) and self.is_invariant(op.operands[0]) and op.operands[0].shape:  # type: ignore[union-attr]
            self.rows[op.result] = op.operands[1], self.outside(op.operands[0])  # type: ignore[arg-type,assignment]
            return False
        return self.hoist_row_op(op)

    def forward_copied_rows(self, variable: int, write: Op | None) -> None:
        """Forward a tensor that a loop only fills with rows, one by one, or with the first of them: for t: y[t] = x[t]
        -> y = x."""
        if write is None or write.kind != "tf.XlaDynamicUpdateSlice":
            return
        held, update, begin = write.operands
        assert held is not None and update is not None and begin is not None
        row = operand_of(update, "tf.ExpandDims")
        if held is not self.loop.body.inputs[variable] or row not in self.rows:
            return
        index, rows = self.rows[row]
        first = operand_of(begin, "tf.Pack")
        steps, result = self.loop.steps(), self.loop.op.results[variable]
        every = first is index and self.loop.course(index) == (0, 1) and held.shape == result.shape
        if not every or not held.shape or not rows.shape or steps != held.shape[0] or held.shape[1:] != rows.shape[1:]:
            return
        if steps != rows.shape[0]:
            rows = self.first_rows(write, rows, self.loop.op.operands[variable], held.shape[0])  # type: ignore[arg-type]
        replace_uses(result, rows)

    def hoist_invariant(self, op: Op) -> bool:
        """Compute an op of invariants before the loop, which carries what it makes. Return whether it is gone.

        A reshape stays where the loop carries its operand all the same: what it makes is known to what reads it."""
        if not is_safe(op) and not self.runs_once():
            return False
        made = self.moved(op, self.invariants)
        if _reshapes(op) and not self.moves and self.is_carried(op.operands[0]):
            self.invariants[op.result] = made[0]
            return False
        for result, outer in zip(op.results, made):
            inner = self.carry(outer)
            self.invariants[inner] = outer
            replace_uses(result, inner)
        detach(op)
        return True

    def is_carried(self, value: Value | None) -> bool:
        """Return whether a value is a variable of the loop that several ops of its body read."""
        return value in self.loop.body.inputs and len(value.uses.keys() - {self.loop.body.terminator}) > 1  # type: ignore[union-attr]

    def runs_once(self) -> bool:
        steps = self.loop.steps()
        return isinstance(steps, int) and steps > 0

    def hoist_row_op(self, op: Op) -> bool:
        """Compute an op on rows at one index for all rows before the loop: f(x[i]) -> f(x)[i]. Return whether it is
        gone. Moves of elements stay in a loop that is to stay; what they make of all rows is known to the ops that read
        them."""
        indices = {self.rows[v][0] for v in op.operands if v is not None and v in self.rows}
        others = [v for v in op.operands if v is not None and v not in self.rows]
        if len(indices) != 1 or not all(self.is_invariant(value) for value in others):
            return False
        (index,) = indices
        stacked = self.of_one_length({v: self.rows[v][1] for v in op.operands if v in self.rows}, index)  # type: ignore[index]
        made = stacked and batched(TfBuilder(self.before, op), op, stacked, self.outside)  # type: ignore[arg-type]
        if not made:
            return False
        self.rows.update((result, (index, rows)) for result, rows in zip(op.results, made))
        if op.kind in MOVES and not self.moves:
            return False
        for result, rows in zip(op.results, made):
            row = self.read(op, rows, index)
            self.rows[row] = index, rows
            replace_uses(result, row)
        detach(op)
        return True

    def of_one_length(self, stacked: dict[Value, Value], index: Value) -> dict[Value, Value] | None:
        """Return tables of rows, cut to those that the loop reads where they differ in length: x[:4], y[:5] -> x[:4],
        y[:4]; None if that cannot be told."""
        lengths = {rows: rows.shape[0] if rows.shape else None for rows in stacked.values()}
        if len(set(lengths.values())) == 1:
            return stacked
        steps = self.loop.steps()
        exact = next((rows for rows, length in lengths.items() if length == steps), None)
        if self.loop.course(index) != (0, 1) or None in lengths.values() or not (exact or isinstance(steps, int)):
            return None
        return {
            value: rows if lengths[rows] == steps else self.first_rows(self.loop.op, rows, exact, steps)  # type: ignore[arg-type]
            for value, rows in stacked.items()
        }

    def first_rows(self, op: Op, rows: Value, like: Value | None, count: Dim) -> Value:
        """Return the first rows, as many as `like` has, which is needed where the count is not known."""
        shape = rows.shape or ()
        tf = TfBuilder(self.before, op)
        rest = [-1] * (len(shape) - 1)
        sizes = tf.ints([count, *rest]) if isinstance(count, int) else tf.Pack(tf.size(like), *rest)  # type: ignore[arg-type]
        made = tf.Slice(rows, [0] * len(shape), sizes)
        made.shape = (count, *shape[1:])
        return made

    def reassociate_sum(self, op: Op) -> None:
        """Reassociate a sum so that more of it can move: (row + state) + bias -> (row + bias) + state, as in x @ K + h
        @ R + b."""
        reader = next(iter(op.result.uses), None) if op.kind in _ADDS and len(op.result.uses) == 1 else None
        if reader is None or reader.kind not in _ADDS or not op.result.dtype.is_float:
            return
        row = next((v for v in op.operands if v in self.rows), None)
        bias = next((v for v in reader.operands if self.is_invariant(v)), None)
        if row is None or bias is None or all(v in self.rows for v in op.operands):
            return
        if row.shape is None or row.shape != op.result.shape or row.shape != reader.result.shape:
            return
        index = op.operands.index(row)
        first = Op(reader.kind, [row, bias], reader.attrs, reader.name, reader.sources)
        op.set_operand(index, first.add_result(row.dtype, row.shape))
        if not self.hoist_op(first):
            op.set_operand(index, row)
            detach(first)
            return
        replace_uses(reader.result, op.result)
        self.erased.add(reader)
        detach(reader)

    def read(self, op: Op, rows: Value, index: Value) -> Value:
        tf = TfBuilder(self.loop.body.ops, op)
        row = tf.GatherV2(self.carry(rows), index, 0)
        row.shape = None if rows.shape is None else rows.shape[1:]
        return row

    def carry(self, value: Value) -> Value:
        """Return the value in the body."""
        if value not in self.carried:
            self.carried[value] = self.loop.carry(value)
        return self.carried[value]


def _is_nonnegative(course: tuple[Dim, int] | None, steps: Dim | None) -> bool:
    """Return whether an index is known to be 0 or more in each step."""
    if course is None:
        return False
    first, change = course
    last = first if change >= 0 else None if steps is None else first + (steps - 1) * change
    return isinstance(last, int) and last >= 0


def _reshapes(op: Op) -> bool:
    """Return whether an op moves no elements: a reshape, or a slice that adds dimensions alone, as x[:, None]."""
    spec = SliceSpec.of(op) if op.kind == "tf.StridedSlice" else None
    return op.kind in RESHAPES or (
        spec is not None and all(entry == WHOLE or isinstance(entry, (Insert, Rest)) for entry in spec.entries)
    )
