"""Masked LSTM and simple RNN -> UNIDIRECTIONAL_SEQUENCE_LSTM or _RNN, over sequences whose masked steps stand last.

The contracts are this project's own. `masked_lstm_*` and `masked_rnn_*` take and give what `lstm_*` and `rnn_*` do (see
lstm.py and rnn.py), and one of mask and lengths. mask is bool [batch, time], or [time, batch] with time_major, or one
row for the whole batch. It is true at the steps that count, and is reversed with x where go_backwards says so. lengths
is int32 [batch]: the first so many steps count, after x is reversed. A step that does not count leaves the states as
they are. It puts out output0 [batch, out], or with hold_output what the step before it put out, which is output0 until
a step counts. No output0 is zeros.

The kernels take no mask. What a layer makes of the steps that count does not depend on where the others stand, so the
others are moved to the end of each row. TOPK_V2 gives the order, of numbers that are 1 for steps that count and 0 for
others: of equal numbers it puts the first one first. An output then is the kernel's at the place that tells how many
steps have counted, in a sequence with output0 in front, and the last state that of as many steps as count in all. The
cell state of an LSTM is never put out, so it must be the last one in the op. Where it is read, x gets one more column:
it opens the forget gate and closes the input gate at the steps that stand last, and the cell state stays the same to
the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.fusions import lstm, rnn
from fuseconv.ir import types
from fuseconv.ir.dims import Shape, Sym
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_ATTRS = {"time_major": False, "go_backwards": False, "hold_output": bool, "activation": "tanh"}
MASKED_LSTM = composite(
    "masked_lstm_*",
    "x h0 c0 kernel recurrent bias mask? lengths? output0? peephole? projection? -> last sequence h c",
    {**_ATTRS, "cell_clip": 0.0, "proj_clip": 0.0, "coupled": False},
)
MASKED_RNN = composite("masked_rnn_*", "x h0 kernel recurrent bias mask? lengths? output0? -> last sequence h", _ATTRS)
# What the column adds to the gates: enough to drown any sum that is no overflow, for the sigmoid to be 0 or 1.
_SHUT = 1e30


def _check(check: Callable[[Match], None], m: Match) -> None:
    check(_plain(m, m.x))
    batch = m.x.shape[1 if m.attrs["time_major"] else 0]
    if m.mask is not None:
        sizes = [*m.x.shape[:2]]
        if _is_one_row(m):
            sizes[1 if m.attrs["time_major"] else 0] = 1
        fits = m.lengths is None and m.mask.dtype is types.BOOL and _agree(m.mask.shape, tuple(sizes))
        m.require(fits, f"the mask is a {m.mask.dtype} {m.mask.shape}, where x is {m.x.shape}")
    else:
        m.require(m.lengths is not None, "which steps count is told by neither a mask nor lengths")
        fits = m.lengths.dtype is types.INT32 and _agree(m.lengths.shape, (batch,))
        m.require(fits, f"the lengths are {m.lengths.dtype} {m.lengths.shape}, where x is {m.x.shape}")
    if m.output0 is not None:
        lstm.check_state(m, m.output0, batch, m.h0.shape[1])


def _is_one_row(m: Match) -> bool:
    """Return True for a mask that is one row for the whole batch."""
    axis = 1 if m.attrs["time_major"] else 0
    return m.mask.rank == 2 and m.mask.shape[axis] == 1 and m.x.shape[axis] != 1


def _agree(shape: Shape | None, wanted: Shape) -> bool:
    """Return True for shapes that may be equal: a single row for the whole batch, say, would have to be broadcast."""
    if shape is None or len(shape) != len(wanted):
        return False
    return all(a == b or isinstance(a, Sym) or (isinstance(b, Sym) and a != 1) for a, b in zip(shape, wanted))


def check_lstm(m: Match) -> None:
    _check(lstm.check, m)


def check_rnn(m: Match) -> None:
    _check(rnn.check, m)


def _plain(m: Match, x: Value, **operands: Value) -> Match:
    """Return the match for the fusion of the layer without a mask, on this x; its outputs have no uses."""
    attrs = {name: value for name, value in m.attrs.items() if name != "hold_output"}
    results = {name: value for name, value in m.results.items() if name == "c"}
    given = m.operands | operands | {"x": x, "mask": None, "lengths": None}
    return replace(m, operands=given, attrs=attrs, results=results)


@dataclass(frozen=True)
class _Steps:
    """The steps that count. mask: bool [batch, time]. so_far: how many count, up to and with each step, in int32.
    count: in all, [batch]. order: the steps that count first, [batch, time]; None if they stand so."""

    mask: Value
    so_far: Value
    count: Value
    order: Value | None


def _steps(tfl: Builder, m: Match, x: Value) -> _Steps:
    """Return x as [batch, time, in], in the order of the steps."""
    if m.mask is None:
        return _first_steps(tfl, m.lengths, x)
    mask = tfl.transpose(m.mask, [1, 0]) if m.attrs["time_major"] else m.mask
    if m.attrs["go_backwards"]:
        mask = tfl.reverse_v2(mask, [1])
    if mask.shape[1] != x.shape[1]:  # type: ignore[index]
        # A mask with a size of its own may be longer; GATHER fails if it is shorter.
        mask = tfl.gather(mask, _range(tfl, _time(tfl, x)), axis=1)
    if _is_one_row(m):
        mask = tfl.broadcast_to(mask, tfl.strided_slice(tfl.shape(x), [0], [2], [1]))
    numbers = _number(tfl, mask)
    so_far = tfl.cumsum(numbers, 1)
    order = tfl.topk_v2(numbers, _time(tfl, numbers))[1]
    return _Steps(mask, so_far, _at_end(tfl, so_far), order)


def _first_steps(tfl: Builder, lengths: Value, x: Value) -> _Steps:
    time = _time(tfl, x)
    count = tfl.minimum(tfl.maximum(lengths, 0), time)
    numbers = _range(tfl, time)
    column = tfl.expand_dims(count, 1)
    return _Steps(tfl.less(numbers, column), tfl.minimum(tfl.add(numbers, 1), column), count, None)


def _number(tfl: Builder, mask: Value) -> Value:
    """Return 1 for true, 0 for false."""
    return tfl.cast(mask, out_data_type="INT32")


def _time(tfl: Builder, rows: Value) -> Value:
    """Return the number of steps of [batch, time, ...], a scalar of int32."""
    size = rows.shape[1]  # type: ignore[index]
    if isinstance(size, int):
        return tfl.const(size, types.INT32)
    return tfl.strided_slice(tfl.shape(rows), [1], [2], [1], shrink_axis_mask=1)


def _range(tfl: Builder, count: Value) -> Value:
    """Return 0, 1, 2, ..."""
    return tfl.range(tfl.const(0, types.INT32), count, tfl.const(1, types.INT32))


def _at_end(tfl: Builder, rows: Value) -> Value:
    """Return the last column of [batch, time]."""
    return tfl.strided_slice(rows, [0, -1], [0, 0], [1, 1], begin_mask=1, end_mask=3, shrink_axis_mask=2)


def _with_column(tfl: Builder, steps: _Steps, m: Match, x: Value) -> tuple[Value, Value]:
    """Return x and the kernel with one more column, and row, that keep the cell state at steps that do not count.

    What x is there does not count, be it no number at all: zeros take its place, for no gate makes 0 of an infinity."""
    mask = tfl.expand_dims(steps.mask, 2)
    zero = tfl.const(0.0, x.dtype)
    shut = tfl.select_v2(mask, zero, tfl.const(_SHUT, x.dtype))
    # Of the gates i, f, c, o; i, where there is none, is 1 - f.
    gates = np.array([[-1, 1, 0, 0][-lstm.gates_of(m) :]], np.float32).repeat(lstm.units_of(m), axis=1)
    x = tfl.concatenation(tfl.select_v2(mask, x, zero), shut, axis=2)
    return x, tfl.concatenation(m.kernel, gates, axis=0)


def _results(tfl: Builder, m: Match, steps: _Steps, outputs: Value) -> dict[str, Value]:
    """Return the results but for c. outputs: the op's [batch, time, out]."""
    made: dict[str, Value] = {}
    after = steps.so_far
    if not m.attrs["hold_output"]:
        after = tfl.mul(after, _number(tfl, steps.mask))
    first = None if m.output0 is None or lstm.is_zero(m.output0) else m.output0
    every = _behind(tfl, first, outputs)
    if m.reads("sequence"):
        made["sequence"] = tfl.gather(every, after, axis=1, batch_dims=1)
        if m.attrs["time_major"]:
            made["sequence"] = tfl.transpose(made["sequence"], [1, 0, 2])
    if m.reads("last"):
        end = steps.count if m.attrs["hold_output"] else _at_end(tfl, after)
        made["last"] = tfl.gather(every, end, axis=1, batch_dims=1)
    if m.reads("h"):
        state = None if lstm.is_zero(m.h0) else m.h0
        same = state is first
        if same and m.attrs["hold_output"] and "last" in made:
            made["h"] = made["last"]
        else:
            made["h"] = tfl.gather(every if same else _behind(tfl, state, outputs), steps.count, axis=1, batch_dims=1)
    return made


