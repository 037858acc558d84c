"""Cost model of constant folding, in bytes that are read, written or multiplied."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.traits import PRODUCTS

# Products that numpy multiplies and adds up while it moves a byte.
_PRODUCTS_PER_BYTE = 8


def numpy_cost(op: Op, operands: Sequence[np.ndarray], made: int) -> float:
    """Return the cost of the numpy folder on these operands. made: the bytes of the results, as far as they are
    known."""
    moved = made
    for array in operands:
        moved += array.nbytes
    if op.type == "Einsum":
        return moved + _cubic(operands, made)
    if op.kind in PRODUCTS:
        # Of [m, k] and [k, n] this is m * k * n.
        return moved + math.sqrt(math.prod(array.size for array in operands) * made) / _PRODUCTS_PER_BYTE
    return moved


def tensorflow_cost(op: Op, operands: Sequence[np.ndarray], made: int) -> float:
    """Return an upper bound of the cost of TensorFlow's kernel: of one that multiplies, decomposes or convolves
    matrices, or that substitutes a string for each character of another."""
    texts = sum(sum(map(len, array.flat)) for array in operands if array.dtype == object)
    texts += sum(len(value) for value in op.attrs.values() if isinstance(value, (str, bytes)))
    return _cubic(operands, made) + (texts**2 if any(array.dtype == object for array in operands) else 0)


def _cubic(operands: Sequence[np.ndarray], made: int) -> float:
    return max([made, *(array.size for array in operands)]) ** 1.5 / _PRODUCTS_PER_BYTE
