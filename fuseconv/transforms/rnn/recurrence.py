"""Classify the variables of a loop: counters, bounds, sequences that it reads and writes, and states."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.terms import op_of
from fuseconv.tf.batching_rules import row_read
from fuseconv.tf.side_effects import bodies, has_effect
from fuseconv.tf.tensor_list_rules import counts
from fuseconv.tf.traits import COMPARISONS, EMPTY_LISTS
from fuseconv.transforms.loops.loop_info import LoopForm

# Ops that write rows of a tensor into a list, with the operand that is the tensor; the next is the rows' places.
_SCATTERS = {"tf.TensorListScatter": 0, "tf.TensorListScatterV2": 0, "tf.TensorListScatterIntoExistingList": 1}


class NotALoop(Exception):
    """The loop is no walk along a sequence. The message says why."""


@dataclass(frozen=True)
class Input:
    """A sequence that the loop reads, one element a step.

    item: the element, in the body. variable: the loop variable that holds the sequence, or its list. tensor: the
    sequence, outside. axis: of time in it. backwards: the last element is read first.
    """

    item: Value
    variable: int
    tensor: Value
    axis: int
    backwards: bool


@dataclass(frozen=True)
class Output:
    """A list that the loop writes, and that is read afterward.

    item: what a step writes, in the body. every: the list keeps the items of all steps, in their order (backwards: the
    first one last); else only the last one's."""

    variable: int
    item: Value
    every: bool
    backwards: bool


@dataclass
class Loop:
    """A loop that walks along sequences.

    steps: how often its body runs. bounds: the variables that hold that number. inputs, outputs, states: as their types
    say, states by their variables. unread: variables of lists that nobody reads. counters: variables that each step
    adds 1 to, with what they start from. longest: numbers whose largest one ends the loop where it is less than `steps`
    (but not below 1). made: what a step makes of each variable."""

    op: Op
    cond: Graph
    body: Graph
    steps: Dim
    bounds: list[int]
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    counters: dict[int, int] = field(default_factory=dict)
    longest: Value | None = None
    made: list[Value] = field(default_factory=list)

    @property
    def invariants(self) -> list[int]:
        """Return the variables that no step changes."""
        return [i for i, value in enumerate(self.body.inputs) if self.body.outputs[i] is value]


def classify(op: Op, module: Module) -> Loop:
    """Find out what a While's variables are. Raises NotALoop if one of them is none of these."""
    form = LoopForm(op, module)
    for inner in form.body.ops:
        if has_effect(inner, module, {}) or any(True for _ in bodies(inner, module)):
            raise NotALoop(f"a step runs a {inner.type}, which no op along a whole sequence does")
    return _Classifier(form).loop()


