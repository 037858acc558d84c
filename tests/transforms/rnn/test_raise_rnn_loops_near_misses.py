"""Loops that are almost an LSTM's or a simple RNN's: they are not raised, and still compute what they should."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.transforms.rnn.lstm_steps import IN, UNITS, gates, loop, weight

SPEC = tf.TensorSpec([None, 4, IN])
_VECTOR, _SQUARE, _KERNEL = weight(UNITS), weight(UNITS, UNITS), weight(IN, UNITS)
_sigmoid, _tanh = tf.sigmoid, tf.tanh


def _hard_sigmoid(z: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu6(z + 3) / 6


def _clipped_sigmoid(z: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(0.2 * z + 0.5, 0, 1)


def _cell(
    x, h, c, sign=1.0, inner=_tanh, outer=_tanh, input_gate=_sigmoid, forget_gate=_sigmoid, output_gate=_sigmoid,
    after=lambda c: c, output=lambda h: h, twist=lambda i, f, g, o: (i, f, g, o), h_state=lambda h: h,
):  # fmt: skip
    i, f, g, o = twist(*gates(x, h_state(h)))
    c = after(forget_gate(f) * c + sign * input_gate(i) * inner(g))
    return output(output_gate(o) * outer(c)), c


MISSES: dict[str, tuple[dict[str, Any], str]] = {
    "the candidate is subtracted": ({"sign": -1.0}, "is not forget gate . old state . input gate"),
    "a gate's sign": ({"twist": lambda i, f, g, o: (i, -f, g, o)}, "multiplied by -1"),
    "a gate's scale": ({"twist": lambda i, f, g, o: (i, f, g, 0.5 * o)}, "multiplied by 0.5"),
    "tanh for a sigmoid": ({"input_gate": _tanh}, "recurrent activation is tanh"),
    "sigmoid for a tanh": ({"inner": _sigmoid}, "activation of the candidate is sigmoid"),
    "hard sigmoid": (
        {"forget_gate": _hard_sigmoid},
        "the recurrent activation is hard_sigmoid, which TFLite's LSTM lacks",
    ),
    "clipped sigmoid": (
        {"input_gate": _clipped_sigmoid, "forget_gate": _clipped_sigmoid, "output_gate": _clipped_sigmoid},
        "recurrent activation is hard_sigmoid",
    ),
    "two activations": ({"inner": tf.nn.relu}, "different activations"),
    "no activation of the state": ({"outer": lambda c: c}, "computes neither as an LSTM does its output"),
    "an activation that the kernel lacks": ({"inner": tf.nn.elu, "outer": tf.nn.elu}, "activation of the state is elu"),
    "a state that is clipped on one side": ({"after": lambda c: tf.minimum(c, 0.3)}, r"clipped to \[-inf, 0.3\]"),
    "a state that is clipped unevenly": (
        {"after": lambda c: tf.clip_by_value(c, -0.2, 0.3)},
        r"clipped to \[-0.2, 0.3\]",
    ),
    "an output that is clipped": ({"output": lambda h: tf.clip_by_value(h, -0.1, 0.1)}, ""),
    "a scaled output": ({"output": lambda h: 0.9 * h}, ""),
    "a leak in the state": ({"after": lambda c: c * 0.9}, ""),
    "a scaled state in the gates": ({"h_state": lambda h: 2.0 * h}, "a gate reads a product of matrices"),
    "gates that multiply each other": ({"twist": lambda i, f, g, o: (i * f, f, g, o)}, "a gate reads"),
    "a gate of one number": ({"twist": lambda i, f, g, o: (i[:, :1], f, g, o)}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_lstm(name: str) -> None:
    options, why = MISSES[name]
    converted = check(loop(lambda x, h, c: _cell(x, h, c, **options)), SPEC, static=False)
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" not in converted.ops
    _assert_reason(converted, why)


def _coupled(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The output gate sees the old state where a peephole sees the new one."""
    i, f, g, o = gates(x, h)
    new = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o + c * _VECTOR) * tf.tanh(new), new


def _old_state(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The output is made of the state before the step."""
    i, f, g, o = gates(x, h)
    return tf.sigmoid(o) * tf.tanh(c), tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)


def _coupled_twice(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """What another gate than the forget gate leaves out enters."""
    i, f, g, o = gates(x, h)
    new = tf.sigmoid(f) * c + (1.0 - tf.sigmoid(i)) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(new), new


def _coupled_peephole(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    _, f, g, o = gates(x, h)
    f = tf.sigmoid(f + c * _VECTOR)
    new = f * c + (1.0 - f) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(new), new


def _half_coupled(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    _, f, g, o = gates(x, h)
    new = tf.sigmoid(f) * c + (0.9 - tf.sigmoid(f)) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(new), new


@pytest.mark.parametrize("step", [_coupled, _old_state, _coupled_twice, _coupled_peephole, _half_coupled])
def test_lstm_of_wrong_states(step) -> None:
    converted = check(loop(step), SPEC, static=False)
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" not in converted.ops
    _assert_reason(converted, "")


SIMPLE = {
    "sigmoid": (lambda x, h: (_sigmoid(x @ _KERNEL + h @ _SQUARE + _VECTOR),), "activation is sigmoid"),
    "residual": (lambda x, h: (h + _tanh(x @ _KERNEL + h @ _SQUARE),), ""),
    "no product with the state": (lambda x, h: (_tanh(x @ _KERNEL + h * _VECTOR),), "a gate reads"),
    "a product of both": (lambda x, h: (_tanh((x @ _KERNEL) * (h @ _SQUARE)),), "a gate reads"),
    "leaky": (lambda x, h: (0.5 * h + 0.5 * _tanh(x @ _KERNEL + h @ _SQUARE),), ""),
}


@pytest.mark.parametrize("name", SIMPLE)
def test_simple_rnn(name: str) -> None:
    step, why = SIMPLE[name]
    converted = check(loop(step, [UNITS]), SPEC)
    assert "UNIDIRECTIONAL_SEQUENCE_RNN" not in converted.ops
    _assert_reason(converted, why)


def _assert_reason(converted, why: str) -> None:
    reasons = [record.why for record in converted.report.records if record.rule == "raise-rnn-loops"]
    assert reasons
    assert any(re.search(why, reason) for reason in reasons), reasons
