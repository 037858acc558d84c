"""Models of Keras by name. On JAX they are kinds of their own; on TensorFlow the twins of those and of Flax's: both
should come to as many ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from tests.jax_models.kinds import INPUTS, filler


def _norm() -> Any:
    return layers.LayerNormalization(epsilon=1e-6)


def _mlp(x: Any) -> Any:
    x = _norm()(_tanh_gelu(layers.Dense(32)(x)))
    return layers.Dense(10, "softmax")(layers.Dense(16, "silu")(x))


def _tanh_gelu(x: Any) -> Any:
    return keras.activations.gelu(x, approximate=True)


def _cnn(x: Any) -> Any:
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, 2, padding="same")(x)))
    x = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x))
    x = layers.AveragePooling2D(2)(layers.MaxPooling2D(2)(layers.ReLU(6.0)(x)))
    return layers.Dense(10, "log_softmax")(layers.Dense(16, "relu")(layers.Flatten()(x)))


def _block(x: Any, mask: Any = None) -> Any:
    y = _norm()(x)
    x = x + layers.MultiHeadAttention(2, 8)(y, y, attention_mask=mask)
    return x + layers.Dense(16)(layers.Dense(32, "gelu")(_norm()(x)))


def _lstm(x: Any) -> Any:
    return layers.Dense(3)(layers.LSTM(8)(x))


def _bilstm(x: Any) -> Any:
    return layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)


def _gru(x: Any) -> Any:
    return layers.Dense(3)(layers.GRU(8)(x))


def _bigru(x: Any) -> Any:
    return layers.Bidirectional(layers.GRU(8, return_sequences=True))(x)


def _embedding(ids: Any) -> Any:
    return layers.Dense(3)(layers.GlobalAveragePooling1D()(layers.Embedding(20, 8)(ids)))


def _resnet(x: Any) -> Any:
    x = layers.Conv2D(8, 7, 2, use_bias=False)(layers.ZeroPadding2D(3)(x))
    x = layers.MaxPooling2D(3, 2, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))
    for stage in range(3):
        for block in range(2):
            x = _residual(x, 8 * 2**stage, 2 if stage and not block else 1)
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def _residual(x: Any, filters: int, stride: int) -> Any:
    y = layers.Conv2D(filters, 3, stride, padding="same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(y))
    if x.shape != y.shape:
        x = layers.BatchNormalization()(layers.Conv2D(filters, 1, stride, use_bias=False)(x))
    return layers.ReLU()(x + y)


class Token(layers.Layer):
    """Puts a learnt token in front, and adds learnt positions."""

    def build(self, shape: Any) -> None:
        self.token = self.add_weight(shape=(1, 1, shape[2]), name="token")
        self.positions = self.add_weight(shape=(1, shape[1] + 1, shape[2]), name="positions")

    def call(self, x: Any) -> Any:
        return ops.concatenate([ops.tile(self.token, (ops.shape(x)[0], 1, 1)), x], axis=1) + self.positions


def _vit(x: Any) -> Any:
    x = Token()(layers.Reshape((16, 16))(layers.Conv2D(16, 4, 4)(x)))
    for _ in range(2):
        x = _block(x)
    return layers.Dense(10)(_norm()(x)[:, 0])


def _mixer(x: Any) -> Any:
    x = layers.Reshape((16, 16))(layers.Conv2D(16, 4, 4)(x))
    for _ in range(2):
        y = layers.Permute((2, 1))(_norm()(x))
        x = x + layers.Permute((2, 1))(layers.Dense(16)(_tanh_gelu(layers.Dense(24)(y))))
        x = x + layers.Dense(16)(_tanh_gelu(layers.Dense(32)(_norm()(x))))
    return layers.Dense(10)(layers.GlobalAveragePooling1D()(_norm()(x)))


def _groups() -> Any:
    return layers.GroupNormalization(4, epsilon=1e-6)


def _unet(x: Any, t: Any) -> Any:
    angles = ops.expand_dims(t, 1) * np.exp(-np.arange(4.0, dtype=np.float32))
    t = layers.Dense(16)(layers.Dense(16, "silu")(ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)))
    x = _time_block(layers.Conv2D(8, 3, padding="same")(x), t, 8)
    y = _time_block(layers.Conv2D(8, 3, 2, padding="same")(x), t, 16)
    z = layers.Reshape((16, 16))(_groups()(y))
    y = y + layers.Reshape((4, 4, 16))(layers.MultiHeadAttention(2, 8)(z, z))
    y = layers.Conv2D(8, 3, padding="same")(layers.UpSampling2D(2)(y))
    y = _time_block(layers.Concatenate()([y, x]), t, 8)
    return layers.Conv2D(3, 3, padding="same")(ops.silu(y))


def _time_block(x: Any, t: Any, channels: int) -> Any:
    y = layers.Conv2D(channels, 3, padding="same")(ops.silu(_groups()(x)))
    y = y + layers.Reshape((1, 1, channels))(layers.Dense(channels)(ops.silu(t)))
    y = layers.Conv2D(channels, 3, padding="same")(ops.silu(_groups()(y)))
    return layers.Conv2D(channels, 1)(x) + y


class Decoder(layers.Layer):
    """One step of a GPT: a token at a position, with the keys and values of those before."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = layers.Embedding(20, 16), layers.Embedding(8, 16)
        self.norm, self.other_norm, self.last_norm = _norm(), _norm(), _norm()
        self.query, self.key, self.value = (
            layers.EinsumDense("btd,dhk->bthk", (None, 2, 8), bias_axes="hk") for _ in range(3)
        )
        self.out = layers.EinsumDense("bthk,hkd->btd", (None, 16), bias_axes="d")
        self.first, self.second = layers.Dense(32, _tanh_gelu), layers.Dense(16)

    def call(self, token: Any, position: Any, keys: Any, values: Any) -> Any:
        x = ops.expand_dims(self.tokens(token), 1) + self.positions(position)
        y = self.norm(x)
        keys = ops.slice_update(keys, (0, position, 0, 0), self.key(y))
        values = ops.slice_update(values, (0, position, 0, 0), self.value(y))
        scores = ops.einsum("bqhd,bkhd->bhqk", self.query(y) / np.float32(np.sqrt(8)), keys)
        scores = ops.where(ops.arange(8) <= position, scores, np.float32(np.finfo(np.float32).min))
        x = x + self.out(ops.einsum("bhqk,bkhd->bqhd", ops.softmax(scores), values))
        x = x + self.second(self.first(self.other_norm(x)))
        return ops.matmul(self.last_norm(x)[:, 0], ops.transpose(self.tokens.embeddings)), keys, values


