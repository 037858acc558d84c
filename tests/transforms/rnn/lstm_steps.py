"""Hand-written LSTM steps and loops, for the tests of what is recognized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

IN, UNITS = 3, 5
_rng = np.random.default_rng(11)


def weight(*shape: int) -> tf.Tensor:
    return tf.constant(_rng.normal(0, 0.5, shape).astype(np.float32))


KERNEL, RECURRENT, BIAS = weight(IN, 4 * UNITS), weight(UNITS, 4 * UNITS), weight(4 * UNITS)
Step = Callable[..., tuple[tf.Tensor, ...]]


def gates(x: tf.Tensor, h: tf.Tensor) -> list[tf.Tensor]:
    """The four sums i, f, g, o."""
    return tf.split(x @ KERNEL + h @ RECURRENT + BIAS, 4, axis=1)


def lstm(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    i, f, g, o = gates(x, h)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def loop(step: Step, widths: Sequence[int] = (UNITS, UNITS)) -> Callable[[tf.Tensor], list[tf.Tensor]]:
    """A function of x [batch, time, in] that runs a step along it; returns all first states, and the last of each."""

    def run(x: tf.Tensor) -> Any:
        batch, time = tf.shape(x)[0], tf.shape(x)[1]
        x = tf.transpose(x, [1, 0, 2])
        outputs = tf.TensorArray(tf.float32, time)

        def body(t: tf.Tensor, outputs: tf.TensorArray, *states: tf.Tensor) -> tuple:
            made = step(x[t], *states)
            return t + 1, outputs.write(t, made[0]), *made

        zeros = [tf.zeros([batch, width]) for width in widths]
        _, outputs, *states = tf.while_loop(lambda t, *_: t < time, body, (0, outputs, *zeros))
        return [tf.transpose(outputs.stack(), [1, 0, 2]), *states]

    return run
