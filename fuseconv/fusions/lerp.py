"""z * h + (1 - z) * n -> n + z * (h - n): the update of a GRU in one op less.

Where n is far larger than h, h - n loses digits of h that z = 1 would keep. So n must be what tanh or a sigmoid made:
1 at most, which leaves an error of one unit of float32's precision at 1.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_BOUNDED = ("Tanh", "Sigmoid")


@pattern
def interpolation(tf: Any, z: Any, h: Any, n: Any) -> Term:
    return tf.AddV2(tf.Mul(z, h), tf.Mul(tf.Sub(1.0, z), n))


def check(m: Match) -> None:
    require_float32(m)
    m.require(
        m.n.op is not None and m.n.op.type in _BOUNDED,
        "the values that are interpolated are not bounded, as TANH's are, and might overflow otherwise",
    )
    m.require(m.z.shape is not None and m.z.shape == m.h.shape == m.n.shape, "the operands differ in shape")


def rewrite(tfl: Builder, m: Match) -> Value:
    """z * h + (1 - z) * n -> ADD(n, MUL(z, SUB(h, n)))."""
    return tfl.add(m.n, tfl.mul(m.z, tfl.sub(m.h, m.n)))


FUSIONS = [Fusion("interpolation", "ADD", interpolation, rewrite, check)]
