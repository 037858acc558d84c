"""Keras LSTM -> UNIDIRECTIONAL_SEQUENCE_LSTM.

The contract is Keras 2's own (`api_implements` = `lstm_<id>`): gates in the order i, f, c, o, which is TFLite's;
x is [batch, time, in], or [time, batch, in] with time_major; kernel [in, 4u], recurrent [u, 4u], bias [4u].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

LSTM = composite("lstm_*", "x h0 c0 kernel recurrent bias mask? -> last sequence h c runtime")


def check(m: Match) -> None:
    m.require(m.mask is None, "TFLite's LSTM takes no mask")
    m.require(m.x.rank == 3, "the input is not known to be of rank 3")
    m.require(m.kernel.is_static and m.recurrent.is_static, "the number of units is not known")
    m.require(m.x.dtype.name == "float32", f"TFLite's LSTM takes float32, not {m.x.dtype}")
    units = m.recurrent.shape[0]
    m.require(m.recurrent.shape == (units, 4 * units), f"the recurrent weights are not [u, 4u] but {m.recurrent.shape}")
    batch = m.x.shape[1 if m.attrs.get("time_major") else 0]
    for state in (m.h0, m.c0):
        fits = state.rank == 2 and state.shape[1] == units and (state.shape[0] == batch or state.shape[0] != 1)
        m.require(fits, f"an initial state has the shape {state.shape}, not [batch, {units}]")


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    time_axis = 0 if m.attrs.get("time_major") else 1
    x = tfl.reverse_v2(m.x, [time_axis]) if m.attrs.get("go_backwards") else m.x
    sequence, last_cell = lstm(tfl, x, m.h0, m.c0, m.kernel, m.recurrent, m.bias, time_axis, cell=m.reads("c"))
    made = {"sequence": sequence}
    if m.reads("last") or m.reads("h"):
        made["last"] = made["h"] = last_step(tfl, sequence, time_axis)
    if last_cell is not None:
        made["c"] = last_cell
    if m.reads("runtime"):
        made["runtime"] = tfl.const(0.0, m.results["runtime"].dtype)
    return made


def lstm(
    tfl: Builder,
    x: Value,
    h0: Value,
    c0: Value,
    kernel: Value,
    recurrent: Value,
    bias: Value,
    time_axis: int,
    cell: bool,
) -> tuple[Value, Value | None]:
    """Builds the op and the writes of its state; returns all outputs [batch, time, u] and, if asked, the last cell
    state [batch, u].

    The state tensors are variables, which the runtime clears only when it allocates: without a write on every invoke,
    one sequence would begin where the one before it ended.
    """
    units = int(recurrent.shape[0])  # type: ignore[index,arg-type]
    weights, recurrent_weights = (_gates(tfl, tfl.transpose(w, [1, 0]), units) for w in (kernel, recurrent))
    biases = _gates(tfl, bias, units)
    h, c = variable_state(tfl, h0), variable_state(tfl, c0)
    nothing: list[Any] = [None, None, None]
    sequence = tfl.unidirectional_sequence_lstm(
        x, *weights, *recurrent_weights, *nothing, *biases, None, None, h, c,
        fused_activation_function="TANH", time_major=time_axis == 0,
    )  # fmt: skip
    if not cell:
        return sequence, None
    # The kernel does not declare the state as an output: only an op that also reads the sequence is sure to run after.
    joined = tfl.concatenation(last_step(tfl, sequence, time_axis), c, axis=1)
    return sequence, tfl.slice(joined, [0, units], [-1, units])


def _gates(tfl: Builder, stacked: Value, units: int) -> list[Value]:
    """The four gates' parts of [4u, ...]."""
    rest = [0] * (len(stacked.shape) - 1)  # type: ignore[arg-type]
    return [tfl.slice(stacked, [gate * units, *rest], [units, *[-1 for _ in rest]]) for gate in range(4)]


def variable_state(tfl: Builder, initial: Value) -> Value:
    """A variable tensor that an op sets to `initial` [batch, u] on every invoke. Each call makes a tensor of its own.

    The op is one that runs on every invoke, which what has only constant operands need not do, and that XNNPACK leaves
    alone, since it crashes on writing a variable tensor of dynamic size: FILL for zeros, else TILE, once.
    """
    written = initial.dtype, initial.shape
    zeros = _zeros(tfl, initial)
    if zeros is not None:
        (state,) = tfl.typed_op("FILL", zeros, [written], {})
    else:
        if initial.is_const:
            (zero,) = tfl.typed_op("FILL", [tfl.ints([1]), tfl.const(0, initial.dtype)], [(initial.dtype, (1,))], {})
            initial = tfl.add(initial, zero)
        (state,) = tfl.typed_op("TILE", [initial, tfl.ints([1, 1])], [written], {})
    state.variable = True
    return state


def _zeros(tfl: Builder, initial: Value) -> list[Value] | None:
    """The operands of the FILL that makes `initial`, if it is zero throughout."""
    if initial.data is not None and not np.any(initial.data):
        return [tfl.ints(initial.data.shape), tfl.const(0, initial.dtype)]
    if initial.op is not None and initial.op.kind == "tf.Fill":
        shape, value = initial.op.operands
        if shape is not None and value is not None and value.data is not None and not np.any(value.data):
            return [shape, value]
    return None


def last_step(tfl: Builder, sequence: Value, time_axis: int) -> Value:
    """The last step of a sequence: [batch, u]."""
    begin = [-1, 0, 0] if time_axis == 0 else [0, -1, 0]
    time, every = 1 << time_axis, 0b111
    return tfl.strided_slice(
        sequence, begin, [0, 0, 0], [1, 1, 1], begin_mask=every & ~time, end_mask=every, shrink_axis_mask=time
    )


FUSIONS = [Fusion("keras_lstm", "UNIDIRECTIONAL_SEQUENCE_LSTM", LSTM, rewrite, check)]
