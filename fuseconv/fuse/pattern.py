"""Patterns over primitive ops, written as traced Python.

    @pattern
    def hard_swish(tf, x):
        gate = tf.Relu6(tf.AddV2(x, 3.0))
        return tf.Mul(x, tf.RealDiv(gate, 6.0) | tf.Mul(gate, 1 / 6))

The first parameter is the dialect, `tf` or `tfl`. Any other stands for a value, the same one wherever it is named; one
that is annotated as `Constant` for a constant. A number stands for a constant of that value, `a | b` for either of two.
`tfl["RELU", "RELU6"](x)` is any of these ops. Operands of commutative ops match in either order; an ellipsis stands for
any operands that are left.

A keyword is an attribute's value, or a predicate on it (which gets None where the attribute holds its default). An
attribute that the pattern does not name must hold its default, unless the op has a `name`, by which `check` and
`rewrite` can look at it: `tfl.CONV_2D(x, ..., name="conv")`. A value between the ops must have no reader outside the
match, unless its op is `shared=True`: such an op stays for its other readers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.signature import IRRELEVANT
from fuseconv.tf.traits import ADDS
from fuseconv.tf.traits import COMMUTATIVE as TF_COMMUTATIVE
from fuseconv.tfl.builder import TABLE
from fuseconv.tfl.traits import COMMUTATIVE as TFL_COMMUTATIVE

_COMMUTATIVE = TF_COMMUTATIVE | {f"tfl.{type}" for type in TFL_COMMUTATIVE}
_ADD = tuple(sorted(ADDS))
_SYNONYMS = {**dict.fromkeys(ADDS, _ADD), "tf.RealDiv": ("tf.RealDiv", "tf.Div")}
# Constants are compared with what the author wrote in decimal, or computed in another precision.
_RELATIVE_TOLERANCE = 1e-5
# Constants with no more elements than this are compared by their contents, larger ones by identity.
_SMALL_SIZE = 64
# Constants with no more elements than this are shown in full.
_FEW = 4
# Fewer nodes that match are no sign of what the author of a model meant.
_FEWEST_NODES = 3


class Constant:
    """The annotation of a parameter that only a constant matches."""


class Term:
    """A part of a pattern that a value can match."""

    def __or__(self, other: Term) -> Either:
        return Either((*_alternatives(self), *_alternatives(other)))


@dataclass(frozen=True)
class Parameter(Term):
    """Any value, or any constant; bound to a name."""

    name: str
    constant: bool = False


# What is seen of an op without following its operands: its kind, and for each operand the kind of the op that makes it,
# or whether it is a constant if none does, or None if it is left out.
Glance = tuple[Any, ...]


def glance(op: Op) -> Glance:
    """What is seen of the op at first."""
    seen: list[Any] = [op.kind]
    for value in op.operands:
        seen.append(None if value is None else value.is_const if value.op is None else value.op.kind)
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
        """False of what cannot match, whatever else there is to see of it."""
        kind, *operands = seen
        count = len(self.operands)
        if kind not in self.kinds or count > len(operands) or (count < len(operands) and not self.rest):
            return False
        orders = [operands, operands[::-1]] if kind in _COMMUTATIVE else [operands]
        return any(all(map(_may_be, self.operands, order)) for order in orders)


@dataclass(frozen=True)
class Either(Term):
    """Any of several terms, tried in their order."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Miss:
    """The one thing that keeps an expression from matching.

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


@dataclass(slots=True)
class Bindings:
    """What a match has bound. matched: its ops, the last first; an op may be there twice. inner: those whose results
    nobody else may read. lenient: one thing may still differ; miss: the one that did.

    While a match is looked for there is one object: what binds something yields for each way in which the rest can be
    bound too, and takes it back in the end."""

    values: dict[str, Value] = field(default_factory=dict)
    ops: dict[str, Op] = field(default_factory=dict)
    matched: list[Op] = field(default_factory=list)
    inner: list[Op] = field(default_factory=list)
    lenient: bool = False
    miss: Miss | None = None

    def but(self, miss: Miss, ways: Iterator[None]) -> Iterator[None]:
        """The ways with this as the one thing that may differ."""
        self.lenient, self.miss = False, miss
        yield from ways
        self.lenient, self.miss = True, None


@dataclass(frozen=True)
class Pattern:
    """A traced pattern: its last op (or several that may be the last), and the names that its parts have."""

    name: str
    root: Term
    parameters: tuple[str, ...]
    op_names: tuple[str, ...]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the last op."""
        return tuple(dict.fromkeys(kind for node in self._roots for kind in node.kinds))

    @cached_property
    def all_kinds(self) -> frozenset[str]:
        """The kinds of its ops, wherever they stand."""
        return frozenset(kind for node in _nodes(self.root) for kind in node.kinds)

    @cached_property
    def dialect(self) -> str:
        return self.kinds[0].partition(".")[0]

    @cached_property
    def size(self) -> int:
        """The number of ops; of the largest alternative where there are several."""
        return _count(self.root)

    def may_end_at(self, seen: Glance) -> bool:
        """False of an op that cannot be the last of a match, whatever else there is to see of it."""
        return any(node.may_be(seen) for node in self._roots)

    def matches(self, op: Op) -> Iterator[Bindings]:
        """The ways to match with `op` as the last op of the pattern."""
        for node in self._roots:
            bound = Bindings()
            for _ in _match_op(node, op, bound):
                if not any(_outside_readers(bound, op)):
                    yield Bindings(dict(bound.values), dict(bound.ops), list(bound.matched))

    def nearest_miss(self, op: Op) -> Miss | None:
        """What keeps `op` from being the last op of a match, if it is one thing only: a constant of another value, an
        op, an attribute, or another reader of an inner value. Then ops that stand for at least three nodes of the model
        match, and two thirds of the pattern's. None also if the pattern matches."""
        best: Miss | None = None
        for node in self._roots:
            bound = Bindings(lenient=True)
            for _ in _match_op(node, op, bound):
                miss, outside = bound.miss, list(_outside_readers(bound, op))
                if miss is None and not outside:
                    return None
                if miss is None and len(outside) == 1:
                    inner, reader = outside[0]
                    other = "an output too" if reader.kind == "ir.return" else f"also read by {reader.name!r}"
                    miss = Miss(inner, f"its result is {other}")
                elif miss is None or outside:
                    continue
                miss = replace(miss, matched=tuple(dict.fromkeys(bound.matched)))
                nodes = {matched.sources for matched in miss.matched}
                enough = len(nodes) >= _FEWEST_NODES and len(miss.matched) >= 2 * miss.absent
                if enough and (best is None or miss.closeness > best.closeness):
                    best = miss
        return best

    @cached_property
    def _roots(self) -> tuple[Node, ...]:
        return tuple(term for term in _alternatives(self.root) if isinstance(term, Node))


