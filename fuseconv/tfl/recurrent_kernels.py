"""Recurrent ops of TFLite in numpy, to the rounding of float32: to check what is fused to them without the runtime.

A function has its op's operands and attributes, and returns its results. As the kernel does, it leaves the last states
in the arrays of the states. It raises Unserved where this form of the op is not written here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# The operands of one direction behind x: weights, recurrent weights, peepholes and biases of four gates, a projection
# and its bias.
_WEIGHTS = 17
Array = np.ndarray


class Unserved(Exception):
    """Raised for a form of an op that has no numpy kernel."""


def unidirectional_sequence_lstm(x: Array, *operands: Any, time_major: bool = False, **attrs: Any) -> list[Array]:
    weights, states = operands[:_WEIGHTS], operands[_WEIGHTS : _WEIGHTS + 2]
    if any(norm is not None for norm in operands[_WEIGHTS + 2 :]):
        raise Unserved
    return [_along_time(_lstm_step(weights, **attrs), x, states, time_major)]


def bidirectional_sequence_lstm(
    x: Array, *operands: Any, time_major: bool = True, merge_outputs: bool = False, **attrs: Any
) -> list[Array]:
    weights, states = operands[: 2 * _WEIGHTS], operands[2 * _WEIGHTS : 2 * _WEIGHTS + 4]
    if merge_outputs or any(each is not None for each in operands[2 * _WEIGHTS + 4 :]):
        raise Unserved
    steps = _lstm_step(weights[:_WEIGHTS], **attrs), _lstm_step(weights[_WEIGHTS:], **attrs)
    return _both_ways(steps, x, (states[:2], states[2:]), time_major)


def unidirectional_sequence_rnn(
    x: Array, weights: Array, recurrent: Array, bias: Array, state: Array, *, time_major: bool = False, **attrs: Any
) -> list[Array]:
    return [_along_time(_rnn_step(weights, recurrent, bias, **attrs), x, (state,), time_major)]


def bidirectional_sequence_rnn(
    x: Array, *operands: Any, time_major: bool = False, merge_outputs: bool = False, **attrs: Any
) -> list[Array]:
    forward, backward = operands[:4], operands[4:8]
    if merge_outputs or any(each is not None for each in operands[8:]):
        raise Unserved
    steps = _rnn_step(*forward[:3], **attrs), _rnn_step(*backward[:3], **attrs)
    return _both_ways(steps, x, (forward[3:], backward[3:]), time_major)


KERNELS = {
    f"tfl.{function.__name__.upper()}": function
    for function in (
        unidirectional_sequence_lstm, bidirectional_sequence_lstm, unidirectional_sequence_rnn,
        bidirectional_sequence_rnn,
    )
}  # fmt: skip
# Takes x of all steps to what a step adds of its own; the step takes that and the states, and returns the states.
_Step = tuple[Callable[[Array], Array], Callable[..., tuple[Array, ...]]]


def _lstm_step(weights: Sequence[Any], *, fused_activation_function: str = "NONE", **attrs: Any) -> _Step:
    gates, recurrent, peepholes, biases = weights[:4], weights[4:8], weights[8:11], weights[11:15]
    if any(attrs.values()) or any(each is not None for each in (*peepholes, *weights[15:])) or gates[0] is None:
        raise Unserved
    activation = _activation(fused_activation_function)
    kernel, states, bias = np.concatenate(gates).T, np.concatenate(recurrent).T, np.concatenate(biases)

    def step(own: Array, h: Array, c: Array) -> tuple[Array, ...]:
        i, f, g, o = np.split(own + h @ states, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * activation(g)
        return _sigmoid(o) * activation(c), c

    return lambda x: x @ kernel + bias, step


def _rnn_step(
    weights: Array, recurrent: Array, bias: Array, *, fused_activation_function: str = "NONE", **attrs: Any
) -> _Step:
    if any(attrs.values()):
        raise Unserved
    activation = _activation(fused_activation_function)
    return lambda x: x @ weights.T + bias, lambda own, h: (activation(own + h @ recurrent.T),)


def _both_ways(
    steps: Sequence[_Step], x: Array, states: Sequence[Sequence[Array]], time_major: bool
) -> list[Array]:
    backward = np.flip(x, 0 if time_major else 1)
    made = [_along_time(step, *each, time_major) for step, each in zip(steps, ((x, states[0]), (backward, states[1])))]
    return [made[0], np.flip(made[1], 0 if time_major else 1)]


def _along_time(step: _Step, x: Array, states: Sequence[Array], time_major: bool) -> Array:
    """Return the outputs of all steps, and leave the last states in `states`, of which the first is the output."""
    prepare, advance = step
    made: list[Array] = []
    last: Sequence[Array] = states
    for own in prepare(x if time_major else np.swapaxes(x, 0, 1)):
        last = advance(own, *last)
        made.append(last[0])
    for state, value in zip(states, last):
        state[...] = value
    return np.stack(made, 0 if time_major else 1)


def _activation(name: str) -> Callable[[Array], Array]:
    try:
        return _ACTIVATIONS[name]
    except KeyError:
        raise Unserved from None


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "TANH": np.tanh,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
}
