"""Symbolic dimensions: integer polynomials over unknown sizes.

A dimension is a Python int where it is known, else a `Sym`. Equal expressions compare equal, so that a shape that is
taken apart and put together again over a dynamic batch is recognized as the shape it was.

An expression that grows too large becomes a symbol of its own. Nothing but its operation and operands is known of it
then, so that the same operation on the same operands gives the same symbol.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Union

Dim = Union[int, "Sym"]
Shape = tuple[Dim, ...]

# A monomial is a sorted tuple of atoms, an atom a symbol's name or ("//", numerator, denominator).
_Monomial = tuple
# What the sizes of a tensor are of which all are known.
_NUMBERS = frozenset({int})
_fresh = itertools.count()

# The sizes of models in use weigh up to 50 or so; a ladder of `Tile(x, Shape(x))` doubles the degree with each rung.
_MAX_WEIGHT = 256
# A quotient weighs this much, so that no expression is nested too deep for Python's stack.
_QUOTIENT_WEIGHT = 6
# No product of this many pairs of terms is multiplied out.
_MAX_PAIRS = 256
# Coefficients beyond it are no sizes of any tensor; TensorFlow's integers have 64 bits.
_MAX_COEFFICIENT = 1 << 127
# Longer names of nodes are told by their digest.
_MAX_NAME = 256
_DIGEST_LENGTH = 32
# The largest of more sizes than this has no name that lists them.
_MAX_ALTERNATIVES = 32


class Sym:
    """A polynomial with at least one unknown. Immutable and hashable; supports + - * // % with ints and others.

    weight: how many terms and atoms it is written with, those within quotients too."""

    __slots__ = ("_hash", "terms", "weight")

    def __init__(self, terms: tuple[tuple[_Monomial, int], ...]) -> None:
        self.terms = terms
        self.weight = _weight(terms)
        self._hash = hash(terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sym) and self._hash == other._hash and self.terms == other.terms

    def __add__(self, other: Dim) -> Dim:
        return _combine(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Dim) -> Dim:
        return _combine(self, other, -1)

    def __rsub__(self, other: Dim) -> Dim:
        return _combine(_lift(other), self, -1)

    def __neg__(self) -> Dim:
        return self * -1

    def __mul__(self, other: Dim) -> Dim:
        if isinstance(other, int):
            return _scaled(self, other)
        if len(self.terms) * len(other.terms) > _MAX_PAIRS or self.weight + other.weight > _MAX_WEIGHT:
            return _opaque("*", self, other)
        sums: dict[_Monomial, int] = {}
        for (m1, c1), (m2, c2) in itertools.product(self.terms, other.terms):
            monomial = tuple(sorted(m1 + m2, key=repr))
            sums[monomial] = sums.get(monomial, 0) + c1 * c2
        return _bounded(_normal(sums), "*", self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Dim) -> Dim:
        return floordiv(other, self)

    def __truediv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __mod__(self, other: Dim) -> Dim:
        return self - floordiv(self, other) * other

    def __rmod__(self, other: Dim) -> Dim:
        return other - floordiv(other, self) * self

    def __repr__(self) -> str:
        return " + ".join(_term_text(m, c) for m, c in self.terms).replace("+ -", "- ")

    def symbols(self) -> set[str]:
        """Return the names of the unknowns in this expression."""
        names: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    names.add(atom)
                else:
                    for part in atom[1:]:
                        if isinstance(part, Sym):
                            names |= part.symbols()
        return names

    def substitute(self, sizes: Mapping[str, Dim], default: int | None = None) -> Dim:
        """Return this expression with unknowns replaced by sizes; unknowns not named get `default`, or stay."""
        total: Dim = 0
        for monomial, coefficient in self.terms:
            product: Dim = coefficient
            for atom in monomial:
                if isinstance(atom, str):
                    size = sizes.get(atom, default)
                    product = product * (size if size is not None else symbol(atom))
                else:
                    top, bottom = (substitute_dim(part, sizes, default) for part in atom[1:])
                    product = product * floordiv(top, bottom)
            total = total + product
        return total


# One object of each name, over conversions too: shapes that hold the same objects are compared without a call.
@functools.lru_cache(maxsize=4096)
def symbol(name: str) -> Sym:
    """Return the unknown size with this name."""
    if len(name) > _MAX_NAME:
        name = name[:1] + _digest(name)
    return Sym((((name,), 1),))


def fresh(hint: str = "u") -> Sym:
    """Return an unknown that equals no other: a size that depends on data."""
    return Sym((((f"?{hint}{next(_fresh)}",), 1),))


def may_vanish(dim: Dim) -> bool:
    """Return whether a size that depends on data may be 0."""
    return _vanishes_without(dim, "?")


def counts_choices(dim: Dim) -> bool:
    """Return whether a size counts what data choose, of which there may be none: true elements, boxes that are kept."""
    return _vanishes_without(dim, ("?where", "?boxes"))


def vanishes_at_ones(dim: Dim) -> bool:
    """Return whether a size is 0 where the unknown ones are 1, as they are before a runtime is told them, and parts of
    them 0: n - 1, say, and the size of a slice."""
    if not isinstance(dim, Sym):
        return False
    parts = {name: 0 for name in dim.symbols() if name.startswith(("?slice", "?fill"))}
    return dim.substitute(parts, 1) == 0


def _vanishes_without(dim: Dim, hints: str | tuple[str, ...]) -> bool:
    if not isinstance(dim, Sym):
        return False
    names = {name: 0 for name in dim.symbols() if name.startswith(hints)}
    return bool(names) and dim.substitute(names) == 0


def either(a: Dim, b: Dim) -> Sym:
    """Return what two unknown sizes broadcast to: the larger one. Of plain symbols it is one that names both, so that
    it is the same whatever broadcasts to what first; else one that equals no other."""
    left, right = plain_names(a), plain_names(b)
    if not left or not right or len(left | right) > _MAX_ALTERNATIVES:
        return fresh()
    return Sym(((("|".join(sorted(left | right)),), 1),))


def plain_names(dim: Dim) -> frozenset[str]:
    """Return the symbols of which a dimension is the largest; none of an expression."""
    if not isinstance(dim, Sym) or len(dim.terms) != 1:
        return frozenset()
    (monomial, coefficient), *_ = dim.terms
    plain = coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str)
    return frozenset(monomial[0].split("|")) if plain else frozenset()


def floordiv(a: Dim, b: Dim) -> Dim:
    """Return a // b, exact where the polynomials allow it; 0 for b == 0, where no model runs."""
    if b == 0:
        return 0
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1 or a == 0:
        return a
    return 1 if a == b else _quotient(a, b)


