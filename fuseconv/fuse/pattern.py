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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fuseconv.fuse.matcher import NodeMatcher, holds_state_or_is_quantized, outside_readers
from fuseconv.fuse.pattern_terms import (
    Bindings,
    Constant,
    Glance,
    NearMiss,
    Node,
    Parameter,
    Term,
    alternatives,
    count_ops,
    needed_kinds,
    nodes_of,
    subterms,
)  # fmt: skip
from fuseconv.ir.graph import Op
from fuseconv.tf.traits import ADDS
from fuseconv.tfl.builder import TABLE

__all__ = ["Constant", "Dialect", "Pattern", "Term", "pattern"]

_ADD = tuple(sorted(ADDS))
_SYNONYMS = {**dict.fromkeys(ADDS, _ADD), "tf.RealDiv": ("tf.RealDiv", "tf.Div")}
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
    def needed(self) -> frozenset[str]:
        """Return kinds that no match is without."""
        return frozenset.intersection(*map(needed_kinds, self._roots))

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

    def match(self, op: Op, accept: Callable[[Bindings], bool]) -> bool:
        """Hand the ways to match with `op` as the last op of the pattern to `accept`, until it returns True; return
        whether it did. The bindings hold until it returns."""

        bound = Bindings(lambda bound: _may_be_replaced(bound) and accept(bound))
        for matcher in self._matchers:  # noqa: SIM110 - most patterns have one, and a generator takes as long as a try
            if matcher.match(op, bound):
                return True
        return False

    def nearest_miss(self, op: Op) -> NearMiss | None:
        """Return the near miss with `op` as the root of the match, if a single thing differs: a constant of another
        value, an op, an attribute, or another reader of an inner value. Then ops that stand for at least three nodes of
        the model match, and two thirds of the pattern's. None also if the pattern matches."""
        best: NearMiss | None = None

        def judge(bound: Bindings) -> bool:
            nonlocal best
            if holds_state_or_is_quantized(bound):
                return False
            miss, outside = bound.miss, outside_readers(bound)
            if miss is None and not outside:
                return True
            if miss is None and len(outside) == 1:
                inner, reader = outside[0]
                other = "an output too" if reader.kind == "ir.return" else f"also read by {reader.name!r}"
                miss = NearMiss(inner, f"its result is {other}")
            elif miss is None or outside:
                return False
            miss = miss._replace(matched=tuple(dict.fromkeys(bound.matched)))
            nodes = {matched.sources for matched in miss.matched}
            enough = len(nodes) >= _FEWEST_NODES and len(miss.matched) >= 2 * miss.absent
            if enough and (best is None or miss.closeness > best.closeness):
                best = miss
            return False

        matches = any(matcher.match(op, Bindings(judge, lenient=True)) for matcher in self._matchers)
        return None if matches else best

    @cached_property
    def _matchers(self) -> tuple[NodeMatcher, ...]:
        return tuple(NodeMatcher(node, lambda bound: bound.accept(bound)) for node in self._roots)

    @cached_property
    def _roots(self) -> tuple[Node, ...]:
        return tuple(term for term in alternatives(self.root) if isinstance(term, Node))


def _may_be_replaced(bound: Bindings) -> bool:
    return not outside_readers(bound) and not holds_state_or_is_quantized(bound)


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
            for type in types if self._prefix == "tfl" else ():
                TABLE[type].check_count(len(operands), at_least=rest)
            return Node(every, operands, rest, attrs, name, shared)

        return node


def pattern(function: Callable[..., Term]) -> Pattern:
    """Trace a function into a Pattern: its first parameter is the dialect (`tf` or `tfl`), the others are values.

    Raises TypeError for what could match nothing, or would never be bound."""
    # What `inspect.signature` reads too, which takes ten times as long.
    code, kinds = function.__code__, function.__annotations__
    parameters = code.co_varnames[: code.co_argcount]
    dialect = Dialect(parameters[0] if parameters else "nothing")
    values = [Parameter(name, kinds.get(name) in (Constant, "Constant")) for name in parameters[1:]]
    root = function(dialect, *values)
    if not isinstance(root, Term) or not all(isinstance(term, Node) for term in alternatives(root)):
        raise TypeError(f"the pattern {function.__name__} returns an op, or several alternatives, not {root!r}")
    bound = {part.name for part in subterms(root) if isinstance(part, Parameter)}
    unbound = [value.name for value in values if value.name not in bound]
    if unbound:
        raise TypeError(f"the pattern {function.__name__} does not say where its parameter {unbound[0]} is")
    names = tuple(dict.fromkeys(node.name for node in nodes_of(root) if node.name))
    return Pattern(function.__name__, root, tuple(value.name for value in values), names)
