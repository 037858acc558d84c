"""Recurrent layers: a loop over the time steps of a cell, in the form in which Keras 3 exports it."""

from __future__ import annotations

from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call, Object
from fuseconv.load.keras.layers.activations import activate, number
from fuseconv.load.keras.layers.recurrence import Recurrence, scan
from fuseconv.load.keras.model import class_of, config_of, snake_case
from fuseconv.load.keras.registry import ANY, OWN, builtin

# How a loop runs, and what is for training; what it computes is the same.
_HOW: dict[str, Any] = {"stateful": False}
_States = list[Value]
_CELLS = ("LSTMCell", "GRUCell", "SimpleRNNCell")


@builtin("LSTMCell", masks=OWN)
def lstm_cell(
    k: Call, x: Value, states: _States, *, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
    use_bias: bool = True, unit_forget_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0,
    implementation: int = 2,
) -> tuple[Value, _States]:  # fmt: skip
    tf, (h, c) = k.tf, states
    made = tf.AddV2(tf.MatMul(x, k.weight("kernel", [k.known(x, -1), 4 * units])),
                    tf.MatMul(h, k.weight("recurrent_kernel", [units, 4 * units])))  # fmt: skip
    if use_bias:
        made = tf.BiasAdd(made, k.weight("bias", [4 * units]))
    i, f, g, o = tf.split(made, 4, 1)
    i, f, o = (activate(k, gate, recurrent_activation) for gate in (i, f, o))
    c = tf.AddV2(tf.Mul(f, c), tf.Mul(i, activate(k, g, activation)))
    h = tf.Mul(o, activate(k, c, activation))
    return h, [h, c]


@builtin("GRUCell", masks=OWN)
def gru_cell(
    k: Call, x: Value, states: _States, *, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
    use_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 2,
    reset_after: bool | None = None,
) -> tuple[Value, _States]:  # fmt: skip
    # Keras 2 did not know it at first, and reset before; Keras 3 always says it.
    reset_after = k.model.keras3 if reset_after is None else reset_after
    tf, (h,) = k.tf, states
    made = tf.MatMul(x, k.weight("kernel", [k.known(x, -1), 3 * units]))
    recurrent = k.weight("recurrent_kernel", [units, 3 * units])
    biases: list[Value] = []
    if use_bias:
        bias = k.weight("bias", [2, 3 * units] if reset_after else [3 * units])
        biases = [tf.Squeeze(part, squeeze_dims=[0]) for part in tf.split(bias, 2, 0)] if reset_after else [bias]
        made = tf.BiasAdd(made, biases[0])
    x_z, x_r, x_h = tf.split(made, 3, 1)
    if reset_after:
        inner = tf.MatMul(h, recurrent)
        h_z, h_r, h_h = tf.split(tf.BiasAdd(inner, biases[1]) if biases else inner, 3, 1)
    else:
        inner = tf.MatMul(h, _columns(k, recurrent, 0, 2 * units))
        h_z, h_r = tf.split(inner, 2, 1)
    z, r = (activate(k, tf.AddV2(a, b), recurrent_activation) for a, b in ((x_z, h_z), (x_r, h_r)))
    candidate = tf.Mul(r, h_h) if reset_after else tf.MatMul(tf.Mul(r, h), _columns(k, recurrent, 2 * units, units))
    candidate = activate(k, tf.AddV2(x_h, candidate), activation)
    h = tf.AddV2(tf.Mul(z, h), tf.Mul(tf.Sub(number(k, x, 1), z), candidate))
    return h, [h]


def _columns(k: Call, matrix: Value, start: int, count: int) -> Value:
    return k.tf.Slice(matrix, k.tf.ints([0, start]), k.tf.ints([k.known(matrix, 0), count]))


@builtin("SimpleRNNCell", masks=OWN)
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


def _layer(
    k: Call, x: Value, states: Any, kind: str, cell: dict[str, Any], run: Recurrence
) -> Any:
    """Build a recurrent layer of a cell of its own."""
    made = k.inner("cell", kind, cell | {"name": snake_case(kind), "trainable": k.owner.config.get("trainable", True)})
    sizes = [cell["units"]] * (2 if kind == "LSTMCell" else 1)
    return recurrent(k, x, states, made, sizes, run)


def recurrent(k: Call, x: Value, states: Any, cell: Object, sizes: list[int], run: Recurrence) -> Any:
    """Build a loop over the steps of x [batch, time, features] and return what the layer does."""
    if isinstance(x, list):  # as tf-keras hands over the input and the first states
        x, states = x[0], x[1:] or states
    k.shape(x, 3)
    given = states if states is not None else k.option("initial_state")
    given = [given] if isinstance(given, Value) else given
    if given is not None and (len(given) != len(sizes) or not all(isinstance(state, Value) for state in given)):
        k.refuse("its initial states are others than its cell has")
    mask = k.given_mask(x)
    if run.time_major:
        if mask is not None:
            k.refuse("its input is masked, with the time first")
        x = k.tf.Transpose(x, [1, 0, 2])
    last, sequence, final = scan(k, x, given, cell, sizes, mask, run)
    output = sequence if run.return_sequences else last
    if run.time_major and run.return_sequences:
        output = k.tf.Transpose(output, [1, 0, 2])
    if run.return_sequences:
        k.set_mask(output, mask)
    return [output, *final] if run.return_state else output


