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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.signature import IRRELEVANT

COMMUTATIVE = frozenset({
    "tf.Add", "tf.AddV2", "tf.Mul", "tf.Maximum", "tf.Minimum", "tf.SquaredDifference", "tf.Equal", "tf.NotEqual",
    "tf.LogicalAnd", "tf.LogicalOr", "tfl.ADD", "tfl.MUL", "tfl.MAXIMUM", "tfl.MINIMUM", "tfl.SQUARED_DIFFERENCE",
})  # fmt: skip
_ADD = ("tf.Add", "tf.AddV2")
_SYNONYMS = {"tf.Add": _ADD, "tf.AddV2": _ADD, "tf.RealDiv": ("tf.RealDiv", "tf.Div")}
# Constants are compared with what the author wrote in decimal, or computed in another precision.
_RELATIVE_TOLERANCE = 1e-5
# Constants with no more elements than this are compared by their contents, larger ones by identity.
_SMALL_SIZE = 64


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


@dataclass(frozen=True)
class Node(Term):
    """The result of an op. rest: it may have more operands than these."""

    kinds: tuple[str, ...]
    operands: tuple[Any, ...]
    rest: bool
    attrs: dict[str, Any]
    name: str | None
    shared: bool


@dataclass(frozen=True)
class Either(Term):
    """Any of several terms, tried in their order."""

    terms: tuple[Term, ...]


@dataclass(slots=True)
class Bindings:
    """What a match has bound. matched: its ops, the last first; an op may be there twice. inner: those whose results
    nobody else may read."""

    values: dict[str, Value] = field(default_factory=dict)
    ops: dict[str, Op] = field(default_factory=dict)
    matched: tuple[Op, ...] = ()
    inner: tuple[Op, ...] = ()


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

    @property
    def dialect(self) -> str:
        return self.kinds[0].partition(".")[0]

    @cached_property
    def size(self) -> int:
        """The number of ops; of the largest alternative where there are several."""
        return _count(self.root)

    def matches(self, op: Op) -> Iterator[Bindings]:
        """The ways to match with `op` as the last op of the pattern."""
        for node in self._roots:
            for bindings in _match_op(node, op, Bindings()):
                if _inner_values_are_private(bindings, op):
                    yield bindings

    @cached_property
    def _roots(self) -> tuple[Node, ...]:
        return tuple(term for term in _alternatives(self.root) if isinstance(term, Node))


class Dialect:
    """Makes the nodes of a pattern: `tf.Relu(x)`, `tfl["RELU", "RELU6"](x)`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, kind: str) -> Callable[..., Node]:
        return self[kind]

    def __getitem__(self, kinds: str | tuple[str, ...]) -> Callable[..., Node]:
        names = [f"{self._prefix}.{kind}" for kind in ((kinds,) if isinstance(kinds, str) else kinds)]
        every = tuple(dict.fromkeys(kind for name in names for kind in _SYNONYMS.get(name, (name,))))

        def node(*operands: Any, name: str | None = None, shared: bool = False, **attrs: Any) -> Node:
            rest = operands[-1:] == (...,)
            return Node(every, operands[:-1] if rest else operands, rest, attrs, name, shared)

        return node


def pattern(function: Callable[..., Term]) -> Pattern:
    """Traces a function whose first parameter is the dialect (`tf` or `tfl`) and whose others stand for values."""
    dialect, *others = inspect.signature(function).parameters.values()
    parameters = [Parameter(p.name, p.annotation in (Constant, "Constant")) for p in others]
    root = function(Dialect(dialect.name), *parameters)
    names = tuple(dict.fromkeys(node.name for node in _nodes(root) if node.name))
    return Pattern(function.__name__, root, tuple(p.name for p in parameters), names)


def _alternatives(term: Term) -> tuple[Term, ...]:
    return term.terms if isinstance(term, Either) else (term,)


def _nodes(term: Any) -> Iterator[Node]:
    if isinstance(term, Node):
        yield term
    for part in term.terms if isinstance(term, Either) else term.operands if isinstance(term, Node) else ():
        yield from _nodes(part)


def _count(term: Any) -> int:
    if isinstance(term, Either):
        return max(map(_count, term.terms))
    return 1 + sum(map(_count, term.operands)) if isinstance(term, Node) else 0


def _match_op(node: Node, op: Op, bound: Bindings) -> Iterator[Bindings]:
    if op.kind not in node.kinds or not _attrs_match(node, op) or _holds_state_or_is_quantised(op):
        return
    bound = Bindings(
        bound.values,
        {**bound.ops, node.name: op} if node.name else bound.ops,
        (*bound.matched, op),
        bound.inner if node.shared else (*bound.inner, op),
    )
    count = len(node.operands)
    if count > len(op.operands) or (count < len(op.operands) and not node.rest):
        return
    yield from _match_operands(node.operands, tuple(op.operands[:count]), bound)
    if op.kind in COMMUTATIVE and count:
        yield from _match_operands(node.operands, tuple(op.operands[::-1]), bound)


def _match_operands(terms: tuple, operands: tuple, bound: Bindings) -> Iterator[Bindings]:
    if not terms:
        yield bound
        return
    for first in _match_value(terms[0], operands[0], bound):
        yield from _match_operands(terms[1:], operands[1:], first)


def _match_value(term: Any, value: Value | None, bound: Bindings) -> Iterator[Bindings]:
    if isinstance(term, Either):
        for alternative in term.terms:
            yield from _match_value(alternative, value, bound)
    elif isinstance(term, Parameter):
        if value is not None and (value.is_const or not term.constant):
            if _is_same(bound.values.get(term.name, value), value):
                values = {term.name: value, **bound.values}
                yield Bindings(values, bound.ops, bound.matched, bound.inner)
    elif isinstance(term, Node):
        if value is not None and value.op is not None and value.index == 0:
            yield from _match_op(term, value.op, bound)
    elif term is None:
        if value is None:
            yield bound
    elif value is not None and _is_number(value, term):
        yield bound


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


def _attrs_match(node: Node, op: Op) -> bool:
    for name, wanted in node.attrs.items():
        held = op.attrs.get(name)
        if not (wanted(held) if callable(wanted) else held == wanted):
            return False
    return bool(node.name) or all(
        name in node.attrs or name in IRRELEVANT or name.startswith("_") for name in op.attrs
    )


def _holds_state_or_is_quantised(op: Op) -> bool:
    """True of ops that no pattern means: writes of variable tensors, and arithmetic on scaled integers."""
    return any(v.variable or v.quantisation is not None for v in (*op.results, *op.operands) if v is not None)


def _inner_values_are_private(bound: Bindings, root: Op) -> bool:
    matched = set(bound.matched)
    return all(reader in matched for op in bound.inner if op is not root for r in op.results for reader in r.uses)