class Dialect:
    """Makes the nodes of a pattern: `tf.Relu(x)`, `tfl["RELU", "RELU6"](x)`. All of TFLite's ops are known; a model may
    have ops that are not TensorFlow's."""

    def __init__(self, prefix: str) -> None:
        if prefix not in ("tf", "tfl"):
            raise TypeError(f"the first parameter of a pattern is the dialect, tf or tfl, not {prefix}")
        self._prefix = prefix

    def __getattr__(self, kind: str) -> Callable[..., Node]:
        return self[kind]

    def __getitem__(self, kinds: str | tuple[str, ...]) -> Callable[..., Node]:
        types = (kinds,) if isinstance(kinds, str) else kinds
        unknown = [kind for kind in types if kind not in TABLE] if self._prefix == "tfl" else []
        if unknown:
            raise TypeError(f"TFLite has no operator {unknown[0]}")
        names = [f"{self._prefix}.{kind}" for kind in types]
        every = tuple(dict.fromkeys(kind for name in names for kind in _SYNONYMS.get(name, (name,))))

        def node(*operands: Any, name: str | None = None, shared: bool = False, **attrs: Any) -> Node:
            rest = bool(operands) and operands[-1] is ...
            operands = operands[:-1] if rest else operands
            wrong = [x for x in operands if not (x is None or isinstance(x, (Term, int, float, np.number)))]
            if wrong:
                raise TypeError(f"an operand of {names[0]} is a value, an op or a number, not {wrong[0]!r}")
            return Node(every, operands, rest, attrs, name, shared)

        return node


