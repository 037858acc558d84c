"""Match patterns: each term of one is compiled once into a function with a fixed continuation, `then`.

The function binds its own term and calls `then`, which matches the rest. If that returns False it takes back what it
bound, so that its caller tries another way; True ends the search. Patterns are matched thousands of times in a
conversion, and calls are cheaper than generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from fuseconv.fuse.pattern_terms import (
    COMMUTATIVE,
    Bindings,
    Glance,
    NearMiss,
    Node,
    Parameter,
    alternatives,
    count_ops,
    glance,
)  # fmt: skip
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_function import IRRELEVANT

# Constants are compared with what the author wrote in decimal, or computed in another precision.
_RELATIVE_TOLERANCE = 1e-5
# Constants with no more elements than this are compared by their contents, larger ones by identity.
_SMALL_SIZE = 64
# Constants with no more elements than this are shown in full.
_FEW = 4

_Step = Callable[[Bindings], bool]
_ValueMatcher = Callable[["Value | None", Bindings], bool]


class NodeMatcher:
    """Matches an op with a node of a pattern, its operands in order, and then the rest."""

    def __init__(self, node: Node, then: _Step) -> None:
        self.node = node
        self.count = len(node.operands)
        self.commutative = bool(node.operands) and not COMMUTATIVE.isdisjoint(node.kinds)
        for index in reversed(range(self.count)):
            then = self._operand(index, then)
        self.first = then
        # Whether the node may be an op of which a glance shows this.
        self.seen: dict[Glance, bool] = {}

    def match(self, op: Op, bound: Bindings) -> bool:
        """Match the op, with its operands in either order if it is commutative."""
        node = self.node
        if op.kind not in node.kinds:
            return False
        count = len(op.operands)
        if self.count != count and (self.count > count or not node.rest):
            return False
        if not bound.lenient and bound.matched:
            seen = glance(op)
            may_be = self.seen.get(seen)
            if may_be is None:
                may_be = self.seen[seen] = node.may_be(seen)
            if not may_be:
                return False
        wrong = _wrong_attr(node, op) if node.attrs or op.attrs else None
        if wrong is None:
            return self._match_parts(op, bound)
        if not bound.lenient:
            return False
        held = repr(op.attrs[wrong]) if wrong in op.attrs else "its default"
        miss = NearMiss(op, f"the attribute {wrong} holds {held}")
        return bound.but(miss, partial(self._match_parts, op))

    def _match_parts(self, op: Op, bound: Bindings) -> bool:
        """Bind the op and match its operands and the rest; undo what was bound if that fails."""
        node = self.node
        name = node.name
        if name:
            before = bound.ops.get(name)
            bound.ops[name] = op
        bound.matched.append(op)
        if not node.shared:
            bound.inner.append(op)
        bound.operands[self] = op, op.operands
        if self.first(bound):
            return True
        if self.commutative and op.kind in COMMUTATIVE and self.match_operands(op, op.operands[::-1], bound):
            return True
        if not node.shared:
            bound.inner.pop()
        bound.matched.pop()
        if name:
            del bound.ops[name]
            if before is not None:
                bound.ops[name] = before
        return False

    def match_operands(self, op: Op, operands: list[Value | None], bound: Bindings) -> bool:
        """Match operands in this order, whatever the op is."""
        bound.operands[self] = op, operands
        return self.first(bound)

    def _operand(self, index: int, then: _Step) -> _Step:
        """Return a function that matches an operand of the op at hand, and then the rest."""
        term = self.node.operands[index]
        ways = [(way, NodeMatcher(way, then) if isinstance(way, Node) else None) for way in alternatives(term)]
        first, *others = [_value_matcher(way, then, node) for way, node in ways]
        nodes = [node for _, node in ways if node is not None]

        def match_operand(bound: Bindings) -> bool:
            op, operands = bound.operands[self]
            value = operands[index]
            if first(value, bound):
                return True
            for match in others:  # few terms have any
                if match(value, bound):
                    return True
            return bound.lenient and _match_as_miss(term, value, op, bound, then, nodes)

        return match_operand


def _value_matcher(term: Any, then: _Step, node: NodeMatcher | None) -> _ValueMatcher:
    """Return a function that matches a value with a term, and then the rest. node: matches the term if it is an op."""
    if node is not None:
        match = node.match
        return lambda value, bound: (
            value is not None and value.op is not None and value.index == 0 and match(value.op, bound)
        )
    if isinstance(term, Parameter):
        return _parameter_matcher(term, then)
    if term is None:
        return lambda value, bound: value is None and then(bound)
    return lambda value, bound: value is not None and _is_number(value, term) and then(bound)


def _parameter_matcher(term: Parameter, then: _Step) -> _ValueMatcher:
    """Return a function that binds a value to a parameter, which may have but one, and then matches the rest."""
    name, constant = term.name, term.constant

    def match(value: Value | None, bound: Bindings) -> bool:
        if value is None or (constant and value.data is None):
            return False
        values = bound.values
        known = values.get(name)
        if known is not None:
            return _is_same(known, value) and then(bound)
        values[name] = value
        if then(bound):
            return True
        del values[name]
        return False

    return match


def _match_as_miss(
    term: Any, value: Value | None, reader: Op, bound: Bindings, then: _Step, nodes: list[NodeMatcher]
) -> bool:
    """Take a value that is no match of a term for the one thing that may differ: an op in the place of another, or a
    value in the place of the whole term."""
    why = _why_different(term, value, bound)
    if not why:
        return False
    op = value.op if value is not None else None
    for node in nodes:
        if op is not None and node.count == len(op.operands):
            match = partial(node.match_operands, op, op.operands)
            if bound.but(NearMiss(reader, why, 1, op), match):
                return True
    return bound.but(NearMiss(reader, why, count_ops(term, min)), then)


def _why_different(term: Any, value: Value | None, bound: Bindings) -> str:
    """Return what is different about a value that can be no match of a term, whatever its own operands are. Empty if it
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
    """Return whether a value is a constant of one element, this number but for its rounding."""
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


def holds_state_or_is_quantized(bound: Bindings) -> bool:
    """Return True for a match with ops that no pattern matches: writes of variable tensors, and arithmetic on quantized
    values."""
    for op in bound.matched:
        for value in (*op.results, *op.operands):
            if value is not None and (value.quantization is not None or value.variable):
                return True
    return False


def outside_readers(bound: Bindings) -> list[tuple[Op, Op]]:
    """Return (inner op, reader) for each use of an inner result, the root's aside, outside the match."""
    inner, root = bound.inner, bound.matched[0]
    if len(inner) == 1 and inner[0] is root:
        return []
    matched = {*bound.matched, bound.miss.instead if bound.miss else None}
    outside = []
    for op in dict.fromkeys(inner):
        if op is not root:
            for result in op.results:
                outside += [(op, reader) for reader in result.uses if reader not in matched]
    return outside if len(outside) < 2 else list(dict.fromkeys(outside))
