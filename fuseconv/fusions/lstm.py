"""Keras LSTM -> UNIDIRECTIONAL_SEQUENCE_LSTM.

The contract is Keras 2's own (`api_implements` = `lstm_<id>`; standard_lstm of keras/layers/rnn/lstm.py, and TensorFlow
Lite's guide "RNN conversion"). Gates stand in the order i, f, c, o, which is TFLite's. x is [batch, time, in], or
[time, batch, in] with time_major; kernel [in, 4u], recurrent [u, 4u], bias [4u]. With go_backwards the sequence is
reversed first. The results are the last output, all outputs, the last h and c, and a mark of Keras's own.

Cells that are recognized in loops use more of the kernel, by operands and attributes that Keras lacks:
- peephole [3u]: the weights by which the gates i and f see the old cell state, and o the new one.
- projection [u, out] of the output; recurrent then is [out, 4u].
- activation (tanh, relu, relu6): that of the candidate and of the cell state.
- cell_clip, proj_clip: bounds of the cell state and of the projected output.
- coupled: there is no input gate. The weights are those of f, c, o, and what the forget gate does not keep enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.once import computed_on_every_invoke

OPERANDS = "x h0 c0 kernel recurrent bias mask? lengths?"
RESULTS = "last sequence h c runtime?"
ATTRS = {"time_major": False, "go_backwards": False}
LSTM = composite(
    "lstm_*",
    f"{OPERANDS} peephole? projection? -> {RESULTS}",
    {**ATTRS, "activation": "tanh", "cell_clip": 0.0, "proj_clip": 0.0, "coupled": False},
)
# A cell whose gates have none at all would want NONE, of which the kernel makes something else.
ACTIVATIONS = ("tanh", "relu", "relu6")


def gates_of(m: Match) -> int:
    """Return the number of gates, the candidate's among them."""
    return 3 if m.attrs.get("coupled") else 4


def units_of(m: Match) -> int:
    """Return the width of the cell state."""
    return int(m.kernel.shape[1]) // gates_of(m)


def check(m: Match) -> None:
    outputs, columns = m.recurrent.shape or (0, 0)
    check_interface(m, outputs)
    units, gates = units_of(m), gates_of(m)
    m.require(columns == gates * units, f"the recurrent weights are not [out, {gates * units}] but {m.recurrent.shape}")
    wanted = (units, outputs)
    if m.projection is None:
        m.require(outputs == units, f"the recurrent weights are not [u, {gates}u] but {m.recurrent.shape}")
    else:
        m.require(m.projection.shape == wanted, f"the projection is not {list(wanted)} but {m.projection.shape}")
    fits = m.peephole is None or m.peephole.shape == (3 * units,)
    m.require(fits, f"the peephole's weights are not known to be [{3 * units}]")
    m.require(m.peephole is None or gates == 4, "a cell with coupled gates has no peepholes here")
    activation = m.attrs["activation"]
    m.require(activation in ACTIVATIONS, f"TFLite's LSTM has no activation {activation}")


def check_interface(m: Match, outputs: int) -> None:
    """Refuse operands that TFLite's kernel does not take, whatever the recurrent weights are. outputs: the width of
    h."""
    m.require(m.mask is None and m.lengths is None, "TFLite's LSTM takes no mask")
    for name, rank in {"x": 3, "h0": 2, "c0": 2, "kernel": 2, "recurrent": 2, "bias": 1}.items():
        value = m.operands[name]
        m.require(value.rank == rank, f"the operand {name} is not known to be of rank {rank}")
        m.require(value.dtype is types.FLOAT32, f"TFLite's LSTM takes float32, and the operand {name} is {value.dtype}")
    m.require(m.kernel.is_static and m.recurrent.is_static, "the number of units is not known")
    units, gates = units_of(m), gates_of(m)
    m.require(m.kernel.shape[1] == gates * units, f"the weights are not [in, {gates}u] but {m.kernel.shape}")
    m.require(m.bias.shape == (gates * units,), f"the bias is not [{gates * units}] but {m.bias.shape}")
    for state, width in ((m.h0, outputs), (m.c0, units)):
        check_state(m, state, m.x.shape[1 if m.attrs["time_major"] else 0], width)