class _Classifier:
    """The variables of one loop, by their places. longest: numbers whose largest one ends the loop, where its condition
    asks for them."""

    def __init__(self, form: LoopForm) -> None:
        self.form = form
        self.op, self.cond, self.body = form.op, form.cond, form.body
        self.index = {value: i for i, value in enumerate(form.body.inputs)}
        self.counters = form.counters
        self.longest: Value | None = None

    def loop(self) -> Loop:
        """Tell the variables of a loop apart: counters, states, sequences that it reads, and those that it writes.
        Raises NotALoop for one that is none of these."""
        steps, bounds = self.steps()
        loop = Loop(self.op, self.cond, self.body, steps, bounds)
        loop.counters, loop.longest, loop.made = self.counters, self.longest, list(self.body.outputs)
        for inner in self.body.ops:
            found = self.read(inner, steps)
            if found is not None:
                loop.inputs.append(found)
        for i, (value, made) in enumerate(zip(self.body.inputs, self.body.outputs)):
            if made is value or i in self.counters:
                continue
            if value.dtype is types.VARIANT:
                if not _is_new_list(self.op.operands[i]):
                    raise NotALoop("it carries a list that others have written to")
                if not self.op.results[i].uses and len(value.uses) == 1:
                    loop.unread.append(i)
                else:
                    loop.outputs.append(self.written(i, steps))
            elif value.dtype is types.FLOAT32:
                loop.states.append(i)
            elif value.dtype.is_float:
                raise NotALoop(f"it carries {value.name}, a {value.dtype}, and the kernels' states are float32")
            else:
                raise NotALoop(f"it carries {value.name}, a {value.dtype} that is no counter")
        if not loop.inputs:
            raise NotALoop("it reads no sequence")
        return loop

    def steps(self) -> tuple[Dim, list[int]]:
        """Return how often the body runs, from the comparisons of counters with bounds in the condition."""
        position = {value: i for i, value in enumerate(self.cond.inputs)}
        counts: set[Dim] = set()
        bounds: list[int] = []
        pending: list[Value | None] = [self.cond.outputs[0]]
        while pending:
            value = pending.pop()
            test = value.op if value is not None else None
            if test is None:
                raise NotALoop("its end depends on what it computes")
            if test.kind == "tf.LogicalAnd":
                pending += test.operands
                continue
            counter, bound = test.operands if len(test.operands) == 2 else (None, None)
            if test.kind in ("tf.Greater", "tf.GreaterEqual"):
                counter, bound = bound, counter
            known = position.get(counter, -1) if counter is not None else -1
            if test.kind not in COMPARISONS or known not in self.counters:
                raise NotALoop("its end depends on what it computes")
            size = self.bound(bound)
            if size is None:
                raise NotALoop("the number of its steps is not known from shapes")
            if bound in position:
                bounds.append(position[bound])
            counts.add(size - self.counters[known] + test.kind.endswith("Equal"))
        fixed = [count for count in counts if isinstance(count, int)]
        if len(counts) != 1 and len(fixed) != len(counts):
            raise NotALoop("the number of its steps has several bounds")
        return (min(fixed) if fixed else counts.pop()), bounds

    def bound(self, value: Value | None) -> Dim | None:
        """Return a number of steps; None if it is not known.

        TF1's dynamic_rnn writes n as min(n, max(1, n)), or, of rows with lengths of their own, as
        min(n, max(1, lengths))."""
        if value is not None:
            value = self.form.outside(value) or value
        if value is not None and value.op is not None and value.op.kind == "tf.Minimum":
            for one, other in (value.op.operands, value.op.operands[::-1]):
                maximum = other.op.operands if other is not None and other.op and other.op.kind == "tf.Maximum" else []
                size = known_size(one)
                if size is not None and size in [known_size(operand) for operand in maximum]:
                    return size
                longest = [_largest_of(operand) for operand in maximum if known_size(operand) != 1]
                if size is not None and len(longest) == 1 and longest[0] is not None:
                    self.longest = longest[0]
                    return size
        return self.form.known(value)

    def along(self, value: Value | None, steps: Dim) -> bool | None:
        """Return False if an index goes from the first element to the last, True for the other way round, None for
        neither."""
        course = self.form.course(value)
        if course == (0, 1):
            return False
        return True if course == (steps - 1, -1) else None

    def read(self, op: Op, steps: Dim) -> Input | None:
        """Return the sequence of which an op of the body reads an element; None if the op does not."""
        variable = self.index.get(op.operands[0]) if op.operands and op.operands[0] is not None else None
        if variable is None or self.body.outputs[variable] is not op.operands[0]:
            return None
        outer = self.op.operands[variable]
        assert outer is not None
        axis: int | None
        if op.kind == "tf.TensorListGetItem":
            listed = _listed(outer)
            if listed is None:
                raise NotALoop("it reads a list that is no tensor's")
            tensor, axis, index = listed, 0, op.operands[1]
        elif op.kind in ("tf.GatherV2", "tf.Gather"):
            tensor, axis, index = outer, _gathered_axis(op), op.operands[1]
        elif op.kind == "tf.StridedSlice":
            tensor, (axis, index) = outer, row_read(op)
        else:
            return None
        if axis is None or tensor.rank is None or tensor.shape is None:
            return None
        backwards = self.along(index, steps)
        if backwards is None:
            raise NotALoop("it does not read its input step by step")
        # A mask that is an input of the model has a size of its own, and may be longer.
        apart = op.result.dtype is types.BOOL and all(isinstance(size, Sym) for size in (steps, tensor.shape[axis]))
        if tensor.shape[axis] != steps and (backwards or not apart):
            raise NotALoop(f"it takes {steps} steps along a sequence of {tensor.shape[axis]}")
        return Input(op.result, variable, tensor, axis, backwards)

    def written(self, variable: int, steps: Dim) -> Output:
        """Return what a list gets at each step."""
        made, initial = self.body.outputs[variable].op, self.op.operands[variable]
        start = initial.op if initial is not None else None
        held = self.body.inputs[variable]
        if made is None or start is None or not made.operands or made.operands[0] is not held or len(held.uses) != 1:
            raise NotALoop("it carries a list that it does not write item by item")
        if made.kind == "tf.TensorListPushBack" and start.kind == "tf.EmptyTensorList" and self.longest is None:
            assert made.operands[1] is not None
            return Output(variable, made.operands[1], True, False)
        if made.kind != "tf.TensorListSetItem":
            raise NotALoop("it carries a list that it does not write item by item")
        _, index, item = made.operands
        assert item is not None
        size = known_size(start.operands[1]) if start.kind == "tf.TensorListReserve" else 0
        grows = bool(made.attrs.get("resize_if_index_out_of_bounds"))
        backwards = self.along(index, steps)
        if backwards is not None and size == steps:
            return Output(variable, item, True, backwards)
        if self.longest is not None:
            raise NotALoop("it may end before it has written all of its list")
        if backwards is False and grows and size == 0:
            return Output(variable, item, True, False)
        if size == 1 and self.form.course(index) == (0, 0):
            return Output(variable, item, False, False)
        raise NotALoop("it does not write one item to its list at each step")


