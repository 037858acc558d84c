"""Layers in both directions become one op, wherever its kernel is right; else they stay two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf
import tf_keras

from fuseconv.testing import check
from tests.pairwise import mostly_slow
from tests.random_weights import randomize
from tests.transforms.rnn.expected import BI_LSTM, BI_RNN, LSTM, RNN

TIME, IN, UNITS = 6, 3, 5
SPEC = tf.TensorSpec([None, TIME, IN])
SPECS = {
    "dynamic": tf.TensorSpec([None, None, IN]),
    "one": tf.TensorSpec([1, TIME, IN]),
    "fixed": tf.TensorSpec([3, TIME, IN]),
}
LAYERS = {"keras3": keras.layers, "keras2": tf_keras.layers}
KERAS = pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
OPS = {"LSTM": BI_LSTM, "SimpleRNN": BI_RNN}


def _built(layer: Any, seed: int = 1) -> Any:
    layer.build((None, TIME, IN))
    randomize(layer, seed)
    return layer


def _sizes(spec: tf.TensorSpec) -> list[str]:
    """What finds the number of rows of the states."""
    return ["SHAPE", "STRIDED_SLICE", "CONCATENATION"] if None in spec.shape.as_list() else []


MERGES: dict[str | None, list[str]] = {
    "concat": ["CONCATENATION"], "sum": ["ADD"], "mul": ["MUL"], "ave": ["ADD", "MUL"], None: [],
}  # fmt: skip


def _check_layer(layers: Any, kind: str, spec: tf.TensorSpec, mode: str | None, sequences: bool) -> None:
    layer = layers.Bidirectional(getattr(layers, kind)(UNITS, return_sequences=sequences), merge_mode=mode)
    op, states = (BI_LSTM, 4) if kind == "LSTM" else (BI_RNN, 2)
    lasts = [] if sequences else ["STRIDED_SLICE" if spec.shape[1] is None else "GATHER"] * 2
    ops = [*_sizes(spec), *["FILL"] * states, op, *lasts, *MERGES[mode]]
    converted = check(_built(layer), spec, ops=ops, static=False)
    assert converted.fused[0].startswith("bidirectional")


@mostly_slow(layers=LAYERS, kind=["LSTM", "SimpleRNN", "LSTM last"], spec=SPECS)
def test_layers(layers: Any, kind: str, spec: tf.TensorSpec) -> None:
    _check_layer(layers, kind.split()[0], spec, "concat", "last" not in kind)


@pytest.mark.parametrize(
    ("mode", "sequences"), [("sum", True), ("mul", True), ("ave", True), (None, True), ("sum", False), (None, False)]
)
def test_merge_modes(mode: str | None, sequences: bool) -> None:
    _check_layer(keras.layers, "SimpleRNN" if mode == "mul" else "LSTM", SPEC, mode, sequences)


@mostly_slow(layers=LAYERS, kind=[*OPS])
def test_returned_states(layers: Any, kind: str) -> None:
    layer = layers.Bidirectional(getattr(layers, kind)(UNITS, return_sequences=True, return_state=True))
    converted = check(_built(layer), SPEC)
    ops = Counter(converted.ops)
    assert (ops[OPS[kind]], ops[LSTM], ops[RNN], ops["REVERSE_V2"]) == (1, 0, 0, 0)


@KERAS
def test_initial_states(layers: Any) -> None:
    layer = _built(layers.Bidirectional(layers.LSTM(UNITS)))
    states = [tf.TensorSpec([None, UNITS])] * 4
    ops = Counter(check(lambda x, *states: layer(x, initial_state=list(states)), SPEC, *states, static=False).ops)
    assert (ops[BI_LSTM], ops["TILE"], ops["REVERSE_V2"]) == (1, 4, 0)


@pytest.mark.parametrize("kind", OPS)
def test_stacked(kind: str) -> None:
    layers = [keras.layers.Bidirectional(getattr(keras.layers, kind)(n, return_sequences=True)) for n in (5, 4, 3)]
    model = keras.Sequential([keras.Input((None, IN)), *layers])
    randomize(model, 3)
    converted = check(lambda x: model(x), tf.TensorSpec([None, None, IN]), static=kind == "LSTM")
    assert Counter(converted.ops)[OPS[kind]] == 3


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_time_major(spec: tf.TensorSpec) -> None:
    forward, backward = (
        tf_keras.layers.LSTM(UNITS, return_sequences=True, time_major=True, go_backwards=back) for back in (False, True)
    )
    for seed, layer in enumerate((forward, backward)):
        _built(layer, seed)
    time_major = tf.TensorSpec([spec.shape[1], spec.shape[0], IN])
    ops = [*_sizes(spec), *["FILL"] * 4, BI_LSTM, "CONCATENATION"]
    check(lambda x: tf.concat([forward(x), tf.reverse(backward(x), [0])], 2), time_major, ops=ops, static=False)


def test_activation() -> None:
    layer = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, activation="relu", return_sequences=True))
    assert BI_LSTM in check(_built(layer), SPEC, static=False).ops


def test_different_numbers_of_units() -> None:
    """The RNN's kernel takes them, the LSTM's does not."""

    def layer(kind: Any) -> Any:
        backward = kind(4, return_sequences=True, go_backwards=True)
        return _built(keras.layers.Bidirectional(kind(UNITS, return_sequences=True), backward_layer=backward))

    assert BI_RNN in check(layer(keras.layers.SimpleRNN), SPEC).ops
    assert Counter(check(layer(keras.layers.LSTM), SPEC).ops)[LSTM] == 2


def test_switched_off() -> None:
    layer = _built(keras.layers.Bidirectional(keras.layers.LSTM(UNITS)))
    ops = Counter(check(layer, SPEC, no_fuse=["bidirectional_*"], static=False).ops)
    assert (ops[BI_LSTM], ops[LSTM], ops["FILL"], ops["REVERSE_V2"]) == (0, 2, 4, 1)


def _pair() -> tuple[Any, Any]:
    return tuple(
        _built(keras.layers.LSTM(UNITS, return_sequences=True, return_state=True, go_backwards=back), back + 1)
        for back in (False, True)
    )


def _not_put_back(x: tf.Tensor) -> tf.Tensor:
    forward, backward = _FORWARD(x)[0], _BACKWARD(x)[0]
    return forward + backward


def _another_input(x: tf.Tensor) -> tf.Tensor:
    return _FORWARD(x)[0] + tf.reverse(_BACKWARD(2.0 * x)[0], [1])


def _handed_over(x: tf.Tensor) -> tf.Tensor:
    """The second layer starts where the first one ended."""
    forward, *states = _FORWARD(x)
    return forward + tf.reverse(_BACKWARD(x, initial_state=states)[0], [1])


def _handed_back(x: tf.Tensor) -> tf.Tensor:
    backward, *states = _BACKWARD(x)
    return _FORWARD(x, initial_state=states)[0] + tf.reverse(backward, [1])


_FORWARD, _BACKWARD = _pair()


@pytest.mark.parametrize("function", [_not_put_back, _another_input, _handed_over, _handed_back])
def test_pairs_that_are_none(function: Callable[[tf.Tensor], tf.Tensor]) -> None:
    ops = Counter(check(function, SPEC, static=False).ops)
    assert (ops[BI_LSTM], ops[LSTM]) == (0, 2)


def test_three_layers_on_one_input() -> None:
    """One stays alone, and what stands between the two of a pair and reads the first one comes after it."""
    third = _built(keras.layers.LSTM(UNITS, return_sequences=True), 3)

    def run(x: tf.Tensor) -> tf.Tensor:
        first = tf.nn.relu(_FORWARD(x)[0])
        return first * third(x) + tf.reverse(_BACKWARD(x)[0], [1])

    ops = Counter(check(run, SPEC, static=False).ops)
    assert (ops[BI_LSTM], ops[LSTM]) == (1, 1)
