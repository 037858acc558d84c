"""Run-time shapes, built from the shapes of operands."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from fuseconv.ir.dims import Dim, Shape, Sym, exact_quotient, plain_names, symbol
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Unsupported, require
from fuseconv.tfl.builder import Builder


def shape_of(value: Value, rank: int | None = None) -> Shape:
    """Return the shape of an operand whose rank must be known, and be `rank` if that is given. Refuses the op
    otherwise."""
    if value.shape is None:
        raise Unsupported(f"the rank of {value.name or 'an operand'} is not known")
    if rank is not None and len(value.shape) != rank:
        raise Unsupported(f"an operand has rank {len(value.shape)} where TFLite takes rank {rank}")
    return value.shape


def static_dims(dims: Sequence[Dim], what: str) -> list[int]:
    """Return the dimensions as ints. Refuses the op if one is unknown."""
    require(not any(isinstance(dim, Sym) for dim in dims), f"{what} must be known when the model is converted")
    return [int(dim) for dim in dims]  # type: ignore[arg-type]


def reshape(tfl: Builder, x: Value, dims: Sequence[Dim], *sources: Value) -> Value:
    """Reshape x to `dims`; unknown dimensions are computed from the run-time shapes of x and of `sources`."""
    if x.shape is not None and tuple(dims) == x.shape:
        return x
    static = tfl.static_shape(tuple(dims))
    if static is not None:
        y = tfl.reshape(x, static)
    else:
        y = _insert_or_drop_unit_dims(tfl, x, tuple(dims)) or tfl.reshape(x, shape_vector(tfl, dims, x, *sources))
    if not y.is_const:  # which has the shape of its array
        y.shape = tuple(dims)
    return y


def _insert_or_drop_unit_dims(tfl: Builder, x: Value, dims: Shape) -> Value | None:
    """Reshape x by EXPAND_DIMS or SQUEEZE if `dims` has one unit dimension more, or some less, than x; None
    otherwise."""
    if x.shape is None:
        return None
    if len(dims) > len(x.shape):
        added = _unit_dims_between(dims, x.shape)
        return tfl.expand_dims(x, np.array(added[0], np.int32)) if added and len(added) == 1 else None
    gone = _unit_dims_between(x.shape, dims)
    return tfl.squeeze(x, squeeze_dims=tuple(gone)) if gone else None


def _unit_dims_between(longer: Shape, shorter: Shape) -> list[int] | None:
    """Return the axes of `longer` that `shorter` lacks if all of them have size 1; None if the shapes differ
    otherwise."""
    left, units = list(shorter), []
    for axis, dim in enumerate(longer):
        if left and left[0] == dim:
            left.pop(0)
        elif dim == 1:
            units.append(axis)
        else:
            return None
    return None if left else units


def shape_vector(tfl: Builder, dims: Sequence[Dim], *sources: Value) -> Value:
    """Build an int32 vector [len(dims)] of the run-time values of `dims`, computed from the shapes of `sources`."""
    parts = [dim_vector(tfl, dim, *sources) if isinstance(dim, Sym) else tfl.ints([dim]) for dim in dims]
    return parts[0] if len(parts) == 1 else tfl.concatenation(*parts, axis=0)


def dim_vector(tfl: Builder, dim: Dim, *sources: Value) -> Value:
    """Build a dimension as an int32 vector [1], computed from the shapes of `sources`."""
    if isinstance(dim, int):
        return tfl.ints([dim])
    for value in sources:
        if value.shape is not None and dim in value.shape:
            return _axis(tfl, value, value.shape.index(dim))
    factor = _composed_factor(dim, sources)
    if factor is not None:
        return tfl.mul(*(dim_vector(tfl, part, *sources) for part in factor))
    terms = []
    for monomial, coefficient in dim.terms:
        if dim == _unknown(monomial):
            return _solve_for(tfl, dim, sources)
        found = None if _readable(dim, sources) else _within(monomial, sources)
        factors = [_solved(tfl, *found, sources)] if found else [_atom(tfl, atom, sources) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.append(tfl.ints([coefficient]))
        terms.append(functools.reduce(tfl.mul, factors))
    return functools.reduce(tfl.add, terms)


def _composed_factor(dim: Sym, sources: Sequence[Value]) -> tuple[Dim, Dim] | None:
    """Return a composed dimension of a source, and what it is multiplied by to make `dim`, where that is made of
    symbols that are themselves no dimension of a source; else None."""
    if _readable(dim, sources):
        return None
    for each in dict.fromkeys(each for value in sources for each in value.shape or () if isinstance(each, Sym)):
        rest = None if plain_names(each) else exact_quotient(dim, each)
        if rest is not None:
            return each, rest
    return None


def _readable(dim: Sym, sources: Sequence[Value]) -> bool:
    """Return whether the unknowns of a size are dimensions of the sources themselves."""
    return {dim for value in sources for dim in value.shape or ()}.issuperset(map(symbol, dim.symbols()))


def dim_scalar(tfl: Builder, dim: Dim, *sources: Value) -> Value:
    """Build a dimension as an int32 scalar, computed from the shapes of `sources` if it is not known."""
    if isinstance(dim, int):
        return tfl.const(np.array(dim, np.int32))
    return reshape(tfl, dim_vector(tfl, dim, *sources), ())


def iota(tfl: Builder, count: Dim, *sources: Value) -> Value:
    """Return 0, 1, ..., count - 1 as an int32 vector: a constant where the count is known."""
    if isinstance(count, int):
        return tfl.const(np.arange(count, dtype=np.int32))
    return tfl.range(
        tfl.const(np.array(0, np.int32)), dim_scalar(tfl, count, *sources), tfl.const(np.array(1, np.int32))
    )


def _axis(tfl: Builder, value: Value, axis: int) -> Value:
    return tfl.strided_slice(tfl.shape_(value), [axis], [axis + 1], [1])


def _solve_for(tfl: Builder, unknown: Sym, sources: Sequence[Value]) -> Value:
    """Build an unknown `u` from a dimension of a source, as an int32 vector [1]. Refuses the op if there is none."""
    (monomial, _), *_ = unknown.terms
    found = _within(monomial, sources)
    if found is None:
        raise Unsupported(f"the size {unknown} cannot be told from the shapes of the operands")
    return _solved(tfl, *found, sources)


def _within(monomial: tuple, sources: Sequence[Value]) -> tuple[Value, int, int, Dim] | None:
    """Return a source, an axis, and the factor and rest of that dimension, if it has the form factor * monomial + rest;
    the rest is made of sizes that are dimensions of the sources themselves. None if there is none."""
    for value in sources:
        for axis, dim in enumerate(value.shape or ()):
            factor = dict(dim.terms).get(monomial, 0) if isinstance(dim, Sym) else 0
            if not factor:
                continue
            rest = dim - Sym(((monomial, factor),))
            if isinstance(rest, int) or _readable(rest, sources):
                return value, axis, factor, rest
    return None


def _solved(tfl: Builder, value: Value, axis: int, factor: int, rest: Dim, sources: Sequence[Value]) -> Value:
    """Build (dim - rest) / factor of a dimension of a source, as an int32 vector [1]."""
    found = _axis(tfl, value, axis)
    found = found if rest == 0 else tfl.sub(found, dim_vector(tfl, rest, *sources))
    return tfl.floor_div(found, tfl.ints([factor])) if factor != 1 else found


def _unknown(monomial: tuple) -> Sym | None:
    """Return the unknown that a monomial consists of; None if it is a product or a quotient."""
    return symbol(monomial[0]) if len(monomial) == 1 and isinstance(monomial[0], str) else None


def _atom(tfl: Builder, atom: str | tuple, sources: Sequence[Value]) -> Value:
    if isinstance(atom, str):
        return dim_vector(tfl, symbol(atom), *sources)
    _, top, bottom = atom
    return tfl.floor_div(dim_vector(tfl, top, *sources), dim_vector(tfl, bottom, *sources))