# A model asks for the same few quotients and multiples of its unknown sizes again and again.
@functools.lru_cache(maxsize=4096)
def _quotient(a: Dim, b: Dim) -> Dim:
    """Return floor(a / b), with what is divisible taken out: (n*m) // m -> n. Multiples of a number are taken out of
    each term, so that one size is written in one way: (4*n + 3) // 4 -> n, (n - 1) // 2 + 1 -> (n + 1) // 2. What is
    left stays a term "//" of its own: n // 2."""
    left, right = _lift(a), _lift(b)
    if len(right.terms) == 1:
        (m2, c2) = right.terms[0]
        quotient: dict[_Monomial, int] = {}
        rest: dict[_Monomial, int] = {}
        for m1, c1 in left.terms:
            reduced = _without(m1, m2)
            if reduced is not None and (c1 % c2 == 0 or not m2):
                # floor((k*n + r) / k) == n + floor(r / k) for integers
                quotient[reduced] = c1 // c2
                c1 %= c2
            if c1:
                rest[m1] = c1
        remaining = _normal(rest)
        if isinstance(remaining, int) and isinstance(b, int) and 0 <= remaining < abs(b):
            return _normal(quotient)
        if remaining == 0:
            return _normal(quotient)
        if isinstance(b, int):
            left_over = _bounded(Sym((((("//", remaining, b),), 1),)), "//", remaining, b)
            return _normal(quotient) + left_over
    return _bounded(Sym((((("//", a, b),), 1),)), "//", a, b)


