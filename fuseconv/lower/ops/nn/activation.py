"""Activation functions."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.lower.rules import lowers
from fuseconv.lower.support.legalize_operands import elementwise
from fuseconv.lower.support.merged_dims import along_last
from fuseconv.lower.support.type_promotion import HALVES, cast, in_float32
from fuseconv.tfl.softplus import softplus

_SELU_SCALE = 1.0507009873554805
_SELU_ALPHA = 1.6732632423543772


@lowers
def Relu(tfl, x):
    """RELU; MAXIMUM of integers, which RELU takes for quantized numbers."""
    if x.dtype is types.FLOAT32 or x.dtype in HALVES:
        return cast(tfl, tfl.relu(cast(tfl, x, types.FLOAT32)), tfl.dtype)
    return elementwise(tfl, "MAXIMUM", x, 0)


@lowers
def Relu6(tfl, x):
    """RELU6; MINIMUM and MAXIMUM of integers."""
    if x.dtype is types.FLOAT32 or x.dtype in HALVES:
        return cast(tfl, tfl.relu6(cast(tfl, x, types.FLOAT32)), tfl.dtype)
    return elementwise(tfl, "MINIMUM", elementwise(tfl, "MAXIMUM", x, 0), 6)


@lowers
@in_float32
def LeakyRelu(tfl, x, *, alpha=0.2):
    """LEAKY_RELU."""
    return tfl.leaky_relu(x, alpha=alpha)


@lowers
@in_float32
def Elu(tfl, x):
    """ELU."""
    return tfl.elu(x)


@lowers
@in_float32
def Selu(tfl, x):
    """ELU, then LEAKY_RELU: elu(x) has the sign of x, so that the slope below zero is a leaky relu's."""
    return tfl.mul(tfl.leaky_relu(tfl.elu(x), alpha=_SELU_ALPHA), _SELU_SCALE)


@lowers
@in_float32
def Softplus(tfl, x):
    """max(x, 0) less the LOG of the sigmoid of |x|, with what that has lost where x is far below 0."""
    return softplus(tfl, x)


@lowers
@in_float32
def Softsign(tfl, x):
    """x / (|x| + 1)."""
    return tfl.div(x, tfl.add(tfl.abs_(x), 1.0))


@lowers
@in_float32
def Softmax(tfl, logits):
    """SOFTMAX."""
    return along_last(tfl, "SOFTMAX", logits, lambda rows: tfl.softmax(rows, beta=1.0))


@lowers
@in_float32
def LogSoftmax(tfl, logits):
    """LOG_SOFTMAX."""
    return tfl.log_softmax(logits)