def _mobilenet(x: Any) -> Any:
    return keras.applications.MobileNetV2(x.shape[1:], alpha=0.35, weights=None, classes=10)(x)


def _bert(tokens: Any, mask: Any) -> Any:
    positions = layers.Embedding(6, 16)(np.arange(6, dtype="int32"))
    x = _norm()(layers.Embedding(20, 16)(tokens) + positions)
    for _ in range(2):
        x = _norm()(x + layers.MultiHeadAttention(2, 8)(x, x, attention_mask=ops.cast(mask, "bool")[:, None]))
        x = _norm()(x + layers.Dense(16)(layers.Dense(32, "gelu")(x)))
    return layers.Dense(16, "tanh")(x[:, 0])


_BODIES: dict[str, Callable[..., Any]] = {
    "mlp": _mlp, "cnn": _cnn, "attention": _block, "lstm": _lstm, "bilstm": _bilstm, "gru": _gru, "bigru": _bigru,
    "embedding": _embedding, "resnet": _resnet, "vit": _vit, "mixer": _mixer, "unet": _unet, "mobilenet": _mobilenet,
    "bert": _bert,
}  # fmt: skip
NAMES = (*_BODIES, "decoder")


def make(name: str) -> Any:
    """Return a model, or a layer where an input has no batch, with random weights."""
    specs = INPUTS[name]
    if name == "decoder":
        model = Decoder()
        model(*(np.zeros(spec.shape(2), spec.dtype) for spec in specs))
    else:
        parts = [
            layers.Input(spec.shape(None)[1:], dtype=spec.dtype, name=f"args_{at}") for at, spec in enumerate(specs)
        ]
        model = keras.Model(parts if len(parts) > 1 else parts[0], _BODIES[name](*parts))
    rng = np.random.default_rng(9)
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(filler(weight.path, tuple(weight.shape), rng))
    return model