@builtin("LSTM", "LSTMV1", "LSTMV2", masks=OWN, **_HOW)
def lstm(
    k: Call, x: Value, initial_state: Any = None, *, units: int, activation: Any = "tanh",
    recurrent_activation: Any = "sigmoid", use_bias: bool = True, unit_forget_bias: bool = True, dropout: float = 0.0,
    recurrent_dropout: float = 0.0, implementation: int = 2, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, unroll: bool = False, time_major: bool = False,
    zero_output_for_mask: bool = False,
    use_cudnn: Any = "auto",
) -> Any:  # fmt: skip
    cell = {"units": units, "activation": activation, "recurrent_activation": recurrent_activation,
            "use_bias": use_bias}  # fmt: skip
    run = Recurrence(return_sequences, return_state, go_backwards, zero_output_for_mask, time_major)
    return _layer(k, x, initial_state, "LSTMCell", cell, run)


@builtin("GRU", "GRUV2", masks=OWN, **_HOW)
def gru(
    k: Call, x: Value, initial_state: Any = None, *, units: int, activation: Any = "tanh",
    recurrent_activation: Any = "sigmoid", use_bias: bool = True, dropout: float = 0.0, recurrent_dropout: float = 0.0,
    implementation: int = 2, reset_after: bool | None = None, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, unroll: bool = False, time_major: bool = False,
    zero_output_for_mask: bool = False, use_cudnn: Any = "auto",
) -> Any:  # fmt: skip
    cell = {"units": units, "activation": activation, "recurrent_activation": recurrent_activation,
            "use_bias": use_bias, "reset_after": reset_after}  # fmt: skip
    run = Recurrence(return_sequences, return_state, go_backwards, zero_output_for_mask, time_major)
    return _layer(k, x, initial_state, "GRUCell", cell, run)


@builtin("SimpleRNN", masks=OWN, **_HOW)
def simple_rnn(
    k: Call, x: Value, initial_state: Any = None, *, units: int, activation: Any = "tanh", use_bias: bool = True,
    dropout: float = 0.0, recurrent_dropout: float = 0.0, return_sequences: bool = False, return_state: bool = False,
    go_backwards: bool = False, unroll: bool = False, time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:  # fmt: skip
    cell = {"units": units, "activation": activation, "use_bias": use_bias}
    run = Recurrence(return_sequences, return_state, go_backwards, zero_output_for_mask, time_major)
    return _layer(k, x, initial_state, "SimpleRNNCell", cell, run)


@builtin("RNN", masks=OWN, **_HOW)
def rnn(
    k: Call, x: Value, initial_state: Any = None, *, cell: dict, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, unroll: bool = False, time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:  # fmt: skip
    kind, config = class_of(cell), config_of(cell)
    if kind not in _CELLS:
        k.refuse(f"its cell {kind} is not read as data")
    sizes = [config["units"]] * (2 if kind == "LSTMCell" else 1)
    run = Recurrence(return_sequences, return_state, go_backwards, zero_output_for_mask, time_major)
    return recurrent(k, x, initial_state, k.inner("cell", kind, config), sizes, run)


@builtin("Bidirectional", masks=OWN)
def bidirectional(
    k: Call, x: Value, initial_state: Any = None, *, layer: dict, merge_mode: str | None = "concat",
    backward_layer: dict | None = None,
) -> Any:  # fmt: skip
    kind, config = class_of(layer), config_of(layer)
    forward = k.inner(("forward_layer", "layer"), kind, config)
    if backward_layer is None:
        turned = config | {"go_backwards": not config.get("go_backwards", False)}
        backward = k.inner("backward_layer", kind, turned)
    else:
        backward = k.inner("backward_layer", class_of(backward_layer), config_of(backward_layer))
    if not {kind, backward.class_name} <= {"LSTM", "GRU", "SimpleRNN", "RNN"} or config.get("time_major"):
        k.refuse(f"its layer {kind} is not read as data")
    if initial_state is not None or k.option("initial_state") is not None:
        k.refuse("it is called with initial states")
    mask = k.given_mask(x)
    options = {"mask": mask} if mask is not None else {}
    results = [made.call([x], options) for made in (forward, backward)]
    states = [state for made in results if isinstance(made, list) for state in made[1:]]
    ahead, back = (made[0] if isinstance(made, list) else made for made in results)
    sequences = bool(config.get("return_sequences", False))
    if sequences:
        back = k.tf.ReverseV2(back, k.tf.ints([1]), dtype=back.dtype)
    merged = _merged(k, merge_mode, ahead, back)
    for each in merged:
        k.set_mask(each, mask if sequences else None)
    return [*merged, *states] if len(merged) + len(states) > 1 else merged[0]


def _merged(k: Call, mode: str | None, a: Value, b: Value) -> list[Value]:
    tf = k.tf
    if mode is None:
        return [a, b]
    if mode == "concat":
        return [tf.ConcatV2(a, b, tf.ints(-1), dtype=a.dtype)]
    if mode == "mul":
        return [tf.Mul(a, b)]
    if mode not in ("sum", "ave"):
        k.refuse(f"merge_mode={mode!r}")
    return [tf.AddV2(a, b) if mode == "sum" else tf.RealDiv(tf.AddV2(a, b), number(k, a, 2))]


@builtin("TimeDistributed", masks=OWN, takes=ANY)
def time_distributed(k: Call, x: Value, *, layer: dict) -> Value:
    """Call a layer on all time steps at once, as parts of the batch."""
    shape = k.shape(x)
    if k.given_mask(x) is not None or len(shape) < 3:
        k.refuse("its input is masked, or has no features")
    inner = k.inner("layer", class_of(layer), config_of(layer))
    rest = [k.known(x, at) for at in range(2, len(shape))]
    made = inner.call([k.tf.reshaped(x, [-1, *rest])], {})
    if not isinstance(made, Value):
        k.refuse("its layer returns several tensors")
    batch, time = (k.tf.dim(x, at) for at in range(2))
    return k.tf.reshaped(made, [batch, time, *(k.known(made, at) for at in range(1, len(k.shape(made))))])
