"""Loops that people write themselves, in whatever arrangement: what they compute decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.transforms.rnn.expected import CELL, LAST, LAST_STATE, LSTM, REVERSED, check_both, of_known_length, rnn
from tests.transforms.rnn.expected import lstm as lstm_ops
from tests.transforms.rnn.lstm_steps import BIAS, IN, KERNEL, RECURRENT, UNITS, loop, lstm, weight

DYNAMIC = tf.TensorSpec([None, None, IN])
States = tuple[tf.Tensor, ...]
_JOINED = tf.concat([KERNEL, RECURRENT], 0)
_KERNELS, _RECURRENTS = [weight(IN, UNITS) for _ in "ifgo"], [weight(UNITS, UNITS) for _ in "ifgo"]
_BIASES = [weight(UNITS) for _ in "ifgo"]
_PEEPHOLES, _PROJECTION = [weight(UNITS) for _ in "ifo"], weight(UNITS, 4)


def _finish(*values: tf.Tensor) -> States:
    i, f, g, o, c = values
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def _forget_bias(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    """The order and the constant of TF1's BasicLSTMCell."""
    i, g, f, o = tf.split(tf.nn.bias_add(tf.concat([x, h], 1) @ _JOINED, BIAS), 4, axis=1)
    return _finish(i, f + 1.0, g, o, c)


