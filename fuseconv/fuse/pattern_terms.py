"""Terms of patterns, the bindings of a match, and near misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fuseconv.ir.graph import Op, Value
from fuseconv.tf.traits import COMMUTATIVE as TF_COMMUTATIVE
from fuseconv.tfl.traits import COMMUTATIVE as TFL_COMMUTATIVE

COMMUTATIVE = TF_COMMUTATIVE | {f"tfl.{type}" for type in TFL_COMMUTATIVE}


class Constant:
    """The annotation of a parameter that only a constant matches."""


class Term:
    """A part of a pattern that a value can match."""

    def __or__(self, other: Term) -> Either:
        return Either((*alternatives(self), *alternatives(other)))


@dataclass(frozen=True)
class Parameter(Term):
    """Any value, or any constant; bound to a name."""

    name: str
    constant: bool = False


# What is seen of an op without following its operands: its kind, and for each operand the kind of the op that makes it,
# or whether it is a constant if none does, or None if it is left out.
Glance = tuple[Any, ...]


def glance(op: Op) -> Glance:
    """Return the key of an op by which patterns are filtered: its kind, and for each operand the kind of the op that
    defines it, or whether it is a constant."""
    seen: list[Any] = [op.kind]
    for value in op.operands:
        if value is None:
            seen.append(None)
        else:
            maker = value.op
            seen.append(value.is_const if maker is None else maker.kind)
    return tuple(seen)


@dataclass(frozen=True)
class Node(Term):
    """The result of an op. rest: it may have more operands than these."""

    kinds: tuple[str, ...]
    operands: tuple[Any, ...]
    rest: bool
    attrs: dict[str, Any]
    name: str | None
    shared: bool

    def may_be(self, seen: Glance) -> bool:
        """Return False if the term cannot match an op with this key, whatever its operands."""
        kind, *operands = seen
        count = len(self.operands)
        if kind not in self.kinds or count > len(operands) or (count < len(operands) and not self.rest):
            return False
        orders = [operands, operands[::-1]] if kind in COMMUTATIVE else [operands]
        return any(self._may_have(order) for order in orders)

    def _may_have(self, makers: Sequence[str | bool | None]) -> bool:
        """Return False if operands with these keys cannot match. A parameter that stands twice is one value."""
        of_parameters: dict[Any, Any] = {}
        return all(
            _may_be(term, maker)
            and (not isinstance(term, Parameter) or of_parameters.setdefault(term.name, maker) == maker)
            for term, maker in zip(self.operands, makers)
        )


@dataclass(frozen=True)
class Either(Term):
    """Any of several terms, tried in their order."""

    terms: tuple[Term, ...]


class NearMiss(NamedTuple):
    """The single mismatch that keeps an expression from matching.

    op: where it is; why: a sentence without its full stop. absent: how many ops the pattern has, at the least, that the
    expression has not; instead: the op in the place of one, where the operands are right. matched: the ops that match.
    """

    op: Op
    why: str
    absent: int = 0
    instead: Op | None = None
    matched: tuple[Op, ...] = ()

    @property
    def closeness(self) -> int:
        return len(self.matched) - self.absent


class Bindings:
    """The values that a match has bound to names. matched: its ops, the last first; an op may be there twice. inner:
    those whose results nobody else may read. lenient: one thing may still differ; miss: the one that did.

    While a match is looked for there is one object: what binds something takes it back if the rest cannot be bound.
    accept: called with a whole match; returns whether to look no further. operands: of the ops that are being matched,
    in the order at hand, by their matchers."""

    __slots__ = ("accept", "inner", "lenient", "matched", "miss", "operands", "ops", "values")

    def __init__(self, accept: Callable[[Bindings], bool], lenient: bool = False) -> None:
        self.accept = accept
        self.lenient = lenient
        self.values: dict[str, Value] = {}
        self.ops: dict[str, Op] = {}
        self.matched: list[Op] = []
        self.inner: list[Op] = []
        self.operands: dict[Any, tuple[Op, list[Value | None]]] = {}
        self.miss: NearMiss | None = None

    def but(self, miss: NearMiss, rest: Callable[[Bindings], bool]) -> bool:
        """Match the rest with this as the one thing that may differ."""
        self.lenient, self.miss = False, miss
        found = rest(self)
        self.lenient, self.miss = True, None
        return found


def alternatives(term: Term) -> tuple[Term, ...]:
    """Return the alternatives of an Either, or the term itself."""
    return term.terms if isinstance(term, Either) else (term,)


def nodes_of(term: Any) -> Iterator[Node]:
    """Return the nodes of the term."""
    return (part for part in subterms(term) if isinstance(part, Node))


def subterms(term: Any) -> list[Any]:
    """Return the term with all its subterms, each of them once."""
    found: dict[int, Any] = {}
    pending = [term]
    while pending:
        part = pending.pop()
        if id(part) not in found:
            found[id(part)] = part
            parts = part.terms if isinstance(part, Either) else part.operands if isinstance(part, Node) else ()
            pending += reversed(parts)
    return list(found.values())


def count_ops(term: Any, choose: Callable[[Iterable[int]], int] = max) -> int:
    """Return the number of ops of the term; `choose` takes one of the numbers of alternatives."""
    if isinstance(term, Either):
        return choose(count_ops(part, choose) for part in term.terms)
    return 1 + sum(count_ops(part, choose) for part in term.operands) if isinstance(term, Node) else 0


def needed_kinds(term: Any) -> frozenset[str]:
    """Return kinds of ops that nothing matches the term without."""
    if isinstance(term, Either):
        return frozenset.intersection(*map(needed_kinds, term.terms))
    if not isinstance(term, Node):
        return frozenset()
    own = frozenset(term.kinds if len(term.kinds) == 1 else ())
    return own.union(*map(needed_kinds, term.operands))


def _may_be(term: Any, maker: str | bool | None) -> bool:
    """Return False if the term cannot match an operand with this key."""
    if isinstance(term, Either):
        return any(_may_be(alternative, maker) for alternative in term.terms)
    if isinstance(term, Node):
        return maker in term.kinds
    if term is None:
        return maker is None
    return maker is True or (isinstance(term, Parameter) and not term.constant and maker is not None)
