"""Reification of symbolic dimensions: builds the ops that compute them at run time."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from fuseconv.ir.dims import Dim, Sym, plain_names, symbol
from fuseconv.ir.graph import Value
from fuseconv.tf.builder import TfBuilder


class DimReifier:
    """Build dimensions from the run-time shapes, and the symbolic contents, of the given values."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._axes: dict[Sym, tuple[Value, int]] = {}
        self._scalars: dict[Sym, Value] = {}
        for value in values:
            if value.dtype.is_handle:
                continue
            for axis, dim in enumerate(value.shape or ()):
                if isinstance(dim, Sym):
                    self._axes.setdefault(dim, (value, axis))
            if value.content is not None and value.content.ndim == 0 and isinstance(value.content[()], Sym):
                self._scalars.setdefault(value.content[()], value)

    def knows(self, dim: Dim) -> bool:
        """Return whether `build` can compute the dimension."""
        if isinstance(dim, int) or dim in self._axes or dim in self._scalars:
            return True
        names = plain_names(dim)
        if len(names) > 1:
            return all(self.knows(symbol(name)) for name in names)
        return _is_composed(dim) and all(self.knows(part) for part in _subexpressions(dim))

    def build(self, tf: TfBuilder, dim: Dim) -> Value:
        """Return the dimension as a scalar of int32."""
        if isinstance(dim, int):
            return tf.ints(dim)
        if dim in self._scalars:
            return tf.as_int32(self._scalars[dim])
        if dim in self._axes:
            return tf.size(*self._axes[dim])
        total: Value | None = None
        names = sorted(plain_names(dim))
        if len(names) > 1:
            return functools.reduce(tf.Maximum, [self.build(tf, symbol(name)) for name in names])
        for monomial, coefficient in dim.terms:
            product = None if coefficient == 1 and monomial else tf.ints(coefficient)
            for atom in monomial:
                if isinstance(atom, str):
                    factor = self.build(tf, symbol(atom))
                else:
                    factor = tf.FloorDiv(self.build(tf, atom[1]), self.build(tf, atom[2]))
                product = factor if product is None else tf.Mul(product, factor)
            assert product is not None
            total = product if total is None else tf.AddV2(total, product)
        assert total is not None
        return total


def _is_composed(dim: Sym) -> bool:
    """Return True unless the dimension is a symbol and nothing else."""
    return len(dim.terms) > 1 or dim.terms[0][1] != 1 or len(dim.terms[0][0]) != 1 or dim.terms[0][0][0][0] == "//"


def _subexpressions(dim: Sym) -> list[Dim]:
    atoms = [atom for monomial, _ in dim.terms for atom in monomial]
    return [part for atom in atoms for part in ([symbol(atom)] if isinstance(atom, str) else atom[1:])]