def _gates_at_once(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    """One sigmoid over three gates, cut afterward; factors and summands the other way round."""
    z = BIAS + h @ RECURRENT + x @ KERNEL
    gates, candidate = tf.sigmoid(z[:, : 3 * UNITS]), tf.tanh(z[:, 3 * UNITS :])
    c = candidate * gates[:, :UNITS] + c * gates[:, UNITS : 2 * UNITS]
    return tf.tanh(c) * gates[:, 2 * UNITS :], c


def _four_products(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    return _finish(*(x @ k + h @ r + b for k, r, b in zip(_KERNELS, _RECURRENTS, _BIASES)), c)


def _transposed(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    z = tf.matmul(x, tf.transpose(KERNEL), transpose_b=True) + tf.einsum("bi,ji->bj", h, tf.transpose(RECURRENT))
    return _finish(*tf.split(z, 4, axis=1), c)


def _einsum(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    z = tf.einsum("bi,ij->bj", x, KERNEL) + tf.einsum("bi,ij->bj", h, RECURRENT) + BIAS[tf.newaxis]
    return _finish(*tf.split(z, [UNITS] * 4, axis=-1), c)


def _own_sigmoids(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    i, f, g, o = tf.split(x @ KERNEL + h @ RECURRENT + BIAS, 4, axis=1)
    c = c / (1.0 + tf.exp(-f)) + 0.5 * (1.0 + tf.tanh(0.5 * i)) * tf.tanh(g)
    return tf.math.reciprocal(tf.exp(-o) + 1.0) * tf.tanh(c), c


def _two_biases(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    """As in PyTorch's weights."""
    return _finish(*tf.split((x @ KERNEL + BIAS) + (h @ RECURRENT + BIAS[::-1]), 4, axis=1), c)


def _peepholes(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    i, f, g, o = tf.split(x @ KERNEL + h @ RECURRENT + BIAS, 4, axis=1)
    new = tf.sigmoid(f + c * _PEEPHOLES[1]) * c + tf.sigmoid(i + _PEEPHOLES[0] * c) * tf.tanh(g)
    return tf.sigmoid(o + new * _PEEPHOLES[2]) * tf.tanh(new), new


def _one_peephole(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    i, f, g, o = tf.split(x @ KERNEL + h @ RECURRENT + BIAS, 4, axis=1)
    return _finish(i, f + c * _PEEPHOLES[1], g, o, c)


def _clipped(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    i, f, g, o = tf.split(x @ KERNEL + h @ RECURRENT + BIAS, 4, axis=1)
    c = tf.clip_by_value(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), -0.2, 0.2)
    return tf.sigmoid(o) * tf.tanh(c), c


def _coupled(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    """What is not forgotten keeps the rest out: the kernel's cell without an input gate."""
    f, g, o = tf.split(x @ KERNEL[:, UNITS:] + h @ RECURRENT[:, UNITS:] + BIAS[UNITS:], 3, axis=1)
    c = tf.sigmoid(f) * c + (1.0 - tf.sigmoid(f)) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def _coupled_to_the_input_gate(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    i, o, g = tf.split(x @ KERNEL[:, UNITS:] + h @ RECURRENT[:, UNITS:] + BIAS[UNITS:], 3, axis=1)
    c += tf.sigmoid(i) * (tf.tanh(g) - c)
    return tf.sigmoid(o) * tf.tanh(c), c


def _coupled_and_clipped(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
    f, g, o = tf.split(x @ KERNEL[:, UNITS:] + h @ RECURRENT[:, UNITS:] + BIAS[UNITS:], 3, axis=1)
    c = tf.clip_by_value((1.0 - tf.sigmoid(f)) * tf.nn.relu(g) + c * tf.sigmoid(f), -0.2, 0.2)
    return tf.nn.relu(c) * tf.sigmoid(o), c


STEPS: list[Callable[..., States]] = [
    lstm, _forget_bias, _gates_at_once, _four_products, _transposed, _einsum, _own_sigmoids, _two_biases, _peepholes,
    _one_peephole, _clipped, _coupled, _coupled_to_the_input_gate, _coupled_and_clipped,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_lstm_steps(step: Callable[..., States]) -> None:
    check_both(loop(step), DYNAMIC, ops=lstm_ops(LAST_STATE, CELL))


def test_a_projection() -> None:
    recurrent = weight(4, 4 * UNITS)

    def step(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> States:
        h, c = _finish(*tf.split(x @ KERNEL + h @ recurrent + BIAS, 4, axis=1), c)
        return tf.clip_by_value(h @ _PROJECTION, -0.3, 0.3), c

    ops = Counter(check(loop(step, [4, UNITS]), DYNAMIC).ops)
    assert (ops[LSTM], ops["WHILE"]) == (1, 0)


def _simple(x: tf.Tensor, h: tf.Tensor) -> States:
    return (tf.tanh(tf.concat([h, x], 1) @ tf.concat([_RECURRENTS[0], _KERNELS[0]], 0)),)


def _linear(x: tf.Tensor, h: tf.Tensor) -> States:
    return (x @ _KERNELS[0] + 0.5 + h @ (0.3 * _RECURRENTS[0]),)


def _rectified(x: tf.Tensor, h: tf.Tensor) -> States:
    return (tf.maximum(x @ _KERNELS[0] + h @ (0.3 * _RECURRENTS[0]) + _BIASES[0], 0.0),)


@pytest.mark.parametrize("step", [_simple, _linear, _rectified], ids=lambda step: step.__name__)
def test_simple_steps(step: Callable[..., States]) -> None:
    check_both(loop(step, [UNITS]), DYNAMIC, ops=rnn(LAST_STATE))


def _zeros(x: tf.Tensor) -> tf.Tensor:
    return tf.zeros([tf.shape(x)[0], UNITS])


@tf.function
def _over_a_range(x: tf.Tensor) -> tuple:
    h, c, outputs = _zeros(x), _zeros(x), tf.TensorArray(tf.float32, tf.shape(x)[1])
    for t in tf.range(tf.shape(x)[1]):
        h, c = lstm(x[:, t], h, c)
        outputs = outputs.write(t, h)
    return outputs.stack(), c


@tf.function
def _over_a_growing_array(x: tf.Tensor) -> tf.Tensor:
    h, c, outputs = _zeros(x), _zeros(x), tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for t in tf.range(tf.shape(x)[1]):
        h, c = lstm(x[:, t], h, c)
        outputs = outputs.write(t, h)
    return tf.transpose(outputs.stack(), [1, 0, 2])


@tf.function
def _over_a_tensor(x: tf.Tensor) -> tf.Tensor:
    h, c = _zeros(x), _zeros(x)
    for step in tf.transpose(x, [1, 0, 2]):
        h, c = lstm(step, h, c)
    return h


@tf.function
def _while_true(x: tf.Tensor) -> tf.Tensor:
    h, c, t = _zeros(x), _zeros(x), 0
    while t < tf.shape(x)[1]:
        h, c = lstm(tf.gather(x, t, axis=1), h, c)
        t += 1
    return c


def _from_the_end(x: tf.Tensor) -> tf.Tensor:
    time = tf.shape(x)[1]

    def body(t: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple:
        return t + 1, *lstm(x[:, time - 1 - t], h, c)

    return tf.while_loop(lambda t, *_: t < time, body, (0, _zeros(x), _zeros(x)))[1]


def _scan(x: tf.Tensor) -> tf.Tensor:
    return tf.scan(lambda states, step: lstm(step, *states), tf.transpose(x, [1, 0, 2]), (_zeros(x), _zeros(x)))[0]


def _ends_of_a_scan(x: tf.Tensor) -> States:
    h, c = tf.scan(lambda states, step: lstm(step, *states), tf.transpose(x, [1, 0, 2]), (_zeros(x), _zeros(x)))
    return h, c[-1]


def _scan_of_outputs_and_states(x: tf.Tensor) -> tf.Tensor:
    """The output is carried beside the state that it is."""

    def step(carried: States, x: tf.Tensor) -> States:
        h, c = lstm(x, *carried[1:])
        return h, h, c

    return tf.scan(step, tf.transpose(x, [1, 0, 2]), (_zeros(x), _zeros(x), _zeros(x)))[0]


def _simple_scan_of_outputs_and_states(x: tf.Tensor) -> tf.Tensor:
    """Both lists of the same items are read."""

    def step(carried: States, x: tf.Tensor) -> States:
        h = tf.tanh(x @ KERNEL[:, :UNITS] + carried[1] @ RECURRENT[:, :UNITS] + BIAS[:UNITS])
        return h, h

    return tf.add(*tf.scan(step, tf.transpose(x, [1, 0, 2]), (_zeros(x), _zeros(x))))


def _last_of_a_range(x: tf.Tensor) -> tf.Tensor:
    h, c = _zeros(x), _zeros(x)
    last = h
    for t in tf.range(tf.shape(x)[1]):
        h, c = lstm(x[:, t], h, c)
        last = h
    return last


LOOPS: dict[str, tuple[Callable[[tf.Tensor], Any], list[str]]] = {
    "over a range": (_over_a_range, lstm_ops(["TRANSPOSE"], LAST, CELL)),
    "over a growing array": (_over_a_growing_array, lstm_ops()),
    "over a tensor": (_over_a_tensor, lstm_ops(LAST_STATE)),
    "while": (_while_true, lstm_ops(LAST, CELL)),
    "from the end": (_from_the_end, lstm_ops(REVERSED, LAST_STATE)),
    "scan": (_scan, lstm_ops(["TRANSPOSE"])),
    "ends of a scan": (_ends_of_a_scan, lstm_ops(["TRANSPOSE"], LAST, CELL)),
    "scan of outputs and states": (_scan_of_outputs_and_states, lstm_ops(["TRANSPOSE"])),
    "scan of a simple RNN": (_simple_scan_of_outputs_and_states, rnn(["TRANSPOSE", "ADD"])),
    "an output that is a state": (tf.function(_last_of_a_range), lstm_ops(LAST_STATE)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    function, ops = LOOPS[name]
    check_both(function, DYNAMIC, ops=ops)
    check(function, tf.TensorSpec([None, 6, IN]), ops=of_known_length(ops), static=False)


@pytest.mark.parametrize("step, fused", [(lstm, LSTM), (_simple, "UNIDIRECTIONAL_SEQUENCE_RNN")], ids=["lstm", "rnn"])
@pytest.mark.parametrize("starts_from_zeros", [True, False])
def test_no_steps_leave_the_states(step: Callable[..., States], fused: str, starts_from_zeros: bool) -> None:
    """What is behind the last output of a sequence without any is no output of an earlier run, nor memory of others."""
    count = 2 if fused == LSTM else 1

    def states(x: tf.Tensor, *given: tf.Tensor) -> Any:
        states = [_zeros(x)] * count if starts_from_zeros else list(given)
        return tf.while_loop(
            lambda t, *_: t < tf.shape(x)[1], lambda t, *states: (t + 1, *step(x[:, t], *states)), (0, *states)
        )[1:]

    draw = np.random.default_rng(3).standard_normal
    for steps in (0, 4):
        arrays = [draw((2, steps, IN), np.float32), *(draw((2, UNITS), np.float32) for _ in range(count))]
        specs = [DYNAMIC, *[tf.TensorSpec([None, UNITS])] * count]
        used = 1 if starts_from_zeros else 1 + count
        converted = check(states, *specs[:used], inputs=arrays[:used], static=False)
        assert fused in converted.ops


@pytest.mark.parametrize("part", [slice(None), slice(1)])
def test_all_cell_states_of_a_scan(part: slice) -> None:
    """The kernel keeps the last one only."""

    def scan(x: tf.Tensor) -> States:
        h, c = tf.scan(lambda states, step: lstm(step, *states), tf.transpose(x, [1, 0, 2]), (_zeros(x), _zeros(x)))
        return h[-1], c[:, part]

    converted = check(scan, DYNAMIC, static=False)
    assert LSTM not in converted.ops
    assert converted.refused["raise-rnn-loops"].startswith("the cell states of all steps are read")
