"""Cells of recurrent layers: what one step computes of its input and the states before it."""

from __future__ import annotations

from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import activate, number
from fuseconv.load.keras.layers.convolutional import convolve
from fuseconv.load.keras.layers.recurrence import Dims
from fuseconv.load.keras.layers.settings import channels_first, padding_of, sizes, to_channels_first, to_channels_last
from fuseconv.load.keras.model import class_of, config_of, numbered
from fuseconv.load.keras.registry import OWN, builtin

_States = list[Value]
_STATES = {"LSTMCell": 2, "CuDNNLSTMCell": 2, "GRUCell": 1, "CuDNNGRUCell": 1, "SimpleRNNCell": 1}


def state_dims(k: Call, kind: str, config: dict[str, Any]) -> list[Dims]:
    """Return the sizes of a cell's states without the batch, those of stacked cells one after the other."""
    if kind == "StackedRNNCells":
        return [dims for each in config["cells"] for dims in state_dims(k, class_of(each), config_of(each))]
    if kind not in _STATES or type(config.get("units")) is not int:
        k.refuse(f"its cell {kind} is not read as data")
    return [(config["units"],)] * _STATES[kind]


def shown_state(k: Call, kind: str, config: dict[str, Any]) -> int:
    """Return which state of a cell is its output: the first of the last cell, where cells are stacked."""
    if kind != "StackedRNNCells":
        return 0
    *before, last = config["cells"]
    count = sum(len(state_dims(k, class_of(each), config_of(each))) for each in before)
    return count + shown_state(k, class_of(last), config_of(last))


@builtin("LSTMCell", masks=OWN, half=True)
def lstm_cell(
    k: Call, x: Value, states: _States, *, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
    use_bias: bool = True, unit_forget_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0,
    implementation: int = 2,
) -> tuple[Value, _States]:  # fmt: skip
    kernel = k.weight("kernel", [k.known(x, -1), 4 * units])
    recurrent = k.weight("recurrent_kernel", [units, 4 * units])
    bias = k.weight("bias", [4 * units]) if use_bias else None
    return _lstm_step(k, x, states, (kernel, recurrent, bias), activation, recurrent_activation)


def _lstm_step(
    k: Call, x: Value, states: _States, weights: tuple[Value, Value, Value | None], activation: Any, gating: Any
) -> tuple[Value, _States]:
    tf, (h, c), (kernel, recurrent, bias) = k.tf, states, weights
    made = tf.AddV2(tf.MatMul(x, kernel), tf.MatMul(h, recurrent))
    made = made if bias is None else tf.BiasAdd(made, bias)
    i, f, g, o = tf.split(made, 4, 1)
    i, f, o = (activate(k, gate, gating) for gate in (i, f, o))
    c = tf.AddV2(tf.Mul(f, c), tf.Mul(i, activate(k, g, activation)))
    h = tf.Mul(o, activate(k, c, activation))
    return h, [h, c]


@builtin("CuDNNLSTMCell", masks=OWN, half=True)
def cudnn_lstm_cell(k: Call, x: Value, states: _States, *, units: int) -> tuple[Value, _States]:
    kernel, recurrent = _cudnn_kernels(k, k.known(x, -1), units, 4)
    bias = k.tf.AddV2(*k.tf.split(k.weight("bias", [8 * units]), 2, 0))
    return _lstm_step(k, x, states, (kernel, recurrent, bias), "tanh", "sigmoid")


def _cudnn_kernels(k: Call, size: int, units: int, gates: int) -> tuple[Value, Value]:
    """Return kernel and recurrent kernel of a layer of cuDNN, which keeps that of each gate transposed, in the
    layout of Keras' own layers."""
    tf, made = k.tf, []
    for name, rows in (("kernel", size), ("recurrent_kernel", units)):
        parts = tf.split(k.weight(name, [rows, gates * units]), gates, 1)
        turned = [tf.Transpose(tf.reshaped(part, [units, rows]), [1, 0]) for part in parts]
        made.append(tf.ConcatV2(*turned, tf.ints(1), dtype=k.dtype))
    return made[0], made[1]


@builtin("GRUCell", masks=OWN, half=True)
def gru_cell(
    k: Call, x: Value, states: _States, *, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
    use_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 2,
    reset_after: bool | None = None,
) -> tuple[Value, _States]:  # fmt: skip
    # Keras 2 did not know it at first, and reset before; Keras 3 always says it.
    reset_after = k.model.keras3 if reset_after is None else reset_after
    kernel = k.weight("kernel", [k.known(x, -1), 3 * units])
    recurrent = k.weight("recurrent_kernel", [units, 3 * units])
    bias = k.weight("bias", [2, 3 * units] if reset_after else [3 * units]) if use_bias else None
    how = activation, recurrent_activation
    return (_gru_step if reset_after else _gru_step_reset_before)(k, x, states, (kernel, recurrent, bias), *how)


def _gru_step(
    k: Call, x: Value, states: _States, weights: tuple[Value, Value, Value | None], activation: Any, gating: Any
) -> tuple[Value, _States]:
    """Step with the reset behind the product: candidate = act(x W_h + r ⊙ (h U_h)), each product with a bias of its
    own."""
    tf, (h,), (kernel, recurrent, bias) = k.tf, states, weights
    made, inner = tf.MatMul(x, kernel), tf.MatMul(h, recurrent)
    if bias is not None:
        ahead, behind = (tf.Squeeze(part, squeeze_dims=[0]) for part in tf.split(bias, 2, 0))
        made, inner = tf.BiasAdd(made, ahead), tf.BiasAdd(inner, behind)
    x_z, x_r, x_h = tf.split(made, 3, 1)
    h_z, h_r, h_h = tf.split(inner, 3, 1)
    z, r = (activate(k, tf.AddV2(a, b), gating) for a, b in ((x_z, h_z), (x_r, h_r)))
    return _gru_output(k, h, z, activate(k, tf.AddV2(x_h, tf.Mul(r, h_h)), activation))


