"""Seeded random weights, so that no test passes because a bias is zero or a variance one."""

from __future__ import annotations

from typing import Any

import numpy as np


def randomize(model: Any, seed: int) -> None:
    """Sets each float weight of a Keras 2 or 3 model to random numbers that keep activations near unit variance.

    Kernels are He-scaled, biases and means have a deviation of 0.1, scales and variances lie in [0.5, 1.5].
    """
    rng = np.random.default_rng(seed)
    model.set_weights([_draw(rng, _leaf_name(weight), value) for weight, value in
                       zip(model.weights, model.get_weights(), strict=True)])  # fmt: skip


def _leaf_name(weight: Any) -> str:
    return weight.name.rsplit("/", 1)[-1].partition(":")[0]


def _draw(rng: np.random.Generator, name: str, value: np.ndarray) -> np.ndarray:
    if value.dtype.kind != "f":
        return value
    if name in ("gamma", "scale") or name.endswith("variance"):
        drawn = rng.uniform(0.5, 1.5, value.shape)
    elif value.ndim < 2 or name == "bias":
        drawn = rng.normal(0.0, 0.1, value.shape)
    elif name == "embeddings":
        drawn = rng.normal(0.0, 1.0, value.shape)
    else:
        depthwise = name == "depthwise_kernel"
        fan_in = np.prod(value.shape[:-2] if depthwise else value.shape[:-1])
        drawn = rng.normal(0.0, np.sqrt(2.0 / fan_in), value.shape)
    return drawn.astype(value.dtype)
