"""Simple RNN -> UNIDIRECTIONAL_SEQUENCE_RNN.

TensorFlow names no contract, so this one is the project's own, made like that of Keras's LSTM (see lstm.py). The
annotation `rnn_<id>` says that h' = activation(x @ kernel + h @ recurrent + bias) at each step. x is [batch, time, in],
or [time, batch, in] with time_major; h0 [batch, u], kernel [in, u], recurrent [u, u], bias [u]. With go_backwards the
sequence is reversed first. The results are the last output, all outputs and the last state. activation: tanh, relu or
none.
"""

from __future__ import annotations

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.fusions.lstm import last_state, last_step, variable_state
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

ACTIVATIONS = ("tanh", "relu", "none")
RNN = composite(
    "rnn_*",
    "x h0 kernel recurrent bias -> last sequence h",
    {"time_major": False, "go_backwards": False, "activation": "tanh"},
)


def check(m: Match) -> None:
    for name, rank in {"x": 3, "h0": 2, "kernel": 2, "recurrent": 2, "bias": 1}.items():
        value = m.operands[name]
        m.require(value.rank == rank, f"the operand {name} is not known to be of rank {rank}")
        m.require(value.dtype is types.FLOAT32, f"TFLite's RNN takes float32, and the operand {name} is {value.dtype}")
    activation = m.attrs["activation"]
    m.require(activation in ACTIVATIONS, f"TFLite's RNN has no activation {activation}")
    m.require(m.kernel.is_static and m.recurrent.is_static, "the number of units is not known")
    units = m.recurrent.shape[0]
    m.require(m.recurrent.shape == (units, units), f"the recurrent weights are not [u, u] but {m.recurrent.shape}")
    m.require(m.kernel.shape[1] == units, f"the weights are not [in, {units}] but {m.kernel.shape}")
    m.require(m.bias.shape == (units,), f"the bias is not [{units}] but {m.bias.shape}")


def weights(tfl: Builder, m: Match) -> list[Value]:
    """Return the op's operands between x and the state."""
    return [tfl.transpose(m.kernel, [1, 0]), tfl.transpose(m.recurrent, [1, 0]), m.bias]


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    time_axis = 0 if m.attrs["time_major"] else 1
    x = tfl.reverse_v2(m.x, [time_axis]) if m.attrs["go_backwards"] else m.x
    state = variable_state(tfl, m.h0)
    sequence = tfl.unidirectional_sequence_rnn(
        x, *weights(tfl, m), state,
        fused_activation_function=m.attrs["activation"].upper(), time_major=time_axis == 0,
    )  # fmt: skip
    made = {"sequence": sequence}
    if m.reads("last") or m.reads("h"):
        made["last"] = last_step(tfl, sequence, time_axis)
    if m.reads("h"):
        made["h"] = last_state(tfl, m, made["last"], state)
    return made


FUSIONS = [Fusion("rnn", "UNIDIRECTIONAL_SEQUENCE_RNN", RNN, rewrite, check)]
