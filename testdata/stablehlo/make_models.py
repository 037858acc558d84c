"""Make StableHLO modules of whole models that the tests convert, with inputs and outputs, by Flax and Keras.

    pip install .[jax] flax keras
    python testdata/stablehlo/make_models.py

writes models.tar.xz, in the form of ops.tar.xz, which make_modules.py writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import make_modules
import numpy as np
from flax import linen as nn
from make_modules import case

BATCH = "b,"


def filled(shapes: Any, rng: np.random.Generator) -> Any:
    """Return weights of these shapes: scales near 1, variances that are positive."""

    def fill(path: Any, like: Any) -> Any:
        name, numbers = jax.tree_util.keystr(path), rng.normal(size=like.shape) * 0.3
        return jnp.asarray(abs(numbers) + 0.5 if "var" in name else numbers + ("scale" in name), like.dtype)

    return jax.tree_util.tree_map_with_path(fill, shapes)


def model(name: str, module: nn.Module, *shapes: str, batches: tuple[str, ...] = ("3,", BATCH)) -> None:
    """Add a Flax model, with a fixed batch and for any."""
    like = [jax.ShapeDtypeStruct([3, *map(int, shape.split(","))], jnp.float32) for shape in shapes]
    weights = filled(jax.eval_shape(module.init, jax.random.PRNGKey(0), *like), np.random.default_rng(5))
    for batch in batches:
        suffix = "_dynamic" if batch == BATCH else ""
        case(f"{name}{suffix}", lambda *x: module.apply(weights, *x), *(batch + shape for shape in shapes))


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.LayerNorm()(nn.gelu(nn.Dense(16)(x)))
        return nn.softmax(nn.Dense(5)(nn.silu(nn.Dense(8)(x))))


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.BatchNorm(use_running_average=True)(nn.Conv(6, (3, 3), (2, 2))(x))
        x = nn.Conv(6, (3, 3), feature_group_count=6, use_bias=False)(nn.relu(x))
        x = nn.relu6(nn.BatchNorm(use_running_average=True)(x))
        x = nn.max_pool(x, (2, 2), (2, 2)).mean((1, 2))
        return nn.log_softmax(nn.Dense(3)(x))


class Recurrent(nn.Module):
    cells: tuple[str, ...] = ("OptimizedLSTMCell",)
    reverse: bool = False
    last: bool = False

    @nn.compact
    def __call__(self, x: Any) -> Any:
        for cell in self.cells:
            x = nn.RNN(getattr(nn, cell)(4), reverse=self.reverse, keep_order=self.reverse)(x)
        return nn.Dense(3)(x[:, -1]) if self.last else x


class Bidirectional(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.Bidirectional(nn.RNN(nn.OptimizedLSTMCell(4)), nn.RNN(nn.OptimizedLSTMCell(4)))(x)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(2)(y, y)
        y = nn.Dense(12)(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1])(nn.gelu(y, approximate=False))


class Decoder(nn.Module):
    """One block of a language model, of token numbers that come as floats."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        tokens = x.astype(jnp.int32)
        y = nn.Embed(11, 8)(tokens)
        mask = nn.make_causal_mask(tokens)
        y = y + nn.MultiHeadDotProductAttention(2)(nn.RMSNorm()(y), mask=mask)
        return nn.Embed(11, 8).attend(nn.RMSNorm()(y))


