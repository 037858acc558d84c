"""A sum with a negated term -> SUB, a difference with one -> ADD: norms that are written x * a + (-mean * a + b). A
negated difference -> SUB: log_sigmoid(x), which is -softplus(-x)."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def of_sum(tfl: Any, x: Any, y: Any, z: Any) -> Term:
    return tfl.ADD(tfl.MUL(tfl.NEG(x), y, name="product") | tfl.NEG(x), z, name="last")


@pattern
def of_difference(tfl: Any, x: Any, y: Any, z: Any) -> Term:
    return tfl.SUB(z, tfl.MUL(tfl.NEG(x), y, name="product") | tfl.NEG(x), name="last")


@pattern
def negated(tfl: Any, x: Any, y: Any) -> Term:
    return tfl.NEG(tfl.SUB(x, y, name="product"))


def check(m: Match) -> None:
    attrs = m.product.attrs if m.product is not None else {}
    m.require(attrs.get("fused_activation_function", "NONE") == "NONE", "an activation stands between the two ops")
    m.require(m.result.quantization is None, "the numbers are quantized, and would be rounded otherwise")


def rewrite(tfl: Builder, m: Match) -> Value:
    term = m.x if m.product is None else tfl.mul(m.x, m.y)
    return tfl.op("SUB" if m.last.type == "ADD" else "ADD", (m.z, term), m.last.attrs)[0]


def rewrite_negated(tfl: Builder, m: Match) -> Value:
    """-(x - y) -> y - x."""
    return tfl.op("SUB", (m.y, m.x), m.product.attrs)[0]


FUSIONS = [
    Fusion("negated_term", "SUB", (of_sum, of_difference), rewrite, check),
    Fusion("negated_difference", "SUB", negated, rewrite_negated, check),
]