def pattern(function: Callable[..., Term]) -> Pattern:
    """Traces a function whose first parameter is the dialect (`tf` or `tfl`) and whose others stand for values.

    Raises TypeError for what could match nothing, or would never be bound."""
    parameters = list(inspect.signature(function).parameters.values())
    dialect = Dialect(parameters[0].name if parameters else "nothing")
    values = [Parameter(p.name, p.annotation in (Constant, "Constant")) for p in parameters[1:]]
    root = function(dialect, *values)
    if not isinstance(root, Term) or not all(isinstance(term, Node) for term in _alternatives(root)):
        raise TypeError(f"the pattern {function.__name__} returns an op, or several alternatives, not {root!r}")
    bound = {part.name for part in _parts(root) if isinstance(part, Parameter)}
    unbound = [value.name for value in values if value.name not in bound]
    if unbound:
        raise TypeError(f"the pattern {function.__name__} does not say where its parameter {unbound[0]} is")
    names = tuple(dict.fromkeys(node.name for node in _nodes(root) if node.name))
    return Pattern(function.__name__, root, tuple(value.name for value in values), names)


def _alternatives(term: Term) -> tuple[Term, ...]:
    return term.terms if isinstance(term, Either) else (term,)


def _nodes(term: Any) -> Iterator[Node]:
    return (part for part in _parts(term) if isinstance(part, Node))


def _parts(term: Any) -> Iterator[Any]:
    """The term and all that it is made of."""
    yield term
    for part in term.terms if isinstance(term, Either) else term.operands if isinstance(term, Node) else ():
        yield from _parts(part)


def _count(term: Any, choose: Callable[[Iterable[int]], int] = max) -> int:
    if isinstance(term, Either):
        return choose(_count(part, choose) for part in term.terms)
    return 1 + sum(_count(part, choose) for part in term.operands) if isinstance(term, Node) else 0


def _match_op(node: Node, op: Op, bound: Bindings) -> Iterator[None]:
    count = len(node.operands)
    if op.kind not in node.kinds or count > len(op.operands) or (count < len(op.operands) and not node.rest):
        return
    if _holds_state_or_is_quantised(op):
        return
    wrong = _wrong_attr(node, op)
    if wrong is None:
        yield from _match_parts(node, op, bound)
    elif bound.lenient:
        held = repr(op.attrs[wrong]) if wrong in op.attrs else "its default"
        yield from bound.but(Miss(op, f"the attribute {wrong} holds {held}"), _match_parts(node, op, bound))


def _match_parts(node: Node, op: Op, bound: Bindings) -> Iterator[None]:
    before = bound.ops.get(node.name) if node.name else None
    if node.name:
        bound.ops[node.name] = op
    bound.matched.append(op)
    if not node.shared:
        bound.inner.append(op)
    yield from _match_operands(node.operands, op.operands, 0, op, bound)
    if op.kind in _COMMUTATIVE and node.operands:
        yield from _match_operands(node.operands, op.operands[::-1], 0, op, bound)
    if not node.shared:
        bound.inner.pop()
    bound.matched.pop()
    if node.name:
        del bound.ops[node.name]
        if before is not None:
            bound.ops[node.name] = before


def _match_operands(terms: tuple, operands: list, index: int, reader: Op, bound: Bindings) -> Iterator[None]:
    if index == len(terms):
        yield
        return
    for _ in _match_value(terms[index], operands[index], bound):
        yield from _match_operands(terms, operands, index + 1, reader, bound)
    if bound.lenient:
        for _ in _match_wrongly(terms[index], operands[index], reader, bound):
            yield from _match_operands(terms, operands, index + 1, reader, bound)


def _match_value(term: Any, value: Value | None, bound: Bindings) -> Iterator[None]:
    if isinstance(term, Either):
        for alternative in term.terms:
            yield from _match_value(alternative, value, bound)
    elif isinstance(term, Node):
        if value is not None and value.op is not None and value.index == 0:
            yield from _match_op(term, value.op, bound)
    elif term is None:
        if value is None:
            yield
    elif value is None:
        return
    elif not isinstance(term, Parameter):
        if _is_number(value, term):
            yield
    elif value.is_const or not term.constant:
        known = bound.values.get(term.name)
        if known is None:
            bound.values[term.name] = value
            yield
            del bound.values[term.name]
        elif _is_same(known, value):
            yield


