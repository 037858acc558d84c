"""The kinds of models, their inputs, and their weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BATCHES = (2, 2, 3)  # of the runs; a file with a fixed batch takes those of the first
FORMS = ("static", "dynamic")


class Input(NamedTuple):
    """An input; sizes as `jax.export.symbolic_shape` has them. high: integers below this."""

    sizes: str
    high: int = 0

    @property
    def dtype(self) -> str:
        return "int32" if self.high else "float32"

    def shape(self, batch: int | None) -> tuple[Any, ...]:
        return tuple(batch if size == "b" else int(size) for size in self.sizes.split(",") if size)

    def draw(self, batch: int, rng: np.random.Generator) -> np.ndarray:
        shape = self.shape(batch)
        return np.asarray(rng.integers(0, self.high, shape) if self.high else rng.normal(size=shape), self.dtype)


_CACHE = Input("b,8,2,8")
# By what stands behind `linen_`, `nnx_`, `jax_` or `keras_`.
INPUTS: dict[str, tuple[Input, ...]] = {
    "mlp": (Input("b,24"),),
    "cnn": (Input("b,24,24,3"),),
    "attention": (Input("b,6,16"),),
    "lstm": (Input("b,6,4"),),
    "bilstm": (Input("b,6,4"),),
    "gru": (Input("b,6,4"),),
    "bigru": (Input("b,6,4"),),
    "embedding": (Input("b,6", 20),),
    "resnet": (Input("b,32,32,3"),),
    "vit": (Input("b,16,16,3"),),
    "mixer": (Input("b,16,16,3"),),
    "unet": (Input("b,8,8,3"), Input("b")),
    "decoder": (Input("b", 20), Input("", 8), _CACHE, _CACHE),
    "mobilenet": (Input("b,64,64,3"),),
    "bert": (Input("b,6", 20), Input("b,6", 2)),
    "sorting": (Input("b,7"),),
    "einsum": (Input("b,3,4"),),
    "vmapped_convolution": (Input("b,6,5,3"),),
    "branches": (Input("b,4"),),
    "loop": (Input("b,4"),),
    "scan": (Input("b,6,4"),),
}


def inputs(kind: str) -> tuple[Input, ...]:
    return INPUTS[kind.partition("_")[2]]


def filler(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return a weight: of a kernel as large as keeps numbers as they are, scales near 1, variances above 0."""
    numbers = rng.normal(size=shape)
    if "var" in name:
        return 0.5 + abs(numbers)
    if any(word in name for word in ("scale", "gamma")):
        return 1 + 0.2 * numbers
    return numbers * (0.2 if len(shape) < 2 else np.sqrt(1 / np.prod(shape[:-1])))


_LINEN = ("mlp", "cnn", "attention", "lstm", "bilstm", "gru", "embedding", "resnet", "mixer")
_NNX = ("mlp", "cnn", "attention", "lstm", "gru", "embedding", "vit", "unet", "decoder")
_JAX = ("sorting", "einsum", "vmapped_convolution", "branches", "loop", "scan")
_KERAS = ("mlp", "cnn", "attention", "lstm", "bilstm", "gru", "bigru", "embedding", "mobilenet", "bert")
KINDS = (
    *(f"linen_{name}" for name in _LINEN), *(f"nnx_{name}" for name in _NNX), *(f"jax_{name}" for name in _JAX),
    *(f"keras_{name}" for name in _KERAS),
)  # fmt: skip