def _gru_step_reset_before(
    k: Call, x: Value, states: _States, weights: tuple[Value, Value, Value | None], activation: Any, gating: Any
) -> tuple[Value, _States]:
    """Step with the reset ahead of the product: candidate = act(x W_h + (r ⊙ h) U_h), with one bias."""
    tf, (h,), (kernel, recurrent, bias) = k.tf, states, weights
    made = tf.MatMul(x, kernel)
    made = made if bias is None else tf.BiasAdd(made, bias)
    x_z, x_r, x_h = tf.split(made, 3, 1)
    units = k.known(recurrent, 0)
    h_z, h_r = tf.split(tf.MatMul(h, _columns(k, recurrent, 0, 2 * units)), 2, 1)
    z, r = (activate(k, tf.AddV2(a, b), gating) for a, b in ((x_z, h_z), (x_r, h_r)))
    candidate = tf.MatMul(tf.Mul(r, h), _columns(k, recurrent, 2 * units, units))
    return _gru_output(k, h, z, activate(k, tf.AddV2(x_h, candidate), activation))


def _gru_output(k: Call, h: Value, z: Value, candidate: Value) -> tuple[Value, _States]:
    tf = k.tf
    h = tf.AddV2(tf.Mul(z, h), tf.Mul(tf.Sub(number(k, z, 1), z), candidate))
    return h, [h]


@builtin("CuDNNGRUCell", masks=OWN, half=True)
def cudnn_gru_cell(k: Call, x: Value, states: _States, *, units: int) -> tuple[Value, _States]:
    kernel, recurrent = _cudnn_kernels(k, k.known(x, -1), units, 3)
    bias = k.tf.reshaped(k.weight("bias", [6 * units]), [2, 3 * units])
    return _gru_step(k, x, states, (kernel, recurrent, bias), "tanh", "sigmoid")


def _columns(k: Call, matrix: Value, start: int, count: int) -> Value:
    return k.tf.Slice(matrix, k.tf.ints([0, start]), k.tf.ints([k.known(matrix, 0), count]))


@builtin("SimpleRNNCell", masks=OWN, half=True)
def simple_cell(
    k: Call, x: Value, states: _States, *, units: int, activation: Any = "tanh", use_bias: bool = True,
    dropout: float = 0.0, recurrent_dropout: float = 0.0,
) -> tuple[Value, _States]:  # fmt: skip
    tf, (h,) = k.tf, states
    made = tf.MatMul(x, k.weight("kernel", [k.known(x, -1), units]))
    recurrent = tf.MatMul(h, k.weight("recurrent_kernel", [units, units]))
    if use_bias:
        made = tf.BiasAdd(made, k.weight("bias", [units]))
    made = activate(k, tf.AddV2(made, recurrent), activation)
    return made, [made]


@builtin("StackedRNNCells", masks=OWN, half=True)
def stacked_cells(k: Call, x: Value, states: _States, *, cells: list) -> tuple[Value, _States]:
    """Call cells one after the other, each on the output of the one before."""
    made: _States = []
    kinds = [class_of(data) for data in cells]
    for attribute, kind, data in zip(numbered("cells", kinds), kinds, cells):
        config = config_of(data)
        count = len(state_dims(k, kind, config))
        given, states = states[:count], states[count:]
        x, new = k.of_own_type(k.inner(attribute, kind, config)).call([x, given], {})
        made += new
    return x, made


@builtin("ConvLSTMCell", masks=OWN, half=True)
def conv_lstm_cell(
    k: Call, x: Value, states: _States, *, filters: int, kernel_size: Any, strides: Any, padding: str, data_format: Any,
    dilation_rate: Any, activation: Any, recurrent_activation: Any, use_bias: bool,
) -> tuple[Value, _States]:  # fmt: skip
    """Step as an LSTM does, with convolutions instead of products."""
    tf, (h, c) = k.tf, states
    rank = len(k.shape(x)) - 2
    first, window, ones = channels_first(k, data_format), sizes(k, kernel_size, rank), [1] * rank
    x, h, c = (to_channels_last(k, each) if first else each for each in (x, h, c))
    kernel = k.weight("kernel", [*window, k.known(x, -1), 4 * filters])
    made = convolve(k, x, kernel, sizes(k, strides, rank), sizes(k, dilation_rate, rank), padding_of(k, padding))
    recurrent = convolve(k, h, k.weight("recurrent_kernel", [*window, filters, 4 * filters]), ones, ones, "SAME")
    if use_bias:
        made = tf.BiasAdd(made, k.weight("bias", [4 * filters]))
    i, f, g, o = tf.split(tf.AddV2(made, recurrent), 4, rank + 1)
    i, f, o = (activate(k, gate, recurrent_activation) for gate in (i, f, o))
    c = tf.AddV2(tf.Mul(f, c), tf.Mul(i, activate(k, g, activation)))
    h = tf.Mul(o, activate(k, c, activation))
    h, c = (to_channels_first(k, each) if first else each for each in (h, c))
    return h, [h, c]
