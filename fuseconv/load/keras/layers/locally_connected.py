"""Convolutions of Keras 2 that have a kernel of its own for each place of the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import activate
from fuseconv.load.keras.layers.settings import channels_first, sizes, to_channels_last
from fuseconv.load.keras.registry import builtin


@dataclass(frozen=True)
class _Places:
    """The sizes of a layer's input and result, and which elements of one the other depends on.

    first: whether channels come first in the layer's weights and tensors."""

    given: list[int]
    made: list[int]
    window: list[int]
    steps: list[int]
    same: bool
    channels: int
    filters: int
    first: bool

    def weights(self) -> list[int]:
        """Return the shape of a weight for each element of the input and each of the result."""
        return self.shaped(self.given, self.channels) + self.shaped(self.made, self.filters)

    def shaped(self, dims: list[int], channels: int) -> list[int]:
        return [channels, *dims] if self.first else [*dims, channels]

    def mask(self) -> np.ndarray:
        """Return which places of the input each of the result depends on, in the shape of `weights`, of one channel."""
        rank = len(self.given)
        mask = np.ones([*self.given, *self.made], bool)
        for axis in range(rank):
            place = np.arange(self.made[axis]) * self.steps[axis] - (self.window[axis] // 2 if self.same else 0)
            at = np.arange(self.given[axis])[:, None]
            near = (at >= place) & (at < place + self.window[axis])
            mask &= near.reshape([n if d in (axis, rank + axis) else 1 for d, n in enumerate(mask.shape)])
        return mask.reshape(self.shaped(self.given, 1) + self.shaped(self.made, 1))


@builtin("LocallyConnected1D", "LocallyConnected2D")
def locally_connected(
    k: Call, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    data_format: str | None = None, activation: str | dict | None = None, use_bias: bool = True,
    implementation: int = 1,
) -> Value:  # fmt: skip
    """Convolve with a kernel of its own at each place. `implementation` says how Keras 2 kept the weights: 1 by places,
    2 dense, with a mask, 3 as the list of those that are not 0."""
    rank, first = int(k.owner.class_name[-2]), channels_first(k, data_format)
    k.shape(x, rank + 2)
    given = [k.known(x, at + (2 if first else 1)) for at in range(rank)]
    window, steps = sizes(k, kernel_size, rank), sizes(k, strides, rank)
    if padding not in ("valid", "same") or (padding == "same" and implementation == 1):
        k.refuse(f"padding={padding!r}, implementation={implementation}")
    full = [size if padding == "same" else size - span + 1 for size, span in zip(given, window)]
    made = [-(-size // step) for size, step in zip(full, steps)]
    build = {1: _by_patches, 2: _by_mask, 3: _by_list}.get(implementation)
    if build is None or min(made) < 1 or filters < 1:
        k.refuse(f"implementation={implementation}, {made} places of {filters} filters")
    places = _Places(given, made, window, steps, padding == "same", k.known(x, 1 if first else -1), filters, first)
    y = build(k, x, places)
    if use_bias:
        bias = k.weight("bias", [*made, filters])
        y = k.tf.AddV2(y, k.tf.reshaped(bias, [1, *places.shaped(made, filters)]))
    return activate(k, y, activation)


def _by_patches(k: Call, x: Value, places: _Places) -> Value:
    """Multiply the window of each place by its kernel."""
    tf, area, rank = k.tf, math.prod(places.window), len(places.given)
    kernel = k.weight("kernel", [math.prod(places.made), area * places.channels, places.filters])
    if places.first:  # windows begin with the channels
        parts = tf.reshaped(kernel, [math.prod(places.made), places.channels, area, places.filters])
        kernel = tf.reshaped(tf.Transpose(parts, [0, 2, 1, 3]), [math.prod(places.made), -1, places.filters])
        x = to_channels_last(k, x)
    wide = tf.ExpandDims(x, 1) if rank == 1 else x
    window, steps = ([1, *[1] * (2 - rank), *each, 1] for each in (places.window, places.steps))
    patches = tf.ExtractImagePatches(wide, ksizes=window, strides=steps, rates=[1] * 4, padding="VALID")
    patches = tf.reshaped(patches, ["0", math.prod(places.made), area * places.channels])
    made = tf.Einsum(patches, kernel, equation="bpn,pnf->bpf")
    made = tf.reshaped(made, ["0", *places.made, places.filters])
    return tf.Transpose(made, [0, rank + 1, *range(1, rank + 1)]) if places.first else made


def _by_mask(k: Call, x: Value, places: _Places) -> Value:
    """Multiply by one matrix, whose weights of what is far from each other are put to zero."""
    tf, shape = k.tf, places.weights()
    kernel = k.weight("kernel", shape)
    kernel = tf.Mul(_made(k, shape, lambda: places.mask().astype(np.float32)), kernel)
    return _product(k, x, tf.reshaped(kernel, _flat(places)), places)


def _by_list(k: Call, x: Value, places: _Places) -> Value:
    """Multiply by one matrix, of which there are only the weights of what is near to each other: by their order."""
    tf, (given, made) = k.tf, _flat(places)

    def near() -> np.ndarray:
        wide = np.broadcast_to(places.mask(), places.weights()).reshape(given, made)
        return np.argwhere(wide.T).astype(np.int32)

    where = _made(k, [given, made, 2], near)
    kernel = k.weight("kernel", [k.known(where, 0)])
    matrix = tf.ScatterNd(where, kernel, tf.ints([made, given]), dtype=kernel.dtype)
    return _product(k, x, tf.Transpose(matrix, [1, 0]), places)


def _flat(places: _Places) -> list[int]:
    return [math.prod(places.given) * places.channels, math.prod(places.made) * places.filters]


def _made(k: Call, shape: list[int], make: Callable[[], np.ndarray]) -> Value:
    """Return a constant that is made only if there is room for elements of a shape."""
    budget.require_elements(tuple(shape), np.dtype(np.float32), f"{k.tf.scope}/Const")
    made = make()
    return k.tf.array(made, types.FLOAT32 if made.dtype.kind == "f" else types.INT32)


def _product(k: Call, x: Value, matrix: Value, places: _Places) -> Value:
    flat = k.tf.reshaped(x, ["0", k.known(matrix, 0)])
    return k.tf.reshaped(k.tf.MatMul(flat, matrix), ["0", *places.shaped(places.made, places.filters)])
