"""Models of Flax, in Linen and in NNX, and functions of JAX alone, by name: a model's twin in keras_models.py has the
name behind `linen_` or `nnx_`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx
from jax import lax

from tests.jax_models.kinds import filler


def _weight(path: Any, like: Any, rng: np.random.Generator) -> Any:
    if not jnp.issubdtype(like.dtype, jnp.floating):
        return jnp.zeros(like.shape, like.dtype)
    return jnp.asarray(filler(jax.tree_util.keystr(path), like.shape, rng), like.dtype)


def linen_function(module: linen.Module, *inputs: Any) -> Callable[..., Any]:
    """Return what a Linen module computes, with random weights."""
    rng = np.random.default_rng(5)
    shapes = jax.eval_shape(module.init, jax.random.PRNGKey(0), *inputs)
    weights = jax.tree_util.tree_map_with_path(lambda path, like: _weight(path, like, rng), shapes)
    return lambda *x: module.apply(weights, *x)


def nnx_function(module: nnx.Module, *_: Any) -> Callable[..., Any]:
    """Return what an NNX module computes, with random weights."""
    rng = np.random.default_rng(5)
    module.eval()
    graph, state = nnx.split(module)
    state = jax.tree_util.tree_map_with_path(
        lambda path, like: like if jnp.issubdtype(like.dtype, jax.dtypes.prng_key) else _weight(path, like, rng), state
    )
    return lambda *x: nnx.merge(graph, state, copy=True)(*x)  # layers with states of their own may change the copy


class LinenMLP(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.LayerNorm()(linen.gelu(linen.Dense(32)(x)))
        return linen.softmax(linen.Dense(10)(linen.silu(linen.Dense(16)(x))))


class NnxMLP(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first, self.norm = nnx.Linear(24, 32, rngs=rngs), nnx.LayerNorm(32, rngs=rngs)
        self.second, self.last = nnx.Linear(32, 16, rngs=rngs), nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = self.norm(nnx.gelu(self.first(x)))
        return nnx.softmax(self.last(nnx.silu(self.second(x))))


class LinenCNN(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.relu(linen.BatchNorm(use_running_average=True)(linen.Conv(8, (3, 3), (2, 2))(x)))
        x = linen.Conv(8, (3, 3), feature_group_count=8, use_bias=False)(x)
        x = linen.relu6(linen.BatchNorm(use_running_average=True)(x))
        x = linen.avg_pool(linen.max_pool(x, (2, 2), (2, 2)), (2, 2), (2, 2))
        return linen.log_softmax(linen.Dense(10)(linen.relu(linen.Dense(16)(x.reshape(x.shape[0], -1)))))


class NnxCNN(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv, self.norm = nnx.Conv(3, 8, (3, 3), 2, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.depthwise = nnx.Conv(8, 8, (3, 3), feature_group_count=8, use_bias=False, rngs=rngs)
        self.other_norm = nnx.BatchNorm(8, rngs=rngs)
        self.dense, self.last = nnx.Linear(72, 16, rngs=rngs), nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = nnx.relu(self.norm(self.conv(x)))
        x = nnx.relu6(self.other_norm(self.depthwise(x)))
        x = nnx.avg_pool(nnx.max_pool(x, (2, 2), (2, 2)), (2, 2), (2, 2))
        return nnx.log_softmax(self.last(nnx.relu(self.dense(x.reshape(x.shape[0], -1)))))


class LinenBlock(linen.Module):
    """A block of a transformer."""

    hidden: int = 32

    @linen.compact
    def __call__(self, x: Any) -> Any:
        y = linen.LayerNorm()(x)
        x = x + linen.MultiHeadDotProductAttention(2)(y, y)
        y = linen.gelu(linen.Dense(self.hidden)(linen.LayerNorm()(x)), approximate=False)
        return x + linen.Dense(x.shape[-1])(y)


class NnxBlock(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, width: int = 16, hidden: int = 32) -> None:
        self.norm, self.other_norm = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=width, decode=False, rngs=rngs)
        self.first, self.second = nnx.Linear(width, hidden, rngs=rngs), nnx.Linear(hidden, width, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.norm(x))
        return x + self.second(nnx.gelu(self.first(self.other_norm(x)), approximate=False))


class LinenRecurrent(linen.Module):
    cell: str

    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(3)(linen.RNN(getattr(linen, self.cell)(8))(x)[:, -1])


class NnxRecurrent(nnx.Module):
    def __init__(self, cell: str, rngs: nnx.Rngs) -> None:
        self.layer = nnx.RNN(getattr(nnx, cell)(4, 8, rngs=rngs))
        self.dense = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.dense(self.layer(x)[:, -1])


class LinenBidirectional(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Bidirectional(linen.RNN(linen.OptimizedLSTMCell(8)), linen.RNN(linen.OptimizedLSTMCell(8)))(x)


class LinenEmbedding(linen.Module):
    @linen.compact
    def __call__(self, ids: Any) -> Any:
        return linen.Dense(3)(linen.Embed(20, 8)(ids).mean(1))


class NnxEmbedding(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.table, self.dense = nnx.Embed(20, 8, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, ids: Any) -> Any:
        return self.dense(self.table(ids).mean(1))


class ResNet(linen.Module):
    """The small sibling of the ImageNet example."""

    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.Conv(8, (7, 7), (2, 2), padding=[(3, 3), (3, 3)], use_bias=False)(x)
        x = linen.relu(linen.BatchNorm(use_running_average=True)(x))
        x = linen.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for stage in range(3):
            for block in range(2):
                x = self._block(x, 8 * 2**stage, 2 if stage and not block else 1)
        return linen.Dense(10)(jnp.mean(x, axis=(1, 2)))

    def _block(self, x: Any, filters: int, stride: int) -> Any:
        y = linen.Conv(filters, (3, 3), (stride, stride), use_bias=False)(x)
        y = linen.relu(linen.BatchNorm(use_running_average=True)(y))
        y = linen.BatchNorm(use_running_average=True)(linen.Conv(filters, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = linen.Conv(filters, (1, 1), (stride, stride), use_bias=False)(x)
            x = linen.BatchNorm(use_running_average=True)(x)
        return linen.relu(x + y)


class ViT(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.patches = nnx.Conv(3, 16, (4, 4), 4, padding="VALID", rngs=rngs)
        self.token, self.positions = nnx.Param(jnp.zeros((1, 1, 16))), nnx.Param(jnp.zeros((1, 17, 16)))
        self.blocks = nnx.List([NnxBlock(rngs) for _ in range(2)])
        self.norm, self.head = nnx.LayerNorm(16, rngs=rngs), nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = self.patches(x).reshape(x.shape[0], -1, 16)
        x = jnp.concatenate([jnp.tile(self.token[...], (x.shape[0], 1, 1)), x], axis=1) + self.positions[...]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Mixer(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.Conv(16, (4, 4), (4, 4))(x)
        x = x.reshape(x.shape[0], -1, 16)
        for _ in range(2):
            y = jnp.swapaxes(linen.LayerNorm()(x), 1, 2)
            x = x + jnp.swapaxes(self._mlp(y, 24), 1, 2)
            x = x + self._mlp(linen.LayerNorm()(x), 32)
        return linen.Dense(10)(jnp.mean(linen.LayerNorm()(x), axis=1))

    def _mlp(self, x: Any, hidden: int) -> Any:
        return linen.Dense(x.shape[-1])(linen.gelu(linen.Dense(hidden)(x)))


class UNet(nnx.Module):
    """Predicts the noise of an image at a time: two levels, attention in between."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.time, self.time_out = nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 16, rngs=rngs)
        self.first, self.last = nnx.Conv(3, 8, (3, 3), rngs=rngs), nnx.Conv(8, 3, (3, 3), rngs=rngs)
        self.down = ResBlock(8, 8, rngs)
        self.smaller = nnx.Conv(8, 8, (3, 3), 2, rngs=rngs)
        self.middle, self.norm = ResBlock(8, 16, rngs), nnx.GroupNorm(16, 4, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=16, decode=False, rngs=rngs)
        self.larger, self.up = nnx.Conv(16, 8, (3, 3), rngs=rngs), ResBlock(16, 8, rngs)

    def __call__(self, x: Any, t: Any) -> Any:
        angles = t[:, None] * jnp.exp(-jnp.arange(4.0))
        t = self.time_out(nnx.swish(self.time(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1))))
        x = self.down(self.first(x), t)
        y = self.middle(self.smaller(x), t)
        batch, height, width, channels = y.shape
        y = y + self.attention(self.norm(y).reshape(batch, height * width, channels)).reshape(y.shape)
        y = jax.image.resize(y, (batch, 2 * height, 2 * width, channels), "nearest")
        y = self.up(jnp.concatenate([self.larger(y), x], axis=-1), t)
        return self.last(nnx.swish(y))


