"""Patterns over primitive ops, written as traced Python.

    @pattern
    def hard_swish(tf, x):
        return tf.Mul(x, tf.Mul(tf.Relu6(tf.AddV2(x, 3.0)), 1 / 6))

A parameter stands for any value (the same one wherever it is named), a number for a constant of that value. Operands of
commutative ops match in either order. A keyword is an attribute's value (or a predicate on it); an attribute that the
pattern does not name must hold its default, unless the op has a `name`, by which `check` and `rewrite` can look at it.
`tfl["RELU", "RELU6"](x)` is any of these ops, `tfl.CONV_2D(..., name="conv")` one with any operands. The values between
the ops must have no reader outside the match.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Any_:
    """Any value; bound to a name."""

    name: str


@dataclass(frozen=True)
class Node:
    """An op of the pattern. operands: None stands for any operands."""

    kinds: tuple[str, ...]
    operands: tuple[Any, ...] | None
    attrs: dict[str, Any]
    name: str | None


@dataclass
class Bindings:
    """What a match has bound so far."""

    values: dict[str, Value] = field(default_factory=dict)
    ops: dict[str, Op] = field(default_factory=dict)
    matched: list[Op] = field(default_factory=list)

    def copy(self) -> Bindings:
        return Bindings(dict(self.values), dict(self.ops), list(self.matched))


@dataclass(frozen=True)
class Pattern:
    """A traced pattern: its last op, and the names of its parameters."""

    name: str
    root: Node
    parameters: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of ops."""
        return _count(self.root)

    def match(self, op: Op) -> Bindings | None:
        """Matches with `op` as the last op of the pattern."""
        for bindings in _match_op(self.root, op, Bindings()):
            if _inner_values_are_private(bindings, op):
                return bindings
        return None


class _Dialect:
    """Makes pattern nodes: `tf.Relu(x)`, `tfl["RELU", "RELU6"](x)`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, kind: str) -> Callable[..., Node]:
        return self[kind]

    def __getitem__(self, kinds: str | tuple[str, ...]) -> Callable[..., Node]:
        names = [f"{self._prefix}.{kind}" for kind in ((kinds,) if isinstance(kinds, str) else kinds)]
        every = tuple(dict.fromkeys(kind for name in names for kind in _SYNONYMS.get(name, (name,))))

        def node(*operands: Any, name: str | None = None, **attrs: Any) -> Node:
            return Node(every, None if operands == (...,) else operands, attrs, name)

        return node


def pattern(function: Callable[..., Node]) -> Pattern:
    """Traces a function whose first parameter is the dialect (`tf` or `tfl`) and whose others stand for values."""
    dialect, *parameters = inspect.signature(function).parameters
    root = function(_Dialect(dialect), *[Any_(name) for name in parameters])
    return Pattern(function.__name__, root, tuple(parameters))


def _count(node: Any) -> int:
    return 1 + sum(_count(operand) for operand in node.operands or ()) if isinstance(node, Node) else 0


def _match_op(node: Node, op: Op, bindings: Bindings) -> Iterator[Bindings]:
    if op.kind not in node.kinds or not _attrs_match(node, op):
        return
    bindings = bindings.copy()
    bindings.matched.append(op)
    if node.name:
        bindings.ops[node.name] = op
    if node.operands is None:
        yield bindings
        return
    if len(node.operands) != len(op.operands):
        return
    yield from _match_operands(node.operands, tuple(op.operands), bindings)
    if op.kind in COMMUTATIVE and len(op.operands) == 2:
        yield from _match_operands(node.operands, tuple(op.operands[::-1]), bindings)


def _match_operands(wanted: tuple, operands: tuple, bindings: Bindings) -> Iterator[Bindings]:
    if not wanted:
        yield bindings
        return
    for bound in _match_value(wanted[0], operands[0], bindings):
        yield from _match_operands(wanted[1:], operands[1:], bound)


def _match_value(wanted: Any, value: Value | None, bindings: Bindings) -> Iterator[Bindings]:
    if isinstance(wanted, Any_):
        if value is not None and bindings.values.get(wanted.name, value) is value:
            bound = bindings.copy()
            bound.values[wanted.name] = value
            yield bound
    elif isinstance(wanted, Node):
        if value is not None and value.op is not None and value.index == 0:
            yield from _match_op(wanted, value.op, bindings)
    elif wanted is None:
        if value is None:
            yield bindings
    elif value is not None and _is_number(value, wanted):
        yield bindings


def _is_number(value: Value, number: float) -> bool:
    if value.data is None or value.data.size != 1 or value.data.dtype.kind not in "fiuV":
        return False
    return math.isclose(float(value.data.reshape(())), number, rel_tol=_RELATIVE_TOLERANCE, abs_tol=1e-12)


def _attrs_match(node: Node, op: Op) -> bool:
    for name, wanted in node.attrs.items():
        held = op.attrs.get(name)
        if not (wanted(held) if callable(wanted) else held == wanted):
            return False
    return bool(node.name) or all(
        name in node.attrs or name in IRRELEVANT or name.startswith("_") for name in op.attrs
    )


def _inner_values_are_private(bindings: Bindings, root: Op) -> bool:
    matched = set(bindings.matched)
    inner = [result for op in bindings.matched if op is not root for result in op.results]
    return all(reader in matched for result in inner for reader in result.uses)
