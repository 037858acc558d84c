"""Match masked loops: which steps of a row count, and what becomes of the states and outputs at the others.

    state' = select(mask[t], step(x[t], state), state)  ->  state' = step(x[t], state), and the mask apart
    output' = select(mask[t], state', output)           ->  the output is held where a step does not count

At a step that does not count each state stays what it was, and what is put out is either what the step before put out
or always the same. Whether a step counts is told by a mask, a sequence beside that of the inputs, or by the number of
steps of each row (t < lengths). What counts may be written either way round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.slice_spec import WHOLE, Insert, SliceSpec
from fuseconv.ir.terms import is_zero, op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import REPEATS, RESHAPES, SELECTS
from fuseconv.transforms.rnn.recurrence import Input, Loop, NotALoop, Output, known_size
from fuseconv.transforms.rnn.sequence import Sequence

# Comparisons of the step's number with lengths, by whether the number stands first: do they hold where a step counts?
_COMPARISONS = {
    ("tf.Less", True): True, ("tf.GreaterEqual", True): False,
    ("tf.Greater", False): True, ("tf.LessEqual", False): False,
}  # fmt: skip


@dataclass(frozen=True)
class _Condition:
    """The condition under which a step counts. source: the step's mask, or the lengths, in the body. inverted: it
    counts where the mask is false, or from the length on."""

    source: Value
    inverted: bool


@dataclass(frozen=True)
class _Select:
    """A selection on a mask: `counted` where the condition holds, else `other`."""

    condition: _Condition
    counted: Value
    other: Value

    def inverted_form(self) -> _Select:
        """Return the same selection under the inverted condition: select(c, x, y) -> select(not c, y, x)."""
        condition = replace(self.condition, inverted=not self.condition.inverted)
        return _Select(condition, self.other, self.counted)


@dataclass(frozen=True)
class Masked:
    """The masking of a loop: how it leaves steps out.

    variable: that holds the mask's sequence, or the lengths. mask: that sequence; None if lengths tell. inverted: steps
    count where the mask is false. held: a step that does not count puts out what the step before it did, else always
    `first`: what is put out before any step counts; None for zeros. carriers: the variables that hold it. previous: the
    one of them that holds the last output."""

    variable: int
    mask: Input | None
    inverted: bool
    held: bool
    first: Value | None
    carriers: tuple[int, ...]
    previous: int | None


def strip_mask(loop: Loop) -> tuple[Loop, Masked | None]:
    """Strip a loop of its mask: state' = select(mask, step(x, state), state) -> state' = step(x, state). Returns the
    loop as it would be if all steps counted, with what tells which of them do; None if all do.

    Raises NotALoop if anything else is left out at the steps that do not count than what they make."""
    if not any(_is_select(loop.made[i]) for i in loop.states):
        if loop.longest is not None:
            raise NotALoop("it may end before its sequence does")
        return loop, None
    choices = {i: _state_select(loop, i) for i in loop.states if loop.body.inputs[i].uses}
    conditions = {choice.condition for choice in choices.values()}
    if len(conditions) != 1:
        raise NotALoop("its states have different masks")
    (condition,) = conditions
    mask = next((given for given in loop.inputs if given.item is condition.source), None)
    if mask is None and condition.inverted:
        raise NotALoop("the first steps of each row are masked, not the last ones")
    variable = mask.variable if mask is not None else loop.body.inputs.index(condition.source)
    held = Masked(variable, mask, condition.inverted, True, None, (), None)
    masked, outputs = _masked_outputs(loop, choices, condition, held)
    if loop.longest is not None:
        lengths = None if mask is not None else loop.op.operands[variable]
        if loop.longest is not lengths or (outputs and (masked.held or masked.first is not None)):
            raise NotALoop("it may end before its sequence does")
    plain = replace(
        loop,
        inputs=[given for given in loop.inputs if given is not mask],
        outputs=outputs,
        states=[i for i in loop.states if i != masked.previous],
        made=[choices[i].counted if i in choices else made for i, made in enumerate(loop.made)],
    )
    return plain, masked


def _state_select(loop: Loop, state: int) -> _Select:
    """Return the selection that makes a state, which keeps the old one where a step does not count."""
    made, old = loop.made[state], loop.body.inputs[state]
    choice = _select_of(loop, made)
    if choice is None and _is_select(made):
        raise NotALoop("a condition that is neither a mask nor a number of steps decides what a step keeps")
    if choice is not None and choice.counted is old:
        choice = choice.inverted_form()
    if choice is None or choice.other is not old:
        raise NotALoop("a masked step does not keep all states")
    return choice


def _masked_outputs(
    loop: Loop, choices: dict[int, _Select], condition: _Condition, masked: Masked
) -> tuple[Masked, list[Output]]:
    """Return what a masked loop puts out at the steps that do not count, and at the others."""
    # What is read by nothing but the selection, or by nothing at all, is carried only to be put out once more.
    carried = [i for i in loop.states if all(reader.kind in SELECTS for reader in loop.body.inputs[i].uses)]
    outputs = loop.outputs
    holder = next((i for i in carried if i in choices), None)
    first = None if holder is None else loop.op.operands[holder]
    if len(outputs) == 1:
        choice = _select_of(loop, outputs[0].item)
        if choice is not None and choice.condition.inverted != condition.inverted:
            choice = choice.inverted_form()
        if choice is None or choice.condition != condition:
            raise NotALoop("its outputs are not masked as its states are")
        holder = next((i for i, known in choices.items() if known == choice), None)
        if holder is None:
            masked = replace(masked, held=False)
            holder = next((i for i in loop.invariants if loop.body.inputs[i] is choice.other), None)
        first = choice.other if holder is None else loop.op.operands[holder]
        if any(i != holder and loop.made[i] is not outputs[0].item for i in carried):
            raise NotALoop("it carries an output that it does not put out")
        outputs = [replace(outputs[0], item=choice.counted)]
    if len(carried) > 1:
        raise NotALoop("it carries an output that it does not put out")
    if first is not None and is_zero(first) and (holder not in choices or holder in carried):
        first = None
    elif first is not None and (holder is None or first.rank != 2):
        raise NotALoop("a masked step puts out something else than the step before it, or zeros")
    carriers = dict.fromkeys([*carried, *([] if holder is None else [holder]), *_unread_lists(loop)])
    return replace(masked, first=first, carriers=tuple(carriers), previous=carried[0] if carried else None), outputs


def _unread_lists(loop: Loop) -> list[int]:
    """Return the variables that are put out at masked steps to a list that nobody reads, and serve for nothing else."""
    writers = {loop.made[i].op for i in loop.unread}

    def serves(reader: Op) -> bool:
        return reader is not loop.body.terminator and not (
            reader.kind in SELECTS and writers.issuperset(reader.result.uses)
        )

    floats = [i for i in loop.invariants if loop.body.inputs[i].dtype.is_float]
    return [i for i in floats if not any(serves(reader) for reader in loop.body.inputs[i].uses)]


def _operand(op: Op, index: int) -> Value:
    value = op.operands[index]
    assert value is not None
    return value


def _is_select(value: Value) -> bool:
    return op_of(value, SELECTS) is not None


def _select_of(loop: Loop, value: Value) -> _Select | None:
    """Return the selection that a value is, if a mask decides on each row of it; None of any other."""
    op = value.op
    if op is None or op.kind not in SELECTS or value.rank != 2:
        return None
    test, yes, no = (_operand(op, index) for index in range(3))
    # A vector is one number a row for Select, for SelectV2 one a column.
    by_row = test.rank == 2 or (test.rank == 1 and op.kind == "tf.Select")
    condition = _condition(loop, test) if by_row else None
    return None if condition is None else _Select(condition, yes, no)


def _condition(loop: Loop, value: Value) -> _Condition | None:
    """Return what decides on each row; None if it is neither a mask nor a comparison of lengths with the step's
    number."""
    inverted = False
    while True:
        given = next((given for given in loop.inputs if given.item is value), None)
        if given is not None:
            fits = value.rank == 1 or (value.rank == 2 and value.shape[1] == 1)  # type: ignore[index]
            return _Condition(value, inverted) if fits and value.dtype is types.BOOL else None
        op = value.op
        if op is None:
            return None
        if op.kind == "tf.LogicalNot":
            inverted = not inverted
        elif not _preserves_rows(op):
            break
        value = _operand(op, 0)
    if len(op.operands) != 2:
        return None
    numbers = {loop.body.inputs[i] for i, start in loop.counters.items() if start == 0}
    given_once = {loop.body.inputs[i] for i in loop.invariants}
    for number, lengths in ((0, 1), (1, 0)):
        holds = _COMPARISONS.get((op.kind, number == 0))
        source = _operand(op, lengths)
        if holds is not None and op.operands[number] in numbers and source in given_once and source.rank == 1:
            return _Condition(source, inverted == holds)
    return None


def _preserves_rows(op: Op) -> bool:
    """Return whether each row of [batch] or [batch, 1] keeps its place, and gets more columns at most."""
    if not op.operands:
        return False
    old, new = _operand(op, 0).shape, op.result.shape
    if old is None or new is None or not old or not new or old[0] != new[0] or len(new) > 2:
        return False
    if op.kind == "tf.StridedSlice":
        spec = SliceSpec.of(op)
        return len(old) == 1 and spec is not None and spec.entries == (WHOLE, Insert())
    wider = len(new) == 2 and new[1] != 1
    one_each = all(size == 1 for size in old[1:])
    return one_each and op.kind in RESHAPES | REPEATS and (not wider or (len(old) == 2 and op.kind in REPEATS))


class Handover:
    """Hand what tells which steps count, and what is put out at others, to the function that a masked loop becomes.

    x: the sequence of the inputs. The mask is handed over as [batch, time] or [time, batch], as x is, and in its order.
    Raises NotALoop if it cannot be brought into this form."""

    def __init__(self, loop: Loop, masked: Masked, x: Sequence) -> None:
        self.loop = loop
        self.masked = masked
        self.x = x
        self.mask = None if masked.mask is None else Sequence.of(masked.mask)
        self.lengths = None
        if self.mask is not None:
            shape = self.mask.source.shape or ()
            if len(shape) != 2 and (len(shape) != 3 or shape[2] != 1):
                raise NotALoop("its mask is not known to be [batch, time]")
            plain = not masked.inverted and not self.mask.backwards and (self.mask.time_axis, x.time_axis) == (1, 1)
            if plain and not x.backwards:
                self.lengths = _sequence_lengths(self.mask.source)

    @property
    def variables(self) -> set[int]:
        """Return the loop's variables that hold it."""
        return {self.masked.variable, *self.masked.carriers}

    def operands(self, tf: TfBuilder) -> list[Value | None]:
        """Return the mask, the numbers of steps, and the output before any step counts, outside of the function."""
        if self.lengths is not None:
            return [None, tf.as_int32(tf.Squeeze(self.lengths, squeeze_dims=[1])), self.masked.first]
        if self.mask is None:
            lengths = self.loop.op.operands[self.masked.variable]
            assert lengths is not None
            return [None, tf.as_int32(lengths), self.masked.first]
        mask = self.mask.source
        if mask.rank == 3:
            mask = tf.Squeeze(mask, squeeze_dims=[2])
        if self.masked.inverted:
            mask = tf.LogicalNot(mask)
        if self.mask.time_axis != self.x.time_axis:
            mask = tf.Transpose(mask, [1, 0])
        if self.mask.backwards != self.x.backwards:
            mask = tf.ReverseV2(mask, [self.x.time_axis])
        return [mask, None, self.masked.first]

    def inside(self, tf: TfBuilder, given: dict[str, Value], steps: Value) -> dict[int, Value]:
        """Return what stands in the function for the variables; for the mask its sequence, of which the loop may read a
        list.

        given: the function's inputs by their names in the contract; steps: the number of steps."""
        values: dict[int, Value] = {}
        for variable in self.masked.carriers:
            values[variable] = tf.ZerosLike(given["h0"]) if self.masked.first is None else given["output0"]
        if self.mask is None:
            outer = self.loop.op.operands[self.masked.variable]
            assert outer is not None
            same = outer.dtype is types.INT32
            values[self.masked.variable] = given["lengths"] if same else tf.Cast(given["lengths"], dtype=outer.dtype)
            return values
        if self.lengths is not None:
            mask = tf.Less(tf.Range(0, steps, 1), tf.ExpandDims(given["lengths"], 1), dtype=types.BOOL)
        else:
            mask = given["mask"]
        if self.mask.backwards != self.x.backwards:
            mask = tf.ReverseV2(mask, [self.x.time_axis])
        if self.mask.time_axis != self.x.time_axis:
            mask = tf.Transpose(mask, [1, 0])
        if self.masked.inverted:
            mask = tf.LogicalNot(mask)
        if self.mask.source.rank == 3:
            mask = tf.ExpandDims(mask, 2)
        values[self.masked.variable] = self.mask.moved(tf.out, mask)
        return values


def _sequence_lengths(mask: Value) -> Value | None:
    """Return the numbers of steps [batch, 1] of which a mask [batch, time] is made, as tf.sequence_mask does."""
    op = mask.op
    if op is None or op.kind not in ("tf.Less", "tf.Greater"):
        return None
    numbers, lengths = op.operands if op.kind == "tf.Less" else op.operands[::-1]
    assert numbers is not None and lengths is not None
    fits = lengths.rank == 2 and lengths.shape[1] == 1 and lengths.dtype in (types.INT32, types.INT64)  # type: ignore[index]
    return lengths if fits and _is_iota(numbers) else None


def _is_iota(value: Value) -> bool:
    """Return whether a value holds the numbers 0, 1, 2, ... in a row."""
    if value.data is not None:
        row = value.data.reshape(-1)
        return value.shape in ((row.size,), (1, row.size)) and bool((row == np.arange(row.size)).all())
    op = value.op
    if op is None or op.kind != "tf.Range":
        return False
    return [known_size(_operand(op, index)) for index in (0, 2)] == [0, 1]
