"""Lingvo LSTM cell (one step) -> LSTM (the full kernel).

The contract is the one of TensorFlow Lite's guide "RNN conversion", of lstm_utils.cc of TFLiteConverter, and of
lingvo/core/rnn_cell.py. The operands are x [batch, in], wm [in + out, gates * n], b [gates * n] and projection [n,
out]; a tensor of another rank says that there is no projection, and out = n. The gates are cell, input, forget, output,
without the input gate where it is coupled to the forget gate. The scale [gates * n] of a cell with layer normalization
is argument 4. The last output m [batch, out] and the cell state c [batch, n] may follow, which are zeros if they do
not. Results are the new m and c.

Attributes are named as lingvo's parameters. Where the annotation does not tell cell_value_cap, lingvo's default of 10
is tried first, and no cap if the body shows that there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.fusions.lstm import check_state, state_after, variable_state, zero_state
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_DEFAULT_CAP = 10.0
# The kernel's own guard against division by zero, and lingvo's default.
_EPSILON = 1e-8
_GATES = "cifo"
_COUPLED_GATES = "cfo"
ATTRS: dict[str, Any] = {
    "cell_value_cap": None, "forget_gate_bias": 0.0, "couple_input_forget_gates": False,
    "CoupleInputForgetGates": False, "output_nonlinearity": True,
}  # fmt: skip
SIMPLE = composite(
    "lingvo.LSTMCellSimple LSTMCellSimple lingvo.LstmCellSimple LstmCellSimple",
    "x wm b projection? m? c? -> m c?",
    ATTRS,
)
NORMALIZED = composite(
    "lingvo.LayerNormalizedLSTMCellSimple LayerNormalizedLSTMCellSimple "
    "lingvo.LayerNormalizedLstmCellSimple LayerNormalizedLstmCellSimple",
    "x wm b projection scale m? c? -> m c?",
    {**ATTRS, "layer_norm_epsilon": _EPSILON},
)


class Cell(NamedTuple):
    """The operands of a call, and the sizes that they tell. projection and states are None where there are none."""

    projection: Value | None
    m: Value | None
    c: Value | None
    inputs: int
    outputs: int
    units: int
    gates: str


def read(m: Match) -> Cell:
    """Read the operands. Refuses where they are not those of the contract."""
    projection, state, cell = m.projection, m.m, m.c
    if "scale" not in m.operands and cell is None and state is not None:
        projection, state, cell = None, projection, state
    m.require((state is None) == (cell is None), "the states must be two: the last output and the cell state")
    if projection is not None and (projection.rank != 2 or 0 in projection.shape):
        m.require(projection.rank is not None, "the projection is not known to be of any rank")
        projection = None
    given = {"x": m.x, "wm": m.wm, "b": m.b, "projection": projection, "m": state, "c": cell}
    for name, value in given.items():
        rank = 1 if name == "b" else 2
        m.require(value is None or value.rank == rank, f"the operand {name} is not known to be of rank {rank}")
        m.require(value is None or value.dtype is types.FLOAT32, f"the operand {name} is not float32")
    m.require(m.wm.is_static and isinstance(m.x.shape[1], int), "the sizes of the weights and of a step are not known")
    m.require(projection is None or projection.is_static, "the size of the projection is not known")
    inputs, (rows, columns) = m.x.shape[1], m.wm.shape
    outputs = rows - inputs
    units = outputs if projection is None else projection.shape[0]
    sizes = f"wm is {list(m.wm.shape)}, of {inputs} inputs" + (f" and {units} units" if projection is not None else "")
    m.require(outputs > 0 and columns in (3 * units, 4 * units), f"the sizes do not fit: {sizes}")
    m.require(projection is None or projection.shape == (units, outputs), f"the projection does not fit: {sizes}")
    m.require(m.b.shape == (columns,), f"the bias is not [{columns}] but {m.b.shape}")
    coupled = m.attrs["couple_input_forget_gates"] or m.attrs["CoupleInputForgetGates"]
    m.require(not coupled or columns == 3 * units, f"the gates are to be coupled, but {sizes}")
    if state is not None and cell is not None:
        check_state(m, state, m.x.shape[0], outputs)
        check_state(m, cell, m.x.shape[0], units)
    return Cell(projection, state, cell, inputs, outputs, units, _COUPLED_GATES if columns == 3 * units else _GATES)


def check(m: Match) -> None:
    cell = read(m)
    m.require(m.attrs["output_nonlinearity"], "TFLite's LSTM always applies tanh to the cell state")
    cap = m.attrs["cell_value_cap"]
    m.require(
        cap is None or cap == "None" or (type(cap) in (int, float) and cap >= 0),
        f"the annotation's attribute cell_value_cap is no number: {cap!r}",
    )
    if "scale" in m.operands:
        m.require(m.attrs["layer_norm_epsilon"] == _EPSILON, "TFLite's LSTM normalizes with an epsilon of 1e-8")
        size = len(cell.gates) * cell.units
        m.require(m.scale.shape == (size,), f"the scale is not known to be [{size}]")
        m.require(m.scale.dtype is types.FLOAT32, "the scale is not float32")


def check_uncapped(m: Match) -> None:
    m.require(m.attrs["cell_value_cap"] is None, "the annotation says where the cell state is capped")
    check(m)


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    cap = m.attrs["cell_value_cap"]
    return rewrite_step(tfl, m, _DEFAULT_CAP if cap is None else 0.0 if cap == "None" else float(cap))


def rewrite_uncapped(tfl: Builder, m: Match) -> dict[str, Value]:
    """Lingvo LSTM cell whose state is not clipped -> LSTM."""
    return rewrite_step(tfl, m, 0.0)


def rewrite_step(tfl: Builder, m: Match, cap: float) -> dict[str, Value]:
    """Build the op. cap: where the cell state is clipped, 0 for nowhere."""
    cell = read(m)
    weights = tfl.transpose(m.wm, [1, 0])

    def gates(part: Callable[[int], Value]) -> list[Value | None]:
        """Return the parts for the gates in the kernel's order: input, forget, cell, output."""
        return [part(cell.gates.index(gate) * cell.units) if gate in cell.gates else None for gate in "ifco"]

    def vector(value: Value) -> list[Value | None]:
        return gates(lambda begin: tfl.slice(value, [begin], [cell.units]))

    biases = vector(m.b)
    if m.attrs["forget_gate_bias"]:
        biases[1] = tfl.add(biases[1], m.attrs["forget_gate_bias"])
    normal = vector(m.scale) if "scale" in m.operands else []
    projection = None if cell.projection is None else tfl.transpose(cell.projection, [1, 0])
    h = variable_state(tfl, cell.m) if cell.m is not None else zero_state(tfl, m.x, cell.outputs)
    c = variable_state(tfl, cell.c) if cell.c is not None else zero_state(tfl, m.x, cell.units)
    output = tfl.lstm(
        m.x,
        *gates(lambda begin: tfl.slice(weights, [begin, 0], [cell.units, cell.inputs])),
        *gates(lambda begin: tfl.slice(weights, [begin, cell.inputs], [cell.units, cell.outputs])),
        None, None, None, *biases, projection, None, h, c, *normal,
        fused_activation_function="TANH", cell_clip=cap,
    )  # fmt: skip
    made = {"m": output}
    if m.reads("c"):
        made["c"] = state_after(tfl, output, c, cell.units)
    return made


FUSIONS = [
    Fusion("lingvo_lstm", "LSTM", SIMPLE, rewrite, check),
    Fusion("lingvo_lstm_uncapped", "LSTM", SIMPLE, rewrite_uncapped, check_uncapped),
    Fusion("lingvo_layer_norm_lstm", "LSTM", NORMALIZED, rewrite, check),
    Fusion("lingvo_layer_norm_lstm_uncapped", "LSTM", NORMALIZED, rewrite_uncapped, check_uncapped),
]
