"""States that outlive an invoke: of stateful layers, and where the caller asks for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from ai_edge_litert.interpreter import Interpreter

import fuseconv
from fuseconv.testing import Converted, convert_function
from tests.pairwise import pairwise
from tests.random_weights import randomize
from tests.transforms.rnn.expected import BI_LSTM, BI_RNN, LAST, LSTM, REVERSED, RNN

BATCH, TIME, IN, UNITS = 2, 4, 3, 5


def _keras3(layer: str, **options: Any) -> tuple[Any, Converted]:
    """A stateful model, and what it becomes."""
    x = keras.Input(batch_shape=(BATCH, TIME, IN))
    made = getattr(keras.layers, layer)(UNITS, stateful=True, **options)
    model = keras.Model(x, made(x))
    randomize(model, 3)
    made.reset_states()
    return model, convert_function(lambda x: model(x), tf.TensorSpec([BATCH, TIME, IN]))


def _keras2(layer: str, **options: Any) -> tuple[Any, Converted]:
    x = tf_keras.Input(batch_shape=(BATCH, TIME, IN))
    model = tf_keras.Model(x, getattr(tf_keras.layers, layer)(UNITS, stateful=True, **options)(x))
    randomize(model, 3)
    model.reset_states()
    return model, convert_function(lambda x: model(x), tf.TensorSpec([BATCH, TIME, IN]))


def _runner(data: bytes) -> tuple[Interpreter, Callable[[np.ndarray], list[np.ndarray]]]:
    interpreter = Interpreter(model_content=data)
    # A GRU's batch stays dynamic: its loop takes any.
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (BATCH, TIME, IN))
    interpreter.allocate_tensors()

    def run(x: np.ndarray) -> list[np.ndarray]:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return interpreter, run


def _x(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((BATCH, TIME, IN)).astype(np.float32)


STATEFUL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "sequences": ({"return_sequences": True}, []),
    "last": ({}, LAST),
    "backwards": ({"return_sequences": True, "go_backwards": True}, REVERSED),
    "unrolled": ({"return_sequences": True, "unroll": True}, []),
}


@pairwise(source={"keras3": _keras3, "keras2": _keras2}, layer=["LSTM", "SimpleRNN"], name=[*STATEFUL])
def test_a_stateful_layer_is_one_op(source: Callable, layer: str, name: str) -> None:
    op = LSTM if layer == "LSTM" else RNN
    options, around = STATEFUL[name]
    model, converted = source(layer, **options)
    assert sorted(converted.ops) == sorted([op, *around])
    interpreter, run = _runner(converted.data)
    for start in (0, 10):
        if source is _keras3:
            model.layers[-1].reset_states()
        else:
            model.reset_states()
        for seed in range(start, start + 3):
            np.testing.assert_allclose(run(_x(seed))[0], model(_x(seed)).numpy(), atol=1e-5)
        interpreter.reset_all_variables()


def test_states_of_a_loop_need_another_interpreter() -> None:
    model, converted = _keras3("GRU")
    assert any("make a new interpreter for each sequence" in warning for warning in converted.report.warnings)
    interpreter, run = _runner(converted.data)
    first, second = (model(_x(0)).numpy() for _ in range(2))
    np.testing.assert_allclose(run(_x(0))[0], first, atol=1e-5)
    interpreter.reset_all_variables()
    np.testing.assert_allclose(run(_x(0))[0], second, atol=1e-5)
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_allclose(_runner(converted.data)[1](_x(0))[0], first, atol=1e-5)


@pytest.mark.parametrize("layer", ["LSTM", "SimpleRNN", "GRU"])
def test_stateful_layers_that_return_their_states(layer: str) -> None:
    model, converted = _keras3(layer, return_sequences=True, return_state=True)
    _, run = _runner(converted.data)
    for seed in range(3):
        expected = [np.asarray(value) for value in model(_x(seed))]
        made = {value.tobytes(): value for value in run(_x(seed))}
        for value in expected:
            errors = [np.abs(other - value).max() for other in made.values() if other.shape == value.shape]
            assert min(errors) < 1e-5


@pytest.mark.parametrize("layer", ["LSTM", "SimpleRNN", "GRU"])
def test_a_signature_that_resets_the_states(layer: str, tmp_path: Path) -> None:
    model, _ = _keras3(layer, return_sequences=True)
    module = tf.Module()
    module.states = [state.value for state in model.layers[-1].states]
    module.weights = [weight.value for weight in model.weights]

    @tf.function(input_signature=[tf.TensorSpec([BATCH, TIME, IN], name="x")])
    def call(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": model(x)}

    @tf.function(input_signature=[])
    def reset() -> dict[str, tf.Tensor]:
        for state in module.states:
            state.assign(tf.zeros_like(state))
        return {"done": tf.constant(True)}

    module.call, module.reset = call, reset
    tf.saved_model.save(module, str(tmp_path / "both"), signatures={"call": call, "reset": reset})
    interpreter = Interpreter(model_content=fuseconv.convert(tmp_path / "both").data)
    run, clear = interpreter.get_signature_runner("call"), interpreter.get_signature_runner("reset")
    for start in (0, 10):
        model.layers[-1].reset_states()
        clear()
        for seed in range(start, start + 2):
            np.testing.assert_allclose(run(x=_x(seed))["y"], model(_x(seed)).numpy(), atol=1e-5)


class _BothWays(tf.Module):
    """Two layers on one input that write their states back when both have run."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.layers = [
            getattr(keras.layers, kind)(UNITS, return_sequences=True, return_state=True, go_backwards=backwards)
            for backwards in (False, True)
        ]
        for seed, layer in enumerate(self.layers):
            layer.build((BATCH, TIME, IN))
            randomize(layer, seed)
        count = 2 if kind == "LSTM" else 1
        self.states = [[tf.Variable(tf.zeros([BATCH, UNITS])) for _ in range(count)] for _ in self.layers]
        self.weights = [weight.value for layer in self.layers for weight in layer.weights]

    @tf.function(input_signature=[tf.TensorSpec([BATCH, TIME, IN])])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        made = [layer(x, initial_state=states) for layer, states in zip(self.layers, self.states)]
        for states, (_, *ends) in zip(self.states, made):
            for state, end in zip(states, ends):
                state.assign(end)
        return tf.concat([made[0][0], tf.reverse(made[1][0], [1])], 2)


