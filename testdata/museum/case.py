"""What a case of the museum is: a function, what went wrong with it and where that was told, what is expected of us.

    @case("tensorflow#118525", "0 for small numbers: LOG(1 + x)", spec(None, 4), inputs=[SMALL])
    def log1p_of_small_numbers():
        return tf.math.log1p

The decorated function takes nothing, makes the weights (seeded: `weights`, `randomized`) and returns what is converted:
a function of tensors or a layer. Its name is the case's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tests.random_weights import randomize

HERE = Path(__file__).parent
CASES: dict[str, Case] = {}
_rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Case:
    """A small model that was converted wrongly, or refused, or whose file the runtime computes wrongly.

    theme: the file that it stands in. sources: the threads that tell of it; "here": found here. wrong: what went wrong.
    specs: the inputs, as `tf.TensorSpec`. inputs: arrays for each run; None: drawn, for two sizes of what is unknown.
    Of us is expected what is right, but where one of these is told: refused: a pattern of the reason why we refuse it.
    kernel: why the runtime's own kernel differs, whatever the file. processor: why XNNPACK's kernel for some processors
    differs, where that for others is right. pending: what is still to be repaired.
    """

    name: str
    theme: str
    sources: tuple[str, ...]
    wrong: str
    make: Callable[[], Callable[..., Any]]
    specs: tuple[Any, ...]
    inputs: Sequence[np.ndarray] | None
    refused: str
    kernel: str
    processor: str
    pending: str

    def build(self) -> Callable[..., Any]:
        """Return the function to convert, with the same weights each time."""
        global _rng
        _rng = np.random.default_rng(7)
        return self.make()


def case(
    sources: str,
    wrong: str,
    *specs: Any,
    inputs: Sequence[np.ndarray] | None = None,
    refused: str = "",
    kernel: str = "",
    processor: str = "",
    pending: str = "",
) -> Callable[[Callable[[], Callable[..., Any]]], Callable[[], Callable[..., Any]]]:
    """Add a case; its sources are separated by spaces, as `tensorflow#118525 LiteRT#9022`, or are `here`."""

    def add(make: Callable[[], Callable[..., Any]]) -> Callable[[], Callable[..., Any]]:
        name, theme = make.__name__, make.__module__.rpartition(".")[2]
        if name in CASES:
            raise ValueError(f"there are two cases {name}")
        told = tuple(sources.split())
        CASES[name] = Case(
            name, theme, told, wrong, make, specs, inputs, refused, kernel, processor, pending
        )
        return make

    return add


def load() -> dict[str, Case]:
    """Return the cases of all files beside this one, in the order of the files."""
    for path in sorted(HERE.glob("*.py")):
        if path != Path(__file__):
            importlib.import_module(f"testdata.museum.{path.stem}")
    return CASES


def spec(*shape: int | None, dtype: Any = tf.float32) -> Any:
    """Return an input of this shape, floats if nothing else is said."""
    return tf.TensorSpec(shape, dtype)


def floats(*values: Any) -> np.ndarray:
    """Return these numbers, or rows of numbers, as an array."""
    return np.array(values, np.float32)


def weights(*shape: int) -> np.ndarray:
    """Return normally distributed numbers, which keep a product near unit variance."""
    return (_rng.standard_normal(shape) / max(1, int(np.prod(shape[:-1]))) ** 0.5).astype(np.float32)


def randomized(layer: Any, *shape: int | None) -> Any:
    """Return a Keras layer, built for inputs of this shape, with random weights and biases."""
    layer.build(shape)
    randomize(layer, 7)
    return layer
