"""Softplus in ops of TFLite, which has no kernel for it."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

# softplus(x) = x in float32 where x is larger.
_LINEAR_FROM = np.float32(20)


def softplus(tfl: Builder, x: Value, *, positive: bool = True) -> Value:
    """Return log(1 + exp(x)) of float32, to a few parts in 1e7 of itself but for what EXP is off by; `positive` says
    whether x may be above 0.

    y = LOG(1 + exp(x)) has lost what 1 does not keep of a small exponential, and XNNPACK's LOG is off by 6e-8 near 1.
    One step of Newton's method for 1 - exp(-y) = sigmoid(x) brings it back: ELU(-y) is exp(-y) - 1 to the last bits."""
    # In this order MINIMUM and MAXIMUM keep NaN.
    power = tfl.exp(tfl.minimum(tfl.const(_LINEAR_FROM), x) if positive else x)
    total = tfl.add(power, np.float32(1))
    y = tfl.log(total)
    y = tfl.add(y, tfl.add(tfl.div(power, total), tfl.elu(tfl.neg(y))))
    return tfl.maximum(y, x) if positive else y