def _match_wrongly(term: Any, value: Value | None, reader: Op, bound: Bindings) -> Iterator[None]:
    """Takes a value that is no match of a term for the one thing that may differ: an op in the place of another, or a
    value in the place of the whole term."""
    why = _why_different(term, value, bound)
    if not why:
        return
    op = value.op if value is not None else None
    for node in _alternatives(term):
        if op is not None and isinstance(node, Node) and len(node.operands) == len(op.operands):
            within = _match_operands(node.operands, op.operands, 0, op, bound)
            yield from bound.but(Miss(reader, why, 1, op), within)
    yield from bound.but(Miss(reader, why, _count(term, min)), iter([None]))


def _why_different(term: Any, value: Value | None, bound: Bindings) -> str:
    """What is different about a value that can be no match of a term, whatever its own operands are; empty if it can be
    one, if it would mean another expression altogether, or if it is an op that one of the alternatives begins with."""
    terms = _alternatives(term)
    kinds = dict.fromkeys(kind for part in terms if isinstance(part, Node) for kind in part.kinds)
    if value is None or term is None or (value.op is not None and value.op.kind in kinds and value.index == 0):
        return ""
    if isinstance(term, Parameter):
        known = bound.values.get(term.name, value)
        same = _is_same(known, value) or not (known.is_const and value.is_const)
        return "" if same else f"{term.name} is both {_described(known)} and {_described(value)}"
    if any(isinstance(part, Parameter) for part in terms):
        return ""
    if kinds:
        return f"an operand is {_described(value)}, not {' or '.join(kind.partition('.')[2] for kind in kinds)}"
    if _is_number(value, term):
        return ""
    if value.data is not None and value.data.size == 1:
        return f"the constant is {value.data.item():.6g}, not {term:.6g}"
    return f"an operand is {_described(value)}, not the constant {term:.6g}"


def _described(value: Value) -> str:
    """A value as its reader sees it."""
    if value.data is not None:
        return f"the constant {value.data.tolist()}" if value.data.size <= _FEW else "a constant"
    return f"the input {value.name!r}" if value.op is None else f"{value.op.type} {value.op.name!r}"


def _is_same(a: Value, b: Value) -> bool:
    """True of one value, and of small constants with equal elements."""
    if a is b or a.data is None or b.data is None:
        return a is b
    small = a.data.size <= _SMALL_SIZE
    return small and a.dtype is b.dtype and a.data.shape == b.data.shape and bool((a.data == b.data).all())


def _is_number(value: Value, number: float) -> bool:
    if value.data is None or value.data.size != 1 or value.data.dtype.kind not in "fiubV":
        return False
    return math.isclose(float(value.data.reshape(())), number, rel_tol=_RELATIVE_TOLERANCE)


def _wrong_attr(node: Node, op: Op) -> str | None:
    """The first attribute that does not hold what the pattern asks for."""
    for name, wanted in node.attrs.items():
        held = op.attrs.get(name)
        if not (wanted(held) if callable(wanted) else held == wanted):
            return name
    if not node.name:
        for name in op.attrs:
            if not (name in node.attrs or name in IRRELEVANT or name.startswith("_")):
                return name
    return None


def _holds_state_or_is_quantised(op: Op) -> bool:
    """True of ops that no pattern means: writes of variable tensors, and arithmetic on scaled integers."""
    for value in (*op.results, *op.operands):
        if value is not None and (value.variable or value.quantisation is not None):
            return True
    return False


def _may_be(term: Any, maker: str | bool | None) -> bool:
    """False of a term that cannot match what a glance shows of an operand."""
    if isinstance(term, Either):
        return any(_may_be(alternative, maker) for alternative in term.terms)
    if isinstance(term, Node):
        return maker in term.kinds
    if term is None:
        return maker is None
    return maker is True or (isinstance(term, Parameter) and not term.constant and maker is not None)


def _outside_readers(bound: Bindings, root: Op) -> Iterator[tuple[Op, Op]]:
    """The inner ops whose results somebody else reads, each with each such reader."""
    matched = {*bound.matched, bound.miss.instead if bound.miss else None}
    for op in dict.fromkeys(bound.inner):
        for reader in () if op is root else dict.fromkeys(reader for r in op.results for reader in r.uses):
            if reader not in matched:
                yield op, reader
