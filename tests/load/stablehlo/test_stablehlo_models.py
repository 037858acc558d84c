"""Whole models of Flax and of Keras on JAX: right, and in as few ops as the same models of TensorFlow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fuseconv
from tests.load.stablehlo.modules import cases, check_case

LSTM, BOTH = "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"
_LOOPS = {"WHILE", "IF"}
# The most ops of each, and some that it must have.
MOST: dict[str, tuple[int, dict[str, int]]] = {
    "mlp": (14, {"GELU": 1, "SOFTMAX": 1, "FULLY_CONNECTED": 3}),
    "mlp_dynamic": (14, {"GELU": 1, "SOFTMAX": 1, "FULLY_CONNECTED": 3}),
    "cnn": (6, {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "LOG_SOFTMAX": 1}),
    "cnn_dynamic": (6, {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "LOG_SOFTMAX": 1}),
    "lstm": (5, {LSTM: 1}),
    "lstm_dynamic": (8, {LSTM: 1}),
    "lstm_layers_dynamic": (11, {LSTM: 2}),
    "bidirectional": (6, {BOTH: 1}),
    "bidirectional_dynamic": (9, {BOTH: 1}),
    "block": (34, {"GELU": 1, "SOFTMAX": 1, "BATCH_MATMUL": 2, "TRANSPOSE": 4}),
    "block_dynamic": (34, {"GELU": 1, "SOFTMAX": 1, "BATCH_MATMUL": 2, "TRANSPOSE": 4}),
    "decoder_dynamic": (38, {"GATHER": 1, "SOFTMAX": 1}),
    "keras_lstm": (9, {LSTM: 1}),
    "keras_masked_lstm": (18, {LSTM: 1}),
    "keras_bidirectional": (9, {BOTH: 1}),
    "keras_unrolled_masked_lstm": (17, {LSTM: 1}),
    "keras_unrolled_masked_lstm_static": (14, {LSTM: 1}),
    "keras_unrolled_lstms": (11, {LSTM: 2}),
    "keras_unrolled_lstms_static": (7, {LSTM: 2}),
    "keras_unrolled_bidirectional": (9, {BOTH: 1}),
    "keras_unrolled_bidirectional_static": (6, {BOTH: 1}),
    "torch_lstm": (8, {LSTM: 1}),
    "torch_lstm_dynamic": (11, {LSTM: 1}),
    "torch_lstms": (16, {LSTM: 2}),
    "torch_lstms_dynamic": (19, {LSTM: 2}),
    "torch_bidirectional": (16, {BOTH: 1}),
    "torch_bidirectional_dynamic": (19, {BOTH: 1}),
    "keras_average": (1, {"AVERAGE_POOL_2D": 1}),
    "keras_attention": (15, {"SOFTMAX": 1, "TRANSPOSE": 4}),
}


@pytest.mark.parametrize("name", MOST)
def test_a_model_takes_few_ops(name: str, tmp_path: Path) -> None:
    most, needed = MOST[name]
    made = check_case(f"models/{name}", tmp_path)
    assert sum(made.values()) <= most, made
    assert not _LOOPS & made.keys()
    assert {op: made[op] for op in needed} == needed


@pytest.mark.parametrize("name", ["gru_dynamic", "unet", "unet_dynamic"])
def test_other_models(name: str, tmp_path: Path) -> None:
    check_case(f"models/{name}", tmp_path)


def _twins() -> dict[str, Any]:
    """Return the models of TensorFlow that are made as those of Flax, by their names."""
    from keras import Input, Model, Sequential, layers

    x = Input((5, 8), batch_size=3)
    y = layers.LayerNormalization()(x)
    a = layers.Add()([x, layers.MultiHeadAttention(2, 4)(y, y)])
    y = layers.Dense(12, activation="gelu")(layers.LayerNormalization()(a))
    return {
        "mlp": Sequential([
            Input((7,), batch_size=3), layers.Dense(16), layers.Activation(_tanh_gelu), layers.LayerNormalization(),
            layers.Dense(8, activation="silu"), layers.Dense(5, activation="softmax"),
        ]),
        "cnn": Sequential([
            Input((13, 11, 3), batch_size=3), layers.Conv2D(6, 3, 2, padding="same"), layers.BatchNormalization(),
            layers.ReLU(), layers.DepthwiseConv2D(3, padding="same", use_bias=False), layers.BatchNormalization(),
            layers.ReLU(6.0), layers.MaxPooling2D(), layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="log_softmax"),
        ]),
        "lstm": Sequential([Input((5, 3), batch_size=3), layers.LSTM(4), layers.Dense(3)]),
        "gru_dynamic": Sequential([Input((5, 3)), layers.GRU(4, return_sequences=True)]),
        "block": Model(x, layers.Add()([a, layers.Dense(8)(y)])),
    }  # fmt: skip


def _tanh_gelu(x: Any) -> Any:
    import keras

    return keras.activations.gelu(x, approximate=True)


def test_the_same_model_of_tensorflow_takes_as_many_ops(tmp_path: Path) -> None:
    counts: dict[str, tuple[int, int]] = {}
    for name, twin in _twins().items():
        path = tmp_path / f"{name}.mlirbc"
        path.write_bytes(cases()[f"models/{name}"].data)
        made = [Counter(op.type for op in fuseconv.convert(each).report.emitted) for each in (path, twin)]
        counts[name] = made[0].total(), made[1].total()
    assert all(abs(ours - theirs) <= max(theirs // 10, 1) for ours, theirs in counts.values()), counts
