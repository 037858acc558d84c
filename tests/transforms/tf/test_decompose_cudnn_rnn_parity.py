"""cuDNN's recurrent layers, which run on GPUs only, compute what NVIDIA's equations and Keras' own layers do."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused
from tests.pairwise import mostly_slow

# Its package has a function of that name.
KERAS_RNN = importlib.import_module("keras.src.backend.tensorflow.rnn")
RNG = np.random.default_rng(0)
UNITS, INPUTS = 4, 3
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
FUSED = {"lstm": "UNIDIRECTIONAL_SEQUENCE_LSTM", "rnn_tanh": "UNIDIRECTIONAL_SEQUENCE_RNN",
         "rnn_relu": "UNIDIRECTIONAL_SEQUENCE_RNN"}  # fmt: skip


class Cudnn:
    """Layers of cuDNN: `run` calls the op, `expected` computes the same by NVIDIA's equations."""

    def __init__(self, mode: str = "lstm", layers: int = 1, directions: int = 1, inputs: int = INPUTS, **attrs: Any):
        self.mode, self.layers, self.directions, self.inputs = mode, layers, directions, inputs
        self.attrs = attrs | {"rnn_mode": mode, "direction": ["unidirectional", "bidirectional"][directions - 1]}
        self.skips = attrs.get("input_mode", "linear_input") != "linear_input" and inputs == UNITS
        self.matrices: list[list[np.ndarray]] = []
        self.biases: list[np.ndarray] = []
        for number in range(layers * directions):
            width = inputs if number < directions else directions * UNITS
            gates = GATES[mode]
            of_x = [] if self.skips and number < directions else [self._draw(UNITS, width) for _ in range(gates)]
            self.matrices.append([*of_x, *(self._draw(UNITS, UNITS) for _ in range(gates))])
            self.biases.append(self._draw(2 * gates, UNITS))
        # Matrices gate by gate, of all layers; then biases.
        every = [matrix.ravel() for layer in self.matrices for matrix in layer]
        self.params = np.concatenate([*every, *(bias.ravel() for bias in self.biases)])

    @staticmethod
    def _draw(*shape: int) -> np.ndarray:
        return (0.6 * RNG.standard_normal(shape)).astype(np.float32)

    def run(self, op: str, x: Any, h: Any, c: Any, lengths: Any = None, **attrs: Any) -> Any:
        more = {} if lengths is None else {"sequence_lengths": lengths}
        call = getattr(tf.raw_ops, op)
        made = call(input=x, input_h=h, input_c=c, params=self.params, **more, **self.attrs, **attrs)
        return made[: 3 if self.mode == "lstm" else 2]

    def expected(self, x: Any, h: Any, c: Any, lengths: Any = None) -> list[Any]:
        """Return outputs and states, time-major. lengths: of each row; all steps if not given."""
        time, batch, _ = x.shape
        x, h, c = (np.array(array) for array in (x, h, c))
        lengths = np.full(batch, time) if lengths is None else np.array(lengths)
        after_h, after_c = np.zeros_like(h), np.zeros_like(h)
        for layer in range(self.layers):
            made = np.zeros((time, batch, self.directions * UNITS), np.float32)
            for direction in range(self.directions):
                number = layer * self.directions + direction
                for row in range(batch):
                    steps = range(lengths[row])[:: -1 if direction else 1]
                    state, cell = h[number, row], c[number, row] if self.mode == "lstm" else None
                    for step in steps:
                        state, cell = self._step(number, x[step, row], state, cell)
                        made[step, row, direction * UNITS : (direction + 1) * UNITS] = state
                    after_h[number, row] = state
                    after_c[number, row] = 0 if cell is None else cell
            x = made
        return [tf.constant(array) for array in (x, after_h, after_c)[: 3 if self.mode == "lstm" else 2]]

    def _step(self, number: int, x: np.ndarray, h: np.ndarray, c: Any) -> tuple[np.ndarray, Any]:
        gates = GATES[self.mode]
        matrices, biases = self.matrices[number], self.biases[number]
        if len(matrices) == gates:
            matrices = [np.eye(UNITS, dtype=np.float32)] * gates + matrices
        wx = [matrix @ x + bias for matrix, bias in zip(matrices[:gates], biases[:gates])]
        rh = [matrix @ h + bias for matrix, bias in zip(matrices[gates:], biases[gates:])]
        sums = [a + b for a, b in zip(wx, rh)]
        if self.mode == "lstm":
            c = _sigmoid(sums[1]) * c + _sigmoid(sums[0]) * np.tanh(sums[2])
            return _sigmoid(sums[3]) * np.tanh(c), c
        if self.mode == "gru":
            z = _sigmoid(sums[1])
            return (1 - z) * np.tanh(wx[2] + _sigmoid(sums[0]) * rh[2]) + z * h, None
        return np.tanh(sums[0]) if self.mode == "rnn_tanh" else np.maximum(sums[0], 0), None


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return arrays of one batch, whatever the number of steps is."""
    if dtype == np.int32:
        return np.array([1, 5, 3], np.int32)[: shape[0]]
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(("op", "mode"), [*(("CudnnRNN", mode) for mode in GATES), ("CudnnRNNV2", "lstm")])
def test_layers_of_one_direction(op: str, mode: str) -> None:
    rnn = Cudnn(mode, layers=2)
    converted = _check(rnn, op)
    assert mode not in FUSED or converted.ops.count(FUSED[mode]) == 2


def _check(rnn: Cudnn, op: str = "CudnnRNN", **attrs: Any) -> Any:
    """Check all results, of a dynamic batch and number of steps, from given states."""
    x = tf.TensorSpec([None, 6, rnn.inputs])
    state = tf.TensorSpec([None, rnn.layers * rnn.directions, UNITS])
    swap = [1, 0, 2]

    def run(x: Any, h: Any, c: Any) -> Any:
        made = rnn.run(op, *(tf.transpose(given, swap) for given in (x, h, c)), **attrs)
        return [tf.transpose(result, swap) for result in made]

    def expected(x: Any, h: Any, c: Any) -> Any:
        made = rnn.expected(*(tf.transpose(given, swap) for given in (x, h, c)))
        return [tf.transpose(result, swap) for result in made]

    return check(run, x, state, state, reference=expected)


@pytest.mark.parametrize("mode", GATES)
def test_layers_of_both_directions(mode: str) -> None:
    _check(Cudnn(mode, layers=2, directions=2))


@mostly_slow(mode=["lstm", "gru"], inputs=[INPUTS, UNITS])
def test_a_layer_whose_input_is_added_as_it_is(mode: str, inputs: int) -> None:
    _check(Cudnn(mode, layers=2, inputs=inputs, input_mode="auto_select"))


def test_zeros_as_states_are_no_operands() -> None:
    rnn = Cudnn()

    def run(x: Any) -> Any:
        zeros = tf.zeros([1, tf.shape(x)[1], UNITS])
        return rnn.run("CudnnRNN", x, zeros, zeros, is_training=False)[0]

    def expected(x: Any) -> Any:
        zeros = np.zeros([1, x.shape[1], UNITS], np.float32)
        return rnn.expected(x, zeros, zeros)[0]

    converted = check(run, tf.TensorSpec([None, None, INPUTS]), reference=expected)
    assert "TILE" not in converted.ops and FUSED["lstm"] in converted.ops


@pytest.mark.parametrize(("mode", "directions"), [*((mode, 2) for mode in GATES), ("lstm", 1), ("gru", 1)])
def test_rows_of_different_lengths(mode: str, directions: int) -> None:
    rnn = Cudnn(mode, layers=2, directions=directions, time_major=False)
    swap = [1, 0, 2]

    def run(x: Any, lengths: Any) -> Any:
        zeros = tf.zeros([tf.shape(x)[0], 2 * directions, UNITS])
        return rnn.run("CudnnRNNV3", x, zeros, zeros, lengths)

    def expected(x: Any, lengths: Any) -> Any:
        zeros = np.zeros([2 * directions, x.shape[0], UNITS], np.float32)
        made = rnn.expected(tf.transpose(x, swap), zeros, zeros, lengths)
        return [tf.transpose(result, swap) for result in made]

    x, lengths = tf.TensorSpec([None, 5, INPUTS]), tf.TensorSpec([None], tf.int32)
    check(run, x, lengths, reference=expected, inputs=_draw, batches=(3, 2), static=directions == 2)


@pytest.mark.parametrize("time_major", [False, True])
def test_lengths_that_are_the_number_of_steps(time_major: bool) -> None:
    rnn = Cudnn(time_major=time_major, directions=2)

    def run(x: Any) -> Any:
        sizes = tf.unstack(tf.shape(x))[:2]
        steps, batch = sizes if time_major else sizes[::-1]
        zeros = tf.zeros([2, batch, UNITS] if time_major else [batch, 2, UNITS])
        return rnn.run("CudnnRNNV3", x, zeros, zeros, tf.fill([batch], steps))[0]

    def expected(x: Any) -> Any:
        x = x if time_major else tf.transpose(x, [1, 0, 2])
        zeros = np.zeros([2, x.shape[1], UNITS], np.float32)
        made = rnn.expected(x, zeros, zeros)[0]
        return made if time_major else tf.transpose(made, [1, 0, 2])

    converted = check(run, tf.TensorSpec([None, None, INPUTS]), reference=expected)
    assert "BIDIRECTIONAL_SEQUENCE_LSTM" in converted.ops


LAYERS = {
    "lstm": lambda: keras.layers.LSTM(UNITS, bias_initializer="glorot_normal"),
    "all steps": lambda: keras.layers.LSTM(UNITS, return_sequences=True, return_state=True, zero_output_for_mask=True),
    "backwards": lambda: keras.layers.LSTM(UNITS, return_sequences=True, go_backwards=True),
    "gru": lambda: keras.layers.GRU(UNITS, bias_initializer="normal"),
    "gru backwards": lambda: keras.layers.GRU(UNITS, return_sequences=True, go_backwards=True),
    "both": lambda: keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_sequences=True)),
}


@mostly_slow(kind=[*LAYERS], masked=[False, True])
def test_keras_layers_that_were_exported_on_a_gpu(kind: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = LAYERS[kind]()
    layer.build((None, 5, INPUTS))
    for weight in layer.weights:
        weight.assign(0.5 * RNG.standard_normal(weight.shape))
    traced: list[str] = []

    def run(x: Any, mask: Any = None) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(KERAS_RNN, "_is_gpu_available", lambda: True)
            made = tf.nest.flatten(layer(x, mask=mask))
        graph = tf.compat.v1.get_default_graph()
        traced.extend(op.type for op in graph.get_operations())
        return made

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype == np.bool_:
            return np.arange(shape[1]) < np.array([[2], [5], [1]])[: shape[0]]
        return rng.standard_normal(shape).astype(dtype)

    x = [tf.TensorSpec([None, 5, INPUTS]), *([tf.TensorSpec([None, 5], tf.bool)] if masked else [])]
    converted = check(run, *x, reference=lambda x, mask=None: layer(x, mask=mask), inputs=draw, static=not masked)
    assert "CudnnRNNV3" in traced
    assert any(op in (*FUSED.values(), "BIDIRECTIONAL_SEQUENCE_LSTM") for op in converted.ops) == ("gru" not in kind)


@mostly_slow(kind=["LSTM", "GRU"], backwards=[False, True])
def test_layers_of_keras_2_whose_weights_keras_converts(kind: str, backwards: bool) -> None:
    tf_keras = pytest.importorskip("tf_keras")
    module = importlib.import_module(f"tf_keras.src.layers.rnn.cudnn_{kind.lower()}")
    weights_of = importlib.import_module("tf_keras.src.saving.legacy.hdf5_format")
    options = {"return_sequences": True, "return_state": True, "go_backwards": backwards}
    layer = getattr(module, f"CuDNN{kind}")(UNITS, **options)
    reset = {"reset_after": True} if kind == "GRU" else {}
    standard = getattr(tf_keras.layers, kind)(UNITS, **options, **reset)
    for each in (layer, standard):
        each.build((None, 5, INPUTS))
    weights = [(0.5 * RNG.standard_normal(weight.shape)).astype(np.float32) for weight in layer.weights]
    layer.set_weights(weights)
    standard.set_weights(weights_of._convert_rnn_weights(standard, [*weights]))
    # The layer itself cannot be saved.
    check(lambda x: layer(x), tf.TensorSpec([None, 5, INPUTS]), reference=standard)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_annotation_goes_before_the_op_in_the_body(backwards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    tf_keras = pytest.importorskip("tf_keras")
    module = importlib.import_module("tf_keras.src.layers.rnn.lstm")
    layer = tf_keras.layers.LSTM(UNITS, bias_initializer="glorot_normal", go_backwards=backwards)
    layer.build((None, 5, INPUTS))

    standard = module.standard_lstm

    # Its arguments stand in the order of the parameters.
    @functools.wraps(standard)
    def on_gpu(*args: Any, **named: Any) -> Any:
        given = inspect.signature(standard).bind(*args, **named).arguments
        given.pop("zero_output_for_mask")
        return module.gpu_lstm(**given)

    def run(x: Any) -> Any:
        # Grappler puts the one of two functions for an LSTM in the place of the other one on a GPU.
        with monkeypatch.context() as patched:
            patched.setattr(module, "standard_lstm", on_gpu)
            return layer(x)

    converted = check(run, tf.TensorSpec([None, 5, INPUTS]), reference=layer)
    assert converted.fused[0] == "keras_lstm" and not converted.refused


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_masks_of_which_the_data_tells_whether_cudnn_takes_them(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tf_keras = pytest.importorskip("tf_keras")
    module = importlib.import_module(f"tf_keras.src.layers.rnn.{kind}")
    tools = importlib.import_module("tf_keras.src.layers.rnn.gru_lstm_utils")
    layer = getattr(tf_keras.layers, kind.upper())(UNITS)
    layer.build((None, 5, INPUTS))
    standard, on_gpu = getattr(module, f"standard_{kind}"), getattr(module, f"gpu_{kind}")

    # What Keras hands Grappler for a GPU.
    @functools.wraps(standard)
    def with_fallback(*args: Any, **named: Any) -> Any:
        given = inspect.signature(standard).bind(*args, **named).arguments
        plain = {name: value for name, value in given.items() if name != "zero_output_for_mask"}
        fits = tools.is_cudnn_supported_inputs(given["mask"], given["time_major"], given["sequence_lengths"])
        return tf.cond(fits, lambda: on_gpu(**plain), lambda: standard(**given))

    def run(x: Any, mask: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(module, f"standard_{kind}", with_fallback)
            return layer(x, mask=mask)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype != np.bool_:
            return rng.standard_normal(shape).astype(dtype)
        padded = np.arange(shape[1]) < np.array([[2], [5], [1]])[: shape[0]]
        return padded if rng.uniform() < 0.5 else rng.uniform(size=shape) < 0.5

    specs = tf.TensorSpec([None, 5, INPUTS]), tf.TensorSpec([None, 5], tf.bool)
    converted = check(run, *specs, reference=lambda x, mask: layer(x, mask=mask), inputs=draw, static=False)
    assert "IF" in converted.ops


def test_what_is_no_loop_is_refused() -> None:
    state, x = tf.TensorSpec([2, None, UNITS]), tf.TensorSpec([None, None, INPUTS])
    rnn = Cudnn(layers=2, dropout=0.5)
    check_refused(lambda x, h, c: rnn.run("CudnnRNN", x, h, c), x, state, state, match="drops values out")
    rnn.params = rnn.params[:-1]
    check_refused(lambda x, h, c: rnn.run("CudnnRNN", x, h, c), x, state, state, match="2 layers of 4 units take 304 w")
