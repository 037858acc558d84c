"""Represent what a step of a loop computes as polynomials, whose equality does not depend on how the author wrote them.

A tensor [batch, n] is a row of columns. Each piece of it is a sum of products of atoms: the step's input and states,
their products with matrices, vectors of weights, and elementwise functions of such sums. Cutting columns out of a piece
cuts the weights, so that one product with four gates' weights and four products with one gate's each become the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fuseconv.ir.graph import Value

# A sum of more products than this is no cell's.
_MOST_TERMS = 64
# Cells weigh up to 100 or so; x = tanh(x) * sigmoid(x) doubles the weight each time.
_MOST_WEIGHT = 512
# A function weighs this much, so that no expression is nested too deep for Python's stack.
_NESTED_WEIGHT = 4


class TooLarge(Exception):
    """A polynomial grows beyond anything that a cell computes."""


@dataclass(frozen=True)
class Part:
    """A part of a weight: of the matrix or vector `value`, transposed where it says so, the rows and columns in these
    ranges. A vector has no rows."""

    value: Value
    columns: tuple[int, int]
    rows: tuple[int, int] | None = None
    transposed: bool = False

    @property
    def width(self) -> int:
        return self.columns[1] - self.columns[0]

    @property
    def height(self) -> int:
        return 0 if self.rows is None else self.rows[1] - self.rows[0]

    @property
    def order(self) -> tuple:
        """Return a key that sorts parts in the same way in every process: terms are sets, whose order is none."""
        return self.value.name, self.rows or (), self.columns, self.transposed

    def cut(self, start: int, stop: int) -> Part:
        """Return the columns [start, stop) of this part."""
        return replace(self, columns=(self.columns[0] + start, self.columns[0] + stop))


@dataclass(frozen=True)
class Source:
    """Columns of what a step gets or makes: role `x` is its input, `state` a state before the step and `next` after it;
    index: which input, or which loop variable."""

    role: str
    index: int
    start: int
    stop: int
    size: int

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.stop == self.size

    def cut(self, start: int, stop: int) -> Atom:
        return replace(self, start=self.start + start, stop=self.start + stop)


@dataclass(frozen=True)
class Vector:
    """A vector of weights, the same for each row of the batch."""

    part: Part

    def cut(self, start: int, stop: int) -> Atom:
        return Vector(self.part.cut(start, stop))


@dataclass(frozen=True)
class Product:
    """source [batch, k] @ matrix [k, n]."""

    source: Poly
    matrix: Part

    def cut(self, start: int, stop: int) -> Atom:
        return Product(self.source, self.matrix.cut(start, stop))


@dataclass(frozen=True)
class Call:
    """An elementwise function. name: the type of the op, and its numbers if it has any: "Tanh", "clip(-3.0, 3.0)"."""

    name: str
    argument: Poly

    def cut(self, start: int, stop: int) -> Atom:
        return Call(self.name, self.argument.cut(start, stop))


@dataclass(frozen=True)
class Opaque:
    """Columns of a value of which nothing else is known; of all of it, if it has no columns."""

    value: Value
    start: int = 0
    stop: int = 1

    def cut(self, start: int, stop: int) -> Atom:
        return replace(self, start=self.start + start, stop=self.start + stop)


Atom = Source | Vector | Product | Call | Opaque
# Atoms with their powers; the empty one is the constant's.
Monomial = frozenset[tuple[Atom, int]]
ONE: Monomial = frozenset()


@dataclass(frozen=True)
class Poly:
    """A sum of products of atoms of one width, each with a number. weight: how many atoms it is written with, those
    within others too, which cuts and comparisons walk. Raises TooLarge of one that is too heavy."""

    terms: frozenset[tuple[Monomial, float]]
    weight: int = field(default=0, compare=False, repr=False)
    _hash: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        weight = 0
        for monomial, _ in self.terms:
            for atom, _ in monomial:
                inner = atom.argument if isinstance(atom, Call) else atom.source if isinstance(atom, Product) else None
                weight += 1 if inner is None else inner.weight + _NESTED_WEIGHT
        if weight > _MOST_WEIGHT:
            raise TooLarge
        object.__setattr__(self, "weight", weight)
        # Atoms hold polynomials: without this, each comparison would walk the whole expression.
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    def cut(self, start: int, stop: int) -> Poly:
        """Return the columns [start, stop)."""
        return poly(
            (frozenset((atom.cut(start, stop), power) for atom, power in monomial), coefficient)
            for monomial, coefficient in self.terms
        )

    def __add__(self, other: Poly) -> Poly:
        return poly((*self.terms, *other.terms))

    def __mul__(self, other: Poly) -> Poly:
        if len(self.terms) * len(other.terms) > _MOST_TERMS:
            raise TooLarge
        return poly((_times(m1, m2), c1 * c2) for m1, c1 in self.terms for m2, c2 in other.terms)

    def scaled(self, factor: float) -> Poly:
        return poly((monomial, coefficient * factor) for monomial, coefficient in self.terms)

    @property
    def number(self) -> float | None:
        """Return the number that it is; None if it holds any atom."""
        if not self.terms:
            return 0.0
        ((monomial, coefficient), *others) = self.terms
        return coefficient if not others and not monomial else None

    @property
    def atom(self) -> Atom | None:
        """Return the atom that it is; None if it is anything else."""
        factors = self.factors
        return factors[0] if factors is not None and len(factors) == 1 else None

    @property
    def factors(self) -> list[Atom] | None:
        """Return the atoms of which it is the product; None if it is a sum or has a number before it."""
        if len(self.terms) != 1:
            return None
        ((monomial, coefficient),) = self.terms
        return factors(monomial) if coefficient == 1 else None


def poly(terms: Iterable[tuple[Monomial, float]]) -> Poly:
    """Return the sum of these terms, like ones put together."""
    sums: dict[Monomial, float] = {}
    for monomial, coefficient in terms:
        sums[monomial] = sums.get(monomial, 0.0) + coefficient
    if len(sums) > _MOST_TERMS:
        raise TooLarge
    return Poly(frozenset((monomial, c) for monomial, c in sums.items() if c))


def of_atom(atom: Atom) -> Poly:
    return Poly(frozenset({(frozenset({(atom, 1)}), 1.0)}))


def of_number(number: float) -> Poly:
    return poly([(ONE, number)])


def factors(monomial: Monomial) -> list[Atom]:
    """Return the atoms of a product, each as often as it occurs."""
    return [atom for atom, power in monomial for _ in range(power)]


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers: dict[Atom, int] = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return frozenset(powers.items())


@dataclass(frozen=True)
class Columns:
    """A tensor [batch, n]: polynomials side by side, with the number of columns of each. A number has one column that
    stands for as many as are needed: its width is None."""

    pieces: tuple[tuple[Poly, int | None], ...]

    @property
    def width(self) -> int | None:
        widths = [width for _, width in self.pieces]
        return None if None in widths else sum(widths)  # type: ignore[arg-type]

    @property
    def whole(self) -> Poly | None:
        """Return the polynomial of all columns; None if they differ."""
        return self.pieces[0][0] if len(self.pieces) == 1 else None

    def cut(self, start: int, stop: int) -> Columns:
        """Return the columns [start, stop)."""
        pieces: list[tuple[Poly, int | None]] = []
        at = 0
        for piece, width in self.pieces:
            assert width is not None
            low, high = max(start, at), min(stop, at + width)
            if low < high:
                pieces.append((piece if high - low == width else piece.cut(low - at, high - at), high - low))
            at += width
        return Columns(tuple(pieces))


def one_piece(piece: Poly, width: int | None) -> Columns:
    return Columns(((piece, width),))


def side_by_side(parts: Iterable[Columns]) -> Columns:
    """Return the columns of several tensors, one after the other."""
    return Columns(tuple(piece for part in parts for piece in part.pieces))


def elementwise(function: Callable[..., Poly], *operands: Columns) -> Columns | None:
    """Return the function of each column, where the operands have the same number of them or are numbers; else None."""
    widths = {operand.width for operand in operands} - {None}
    if len(widths) > 1:
        return None
    if not widths:
        pieces = [operand.whole for operand in operands]
        return one_piece(function(*pieces), None)
    edges = sorted({edge for operand in operands for edge in _edges(operand)})
    made: list[tuple[Poly, int | None]] = []
    for start, stop in pairwise(edges):
        cuts = [operand.whole if operand.width is None else operand.cut(start, stop).whole for operand in operands]
        made.append((function(*cuts), stop - start))
    return Columns(tuple(made))


def _edges(operand: Columns) -> list[int]:
    if operand.width is None:
        return []
    edges = [0]
    for _, width in operand.pieces:
        edges.append(edges[-1] + width)  # type: ignore[operator]
    return edges


def close(a: float, b: float) -> bool:
    """Return whether two numbers are meant to be one."""
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-6)


_CLIPS = {(0.0, math.inf): "Relu", (0.0, 6.0): "Relu6"}


def clip_name(low: float, high: float) -> str:
    """Return the name of the function that keeps numbers within bounds."""
    return _CLIPS.get((low, high), f"clip({low!r}, {high!r})")


def bounds(name: str) -> tuple[float, float] | None:
    """Return the bounds of a function that keeps numbers within some; None of any other."""
    if name.startswith("clip("):
        low, high = name[len("clip(") : -1].split(", ")
        return float(low), float(high)
    return next((known for known, other in _CLIPS.items() if other == name), None)


def call(name: str, argument: Poly) -> Poly:
    """Return a function of a polynomial, under its usual name where it is written otherwise."""
    number = dict(argument.terms).get(ONE, 0.0)
    if name == "Reciprocal" and number == 1:
        # 1 / (1 + exp(-z))
        rest = argument + of_number(-1.0)
        atom = rest.atom
        if isinstance(atom, Call) and atom.name == "Exp":
            return of_atom(Call("Sigmoid", atom.argument.scaled(-1.0)))
    if name == clip_name(0.0, 1.0) and close(number, 0.5):
        return of_atom(Call("hard_sigmoid", (argument + of_number(-number))))
    return of_atom(Call(name, argument))


def renamed(value: Poly) -> Poly:
    """Return the function that a sum of functions is, where it has a name: (1 + tanh(z / 2)) / 2, relu6(z + 3) / 6."""
    terms: Mapping[Monomial, float] = dict(value.terms)
    calls = [
        (atom, terms[m]) for m in terms if len(m) == 1 for atom, power in m if power == 1 and isinstance(atom, Call)
    ]
    if len(calls) != 1:
        return value
    function, factor = calls[0]
    if len(terms) == 2 and function.name == "Tanh" and close(factor, 0.5) and close(terms.get(ONE, 0.0), 0.5):
        return of_atom(Call("Sigmoid", function.argument.scaled(2.0)))
    if len(terms) == 1 and function.name == "Relu6" and close(factor, 1 / 6):
        return of_atom(Call("hard_sigmoid", function.argument + of_number(-3.0)))
    return value