class ResBlock(nnx.Module):
    def __init__(self, takes: int, makes: int, rngs: nnx.Rngs) -> None:
        self.norm, self.conv = nnx.GroupNorm(takes, 4, rngs=rngs), nnx.Conv(takes, makes, (3, 3), rngs=rngs)
        self.time = nnx.Linear(16, makes, rngs=rngs)
        self.other_norm, self.other = nnx.GroupNorm(makes, 4, rngs=rngs), nnx.Conv(makes, makes, (3, 3), rngs=rngs)
        self.skip = nnx.Conv(takes, makes, (1, 1), rngs=rngs)

    def __call__(self, x: Any, t: Any) -> Any:
        y = self.conv(nnx.swish(self.norm(x))) + self.time(nnx.swish(t))[:, None, None]
        return self.skip(x) + self.other(nnx.swish(self.other_norm(y)))


class Decoder(nnx.Module):
    """One step of a GPT: a token at a position, with the keys and values of those before."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.tokens, self.positions = nnx.Embed(20, 16, rngs=rngs), nnx.Embed(8, 16, rngs=rngs)
        self.norm, self.other_norm, self.last_norm = (nnx.LayerNorm(16, rngs=rngs) for _ in range(3))
        self.query, self.key, self.value = (nnx.LinearGeneral(16, (2, 8), rngs=rngs) for _ in range(3))
        self.out = nnx.LinearGeneral((2, 8), 16, axis=(-2, -1), rngs=rngs)
        self.first, self.second = nnx.Linear(16, 32, rngs=rngs), nnx.Linear(32, 16, rngs=rngs)

    def __call__(self, token: Any, position: Any, keys: Any, values: Any) -> Any:
        x = self.tokens(token)[:, None] + self.positions(position)
        y = self.norm(x)
        keys = lax.dynamic_update_slice_in_dim(keys, self.key(y), position, 1)
        values = lax.dynamic_update_slice_in_dim(values, self.value(y), position, 1)
        mask = (jnp.arange(8) <= position)[None, None, None]
        x = x + self.out(nnx.dot_product_attention(self.query(y), keys, values, mask=mask))
        x = x + self.second(nnx.gelu(self.first(self.other_norm(x))))
        return self.tokens.attend(self.last_norm(x))[:, 0], keys, values


def sorting(x: Any) -> Any:
    return jnp.sort(x), *lax.top_k(x, 3), jnp.argmax(x, -1), jnp.cumsum(x, -1)


_MATRIX = np.random.default_rng(1).normal(size=(4, 5, 6)).astype(np.float32)
_KERNELS = np.random.default_rng(2).normal(size=(2, 3, 3, 3, 4)).astype(np.float32)


def einsum(x: Any) -> Any:
    return jnp.einsum("bij,jkl->bikl", x, _MATRIX), jnp.einsum("bij,bkj->bik", x, x)


def vmapped_convolution(x: Any) -> Any:
    def convolve(image: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    return jax.vmap(convolve, (None, 0), 1)(x, _KERNELS)


def branches(x: Any) -> Any:
    return lax.cond(jnp.sum(x) > 0, lambda y: jnp.tanh(y) @ _MATRIX[:, 0, :4], lambda y: y * 2 + 1, x)


def loop(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda step, y: jnp.tanh(y @ _MATRIX[:, 1, :4] + 0.1 * step), x)


def scan(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        total, largest, count = carry
        carry = total * 0.5 + row, jnp.maximum(largest, row), count + 1
        return carry, carry[0] + carry[1]

    start = jnp.zeros_like(x[:, 0]), x[:, 0], jnp.int32(0)
    return lax.scan(step, start, jnp.swapaxes(x, 0, 1))


def _linen(make: Callable[[], linen.Module]) -> Callable[..., Any]:
    return lambda *inputs: linen_function(make(), *inputs)


def _nnx(make: Callable[[nnx.Rngs], nnx.Module]) -> Callable[..., Any]:
    return lambda *inputs: nnx_function(make(nnx.Rngs(0)))


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs: function


# What makes the function of a kind, given inputs.
MAKERS: dict[str, Callable[..., Callable[..., Any]]] = {
    "linen_mlp": _linen(LinenMLP),
    "nnx_mlp": _nnx(NnxMLP),
    "linen_cnn": _linen(LinenCNN),
    "nnx_cnn": _nnx(NnxCNN),
    "linen_attention": _linen(LinenBlock),
    "nnx_attention": _nnx(NnxBlock),
    "linen_lstm": _linen(lambda: LinenRecurrent("OptimizedLSTMCell")),
    "nnx_lstm": _nnx(lambda rngs: NnxRecurrent("LSTMCell", rngs)),
    "linen_bilstm": _linen(LinenBidirectional),
    "linen_gru": _linen(lambda: LinenRecurrent("GRUCell")),
    "nnx_gru": _nnx(lambda rngs: NnxRecurrent("GRUCell", rngs)),
    "linen_embedding": _linen(LinenEmbedding),
    "nnx_embedding": _nnx(NnxEmbedding),
    "linen_resnet": _linen(ResNet),
    "nnx_vit": _nnx(ViT),
    "linen_mixer": _linen(Mixer),
    "nnx_unet": _nnx(UNet),
    "nnx_decoder": _nnx(Decoder),
    "jax_sorting": _plain(sorting),
    "jax_einsum": _plain(einsum),
    "jax_vmapped_convolution": _plain(vmapped_convolution),
    "jax_branches": _plain(branches),
    "jax_loop": _plain(loop),
    "jax_scan": _plain(scan),
}
