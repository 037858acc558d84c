"""What errors of weights amount to: each output of a product is off by the sum of the errors of its weights, times what
they are multiplied by. On the mean of this the bias makes up for; the rest goes both ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.windows import WINDOWS, read_shares

# Of a TRANSPOSE_CONV each output is made by some of the weights, and others by others.
_PRODUCTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


class ChannelMeans:
    """The mean over samples of each channel of tensors, those that were seen."""

    def __init__(self) -> None:
        self._sums: dict[Value, np.ndarray] = {}
        self._counts: dict[Value, int] = {}

    def see(self, value: Value, means: np.ndarray, count: int = 1) -> None:
        """Take in the means [channels] of a tensor in one sample, or their sum over more."""
        self._sums[value] = self._sums.get(value, 0.0) + means.astype(np.float64)
        self._counts[value] = self._counts.get(value, 0) + count

    def means(self) -> dict[Value, np.ndarray]:
        """Return the means of each tensor that was seen and has finite ones."""
        found = {value: total / self._counts[value] for value, total in self._sums.items()}
        return {value: means for value, means in found.items() if np.isfinite(means).all()}


def read_by_products(graph: Graph) -> Iterator[Value]:
    """Yield once each tensor that products with constant weights read, and whose last dimension is its channels."""
    seen: set[Value] = set()
    for op in graph.ops:
        if op.type not in _PRODUCTS:
            continue
        value, weights = op.operands[LAYOUTS[op.type].data], op.operands[LAYOUTS[op.type].weights]
        if value is not None and weights is not None and value not in seen and has_channels(op, value, weights):
            seen.add(value)
            yield value


def has_channels(op: Op, value: Value, weights: Value) -> bool:
    """Return whether the last dimension of a tensor is the channels that a product multiplies by constant weights."""
    shape, sizes = value.shape or (), weights.shape
    if any(each.dtype is not types.FLOAT32 for each in (value, weights)) or not weights.is_const:
        return False
    if value.is_const or len(shape) < 2 or 0 in shape:
        return False
    # FULLY_CONNECTED also takes rows in several dimensions.
    in_rows = op.type != "FULLY_CONNECTED" or (sizes is not None and shape[-1] == sizes[1])
    return in_rows and isinstance(shape[-1], int)


def errors_have_means(op: Op) -> bool:
    """Return whether `mean_errors` tells those of an op."""
    return op.type in _PRODUCTS and (op.type not in WINDOWS or read_shares(op) is not None)


def mean_errors(op: Op, errors: np.ndarray, means: np.ndarray) -> np.ndarray | None:
    """Return by how much errors of weights, in their shape, move each output on the mean; None where it varies.

    means: of the channels of what is multiplied."""
    if op.type not in _PRODUCTS:
        return None
    shares = read_shares(op) if op.type in WINDOWS else [np.ones(1)]
    if shares is None:
        return None
    layout = LAYOUTS[op.type]
    by_place = reduce(np.multiply.outer, shares).ravel()
    count = errors.shape[layout.outputs]
    # A product of matrices would wake the threads of OpenBLAS. They wait for the next one in a loop, and take time.
    if layout.inputs == layout.outputs:
        moved = np.einsum("p,pc->c", by_place.astype(errors.dtype), errors.reshape(len(by_place), count))
        return moved * np.repeat(means, count // len(means))
    if op.type == "FULLY_CONNECTED":
        # Its rows may hold several pixels, all channels of each.
        means = np.tile(means, errors.shape[-1] // len(means))
    groups = means.reshape(len(means) // errors.shape[-1], -1)
    vectors = np.stack([np.multiply.outer(by_place, each).ravel() for each in groups]).astype(errors.dtype)
    return np.einsum("goi,gi->go", errors.reshape(len(groups), -1, vectors.shape[1]), vectors).ravel()
