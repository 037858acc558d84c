"""Lingvo's cells, their bodies written from lingvo/core/rnn_cell.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, implements
from tests.annotated import MOSTLY_SLOW_FORMS, annotated

IN, UNITS = 4, 3
SIMPLE = "lingvo.LSTMCellSimple"
NORMALIZED = "lingvo.LayerNormalizedLSTMCellSimple"


def step(x, wm, b, projection=None, scale=None, m=None, c=None, cap=10.0, forget_bias=0.0, epsilon=1e-8):
    """One step, as lingvo computes it. Gates: cell, input (none where it is coupled), forget, output."""
    batch = tf.shape(x)[0]
    units = UNITS
    outputs = wm.shape[0] - x.shape[1]
    m = tf.zeros([batch, outputs]) if m is None else m
    c = tf.zeros([batch, units]) if c is None else c
    gates = wm.shape[1] // units
    parts = tf.split(tf.matmul(tf.concat([x, m], 1), wm), gates, axis=1)
    biases = tf.split(b[tf.newaxis], gates, axis=1)
    if scale is not None:
        for i, s in enumerate(tf.split(scale, gates)):
            mean = tf.reduce_mean(parts[i], -1, keepdims=True)
            variance = tf.reduce_mean(tf.square(parts[i] - mean), -1, keepdims=True)
            parts[i] = (parts[i] - mean) * tf.math.rsqrt(variance + epsilon) * s[tf.newaxis]
    parts = [part + bias for part, bias in zip(parts, biases)]
    cell, forget, output = parts[0], parts[-2] + forget_bias, parts[-1]
    new = tf.tanh(cell)
    new = new - new * tf.sigmoid(forget) if gates == 3 else new * tf.sigmoid(parts[1])
    c = tf.sigmoid(forget) * c + new
    if cap is not None:
        c = tf.clip_by_value(c, -cap, cap)
    m = tf.sigmoid(output) * tf.tanh(c)
    return (m if projection is None or projection.shape.rank != 2 else tf.matmul(m, projection)), c


def weights(gates: int = 4, outputs: int = UNITS, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"wm": (IN + outputs, gates * UNITS), "b": (gates * UNITS,), "scale": (gates * UNITS,)}
    drawn = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    drawn["projection"] = rng.standard_normal((UNITS, outputs)).astype(np.float32)
    return drawn


def cell(annotation: str, form: str = "string", normalized: bool = False, **options: Any):
    """The composite: x, wm, b, projection, the scale of the layer norm, the states as far as they are given."""

    def simple(x, wm, b, projection, *states):
        return step(x, wm, b, projection, None, *states, **options)[: 1 + bool(states)]

    def layer_normalized(x, wm, b, projection, scale, *states):
        return step(x, wm, b, projection, scale, *states, **options)[: 1 + bool(states)]

    return annotated(layer_normalized if normalized else simple, annotation, form)


def wide(rng, shape, dtype):
    """States that a cap of 10 cuts."""
    return (rng.standard_normal(shape) * 8).astype(dtype)


X = tf.TensorSpec([None, IN])
STATES = tf.TensorSpec([None, 2]), tf.TensorSpec([None, UNITS])


@pytest.mark.parametrize("form", MOSTLY_SLOW_FORMS)
@pytest.mark.parametrize("name", [SIMPLE, "LSTMCellSimple"])
def test_forms_and_names(form, name):
    w = weights(outputs=2)
    fn = cell(name, form)
    converted = check(lambda x: fn(x, w["wm"], w["b"], w["projection"]), X)
    assert converted.fused == ["lingvo_lstm"] and converted.ops.count("LSTM") == 1


@pytest.mark.parametrize(
    ("name", "gates"),
    [(NORMALIZED, 3), (NORMALIZED, 4), (NORMALIZED.removeprefix("lingvo."), 4),
     ("lingvo.LayerNormalizedLstmCellSimple", 4), ("LayerNormalizedLstmCellSimple", 3)],
)  # fmt: skip
def test_layer_normalization(name, gates):
    w = weights(gates, outputs=2)
    fn = cell(name, normalized=True)
    converted = check(
        lambda x, m, c: fn(x, w["wm"], w["b"], w["projection"], w["scale"], m, c), X, *STATES, inputs=wide
    )
    assert converted.fused == ["lingvo_layer_norm_lstm"] and converted.ops.count("LSTM") == 1


@pytest.mark.parametrize("gates", [3, 4])
@pytest.mark.parametrize("cap", [10.0, None])
def test_state_handed_in_and_out(gates, cap):
    w = weights(gates, outputs=2)
    fn = cell(SIMPLE, cap=cap)
    converted = check(lambda x, m, c: fn(x, w["wm"], w["b"], w["projection"], m, c), X, *STATES, inputs=wide)
    assert converted.fused == ["lingvo_lstm" if cap else "lingvo_lstm_uncapped"]


@pytest.mark.parametrize("placeholder", [None, np.zeros([0], np.float32), np.float32(0)])
def test_without_projection(placeholder):
    w = weights()
    states = tf.TensorSpec([None, UNITS]), tf.TensorSpec([None, UNITS])

    def body(x, wm, b, *rest):
        return step(x, wm, b, None, None, *rest[-2:])

    fn = annotated(body, SIMPLE)
    given = () if placeholder is None else (placeholder,)
    converted = check(lambda x, m, c: fn(x, w["wm"], w["b"], *given, m, c), X, *states)
    assert converted.fused == ["lingvo_lstm"]


def test_steps_in_a_row():
    w = weights(outputs=2)
    fn = cell(SIMPLE)

    def sequence(x):
        m, c = tf.zeros([tf.shape(x)[0], 2]), tf.zeros([tf.shape(x)[0], UNITS])
        for time in range(3):
            m, c = fn(x[:, time], w["wm"], w["b"], w["projection"], m, c)
        return m, c

    converted = check(sequence, tf.TensorSpec([None, 3, IN]))
    assert converted.ops.count("LSTM") == 3


@pytest.mark.parametrize(
    ("attrs", "options"),
    [
        ({"cell_value_cap": 2.0}, {"cap": 2.0}),
        ({"cell_value_cap": 0.0}, {"cap": None}),
        ({"cell_value_cap": "None"}, {"cap": None}),
        ({"forget_gate_bias": 1.5}, {"forget_bias": 1.5}),
        ({"couple_input_forget_gates": False, "output_nonlinearity": True}, {}),
    ],
)
def test_attributes(attrs, options):
    w = weights(outputs=2)
    fn = cell(implements(SIMPLE, **attrs), **options)
    converted = check(
        lambda x, m, c: fn(x, w["wm"], w["b"], w["projection"], m, c), X, *STATES, inputs=wide, static=False
    )
    assert converted.fused == ["lingvo_lstm"]


@pytest.mark.parametrize(
    "annotation", [f"{SIMPLE},CoupleInputForgetGates", implements(SIMPLE, couple_input_forget_gates=True)]
)
def test_coupled_gates_that_are_announced(annotation):
    w = weights(3, outputs=2)
    fn = cell(annotation)
    assert check(lambda x: fn(x, w["wm"], w["b"], w["projection"]), X).fused == ["lingvo_lstm"]


@pytest.mark.parametrize(
    ("annotation", "options", "why"),
    [
        (implements(SIMPLE, cell_value_cap=2.0), {"cap": 10.0}, "computes something else"),
        (SIMPLE, {"forget_bias": 1.0}, "computes something else"),
        (implements(SIMPLE, couple_input_forget_gates=True), {}, "coupled"),
        (implements(SIMPLE, output_nonlinearity=False), {}, "tanh"),
        (implements(SIMPLE, zo_prob=0.5), {}, "zo_prob"),
        (implements(SIMPLE, forget_gate_bias="one"), {}, "forget_gate_bias must be of type float"),
    ],
)
def test_refusals(annotation, options, why):
    w = weights(outputs=2)
    fn = cell(annotation, **options)
    converted = check(
        lambda x, m, c: fn(x, w["wm"], w["b"], w["projection"], m, c), X, *STATES, inputs=wide, static=False
    )
    assert why in converted.refused["lingvo_lstm"] and "LSTM" not in converted.ops


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"b": np.zeros(11, np.float32)}, "the bias"),
        ({"projection": np.zeros((3, 3), np.float32)}, "projection"),
        ({"wm": np.zeros((6, 11), np.float32)}, "do not fit"),
    ],
)
def test_sizes_that_do_not_fit(change, why):
    w = weights(outputs=2) | change
    fn = annotated(lambda x, wm, b, projection: x * 2.0, SIMPLE)
    assert why in check(lambda x: fn(x, w["wm"], w["b"], w["projection"]), X, static=False).refused["lingvo_lstm"]


@pytest.mark.parametrize(
    ("annotation", "why"), [(NORMALIZED, "something else"), (implements(NORMALIZED, layer_norm_epsilon=1e-3), "1e-8")]
)
def test_an_epsilon_that_the_kernel_does_not_have(annotation, why):
    w = weights(outputs=2)
    fn = cell(annotation, normalized=True, epsilon=1e-3)
    converted = check(lambda x: fn(x, w["wm"], w["b"], w["projection"], w["scale"]), X, static=False)
    assert why in converted.refused["lingvo_layer_norm_lstm"]