@functools.lru_cache(maxsize=4096)
def _scaled(a: Sym, factor: int) -> Dim:
    if factor in (0, 1):
        return a if factor else 0
    return _bounded(Sym(tuple((monomial, count * factor) for monomial, count in a.terms)), "*", a, factor)


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """Return the polynomial q with q * b == a; None if there is none."""
    if isinstance(b, int):
        b = _lift(b)
    leading, by = min(b.terms, key=_place)
    quotient: dict[_Monomial, int] = {}
    # Each step takes one term off `a` for good; more than the terms of a product have to come from no product.
    for _ in range(_MAX_PAIRS):
        if a == 0:
            return _normal(quotient)
        monomial, count = min(_lift(a).terms, key=_place)
        reduced = _without(monomial, leading)
        if reduced is None or not by or count % by:
            return None
        quotient[reduced] = count // by
        a = a - b * _normal({reduced: count // by})
    return None


def _place(term: tuple[_Monomial, int]) -> tuple[int, tuple[str, ...]]:
    """Return the key of the graded lexicographic order, in which the first term of a product is that of the first
    terms."""
    return -len(term[0]), tuple(map(repr, term[0]))


def ceildiv(a: Dim, b: Dim) -> Dim:
    """Return a / b, rounded up."""
    if b == 1:
        return a
    return -(-a // b) if isinstance(a, int) and isinstance(b, int) and b else floordiv(a + b - 1, b)


def product(dims: Iterable[Dim]) -> Dim:
    """Return the number of elements of a shape."""
    dims = tuple(dims)
    if _NUMBERS.issuperset(map(type, dims)):
        return math.prod(dims)  # type: ignore[arg-type]
    count = 1
    unknown: Dim | None = None
    for dim in dims:
        if isinstance(dim, int):
            count *= dim
        else:
            unknown = dim if unknown is None else unknown * dim
    return count if unknown is None else unknown * count


def substitute_dim(dim: Dim, sizes: Mapping[str, Dim], default: int | None = None) -> Dim:
    """Replace the unknowns of a size; an int stays as it is."""
    return dim.substitute(sizes, default) if isinstance(dim, Sym) else dim


def is_static(shape: Shape | None) -> bool:
    """Return whether the rank and every dimension are known."""
    return shape is not None and _NUMBERS.issuperset(map(type, shape))


def open_sizes(shape: Shape) -> list[int]:
    """Return sizes as a reshape takes them, with -1 for those that are not known."""
    return [dim if isinstance(dim, int) else -1 for dim in shape]


def is_empty(shape: Shape | None) -> bool:
    """Return whether a tensor is known to have no elements: every dimension is known, and one of them is 0."""
    return bool(shape) and 0 in shape and is_static(shape)  # type: ignore[operator]


def _lift(dim: Dim) -> Sym:
    return dim if isinstance(dim, Sym) else Sym((((), int(dim)),))


def _normal(sums: dict[_Monomial, int]) -> Dim:
    terms = tuple(sorted(((m, c) for m, c in sums.items() if c), key=lambda t: (-len(t[0]), repr(t[0]))))
    if not terms:
        return 0
    if len(terms) == 1 and terms[0][0] == ():
        return terms[0][1]
    return Sym(terms)


def _combine(a: Sym, b: Dim, sign: int) -> Dim:
    sums = dict(a.terms)
    for monomial, coefficient in _lift(b).terms:
        sums[monomial] = sums.get(monomial, 0) + sign * coefficient
    return _bounded(_normal(sums), "+" if sign > 0 else "-", a, b)


def _bounded(made: Dim, operation: str, a: Dim, b: Dim) -> Dim:
    """Return what an operation makes of two operands; a symbol of its own if that is too large."""
    if isinstance(made, Sym) and (
        made.weight > _MAX_WEIGHT or any(not -_MAX_COEFFICIENT < c < _MAX_COEFFICIENT for _, c in made.terms)
    ):
        return _opaque(operation, a, b)
    return made


def _opaque(operation: str, a: Dim, b: Dim) -> Sym:
    """Return the symbol of an operation's result of which nothing else is known."""
    operands = [repr(a), repr(b)]
    if operation in "+*":
        operands.sort()
    return symbol("?" + _digest("\n".join((operation, *operands))))


def is_opaque(name: str) -> bool:
    """Return whether a symbol stands for an expression that grew too large: that may be negative, as no size is."""
    return name.startswith("?") and len(name) == 1 + _DIGEST_LENGTH


def _digest(text: str) -> str:
    import hashlib  # loads OpenSSL, and hardly a model has sizes of this kind

    # A name from the model may hold what is no UTF-8.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def _weight(terms: tuple[tuple[_Monomial, int], ...]) -> int:
    weight = len(terms)
    for monomial, _ in terms:
        weight += len(monomial)
        for atom in monomial:
            if not isinstance(atom, str):
                weight += _QUOTIENT_WEIGHT + sum(part.weight for part in atom[1:] if isinstance(part, Sym))
    return weight


def _without(monomial: _Monomial, divisor: _Monomial) -> _Monomial | None:
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _term_text(monomial: _Monomial, coefficient: int) -> str:
    atoms = [a if isinstance(a, str) else f"(({a[1]})//({a[2]}))" for a in monomial]
    if coefficient != 1 or not atoms:
        atoms.insert(0, str(coefficient))
    return "*".join(atoms)


def admits(shape: Shape | None, sizes: tuple[int, ...]) -> bool:
    """Return whether an array of these sizes may have a shape, as far as that is known."""
    if shape is None or shape == sizes:
        return True
    return len(shape) == len(sizes) and all(isinstance(dim, Sym) or dim == size for dim, size in zip(shape, sizes))


def more_known(a: Shape | None, b: Shape | None) -> Shape | None:
    """Merge two descriptions of one shape.

    Where neither tells a dimension as a number, one that is made of sizes with names is known better than one that only
    a run tells; else `a`'s holds."""
    if a is None or b is None or a == b or len(a) != len(b):
        return b if a is None else a
    return tuple(y if x != y and _unknown(y) < _unknown(x) else x for x, y in zip(a, b))


def _unknown(dim: Dim) -> int:
    """Return 0 of a number, 1 of what is made of sizes with names, 2 of what only a run tells."""
    if isinstance(dim, int):
        return 0
    parts = [part for name in dim.symbols() for part in name.split("|")]
    return 2 if any(part.startswith("?") for part in parts) else 1
