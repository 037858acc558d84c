"""The values of random programs of JAX, and what their steps are drawn with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Step = Callable[..., Any]


@dataclass(frozen=True)
class Value:
    """The shapes and types of a value: as it is exported, then at each size. number: its place in the program."""

    number: int
    at: tuple[jax.ShapeDtypeStruct, ...]

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.at[0].shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.at[0].dtype

    def is_like(self, other: Value) -> bool:
        return all(a.dtype == b.dtype and a.shape == b.shape for a, b in zip(self.at, other.at))

    def row(self, axis: int = 0) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Return what a map over an axis hands to its function."""
        return tuple(jax.ShapeDtypeStruct(x.shape[:axis] + x.shape[axis + 1 :], x.dtype) for x in self.at)


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Draw normal numbers, or integers so small that float32 holds what comes of them."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -5, 7, shape).astype(dtype)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if kind == "c" else made).astype(dtype)


def need(condition: object) -> None:
    if not condition:
        raise ValueError("the operands do not fit")


def constant_of(rng: Random, shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    return numbers(np.random.default_rng(rng.getrandbits(32)), shape, dtype)


def any_axis(rng: Random, x: Value) -> int:
    return rng.randrange(-x.ndim, x.ndim)


def kind_of(x: Value) -> str:
    return "f" if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype.kind


def each(kinds: str, *functions: Step) -> Callable[..., Step]:
    """Return what draws one of the functions, for operands of these kinds of numpy's."""

    def draw(rng: Random, *operands: Value) -> Step:
        need(all(kind_of(x) in kinds for x in operands))
        return rng.choice(functions)

    return draw


def meet(x: Value, axis: int, y: Value, other: int) -> bool:
    """Return whether two dimensions have one size."""
    return all(a.shape[axis] == b.shape[other] for a, b in zip(x.at, y.at))
