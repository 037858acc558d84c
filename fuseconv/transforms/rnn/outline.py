"""Outline a recurrent loop: While(...) -> call of an annotated function that holds the loop."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, Sym, symbol
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, constant, copy_op, detach, replace_uses
from fuseconv.ir.rewriter import add_function
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.ir.terms import op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import is_reversal
from fuseconv.transforms.rnn.masking import Handover, Masked
from fuseconv.transforms.rnn.match_cell import Cell
from fuseconv.transforms.rnn.pack_weights import build_weights
from fuseconv.transforms.rnn.recurrence import Loop, NotALoop, Output, is_stack, known_size
from fuseconv.transforms.rnn.sequence import Sequence

_SWAP = [1, 0, 2]


class Outline:
    """Build the function and the call. Raises NotALoop or NoCell, with nothing changed, if they cannot be built."""

    def __init__(self, loop: Loop, cell: Cell, masked: Masked | None, module: Module) -> None:
        self.loop = loop
        self.cell = cell
        self.module = module
        self.given = loop.inputs[cell.input]
        self.sequence = Sequence.of(self.given)
        self.masked = masked
        self.handover = None if masked is None else Handover(loop, masked, self.sequence)
        self.require_interface()
        # Lists of cell states of which the last one is read alone, with the states.
        self.ends = {output: i for output in loop.outputs for i in cell.states[1:] if self.is_end(output, i)}
        self.output = self.require_output()
        self.require_readers()

    def require_interface(self) -> None:
        """Require that all that the loop is given from outside is what the contract hands over."""
        handed = {self.given.variable, *self.cell.states, *self.loop.bounds, *self.loop.counters}
        handed |= {*self.loop.unread, *(output.variable for output in self.loop.outputs)}
        handed |= self.handover.variables if self.handover is not None else set()
        for i, operand in enumerate(self.loop.op.operands):
            if i not in handed and operand is not None and not operand.is_const and not self.is_steps(operand):
                raise NotALoop(f"it reads {operand.name}, which is neither a constant nor the sequence nor its state")
        if len(self.loop.inputs) != 1:
            raise NotALoop("it reads several sequences")

    def is_steps(self, value: Value) -> bool:
        return value.dtype in (types.INT32, types.INT64) and known_size(value) == self.loop.steps

    def is_end(self, output: Output, state: int) -> bool:
        """Return whether nothing is read of a list of all that the steps make of a state but what the last one does."""
        stacks = self.loop.op.results[output.variable].uses
        return (
            output.item is self.loop.made[state]
            and output.every
            and not output.backwards
            and self.loop.longest is None
            and all(is_stack(stack) and all(_takes_last(r, output) for r in stack.result.uses) for stack in stacks)
        )

    def require_output(self) -> Output | None:
        """Return the list of the outputs; None if the loop keeps none."""
        h, *others = (self.loop.made[i] for i in self.cell.states)
        outputs = [output for output in self.loop.outputs if output not in self.ends]
        if any(output.item in others for output in outputs):
            raise NotALoop("the cell states of all steps are read, of which TFLite's LSTM gives the last one only")
        if len(outputs) > 1 or any(output.item is not h for output in outputs):
            raise NotALoop("it writes something else than the state to its list")
        previous = None if self.masked is None else self.masked.previous
        read = previous is not None and not outputs and bool(self.loop.op.results[previous].uses)
        if read and self.loop.made[previous] is not h:  # type: ignore[index]
            raise NotALoop("it carries an output that it does not put out")
        return outputs[0] if outputs else None

    def require_readers(self) -> None:
        for i, result in enumerate(self.loop.op.results):
            known = isinstance(self.loop.steps, int) and self.loop.longest is None
            if result.uses and i in self.loop.counters and not known:
                raise NotALoop("what its counter ends at is read")
        if self.output is None:
            return
        for reader in self.loop.op.results[self.output.variable].uses:
            if not is_stack(reader) and not (reader.kind == "tf.TensorListLength" and self.length is not None):
                raise NotALoop(f"its outputs are read by a {reader.type}")

    @property
    def length(self) -> Value | None:
        """Return the number of the outputs in their list, where it is made with so many."""
        assert self.output is not None
        made = op_of(self.loop.op.operands[self.output.variable], "tf.TensorListReserve")
        if made is None:
            return None
        size = made.operands[1]
        return size if self.output.every and known_size(size) == self.loop.steps else None

    @property
    def batch(self) -> Dim:
        shape = self.sequence.source.shape
        assert shape is not None
        return shape[1 - self.sequence.time_axis]

    def fixed_batch(self) -> dict[str, int]:
        """Return the size of the batch by its symbol, where it is unknown to the input, and a state has several
        rows."""
        for state in self.cell.states:
            rows = self.loop.op.operands[state].shape[0]  # type: ignore[union-attr,index]
            if isinstance(rows, int) and rows > 1 and isinstance(self.batch, Sym):
                symbols = self.batch.symbols()
                if len(symbols) == 1 and self.batch == symbol(next(iter(symbols))):
                    return {next(iter(symbols)): rows}
        return {}

    def width(self, state: int) -> int:
        """Return the number of columns of a state."""
        initial = self.loop.op.operands[state]
        assert initial is not None and initial.shape is not None and isinstance(initial.shape[1], int)
        return initial.shape[1]

    def build(self, out: list[Op], dead: set[Op]) -> None:
        """Append the call to `out`, and let it stand for the loop."""
        op, cell = self.loop.op, self.cell
        tf = TfBuilder(out, op)
        weights = build_weights(tf, cell)
        states = [op.operands[i] for i in cell.states]
        name = f"{'masked_' if self.handover is not None else ''}{cell.kind}_raised"
        function = Graph(f"{op.name}/{name}", {"_implements": FuncRef(name, self.attrs())})
        operands = [self.sequence.source, *states, weights.kernel, weights.recurrent, weights.bias]
        operands += [None, None] if self.handover is None else self.handover.operands(tf)
        operands += [weights.peephole, weights.projection]
        while operands[-1] is None:
            operands.pop()
        call = Op("tf.PartitionedCall", operands, {"f": add_function(self.module, function)}, op.name, op.sources)
        time_major = self.sequence.time_axis == 0
        ends = [(self.batch, self.width(i)) for i in cell.states]
        steps: tuple[Dim, Dim] = (self.loop.steps, self.batch) if time_major else (self.batch, self.loop.steps)
        last, every, *finals = (
            call.add_result(types.FLOAT32, shape) for shape in [ends[0], (*steps, ends[0][1]), *ends]
        )
        outer = self.redirect(tf, last, every, finals, dead)
        self.fill(function, call)
        out.append(call)
        out.extend(outer)

    def attrs(self) -> dict[str, object]:
        attrs: dict[str, object] = {
            "time_major": self.sequence.time_axis == 0,
            "go_backwards": self.sequence.backwards,
        }
        if self.cell.activation != "tanh":
            attrs["activation"] = self.cell.activation
        if self.masked is not None:
            attrs["hold_output"] = self.masked.held
        for name in ("cell_clip", "proj_clip", "coupled"):
            if getattr(self.cell, name):
                attrs[name] = getattr(self.cell, name)
        return attrs

    def redirect(self, tf: TfBuilder, last: Value, every: Value, finals: list[Value], dead: set[Op]) -> list[Op]:
        """Let the readers of the loop read the call; return the ops between them."""
        out: list[Op] = []
        between = TfBuilder(out, tf.op)
        if self.masked is None and isinstance(self.loop.steps, int) and self.loop.steps > 0:
            finals = [last, *finals[1:]]  # which both directions give as well
        for i, state in zip(self.cell.states, finals):
            replace_uses(self.loop.op.results[i], state)
        if self.masked is not None and self.masked.previous is not None:
            replace_uses(self.loop.op.results[self.masked.previous], last)
        for i, result in enumerate(self.loop.op.results):
            operand = self.loop.op.operands[i]
            if i in self.loop.counters and result.uses:
                assert isinstance(self.loop.steps, int)
                end = np.array(self.loop.counters[i] + self.loop.steps, result.dtype.numpy)
                replace_uses(result, constant(end, result.dtype, result.name))
            elif i in self.loop.invariants and operand is not None:
                replace_uses(result, operand)
        for ended, last_state in self.ends.items():
            for stack in list(self.loop.op.results[ended.variable].uses):
                for reader in list(stack.result.uses):
                    replace_uses(reader.result, finals[self.cell.states.index(last_state)])
                    detach(reader)
                    dead.add(reader)
                detach(stack)
                dead.add(stack)
        if self.output is not None:
            for reader in list(self.loop.op.results[self.output.variable].uses):
                if is_stack(reader):
                    self.redirect_stack(between, reader, last, every)
                elif self.length is not None:
                    replace_uses(reader.result, self.length)
                detach(reader)
                dead.add(reader)
        return out

    def redirect_stack(self, tf: TfBuilder, stack: Op, last: Value, every: Value) -> None:
        """Let the readers of the stacked outputs [time, batch, units] read the call's results."""
        assert self.output is not None
        time_major = self.sequence.time_axis == 0
        tf.op = stack
        in_order = self.in_order(stack)
        for reader in [reader for value in in_order for reader in value.uses]:
            if _takes_last(reader, self.output) and (self.output.every or not self.output.backwards):
                replace_uses(reader.result, last)
            elif not time_major and self.output.every and _is_swap(reader):
                replace_uses(reader.result, every)
            elif not time_major and self.output.every and is_reversal(reader, 0):
                replace_uses(reader.result, self.turned(tf, every))
        if not self.output.every:
            replace_uses(stack.result, tf.ExpandDims(last, 0))
            return
        sequence = every if time_major else tf.Transpose(every, _SWAP)
        sequence.shape = (self.loop.steps, self.batch, self.width(self.cell.states[0]))
        for value in in_order:
            replace_uses(value, sequence)
        if self.output.backwards and stack.result.uses:
            turned = tf.ReverseV2(sequence, [0])
            turned.shape = sequence.shape
            replace_uses(stack.result, turned)

    def turned(self, tf: TfBuilder, every: Value) -> Value:
        """Return all outputs [batch, time, units] as [time, batch, units], the last one first. They are turned around
        first, as both directions are merged there."""
        turned = tf.ReverseV2(every, [1])
        turned.shape = every.shape
        made = tf.Transpose(turned, _SWAP)
        made.shape = (self.loop.steps, self.batch, self.width(self.cell.states[0]))
        return made

    def in_order(self, stack: Op) -> list[Value]:
        """Return the values that are the stacked outputs in the order of the steps: where each step puts its output in
        front of the others, those that are reversed."""
        assert self.output is not None
        if not self.output.backwards:
            return [stack.result]
        return [reader.result for reader in stack.result.uses if is_reversal(reader, 0)]

    def fill(self, function: Graph, call: Op) -> None:
        """Build the function: the loop, between ops that lead from the contract's operands to its results."""
        op, cell = self.loop.op, self.cell
        first = ["output0"] if self.handover is not None else []
        names = ["x", "h0", "c0"][: 1 + len(cell.states)]
        names += ["kernel", "recurrent", "bias", "mask", "lengths", *first, "peephole", "projection"]
        given = {
            name: function.add_input(types.FLOAT32, None, name)
            if operand is None
            else function.add_input(operand.dtype, operand.shape, name)
            for name, operand in zip(names, call.operands)
        }
        tf = TfBuilder(function.ops, op)
        x = self.sequence.moved(function.ops, given["x"])
        handed: dict[int, Value] = {}
        if self.handover is not None:
            handed = self.handover.inside(tf, given, tf.size(x, self.given.axis))
        handed |= {self.given.variable: x} | {i: given[name] for i, name in zip(cell.states, names[1:])}
        operands: list[Value | None] = []
        for i, operand in enumerate(op.operands):
            assert operand is not None
            if i in handed:
                operand = self.as_input(function, handed[i], i)
            elif operand.dtype is types.VARIANT:
                operand = self.new_list(function, x, i)
            elif not operand.is_const:
                operand = self.steps(tf, x, operand.dtype)
            operands.append(operand)
        inner = copy_op(op, operands)
        for result in op.results:
            inner.add_result(result.dtype, result.shape)
        function.ops.append(inner)
        function.outputs = [*self.outputs(tf, inner, x), *(inner.results[i] for i in cell.states)]

    def as_input(self, function: Graph, given: Value, variable: int) -> Value:
        """Return what is handed over, in the place of an operand of the loop: as a list if that is one."""
        operand = self.loop.op.operands[variable]
        assert operand is not None
        if operand.dtype is not types.VARIANT or operand.op is None:
            return given
        read = self.given if variable == self.given.variable or self.masked is None else self.masked.mask
        assert read is not None and read.tensor.shape is not None
        tf = TfBuilder(function.ops, operand.op)
        shape = operand.op.operands[1] if operand.op.kind == "tf.TensorListFromTensor" else None
        return tf.TensorListFromTensor(given, _element_shape(shape, read.tensor.shape[1:]), dtype=types.VARIANT)

    def new_list(self, function: Graph, x: Value, variable: int) -> Value:
        made, written = (value.op for value in (self.loop.op.operands[variable], self.loop.body.outputs[variable]))  # type: ignore[union-attr]
        assert made is not None and written is not None and written.operands[-1] is not None
        tf = TfBuilder(function.ops, made)
        element, size = made.operands
        if made.kind == "tf.TensorListReserve" and size is not None and not size.is_const:
            size = self.steps(tf, x, types.INT32)
        shape = _element_shape(element, written.operands[-1].shape or (self.batch, self.width(self.cell.states[0])))
        return tf.add(made.type, [shape, size], dict(made.attrs), types.VARIANT)

    def steps(self, tf: TfBuilder, x: Value, dtype: types.DType) -> Value:
        """Return the number of steps."""
        size = tf.size(x, self.given.axis)
        return size if dtype is types.INT32 else tf.Cast(size, dtype=dtype)

    def outputs(self, tf: TfBuilder, inner: Op, x: Value) -> list[Value]:
        """Return the last output, and all outputs. Where the loop does not keep them all, nobody reads the second."""
        last = inner.results[self.cell.states[0]]
        if self.masked is not None and self.masked.previous is not None:
            last = inner.results[self.masked.previous]
        if self.output is None or (self.masked is None and not self.output.every):
            return [last, last]
        sequence = tf.TensorListStack(
            inner.results[self.output.variable], [-1, self.width(self.cell.states[0])], dtype=types.FLOAT32
        )
        if self.output.backwards:
            sequence = tf.ReverseV2(sequence, [0])
        if self.masked is not None:
            last = tf.StridedSlice(sequence, [-1], [0], [1], shrink_axis_mask=1)
        if not self.output.every:
            return [last, last]
        return [last, sequence if self.sequence.time_axis == 0 else tf.Transpose(sequence, _SWAP)]


def _element_shape(given: Value | None, shape: Shape) -> Value:
    """Return the shape of a list's elements [batch, ...], as the model says it if that is constant."""
    if given is not None and given.is_const:
        return given
    return constant(np.array([-1, *(dim if isinstance(dim, int) else -1 for dim in shape[1:])], np.int32))


def _is_swap(reader: Op) -> bool:
    if reader.kind != "tf.Transpose" or reader.operands[1] is None or reader.operands[1].data is None:
        return False
    return [int(n) for n in reader.operands[1].data] == _SWAP


def _takes_last(reader: Op, output: Output) -> bool:
    """Return whether a StridedSlice takes the last of the stacked outputs and nothing else."""
    spec = SliceSpec.of(reader)
    return spec is not None and spec.picked() in (((0, -1),) if output.every else ((0, -1), (0, 0)))
