"""A forward and a backward layer on the same input -> BIDIRECTIONAL_SEQUENCE_LSTM or _RNN.

The contract is this project's own (transforms/rnn/merge_bidirectional.py pairs the layers): x, then what the
composites `lstm_*` and `rnn_*` of one direction have behind it, for the layer that goes forwards and for the one that
goes backwards. All outputs of both stand in the order of x, so that the backward layer ends with its first one.

The op is built with an output for each direction. With `merge_outputs` and a batch-major x the LSTM's kernel steps
through its states by the width of both outputs. For any row of the batch but the first it computes wrong results, and
writes beyond the tensors. Without it, and the RNN's kernel in all forms, results are those of two ops and REVERSE_V2 to
the last bit, for any batch, and take the same time. Both layers of an LSTM must have the same number of units.
"""

from __future__ import annotations

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.fusions import lstm, rnn
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_LSTM = "h0 c0 kernel recurrent bias peephole projection"
_RNN = "h0 kernel recurrent bias"
_DIRECTIONS = ("forward", "backward")


def _both(names: str) -> str:
    return " ".join(f"{direction}_{name}" for direction in _DIRECTIONS for name in names.split())


BIDIRECTIONAL_LSTM = composite(
    "bidirectional_lstm_*",
    f"x {_both(_LSTM)} -> {_both('last sequence h c')}",
    {"time_major": False, "activation": "tanh", "cell_clip": 0.0, "proj_clip": 0.0, "coupled": False},
)
BIDIRECTIONAL_RNN = composite(
    "bidirectional_rnn_*",
    f"x {_both(_RNN)} -> {_both('last sequence h')}",
    {"time_major": False, "activation": "tanh"},
)


def _directions(m: Match, names: str) -> list[Match]:
    """Return a match for the fusion of each direction."""
    return [
        Match({"x": m.x, "mask": None, "lengths": None, **{n: m.operands[f"{d}_{n}"] for n in names.split()}}, m.attrs)
        for d in _DIRECTIONS
    ]


def check_lstm(m: Match) -> None:
    both = _directions(m, _LSTM)
    for direction in both:
        lstm.check(direction)
    shapes = [direction.recurrent.shape for direction in both]
    m.require(shapes[0] == shapes[1], "the kernel takes two layers with the same numbers of units only")


def rewrite_lstm(tfl: Builder, m: Match) -> dict[str, Value]:
    both = _directions(m, _LSTM)
    weights = [operand for one in both for operand in lstm.weights(tfl, one, lstm.recurrent_gates(tfl, one))]
    states = [lstm.variable_state(tfl, state) for one in both for state in (one.h0, one.c0)]
    outputs = tfl.bidirectional_sequence_lstm(
        m.x, *weights, *states, *[None] * 9, time_major=m.attrs["time_major"], **lstm.op_attrs(m)
    )
    made = _outputs(tfl, m, outputs, states[::2])
    for direction, one, cell in zip(_DIRECTIONS, both, states[1::2]):
        if m.reads(f"{direction}_c"):
            last = _last(tfl, m, made, direction)
            made[f"{direction}_c"] = lstm.state_after(tfl, last, cell, lstm.units_of(one))
    return made


def check_rnn(m: Match) -> None:
    for direction in _directions(m, _RNN):
        rnn.check(direction)


def rewrite_rnn(tfl: Builder, m: Match) -> dict[str, Value]:
    operands: list[Value] = []
    states: list[Value] = []
    for one in _directions(m, _RNN):
        states.append(lstm.variable_state(tfl, one.h0))
        operands += [*rnn.weights(tfl, one), states[-1]]
    outputs = tfl.bidirectional_sequence_rnn(
        m.x, *operands, None, None, None, time_major=m.attrs["time_major"],
        fused_activation_function=m.attrs["activation"].upper(),
    )  # fmt: skip
    return _outputs(tfl, m, outputs, states)


def _outputs(tfl: Builder, m: Match, outputs: list[Value], states: list[Value]) -> dict[str, Value]:
    """Return the sequences and, where they are read, their ends. states: the tensors of both states h."""
    made = {f"{direction}_sequence": output for direction, output in zip(_DIRECTIONS, outputs)}
    for direction, state in zip(_DIRECTIONS, states):
        if m.reads(f"{direction}_last"):
            made[f"{direction}_last"] = _last(tfl, m, made, direction)
        if m.reads(f"{direction}_h"):
            made[f"{direction}_h"] = lstm.last_state(tfl, m, _last(tfl, m, made, direction), state)
    return made


def _last(tfl: Builder, m: Match, made: dict[str, Value], direction: str) -> Value:
    """Return the last output of a direction."""
    axis = 0 if m.attrs["time_major"] else 1
    known = made.get(f"{direction}_last")
    return known or lstm.last_step(tfl, made[f"{direction}_sequence"], axis, direction == "backward")


FUSIONS = [
    Fusion("bidirectional_lstm", "BIDIRECTIONAL_SEQUENCE_LSTM", BIDIRECTIONAL_LSTM, rewrite_lstm, check_lstm),
    Fusion("bidirectional_rnn", "BIDIRECTIONAL_SEQUENCE_RNN", BIDIRECTIONAL_RNN, rewrite_rnn, check_rnn),
]