def _behind(tfl: Builder, first: Value | None, outputs: Value) -> Value:
    """Return the outputs [batch, 1 + time, out] with initial outputs prepended, zeros for None."""
    if first is None:
        return tfl.pad(outputs, np.array([[0, 0], [1, 0], [0, 0]], np.int32))
    return tfl.concatenation(tfl.expand_dims(first, 1), outputs, axis=1)


def _rewrite(tfl: Builder, m: Match, rewrite: Callable[[Builder, Match], dict[str, Value]]) -> dict[str, Value]:
    x = tfl.transpose(m.x, [1, 0, 2]) if m.attrs["time_major"] else m.x
    if m.attrs["go_backwards"]:
        x = tfl.reverse_v2(x, [1])
    steps = _steps(tfl, m, x)
    kernel = m.kernel
    if m.reads("c"):
        x, kernel = _with_column(tfl, steps, m, x)
    if steps.order is not None:
        x = tfl.gather(x, steps.order, axis=1, batch_dims=1)
    plain = _plain(m, x, kernel=kernel)
    plain.attrs |= {"time_major": False, "go_backwards": False}
    op = rewrite(tfl, plain)
    made = _results(tfl, m, steps, op["sequence"])
    if m.reads("c"):
        made["c"] = op["c"]
        if m.attrs["cell_clip"] and not lstm.is_zero(m.c0):
            # The op clips a state that no step has touched.
            counts = tfl.expand_dims(tfl.greater(steps.count, 0), 1)
            made["c"] = tfl.select_v2(counts, made["c"], m.c0)
    return made


def rewrite_lstm(tfl: Builder, m: Match) -> dict[str, Value]:
    return _rewrite(tfl, m, lstm.rewrite)


def rewrite_rnn(tfl: Builder, m: Match) -> dict[str, Value]:
    return _rewrite(tfl, m, rnn.rewrite)


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw masks from none to all of a row's steps, with holes; lengths from none to one more than there are steps."""
    batch, time = m.x.shape[:2][:: -1 if m.attrs["time_major"] else 1]
    if m.mask is None:
        return {"lengths": (np.arange(batch) % (time + 2)).astype(np.int32)}
    rows = 1 if _is_one_row(m) else batch
    counts = rng.uniform(size=(time, rows)) < (np.linspace(0, 1, rows) if rows > 1 else 0.5)
    return {"mask": counts if m.attrs["time_major"] else counts.T}


FUSIONS = [
    Fusion("masked_lstm", "UNIDIRECTIONAL_SEQUENCE_LSTM", MASKED_LSTM, rewrite_lstm, check_lstm, draw),
    Fusion("masked_rnn", "UNIDIRECTIONAL_SEQUENCE_RNN", MASKED_RNN, rewrite_rnn, check_rnn, draw),
]
