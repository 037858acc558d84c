"""Recurrent layers that are put together: states handed over, shared, distributed over time, in loops and branches.

Each stands with the number of its ops of each recurrent kind and of loops, for dynamic sizes and for fixed ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
import tf_keras

from fuseconv.testing import check
from tests.pairwise import mostly_slow
from tests.random_weights import randomize
from tests.transforms.rnn.expected import LSTM, RNN

TIME, IN, UNITS = 5, 3, 4
X, DYNAMIC = tf.TensorSpec([None, TIME, IN]), tf.TensorSpec([None, None, IN])
FIXED, SHORT = tf.TensorSpec([2, TIME, IN]), tf.TensorSpec([2, 4, IN])
LIBRARIES = {"keras3": keras, "keras2": tf_keras}
OPS = {"LSTM": LSTM, "SimpleRNN": RNN}
KINDS = ["LSTM", "SimpleRNN", "GRU"]


def _built(layer: Any, shape: tuple[int | None, ...] = (None, TIME, IN), seed: int = 1) -> Any:
    layer.build(shape)
    randomize(layer, seed)
    return layer


def _layer(library: str, kind: str, seed: int = 1, **options: Any) -> Any:
    return _built(getattr(LIBRARIES[library].layers, kind)(UNITS, **options), seed=seed)


def _assert_ops(function: Callable[..., Any], specs: list[tf.TensorSpec], kind: str, count: int, loops: int) -> None:
    """A GRU's ops are none of LiteRT's: its steps stand in loops if there are any, else one after the other."""
    fused = kind in OPS
    ops = Counter(check(function, *specs, static=False, rnn="fused" if fused else "auto").ops)
    assert ops["WHILE"] == (loops if fused else max(loops, count * (None in specs[0].shape[1:])))
    assert not fused or (ops[OPS[kind]], ops[LSTM] + ops[RNN]) == (count, count)


@mostly_slow(library=[*LIBRARIES], kind=KINDS, specs={"dynamic": [DYNAMIC, DYNAMIC], "fixed": [FIXED, SHORT]})
def test_an_encoder_hands_its_states_to_a_decoder(library: str, kind: str, specs: list[tf.TensorSpec]) -> None:
    encoder = _layer(library, kind, 1, return_state=True)
    decoder = _layer(library, kind, 2, return_sequences=True)
    _assert_ops(lambda x, y: decoder(y, initial_state=encoder(x)[1:]), specs, kind, 2, 0)


@mostly_slow(library=[*LIBRARIES], kind=KINDS, specs={"dynamic": [DYNAMIC, DYNAMIC], "fixed": [FIXED, SHORT]})
def test_a_shared_layer(library: str, kind: str, specs: list[tf.TensorSpec]) -> None:
    layer = _layer(library, kind)
    _assert_ops(lambda x, y: layer(x) + layer(y), specs, kind, 2, 0)


@mostly_slow(library=[*LIBRARIES], kind=KINDS, spec={"dynamic": DYNAMIC, "fixed": FIXED})
def test_a_residual_stack(library: str, kind: str, spec: tf.TensorSpec) -> None:
    layers = [
        _built(getattr(LIBRARIES[library].layers, kind)(IN, return_sequences=True), seed=seed) for seed in (1, 2)
    ]

    def run(x: tf.Tensor) -> tf.Tensor:
        for layer in layers:
            x += layer(x)
        return x

    _assert_ops(run, [spec], kind, 2, 0)


@mostly_slow(library=[*LIBRARIES], kind=KINDS, spec={"dynamic": X, "fixed": FIXED})
def test_in_a_loop(library: str, kind: str, spec: tf.TensorSpec) -> None:
    layer = _layer(library, kind)

    def step(number: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return number + 1, 0.5 * x + layer(x)[:, tf.newaxis, :IN]

    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda number, _: number < 3, step, (0, x))[1]

    _assert_ops(run, [spec], kind, 1, int(kind in OPS))


@mostly_slow(library=[*LIBRARIES], kind=KINDS, spec={"dynamic": DYNAMIC, "fixed": FIXED})
def test_in_a_branch(library: str, kind: str, spec: tf.TensorSpec) -> None:
    layer = _layer(library, kind)

    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: layer(x), lambda: -layer(2.0 * x))

    _assert_ops(run, [spec], kind, 2, 0)


@mostly_slow(library=[*LIBRARIES], kind=KINDS, batch=[None, 2])
def test_distributed_over_time(library: str, kind: str, batch: int | None) -> None:
    """Keras 2 folds the steps into the batch, Keras 3 runs one after the other."""
    made = LIBRARIES[library]
    layer = made.layers.TimeDistributed(getattr(made.layers, kind)(UNITS, return_sequences=True))
    model = made.Sequential([made.Input((3, TIME, IN)), layer])
    randomize(model, 2)
    spec = tf.TensorSpec([batch, 3, TIME, IN])
    _assert_ops(lambda x: model(x), [spec], kind, 3 if library == "keras3" else 1, 0)


@mostly_slow(
    library=[*LIBRARIES],
    options={
        "last": {},
        "backwards": {"return_sequences": True, "go_backwards": True},
        "state": {"return_state": True},
    },
    shape={"dynamic": (None, None), "time": (None, 3), "fixed": (2, 3)},
)
def test_conv_lstm(library: str, options: dict[str, Any], shape: tuple[int | None, int | None]) -> None:
    layer = LIBRARIES[library].layers.ConvLSTM2D(2, 2, **options)
    spec = tf.TensorSpec([*shape, 4, 4, 2])
    ops = Counter(check(_built(layer, (None, 3, 4, 4, 2)), spec, static=False, rnn="auto").ops)
    assert ops["WHILE"] == (shape[1] is None)


class _Residual(keras.layers.Layer):
    """A cell whose output is the sum of another cell's and its input, which is added behind the op."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self.cell, self.state_size, self.output_size = cell, cell.state_size, cell.output_size

    def build(self, shape: Any) -> None:
        self.cell.build(shape)
        self.built = True

    def call(self, x: Any, states: Any, training: bool = False) -> Any:
        output, new = self.cell(x, states)
        return output + x, new


@mostly_slow(count=[1, 2], spec={"dynamic": DYNAMIC, "fixed": FIXED})
def test_residual_cells(spec: tf.TensorSpec, count: int) -> None:
    cells = [_Residual(keras.layers.LSTMCell(IN)) for _ in range(count)]
    cell = cells[0] if count == 1 else keras.layers.StackedRNNCells(cells)
    converted = check(_built(keras.layers.RNN(cell, return_sequences=True)), spec, static=False)
    assert Counter(op for op in converted.ops if op in (LSTM, "WHILE", "ADD")) == {LSTM: count, "ADD": count}
