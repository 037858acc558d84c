"""tanh(softplus(x)) -> u / (2 - u), u = s * (2 - s), s = LOGISTIC(x): mish is x times that.

exp(-softplus(x)) is 1 - s, of which this is the tangent. It is a quotient of what has no cancellation, so that it is
right to a few parts in 1e7 of the result, also where that is tiny. The softplus alone takes 13 ops.
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
    sigmoid = tfl.logistic(m.x)
    rise = tfl.mul(sigmoid, tfl.sub(np.float32(2), sigmoid))
    return tfl.div(rise, tfl.sub(np.float32(2), rise))


FUSIONS = [Fusion("mish", "DIV", gate, rewrite, require_float32)]