def check_state(m: Match, state: Value, batch: Dim, units: int) -> None:
    """Refuse a state of one row for a batch of several: the body broadcasts it, the kernel would read beyond it."""
    shape = state.shape or ()
    fits = len(shape) == 2 and shape[1] == units and (shape[0] == batch or shape[0] != 1)
    m.require(fits, f"an initial state has the shape {state.shape}, not [batch, {units}]")


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    return rewrite_sequence(tfl, m, weights(tfl, m, recurrent_gates(tfl, m)), **op_attrs(m))


def op_attrs(m: Match) -> dict[str, Any]:
    """Return the op's attributes."""
    clips = {name: m.attrs[name] for name in ("cell_clip", "proj_clip")}
    return {"fused_activation_function": m.attrs["activation"].upper(), **clips}


def recurrent_gates(tfl: Builder, m: Match) -> list[Value | None]:
    """Return the recurrent weights of the gates i, f, c, o: [u, out] each."""
    return _four_gates(tfl, m, tfl.transpose(m.recurrent, [1, 0]))


def weights(tfl: Builder, m: Match, recurrent: Sequence[Value | None]) -> list[Value | None]:
    """Return the op's 17 operands between x and the states. recurrent: the recurrent weights of the gates i, f, c,
    o."""
    kernel = _four_gates(tfl, m, tfl.transpose(m.kernel, [1, 0]))
    peephole, projection = m.operands.get("peephole"), m.operands.get("projection")
    peepholes: list[Value | None] = [None] * 3 if peephole is None else [*_gates(tfl, peephole, units_of(m), 3)]
    projected = None if projection is None else tfl.transpose(projection, [1, 0])
    return [*kernel, *recurrent, *peepholes, *_four_gates(tfl, m, m.bias), projected, None]


def _four_gates(tfl: Builder, m: Match, stacked: Value) -> list[Value | None]:
    """Return the parts of i, f, c, o; i has none where it is coupled to f."""
    gates = _gates(tfl, stacked, units_of(m), gates_of(m))
    return [*[None] * (4 - len(gates)), *gates]


def rewrite_sequence(tfl: Builder, m: Match, weights: list[Value | None], **attrs: Any) -> dict[str, Value]:
    """Build the op and all results that are read. weights: the 17 operands behind x; attrs: of the op."""
    time_axis = 0 if m.attrs["time_major"] else 1
    x = tfl.reverse_v2(m.x, [time_axis]) if m.attrs["go_backwards"] else m.x
    h, c = variable_state(tfl, m.h0), variable_state(tfl, m.c0)
    sequence = tfl.unidirectional_sequence_lstm(x, *weights, h, c, time_major=time_axis == 0, **attrs)
    made = {"sequence": sequence}
    if m.reads("last") or m.reads("h") or m.reads("c"):
        made["last"] = last_step(tfl, sequence, time_axis)
    if m.reads("h"):
        made["h"] = last_state(tfl, m, made["last"], h)
    if m.reads("c"):
        made["c"] = state_after(tfl, made["last"], c, units_of(m))
    if m.reads("runtime"):
        made["runtime"] = tfl.const(0.0, m.results["runtime"].dtype)
    return made


def _gates(tfl: Builder, stacked: Value, units: int, count: int) -> list[Value]:
    """Return the gates' parts of [count * u, ...]."""
    rest = [0] * (len(stacked.shape) - 1)  # type: ignore[arg-type]
    return [tfl.slice(stacked, [gate * units, *rest], [units, *[-1 for _ in rest]]) for gate in range(count)]


def state_after(tfl: Builder, output: Value, state: Value, units: int) -> Value:
    """Return the contents [batch, units] of a state tensor after the op that made `output` [batch, n].

    The kernels do not declare their state as an output: only an op that also reads the output is sure to run after.
    """
    joined = tfl.concatenation(output, state, axis=1)
    return tfl.slice(joined, [0, output.shape[1]], [-1, units])  # type: ignore[index]