class UNet(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        a = nn.swish(nn.GroupNorm(2)(nn.Conv(4, (3, 3))(x)))
        b = nn.swish(nn.GroupNorm(2)(nn.Conv(8, (3, 3), (2, 2))(a)))
        c = jnp.concatenate([a, nn.ConvTranspose(4, (2, 2), (2, 2))(b)], -1)
        return nn.Conv(3, (1, 1))(c)


def keras_models() -> None:
    import keras
    from keras import layers

    heads = layers.Input((5, 8))
    sequences = {
        "lstm": [layers.Input((5, 3)), layers.LSTM(4), layers.Dense(2)],
        "masked_lstm": [layers.Input((5, 3)), layers.Masking(), layers.LSTM(4, return_sequences=True)],
        "bidirectional": [layers.Input((5, 3)), layers.Bidirectional(layers.LSTM(4, return_sequences=True))],
        "average": [layers.Input((5, 6, 2)), layers.AveragePooling2D(3, 2, padding="same")],
    }
    short = layers.Input((4, 3))
    sequences["unrolled_masked_lstm"] = [short, layers.Masking(), layers.LSTM(4, unroll=True)]
    sequences["unrolled_lstms"] = [
        short, layers.LSTM(4, unroll=True, return_sequences=True), layers.LSTM(2, unroll=True)
    ]  # fmt: skip
    both = layers.Bidirectional(layers.LSTM(4, unroll=True, return_sequences=True))
    sequences["unrolled_bidirectional"] = [short, both]
    models = {name: keras.Sequential(parts) for name, parts in sequences.items()}
    models["attention"] = keras.Model(heads, layers.MultiHeadAttention(2, 4)(heads, heads))
    rng = np.random.default_rng(9)
    for name, made in models.items():
        for weight in made.weights:
            if weight.dtype == "float32":
                weight.assign(rng.normal(size=weight.shape) * 0.5)
        sizes = ",".join(map(str, made.inputs[0].shape[1:]))
        case(f"keras_{name}", lambda x, made=made: made(x, training=False), "b," + sizes)
        if name.startswith("unrolled"):
            case(f"keras_{name}_static", lambda x, made=made: made(x, training=False), "3," + sizes)


def _torch_direction(x: Any, units: int, rng: np.random.Generator) -> tuple[list[Any], Any, Any]:
    """Return the outputs of an LSTM and its last states, written out as PyTorch's exports do: the input is projected at
    once, a state has a dimension of size 1 in front, sums are multiplied by 1."""
    time, batch, width = x.shape
    kernel, recurrent, bias, other = (
        jnp.asarray(rng.normal(size=size) * 0.5, jnp.float32)
        for size in ((width, 4 * units), (units, 4 * units), 4 * units, 4 * units)
    )  # fmt: skip
    every = jnp.matmul(x, jnp.broadcast_to(kernel, (time, width, 4 * units))) * jnp.ones((), x.dtype) + bias
    h = c = jnp.reshape(jnp.zeros((2, batch, units))[1:2], (batch, units))
    made = []
    for step in range(time):
        row = jnp.reshape(every[step : step + 1], (batch, 4 * units))
        total = jnp.dot(jnp.reshape(h, (batch, units)), recurrent) * 1.0 + other + row
        i, f, g, o = jnp.split(jnp.reshape(total, (1, batch, 4 * units)), 4, axis=2)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        made.append(h)
    return made, h, c


def torch_lstm(x: Any, layers: int = 1, both: bool = False) -> Any:
    """Return the outputs of `torch.nn.LSTM(batch_first=True)`, and the states."""
    rng = np.random.default_rng(3)
    y = jnp.transpose(x, (1, 0, 2))
    states = []
    for _ in range(layers):
        made, *last = _torch_direction(y, 4, rng)
        outputs = jnp.concatenate(made, 0)
        states.append(last)
        if both:
            made, *last = _torch_direction(jnp.flip(y, 0), 4, rng)
            outputs = jnp.concatenate([outputs, jnp.flip(jnp.concatenate(made, 0), 0)], 2)
            states.append(last)
        y = outputs
    return jnp.transpose(y, (1, 0, 2)), *(jnp.concatenate(each, 0) for each in zip(*states))


def torch_models() -> None:
    for batch in ("3,", BATCH):
        suffix = "_dynamic" if batch == BATCH else ""
        case(f"torch_lstm{suffix}", torch_lstm, f"{batch}4,3")
        case(f"torch_lstms{suffix}", lambda x: torch_lstm(x, layers=2), f"{batch}4,3")
        case(f"torch_bidirectional{suffix}", lambda x: torch_lstm(x, both=True), f"{batch}4,3")


def shapes() -> None:
    case("equal_sizes", lambda a, b: jnp.tanh(a) + b, "b,3", "b,3")
    case("twice_the_size", lambda a, b: jnp.concatenate([a, a]) + b, "b,3", "2*b,3")


def composites() -> None:
    swish = jax.lax.composite(lambda x, *, beta: x / (1 + jnp.exp(-beta * x)), name="user.swish")
    case("composite_swish", lambda x: swish(x, beta=1.5), "3,4")
    norm: Callable[..., Any] = jax.lax.composite(_rms_norm, name="odml.rms_norm")
    case("composite_rms_norm", lambda x, scale: norm(x, scale, epsilon=1e-6), "3,4", "4")


def _rms_norm(x: Any, scale: Any, *, epsilon: float) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon) * scale


def models() -> None:
    model("mlp", MLP(), "7")
    model("cnn", CNN(), "13,11,3")
    model("lstm", Recurrent(last=True), "5,3")
    model("lstm_layers", Recurrent(("OptimizedLSTMCell", "LSTMCell"), reverse=True), "5,3", batches=(BATCH,))
    model("gru", Recurrent(("GRUCell",)), "5,3", batches=(BATCH,))
    model("bidirectional", Bidirectional(), "5,3")
    model("block", Block(), "5,8")
    model("decoder", Decoder(), "5", batches=(BATCH,))
    model("unet", UNet(), "8,6,3")
    keras_models()
    torch_models()
    shapes()
    composites()


if __name__ == "__main__":
    make_modules.write("models.tar.xz", [models])