@pytest.mark.parametrize(("kind", "op"), [("LSTM", BI_LSTM), ("SimpleRNN", BI_RNN)])
def test_stateful_layers_in_both_directions(kind: str, op: str, tmp_path: Path) -> None:
    module = _BothWays(kind)
    tf.saved_model.save(module, str(tmp_path / "model"))
    conversion = fuseconv.convert(tmp_path / "model")
    assert [emitted.type for emitted in conversion.report.emitted] == [op, "CONCATENATION"]
    assert conversion.data is not None
    interpreter, run = _runner(conversion.data)
    for start in (0, 10):
        for states in module.states:
            for state in states:
                state.assign(tf.zeros_like(state))
        for seed in range(start, start + 3):
            np.testing.assert_allclose(run(_x(seed))[0], module(_x(seed)).numpy(), atol=1e-5)
        interpreter.reset_all_variables()


def test_states_are_left_to_the_runtime(tmp_path: Path) -> None:
    layer = keras.layers.LSTM(UNITS, return_sequences=True)
    layer.build((BATCH, TIME, IN))
    randomize(layer, 5)
    model = keras.Sequential([keras.Input(batch_shape=(BATCH, TIME, IN)), layer])
    model.export(str(tmp_path / "model"), verbose=False)
    conversion = fuseconv.convert(tmp_path / "model", batch_size=BATCH, rnn_state="variable")
    assert [emitted.type for emitted in conversion.report.emitted] == [LSTM]
    assert any("reset_all_variables" in warning for warning in conversion.report.warnings)
    assert conversion.data is not None
    interpreter, run = _runner(conversion.data)
    expected = model(_x(0)).numpy()
    np.testing.assert_allclose(run(_x(0))[0], expected, atol=1e-5)
    assert np.abs(run(_x(0))[0] - expected).max() > 1e-3
    interpreter.reset_all_variables()
    np.testing.assert_allclose(run(_x(0))[0], expected, atol=1e-5)


def test_states_of_a_dynamic_batch_are_written_all_the_same(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((TIME, IN)), keras.layers.LSTM(UNITS)])
    model.export(str(tmp_path / "model"), verbose=False)
    conversion = fuseconv.convert(tmp_path / "model", rnn_state="variable")
    assert "FILL" in [emitted.type for emitted in conversion.report.emitted]
    assert any("written on every invoke" in warning for warning in conversion.report.warnings)
