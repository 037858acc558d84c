"""Arithmetic with constants -> one MUL and one ADD: x - c, x / c, x * a * b, x + a + b, (x * a + b) * c.

A sum is never moved behind a product: x - c can be exact where x and c are large, and x * a - c * a is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import finite_array, reciprocal, scaled, summed
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import linear
from fuseconv.tfl.traits import activation_of

_SMOOTH = frozenset({"ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "ABS", "NEG", "RESHAPE"})
_STEPS = frozenset({
    "FLOOR", "CEIL", "ROUND", "CAST", "SIGN", "FLOOR_DIV", "FLOOR_MOD", "QUANTIZE", "FAKE_QUANT",
    "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL",
})  # fmt: skip
# Behind so many sums and products, their own rounding decides more than the last bit of a quotient.
_MOST_FOLLOWED = 64
# Half of the digits of float32: a number without them has products without rounding with such another one.
_LOW_BITS = np.uint32(0xFFF)


@pattern
def difference(tfl: Any, x: Any, a: Constant) -> Term:
    return tfl["SUB", "DIV"](x, a, name="last")


@pattern
def products(tfl: Any, x: Any, a: Constant, b: Constant) -> Term:
    return tfl.MUL(tfl.MUL(x, a), b, name="last")


@pattern
def sums(tfl: Any, x: Any, a: Constant, b: Constant) -> Term:
    return tfl.ADD(tfl.ADD(x, a), b, name="last")


@pattern
def scaled_affine(tfl: Any, x: Any, a: Constant, b: Constant, c: Constant) -> Term:
    return tfl.MUL(tfl.ADD(tfl.MUL(x, a), b), c, name="last")


def check_canonical(m: Match) -> None:
    a = finite_array(m.a)
    m.require(a is not None, "the constant is not of float32, or holds infinity or NaN")
    if m.last.kind == "tfl.SUB":
        return
    m.require(reciprocal(m.a.data) is not None, "the reciprocal of the constant overflows, or loses digits")
    m.require(
        not _meets_a_step(m.last.result) or _is_inexact(m.x),
        "a rounding op or comparison reads the quotient, and the last bit may decide",
    )


def _meets_a_step(value: Value) -> bool:
    """Return True if a reader of the value, or of a sum or product with it, jumps: floor(6 / 3) is not floor(6 * (1 /
    3)), if the product is rounded down. The nearest readers are asked first."""
    pending, seen = [value], {value}
    for near in pending:
        for reader in near.uses:
            if reader.type in _STEPS:
                return True
            if reader.type in _SMOOTH and len(seen) < _MOST_FOLLOWED:
                pending += [result for result in reader.results if result not in seen]
                seen.update(reader.results)
    return False


def _is_inexact(value: Value) -> bool:
    """Return True for logits: sums of products with weights that fill their digits, one at least for each channel. Each
    kernel adds them in an order of its own, so that a last bit means nothing. A constant may be added behind."""
    op = value.op
    if op is not None and op.kind == "tfl.ADD":
        op = next((each.op for each in op.operands if each is not None and not each.is_const), None)
    found = linear(op)
    if found is None:
        return False
    low_bits: np.ndarray = np.ascontiguousarray(found.array).view(np.uint32) & _LOW_BITS
    channels = np.moveaxis(low_bits, found.layout.outputs, 0).reshape(found.outputs, -1)
    return bool(channels.any(axis=1).all())


def rewrite_canonical(tfl: Builder, m: Match) -> Value:
    """x - c -> x + -c, x / c -> x * (1 / c)."""
    kind, constant = ("ADD", -m.a.data) if m.last.kind == "tfl.SUB" else ("MUL", reciprocal(m.a.data))
    activation = activation_of(m.last)
    return tfl.op(kind, (m.x, constant), {"fused_activation_function": activation})[0]


def check_merge(m: Match) -> None:
    constants = [finite_array(value) for value in (m.a, m.b, m.c) if value is not None]
    m.require(
        all(constant is not None for constant in constants), "a constant is not of float32, or holds infinity or NaN"
    )
    shape = np.broadcast_shapes(*[constant.shape for constant in constants])  # type: ignore[union-attr]
    largest = max(constants, key=lambda constant: constant.size)  # type: ignore[union-attr]
    m.require(largest.size == np.prod(shape, dtype=int), "the constants as one would be larger than each of them")  # type: ignore[union-attr]
    m.require(_merged(m) is not None, "the constants as one would overflow, or lose digits")


def rewrite_merge(tfl: Builder, m: Match) -> Value:
    factor, term = _merged(m)  # type: ignore[misc]
    activation = {"fused_activation_function": activation_of(m.last)}
    if term is None:
        return tfl.mul(m.x, factor, **activation)
    return tfl.add(m.x if factor is None else tfl.mul(m.x, factor), term, **activation)


def _merged(m: Match) -> tuple[np.ndarray | None, np.ndarray | None] | None:
    """Return the factor and the term of x * factor + term; None where digits would be lost."""
    a, b, c = (None if value is None else value.data for value in (m.a, m.b, m.c))
    assert a is not None and b is not None
    if c is not None:
        factor, term = scaled(a, c), scaled(b, c)
        return None if factor is None or term is None else (factor, term)
    if m.last.kind == "tfl.ADD":
        term = summed(a, b)
        return None if term is None else (None, term)
    factor = scaled(a, b)
    return None if factor is None else (factor, None)


FUSIONS = [
    Fusion("constant_operand", "MUL", difference, rewrite_canonical, check_canonical),
    Fusion("constant_chain", "MUL", (products, sums, scaled_affine), rewrite_merge, check_merge),
]
