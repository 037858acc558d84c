"""Constants that are products, multiplied on their way to the file."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import budget
from fuseconv.ir.graph import Value


class Product(Value):
    """A constant times factors that broadcast to it, of its type.

    What is folded into weights makes others of the same size. They take up no memory, as long as nobody asks for their
    `data`: the file is written from `stored`, the array that they are made from, and the `factors`, in their order.
    largest: no element is larger than this.
    """

    __slots__ = ("_whole", "base", "factors", "largest")

    def __init__(self, weights: Value, factors: np.ndarray, largest: float) -> None:
        self._whole: np.ndarray | None = None
        super().__init__(weights.dtype, weights.shape, weights.name)
        assert weights.stored is not None
        self.base = weights.stored
        budget.charge(self.base, self.name)
        earlier = weights.factors if isinstance(weights, Product) else ()
        aligned = factors.reshape((1,) * (self.base.ndim - factors.ndim) + factors.shape)
        self.factors: tuple[np.ndarray, ...] = (*earlier, aligned)
        self.largest = largest

    @property
    def is_const(self) -> bool:
        return True

    @property
    def stored(self) -> np.ndarray:
        return self.base

    @property
    def data(self) -> np.ndarray:  # type: ignore[override]
        if self._whole is None:
            self._whole = self.multiplied(self.base.copy("K"))
        return self._whole

    @data.setter
    def data(self, array: np.ndarray | None) -> None:
        self._whole = array

    def first(self, count: int) -> np.ndarray:
        """Return the first elements, in row-major order.

        Only these are read: neighbors of a transposed array lie on as many pages of a mapped file."""
        part = self.base.flat[:count]
        for factors in self.factors:
            np.multiply(part, np.broadcast_to(factors, self.base.shape).flat[:count], out=part)
        return part

    def multiplied(self, part: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Multiply `part`, a copy of these rows of `base`, into those of the product."""
        for factors in self.factors:
            np.multiply(part, factors[rows] if len(factors) > 1 else factors, out=part)
        return part
