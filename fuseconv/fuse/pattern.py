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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fuseconv.fuse.pattern_terms import (
    COMMUTATIVE,
    Bindings,
    Constant,
    Either,
    Glance,
    NearMiss,
    Node,
    Parameter,
    Term,
    alternatives,
    count_ops,
    nodes_of,
    subterms,
)  # fmt: skip
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_function import IRRELEVANT
from fuseconv.tf.traits import ADDS
from fuseconv.tfl.builder import TABLE

__all__ = ["Constant", "Dialect", "Pattern", "Term", "pattern"]

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


@dataclass(frozen=True)
class Pattern:
    """A traced pattern: its last op (or several that may be the last), and the names that its parts have."""

    name: str
    root: Term
    parameters: tuple[str, ...]
    op_names: tuple[str, ...]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the last op."""
        return tuple(dict.fromkeys(kind for node in self._roots for kind in node.kinds))

    @cached_property
    def all_kinds(self) -> frozenset[str]:
        """Return the kinds of its ops, wherever they stand."""
        return frozenset(kind for node in nodes_of(self.root) for kind in node.kinds)

    @cached_property
    def dialect(self) -> str:
        return self.kinds[0].partition(".")[0]

    @cached_property
    def size(self) -> int:
        """Return the number of ops; of the largest alternative where there are several."""
        return count_ops(self.root)

    def may_end_at(self, seen: Glance) -> bool:
        """Return False if the op cannot be the root of a match, whatever its operands."""
        return any(node.may_be(seen) for node in self._roots)

    def matches(self, op: Op) -> Iterator[Bindings]:
        """Return the ways to match with `op` as the last op of the pattern."""
        for node in self._roots:
            bound = Bindings()
            for _ in _match_op(node, op, bound):
                if not any(_outside_readers(bound, op)):
                    yield Bindings(dict(bound.values), dict(bound.ops), list(bound.matched))

    def nearest_miss(self, op: Op) -> NearMiss | None:
        """Return the near miss with `op` as the root of the match, if a single thing differs: a constant of another
        value, an op, an attribute, or another reader of an inner value. Then ops that stand for at least three nodes of
        the model match, and two thirds of the pattern's. None also if the pattern matches."""
        best: NearMiss | None = None
        for node in self._roots:
            bound = Bindings(lenient=True)
            for _ in _match_op(node, op, bound):
                miss, outside = bound.miss, list(_outside_readers(bound, op))
                if miss is None and not outside:
                    return None
                if miss is None and len(outside) == 1:
                    inner, reader = outside[0]
                    other = "an output too" if reader.kind == "ir.return" else f"also read by {reader.name!r}"
                    miss = NearMiss(inner, f"its result is {other}")
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
        return tuple(term for term in alternatives(self.root) if isinstance(term, Node))