def known_size(value: Value | None) -> Dim | None:
    """Return a scalar integer that is constant, or known from shapes; None of any other value."""
    if value is None or (value.data is None and value.content is None):
        return None
    elements = np.asarray(value.data if value.data is not None else value.content)
    if elements.size != 1 or elements.dtype.kind not in "iuO":
        return None
    element = elements.reshape(-1)[0]
    return element if isinstance(element, Sym) else int(element)


def _largest_of(value: Value | None) -> Value | None:
    """Return the vector of which a value is the largest element."""
    op = op_of(value, "tf.Max")
    if op is None or op.operands[0] is None:
        return None
    return op.operands[0] if op.operands[0].rank == 1 and op.result.rank == 0 else None


def _listed(value: Value) -> Value | None:
    """Return the tensor whose rows a list holds; None of any other list."""
    op = op_of(value, ("tf.TensorListFromTensor", *_SCATTERS))
    if op is None:
        return None
    tensor = op.operands[_SCATTERS.get(op.kind, 0)]
    indices = op.operands[_SCATTERS[op.kind] + 1] if op.kind in _SCATTERS else None
    in_order = indices is not None and tensor is not None and counts(indices, tensor)
    size = value.shape[0] if value.shape else None
    whole = tensor is not None and tensor.shape is not None and size == tensor.shape[0]
    return tensor if op.kind not in _SCATTERS or (in_order and whole) else None


def is_stack(op: Op) -> bool:
    """Return whether an op makes a tensor of all items of a list, in their order."""
    if op.kind == "tf.TensorListGather":
        held, indices = op.operands[:2]
        return held is not None and indices is not None and counts(indices, held)
    return op.kind == "tf.TensorListStack"


def _is_new_list(value: Value | None) -> bool:
    return op_of(value, EMPTY_LISTS) is not None


def _gathered_axis(op: Op) -> int | None:
    axis = 0 if op.kind == "tf.Gather" else known_size(op.operands[2])
    index = op.operands[1]
    plain = not op.attrs.get("batch_dims") and index is not None and index.rank == 0
    return axis if isinstance(axis, int) and axis >= 0 and plain else None