def last_state(tfl: Builder, m: Match, output: Value, state: Value) -> Value:
    """Return the state [batch, u] after the op whose last output is `output`: that, or, as a sequence of unknown length
    may have no steps, what the state tensor holds."""
    if isinstance(m.x.shape[0 if m.attrs["time_major"] else 1], int):
        return output
    return state_after(tfl, output, state, state.shape[1])  # type: ignore[index,arg-type]


def variable_state(tfl: Builder, initial: Value) -> Value:
    """Return a variable tensor that an op sets to `initial` [batch, u] on every invoke. Each call makes a tensor of its
    own.

    The runtime clears variables only when it allocates: without a write on every invoke, one sequence would begin where
    the one before it ended. The op is one that runs on every invoke, which what has only constant operands need not do,
    and that XNNPACK leaves alone, since it crashes on writing a variable tensor of dynamic size: FILL for zeros, else
    TILE, once.

    Where the batch is dynamic, the runtime must not know the result's size before the invoke: behind another dynamic
    tensor it would keep the place of one row for it, and states would overlap. MAXIMUM and MINIMUM hide what SHAPE
    says.
    """
    written = initial.dtype, initial.shape
    zeros = _zeros(tfl, initial)
    if zeros is not None:
        sizes, zero = zeros
        if not sizes.is_const and (sizes.op is None or sizes.op.type not in ("Pack", "PACK")):
            sizes = tfl.maximum(sizes, tfl.const(0, sizes.dtype))
        (state,) = tfl.typed_op("FILL", [sizes, zero], [written], {})
    else:
        if initial.is_const:
            initial = computed_on_every_invoke(tfl, initial)
        once = tfl.ints([1, 1])
        times = once if initial.is_static else tfl.minimum(tfl.shape(initial), once)
        (state,) = tfl.typed_op("TILE", [initial, times], [written], {})
    state.variable = True
    return state


def zero_state(tfl: Builder, x: Value, units: int) -> Value:
    """Return a variable tensor [batch, units] that is zeroed on every invoke; x is [batch, ...]."""
    batch = tfl.slice(tfl.shape(x), [0], [1])
    shape = (x.shape[0], units)  # type: ignore[index]
    operands = [tfl.concatenation(batch, tfl.ints([units]), axis=0), tfl.const(0.0, x.dtype)]
    (state,) = tfl.typed_op("FILL", operands, [(x.dtype, shape)], {})
    state.variable = True
    return state


def is_zero(value: Value) -> bool:
    """Return True for a constant that is zero throughout, and for what is filled with zeros."""
    at = None if value.op is None else {"tf.Fill": 1, "tf.BroadcastTo": 0}.get(value.op.kind)
    filled = value if at is None else value.op.operands[at]  # type: ignore[union-attr]
    return filled is not None and filled.data is not None and not np.any(filled.data)


def _zeros(tfl: Builder, initial: Value) -> list[Any] | None:
    """Return the operands of the FILL that makes `initial`, if it is zero throughout."""
    if not is_zero(initial):
        return None
    if initial.op is None:
        return [tfl.ints(initial.shape or ()), tfl.const(0, initial.dtype)]
    return [initial.op.operands[0 if initial.op.kind == "tf.Fill" else 1], tfl.const(0, initial.dtype)]


def last_step(tfl: Builder, sequence: Value, time_axis: int, backwards: bool = False) -> Value:
    """Return the last step of a sequence, backwards: the first one: [batch, u]."""
    begin = [0, 0, 0]
    begin[time_axis] = 0 if backwards else -1
    time, every = 1 << time_axis, 0b111
    return tfl.strided_slice(
        sequence, begin, [0, 0, 0], [1, 1, 1], begin_mask=every & ~time, end_mask=every, shrink_axis_mask=time
    )


FUSIONS = [Fusion("keras_lstm", "UNIDIRECTIONAL_SEQUENCE_LSTM", LSTM, rewrite, check)]
