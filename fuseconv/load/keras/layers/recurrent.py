"""Recurrent layers: a loop over the time steps of a cell, in the form in which Keras 3 exports it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value, Variable
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.cells import shown_state, state_dims
from fuseconv.load.keras.layers.recurrence import Cell, Dims, Recurrence, scan
from fuseconv.load.keras.layers.settings import channels_first, padding_of, sizes
from fuseconv.load.keras.model import class_of, config_of, flat, snake_case
from fuseconv.load.keras.registry import OWN, builtin

RECURRENT = frozenset({
    "LSTM", "GRU", "SimpleRNN", "RNN", "CuDNNLSTM", "CuDNNGRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D",
})  # fmt: skip


def _layer(k: Call, x: Value, states: Any, kind: str, cell: dict[str, Any], run: Recurrence) -> Any:
    """Build a recurrent layer of a cell of its own."""
    data = _own(k, kind, cell)
    return recurrent(k, x, states, _cell(k, kind, data), run)


def _own(k: Call, kind: str, cell: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a cell that the layer makes."""
    config = k.owner.config
    return cell | {"name": snake_case(kind), "trainable": config.get("trainable", True), "dtype": config.get("dtype")}


def _cell(k: Call, kind: str, config: dict[str, Any]) -> Cell:
    return Cell(k.of_own_type(k.inner("cell", kind, config)), state_dims(k, kind, config), shown_state(k, kind, config))


def _variables(k: Call, x: Value, cell: Cell) -> list[Value]:
    """Return handles of variables that keep a stateful layer's states, zeros at first, from call to call."""
    if k.owner.calls > 1:
        k.refuse("it is stateful and called several times")
    handles = []
    for dims in cell.states:
        shape = (k.known(x, 0), *dims)
        name = k.tf.unique(f"{k.tf.scope}/rnn_state")
        budget.require_elements(shape, np.dtype(np.float32), name)
        k.model.module.variables[name] = Variable(name, types.FLOAT32, shape, np.zeros(shape, np.float32))
        attrs = {"dtype": types.FLOAT32, "shape": shape, "shared_name": name}
        handles.append(k.tf.add("VarHandleOp", [], attrs, types.RESOURCE, ()))
    return handles


def recurrent(k: Call, x: Any, states: Any, cell: Cell, run: Recurrence) -> Any:
    """Build a loop over the steps of x [batch, time, ...] and return what the layer does."""
    if isinstance(x, list):  # as tf-keras hands over the input and the first states
        x, states = x[0], x[1:] or states
    given = states if states is not None else k.option("initial_state")
    given = list(flat(given)) if given is not None else given
    if given is not None and (len(given) != len(cell.states) or not all(isinstance(state, Value) for state in given)):
        k.refuse("its initial states are others than its cell has")
    handed_on, mask = k.given_mask(x), k.given_mask(x, alone=given is None)
    if run.time_major:
        if handed_on is not None:
            k.refuse("its input is masked, with the time first")
        x = k.tf.Transpose(x, [1, 0, *range(2, len(k.shape(x)))])
    variables = _variables(k, x, cell) if run.stateful else []
    if given is None and run.stateful:
        given = [k.tf.add("ReadVariableOp", [handle], {"dtype": types.FLOAT32}, types.FLOAT32, (k.known(x, 0), *dims))
                 for handle, dims in zip(variables, cell.states)]  # fmt: skip
    given = [k.autocast(state) for state in given] if given is not None else None
    output, final = scan(k, x, given, cell, mask, run)
    for handle, state in zip(variables, final):
        k.tf.several("AssignVariableOp", [handle, k.single(state)], {"dtype": types.FLOAT32}, [])
    if run.time_major and run.return_sequences:
        output = k.tf.Transpose(output, [1, 0, *range(2, len(k.shape(output)))])
    if run.return_sequences:
        k.set_mask(output, handed_on)
    return [output, *final] if run.return_state else output


@builtin("LSTM", "LSTMV1", "LSTMV2", masks=OWN, half=True)
def lstm(
    k: Call, x: Value, initial_state: Any = None, *, units: int, activation: Any = "tanh",
    recurrent_activation: Any = "sigmoid", use_bias: bool = True, unit_forget_bias: bool = True, dropout: float = 0.0,
    recurrent_dropout: float = 0.0, implementation: int = 2, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
    time_major: bool = False, zero_output_for_mask: bool = False, use_cudnn: Any = "auto",
) -> Any:  # fmt: skip
    cell = {"units": units, "activation": activation, "recurrent_activation": recurrent_activation,
            "use_bias": use_bias}  # fmt: skip
    run = Recurrence(return_sequences, return_state, go_backwards, stateful, zero_output_for_mask, time_major)
    return _layer(k, x, initial_state, "LSTMCell", cell, run)