class Dialect:
    """Make the nodes of a pattern: `tf.Relu(x)`, `tfl["RELU", "RELU6"](x)`. All of TFLite's ops are known; a model may
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
    """Trace a function into a Pattern: its first parameter is the dialect (`tf` or `tfl`), the others are values.

    Raises TypeError for what could match nothing, or would never be bound."""
    parameters = list(inspect.signature(function).parameters.values())
    dialect = Dialect(parameters[0].name if parameters else "nothing")
    values = [Parameter(p.name, p.annotation in (Constant, "Constant")) for p in parameters[1:]]
    root = function(dialect, *values)
    if not isinstance(root, Term) or not all(isinstance(term, Node) for term in alternatives(root)):
        raise TypeError(f"the pattern {function.__name__} returns an op, or several alternatives, not {root!r}")
    bound = {part.name for part in subterms(root) if isinstance(part, Parameter)}
    unbound = [value.name for value in values if value.name not in bound]
    if unbound:
        raise TypeError(f"the pattern {function.__name__} does not say where its parameter {unbound[0]} is")
    names = tuple(dict.fromkeys(node.name for node in nodes_of(root) if node.name))
    return Pattern(function.__name__, root, tuple(value.name for value in values), names)


def _match_op(node: Node, op: Op, bound: Bindings) -> Iterator[None]:
    count = len(node.operands)
    if op.kind not in node.kinds or count > len(op.operands) or (count < len(op.operands) and not node.rest):
        return
    if _holds_state_or_is_quantized(op):
        return
    wrong = _wrong_attr(node, op)
    if wrong is None:
        yield from _match_parts(node, op, bound)
    elif bound.lenient:
        held = repr(op.attrs[wrong]) if wrong in op.attrs else "its default"
        yield from bound.but(NearMiss(op, f"the attribute {wrong} holds {held}"), _match_parts(node, op, bound))


def _match_parts(node: Node, op: Op, bound: Bindings) -> Iterator[None]:
    before = bound.ops.get(node.name) if node.name else None
    if node.name:
        bound.ops[node.name] = op
    bound.matched.append(op)
    if not node.shared:
        bound.inner.append(op)
    yield from _match_operands(node.operands, op.operands, 0, op, bound)
    if op.kind in COMMUTATIVE and node.operands:
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
        for _ in _match_as_miss(terms[index], operands[index], reader, bound):
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


def _match_as_miss(term: Any, value: Value | None, reader: Op, bound: Bindings) -> Iterator[None]:
    """Take a value that is no match of a term for the one thing that may differ: an op in the place of another, or a
    value in the place of the whole term."""
    why = _why_different(term, value, bound)
    if not why:
        return
    op = value.op if value is not None else None
    for node in alternatives(term):
        if op is not None and isinstance(node, Node) and len(node.operands) == len(op.operands):
            within = _match_operands(node.operands, op.operands, 0, op, bound)
            yield from bound.but(NearMiss(reader, why, 1, op), within)
    yield from bound.but(NearMiss(reader, why, count_ops(term, min)), iter([None]))


def _why_different(term: Any, value: Value | None, bound: Bindings) -> str:
    """Return what is different about a value that can be no match of a term, whatever its own operands are; empty if it
    can be one, if it would mean another expression altogether, or if it is an op that one of the alternatives begins
    with."""
    terms = alternatives(term)
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
    """Return a value as its reader sees it."""
    if value.data is not None:
        return f"the constant {value.data.tolist()}" if value.data.size <= _FEW else "a constant"
    return f"the input {value.name!r}" if value.op is None else f"{value.op.type} {value.op.name!r}"


def _is_same(a: Value, b: Value) -> bool:
    """Return True for the same value, and for small constants with equal elements."""
    if a is b or a.data is None or b.data is None:
        return a is b
    small = a.data.size <= _SMALL_SIZE
    return small and a.dtype is b.dtype and a.data.shape == b.data.shape and bool((a.data == b.data).all())


def _is_number(value: Value, number: float) -> bool:
    if value.data is None or value.data.size != 1 or value.data.dtype.kind not in "fiubV":
        return False
    return math.isclose(float(value.data.reshape(())), number, rel_tol=_RELATIVE_TOLERANCE)


def _wrong_attr(node: Node, op: Op) -> str | None:
    """Return the first attribute that does not have the value in the pattern."""
    for name, wanted in node.attrs.items():
        held = op.attrs.get(name)
        if not (wanted(held) if callable(wanted) else held == wanted):
            return name
    if not node.name:
        for name in op.attrs:
            if not (name in node.attrs or name in IRRELEVANT or name.startswith("_")):
                return name
    return None


def _holds_state_or_is_quantized(op: Op) -> bool:
    """Return True for ops that no pattern matches: writes of variable tensors, and arithmetic on quantized values."""
    for value in (*op.results, *op.operands):
        if value is not None and (value.variable or value.quantization is not None):
            return True
    return False


def _outside_readers(bound: Bindings, root: Op) -> Iterator[tuple[Op, Op]]:
    """Return (inner op, reader) for each use of an inner result outside the match."""
    matched = {*bound.matched, bound.miss.instead if bound.miss else None}
    for op in dict.fromkeys(bound.inner):
        for reader in () if op is root else dict.fromkeys(reader for r in op.results for reader in r.uses):
            if reader not in matched:
                yield op, reader
