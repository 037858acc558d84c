"""tanh(softplus(x)) -> TANH(LOG(EXP(x) + 1)): mish is x times that.

SOFTPLUS takes five ops, so that no power of e overflows. Here it may: the tangent of an infinity is 1, and where a
power of e is lost beside 1, the tangent is as small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def gate(tf: Any, x: Any) -> Term:
    return tf.Tanh(tf.Softplus(x))


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.tanh(tfl.log(tfl.add(tfl.exp(m.x), np.float32(1))))


FUSIONS = [Fusion("mish", "TANH", gate, rewrite, require_float32)]
