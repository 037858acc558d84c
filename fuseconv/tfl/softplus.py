"""Softplus in ops of TFLite, which has no kernel for it."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


def softplus(tfl: Builder, x: Value, *, positive: bool = True) -> Value:
    """Return log(1 + exp(x)) of float32, to a few parts in 1e7 of itself but for what EXP is off by; `positive` says
    whether x may be above 0.

    That is max(x, 0) + y of the exponential of -|x|, which does not overflow, and whose range integers can hold. Of
    small exponentials y = LOG(1 + exp) has lost what 1 does not keep, and XNNPACK's LOG is off by 6e-8 near 1. One step
    of Newton's method for 1 - exp(-y) = exp / (1 + exp) brings it back: ELU(-y) is exp(-y) - 1 to the last bits."""
    power = tfl.exp(tfl.neg(tfl.abs(x)) if positive else x)
    total = tfl.add(power, np.float32(1))
    y = tfl.log(total)
    y = tfl.add(y, tfl.add(tfl.div(power, total), tfl.elu(tfl.neg(y))))
    return tfl.add(tfl.relu(x), y) if positive else y