@builtin("GRU", "GRUV2", masks=OWN, half=True)
def gru(
    k: Call, x: Value, initial_state: Any = None, *, units: int, activation: Any = "tanh",
    recurrent_activation: Any = "sigmoid", use_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0,
    implementation: int = 2, reset_after: bool | None = None, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
    time_major: bool = False, zero_output_for_mask: bool = False, use_cudnn: Any = "auto",
) -> Any:  # fmt: skip
    cell = {"units": units, "activation": activation, "recurrent_activation": recurrent_activation,
            "use_bias": use_bias, "reset_after": reset_after}  # fmt: skip
    run = Recurrence(return_sequences, return_state, go_backwards, stateful, zero_output_for_mask, time_major)
    return _layer(k, x, initial_state, "GRUCell", cell, run)


@builtin("SimpleRNN", masks=OWN, half=True)
def simple_rnn(
    k: Call, x: Value, initial_state: Any = None, *, units: int, activation: Any = "tanh", use_bias: bool = True,
    dropout: float = 0.0, recurrent_dropout: float = 0.0, return_sequences: bool = False, return_state: bool = False,
    go_backwards: bool = False, stateful: bool = False, unroll: bool = False, time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:  # fmt: skip
    cell = {"units": units, "activation": activation, "use_bias": use_bias}
    run = Recurrence(return_sequences, return_state, go_backwards, stateful, zero_output_for_mask, time_major)
    return _layer(k, x, initial_state, "SimpleRNNCell", cell, run)


@builtin("RNN", masks=OWN, half=True)
def rnn(
    k: Call, x: Value, initial_state: Any = None, *, cell: dict, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
    time_major: bool = False, zero_output_for_mask: bool = False,
) -> Any:  # fmt: skip
    kind, config = class_of(cell), config_of(cell)
    run = Recurrence(return_sequences, return_state, go_backwards, stateful, zero_output_for_mask, time_major)
    return recurrent(k, x, initial_state, _cell(k, kind, config), run)


@builtin("CuDNNLSTM", "CuDNNGRU", masks=OWN, half=True)
def cudnn(
    k: Call, x: Value, initial_state: Any = None, *, units: int, unit_forget_bias: bool = True,
    return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False, stateful: bool = False,
    time_major: bool = False,
) -> Any:  # fmt: skip
    """Run Keras 2's layers of cuDNN, which compute what LSTM and GRU do, and keep their weights otherwise."""
    if k.given_mask(x) is not None:
        k.refuse("its input is masked")
    run = Recurrence(return_sequences, return_state, go_backwards, stateful, False, time_major)
    return _layer(k, x, initial_state, f"{k.owner.class_name}Cell", {"units": units}, run)


@builtin("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", masks=OWN, half=True, unroll=False, time_major=False)
def conv_lstm(
    k: Call, x: Value, initial_state: Any = None, *, filters: int, kernel_size: int | list[int],
    strides: int | list[int] = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: int | list[int] = 1, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
    use_bias: bool = True, unit_forget_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0,
    return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False, stateful: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:  # fmt: skip
    if zero_output_for_mask and not k.model.keras3:
        k.refuse("zero_output_for_mask=True, which tf-keras does not heed")
    cell = {"filters": filters, "kernel_size": kernel_size, "strides": strides, "padding": padding,
            "data_format": data_format, "dilation_rate": dilation_rate, "activation": activation,
            "recurrent_activation": recurrent_activation, "use_bias": use_bias}  # fmt: skip
    run = Recurrence(return_sequences, return_state, go_backwards, stateful, zero_output_for_mask, False)
    rank = int(k.owner.class_name[-2])
    k.shape(x[0] if isinstance(x, list) else x, rank + 3)
    dims = convolved_dims(k, x[0] if isinstance(x, list) else x, cell, rank)
    made = k.inner("cell", "ConvLSTMCell", _own(k, "ConvLSTMCell", cell))
    return recurrent(k, x, initial_state, Cell(made, [dims, dims]), run)


def convolved_dims(k: Call, x: Value, cell: dict[str, Any], rank: int) -> Dims:
    """Return the sizes, but for the batch, of what a convolution makes of a step of x [batch, time, ...]."""
    first = channels_first(k, cell["data_format"])
    window, steps, spread = (sizes(k, cell[key], rank) for key in ("kernel_size", "strides", "dilation_rate"))
    spatial = [k.known(x, at + (3 if first else 2)) for at in range(rank)]
    if padding_of(k, cell["padding"]) == "VALID":
        spatial = [size - (width - 1) * rate for size, width, rate in zip(spatial, window, spread)]
    spatial = [-(-size // step) for size, step in zip(spatial, steps)]
    return (cell["filters"], *spatial) if first else (*spatial, cell["filters"])
