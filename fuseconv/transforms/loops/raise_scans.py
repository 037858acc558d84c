"""Raise scans: loops that slice a row of a tensor in each step, and update one of another -> loops over lists of rows.

    while i < n:  h, ys = f(h, dynamic_slice(xs, i)), dynamic_update_slice(ys, h, i)
    ->  while i < n:  h, list = f(h, gather(xs, i)), set_item(list, i, h)

So StableHLO spells `jax.lax.scan`, and Keras its loops with lists, which passes that look for recurrent layers know.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, open_sizes
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.ir.terms import op_of, operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of, nonnegative
from fuseconv.tf.traits import ADDS, RESHAPES, SELECTS
from fuseconv.transforms.loops.last_rows import read_last_row
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop

_SLICE, _UPDATE = "tf.XlaDynamicSlice", "tf.XlaDynamicUpdateSlice"
# What starts are put together from; through more there may be no end of ways.
_MOST_VECTORS = 256


@module_pass("raise-scans")
def raise_scans(module: Module) -> bool:
    """Let loops read rows and write lists: XlaDynamicUpdateSlice(ys, y, i) -> TensorListSetItem(ys, i, y).

    XlaDynamicSlice(xs, i) -> GatherV2(xs, i). Where the number of steps is known, if only as the size of a tensor, each
    row that is read is there, and each row is written once. Requires inferred shapes; dead ops stay. Returns whether
    anything changed."""
    changed = False

    def visit(op: Op, graph: Graph) -> None:
        nonlocal changed
        changed |= _Scan(op, graph, module).raised()

    for_each_loop(module, visit)
    return changed


class _Scan:
    """One loop that may be a scan, with its number of steps."""

    def __init__(self, op: Op, graph: Graph, module: Module) -> None:
        self.op, self.graph = op, graph
        self.form = LoopForm(op, module)
        self.body = self.form.body
        # 0 where the number is not known, not even as a size.
        self.steps = self.form.steps() or 0

    def raised(self) -> bool:
        """Rewrite the loop; return whether anything changed."""
        if self.steps == 0:
            return False
        before = len(self.body.ops)
        changed = self.rewrite(SELECTS, self.known_side)
        changed |= self.rewrite({_SLICE, "tf.StridedSlice"}, self.row)
        for index in range(len(self.op.operands)):
            changed |= self.listed(index)
        return changed or len(self.body.ops) != before

    def rewrite(self, kinds: frozenset[str] | set[str], rule: object) -> bool:
        """Replace ops of these kinds in the body by the value that a rule makes of each; None leaves it. Return whether
        any was."""
        changed = False
        out: list[Op] = []
        for op in self.body.ops:
            made = rule(op, out) if op.kind in kinds else None  # type: ignore[operator]
            if made is None:
                out.append(op)
                continue
            replace_uses(op.result, made)
            detach(op)
            changed = True
        self.body.ops = out
        return changed

    def known_side(self, op: Op, out: list[Op]) -> Value | None:
        """Return i of `i + n if i < 0 else i` for an index that is never negative, as JAX writes each index."""
        condition, wrapped, index = op.operands
        test = op_of(condition, "tf.Less")
        if test is None or test.operands[0] is not index or not _is_zero(test.operands[1]):
            return None
        added, places = op_of(wrapped, ADDS), self.places(index)
        wraps = added is not None and index in added.operands
        return index if wraps and places is not None and nonnegative(places[0]) else None

    def places(self, value: Value | None) -> tuple[Dim, Dim] | None:
        """Return the least and the largest number that an index takes in the steps."""
        course = self.form.course(value)
        if course is None:
            return None
        first, last = course[0], course[0] + course[1] * (self.steps - 1)
        return (first, last) if course[1] >= 0 else (last, first)

    def indexed(self, start: Value | None, shape: tuple, sizes: tuple) -> tuple[int, Value] | None:
        """Return the axis and the index of the one row of a tensor that a slice of these sizes starts at; None if it
        takes several rows, or one that may not be there."""
        starts = self.components(start, iter(range(_MOST_VECTORS)))
        if starts is None or not len(starts) == len(shape) == len(sizes):
            return None
        moving = [axis for axis, each in enumerate(starts) if isinstance(each, Value)]
        cut = [axis for axis, (size, whole) in enumerate(zip(sizes, shape)) if size != whole and axis not in moving]
        if len(moving) != 1 or cut or sizes[moving[0]] != 1:
            return None
        index = starts[moving[0]]
        assert isinstance(index, Value)
        places = self.places(index)
        if places is None or not (nonnegative(places[0]) and nonnegative(shape[moving[0]] - 1 - places[1])):
            return None
        return moving[0], index

    def components(self, value: Value | None, left: Iterator[int]) -> list[Dim | Value] | None:
        """Return the elements of a vector, or of a number that stands for one, those that are not known as the scalars
        that they are; None if they are none. left: counts the vectors that may yet be looked at."""
        if next(left, None) is None:
            return None
        content = content_of(value)
        if content is not None and content.ndim <= 1:
            return [each if isinstance(each, Sym) else int(each) for each in content.reshape(-1)]
        op = value.op if value is not None else None
        if op is None:
            return None
        if op.kind == "tf.Pack" and op.attrs.get("axis", 0) == 0:
            return [_known(each) for each in op.operands if each is not None]
        if op.kind in RESHAPES and op.operands[0] is not None and op.operands[0].rank == 0 and op.result.shape == (1,):
            return [_known(op.operands[0])]
        if op.kind == "tf.ConcatV2":
            parts = [self.components(part, left) for part in op.operands[:-1]]
            return None if None in parts else [each for part in parts for each in part or ()]
        if op.kind in ("tf.Maximum", "tf.Minimum"):
            return self.bounded(op, left)
        return None

    def bounded(self, op: Op, left: Iterator[int]) -> list[Dim | Value] | None:
        """Return the elements of a maximum or minimum of vectors, where it is known which element it is."""
        first, second = (self.components(operand, left) for operand in op.operands)
        if first is None or second is None or len(second) not in (1, len(first)):
            return None
        made: list[Dim | Value] = []
        for a, b in zip(first, second * len(first) if len(second) == 1 else second):
            if not isinstance(a, Value) and not isinstance(b, Value):
                # Where a dimension is taken whole its start does not matter, as 0 does for it.
                known = isinstance(a, int) and isinstance(b, int)
                made.append((max(a, b) if op.type == "Maximum" else min(a, b)) if known else 0)  # type: ignore[type-var]
                continue
            index, bound = (a, b) if isinstance(a, Value) else (b, a)
            places = self.places(index) if isinstance(index, Value) else None
            if places is None or isinstance(bound, Value):
                return None
            if not nonnegative(places[0] - bound if op.type == "Maximum" else bound - places[1]):
                return None
            made.append(index)
        return made

    def row(self, op: Op, out: list[Op]) -> Value | None:
        """Return the row that a slice takes, with its dimension of size 1."""
        x, start = op.operands[:2]
        if x is None or x.shape is None or self.form.outside(x) is None:
            return None
        sizes = op.result.shape if op.kind == _SLICE else _sizes(op)
        found = self.indexed(start, x.shape, sizes) if sizes is not None else None
        if found is None:
            return None
        axis, index = found
        tf = TfBuilder(out, op)
        shape = tuple(size for place, size in enumerate(x.shape) if place != axis)
        row = tf.add("GatherV2", [x, index, tf.ints(axis)], {}, x.dtype, shape)
        for reader in list(op.result.uses):
            if reader.kind in RESHAPES and reader.result.shape == shape:
                replace_uses(reader.result, row)
        whole = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return tf.add("ExpandDims", [row, tf.ints(axis)], {}, x.dtype, whole)

    def listed(self, variable: int) -> bool:
        """Let a variable of the loop be a list of rows, if each step writes one, and nothing else reads it."""
        held, made = self.body.inputs[variable], self.body.outputs[variable].op
        if made is None or made.kind != _UPDATE or made.operands[0] is not held or list(held.uses) != [made]:
            return False
        _, update, start = made.operands
        shape = held.shape
        if self.form.cond.inputs[variable].uses:
            return False
        if list(made.result.uses) != [self.body.terminator] or shape is None or update is None or update.shape is None:
            return False
        found = self.indexed(start, shape, update.shape)
        if found is None or found[0] != 0 or shape[0] != self.steps or self.form.course(found[1]) is None:
            return False
        if self.form.course(found[1])[1] not in (1, -1):  # type: ignore[index]
            return False
        return self.is_last_row(variable, update, found[1]) or self.to_list(variable, made, found[1], shape)

    def is_last_row(self, variable: int, row: Value, index: Value) -> bool:
        """Let what reads only the row that the last step writes read the state that it is; return whether all do."""
        source = operand_of(row, RESHAPES) or row
        state = next((i for i, made in enumerate(self.body.outputs) if made is source and i != variable), None)
        if state is None or source.shape != self.body.inputs[variable].shape[1:]:  # type: ignore[index]
            return False
        (least, largest), (_, step) = self.places(index), self.form.course(index)  # type: ignore[misc]
        last = largest if step > 0 else least
        return read_last_row(self.op, self.graph, self.op.results[variable], self.op.results[state], last)

    def to_list(self, variable: int, update: Op, index: Value, shape: tuple) -> bool:
        """Let a variable of rows be a list that the loop is given empty and that is stacked behind it: rows [steps,
        ...] -> TensorListReserve, TensorListSetItem in each step, TensorListStack."""
        dtype = update.result.dtype
        element = open_sizes(shape[1:])
        position = self.graph.ops.index(self.op)
        before: list[Op] = []
        tf = TfBuilder(before, self.op)
        count = self.count(variable, tf)
        empty = tf.TensorListReserve(tf.ints(element), count, element_dtype=dtype, dtype=types.VARIANT)
        after: list[Op] = []
        tf = TfBuilder(after, self.op)
        result = self.op.results[variable]
        stack = tf.add(
            "TensorListStack", [], {"element_dtype": dtype, "num_elements": self.steps if count.is_const else -1},
            dtype, result.shape or shape,
        )  # fmt: skip
        replace_uses(result, stack)
        assert stack.op is not None
        stack.op.set_operands([result, tf.ints(element)])
        self.graph.ops[position : position + 1] = [*before, self.op, *after]
        self.op.set_operand(variable, empty)
        self.write(update, index, shape)
        for value in (result, self.body.inputs[variable], self.form.cond.inputs[variable]):
            value.dtype, value.shape, value.content = types.VARIANT, None, None
        return True

    def count(self, rows: int, tf: TfBuilder) -> Value:
        """Return the number of steps, which a variable has rows. Where it is no number, it is a size of what the loop
        reads, or else of these rows, which nothing else may need to exist."""
        if isinstance(self.steps, int):
            return tf.ints(self.steps)
        for place, value in enumerate(self.op.operands):
            if place != rows and value is not None and value.shape is not None and self.steps in value.shape:
                return tf.size(value, value.shape.index(self.steps))
        return tf.size(self.op.operands[rows])  # type: ignore[arg-type]

    def write(self, update: Op, index: Value, shape: tuple) -> None:
        """Let the body write a row to its list."""
        held, row, _ = update.operands
        assert held is not None and row is not None
        position = self.body.ops.index(update)
        inside: list[Op] = []
        tf = TfBuilder(inside, update)
        source = operand_of(row, RESHAPES)
        if source is None or source.shape != shape[1:]:
            source = tf.add("Squeeze", [row], {"squeeze_dims": [0]}, row.dtype, shape[1:])
        made = tf.add("TensorListSetItem", [held, index, source], {"element_dtype": row.dtype}, types.VARIANT)
        replace_uses(update.result, made)
        detach(update)
        self.body.ops[position : position + 1] = inside


def _is_zero(value: Value | None) -> bool:
    content = content_of(value)
    return content is not None and bool(np.all(np.equal(content, 0)))


def _known(value: Value) -> Dim | Value:
    """Return the number that a scalar is known to hold; the scalar if it is not known."""
    content = content_of(value)
    element = content.reshape(-1)[0] if content is not None and content.size == 1 else None
    return value if element is None else element if isinstance(element, Sym) else int(element)


def _sizes(op: Op) -> tuple | None:
    """Return the sizes of a StridedSlice that ends at its start plus these; None of any other."""
    _, start, end, strides = op.operands
    added, steps = op_of(end, ADDS), content_of(strides)
    if op.attrs or added is None or start not in added.operands or steps is None:
        return None
    sizes = content_of(added.operands[1 - added.operands.index(start)])
    return None if sizes is None or not np.all(np.equal(steps, 1)) else tuple(np.reshape(sizes, -1))
