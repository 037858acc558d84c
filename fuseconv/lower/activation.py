"""Activation functions."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.lower.carriers import HALVES, cast, in_float32
from fuseconv.lower.native import elementwise
from fuseconv.lower.rules import lowers

_SELU_SCALE = 1.0507009873554805
_SELU_ALPHA = 1.6732632423543772


@lowers
def Relu(tfl, x):
    if x.dtype is types.FLOAT32 or x.dtype in HALVES:
        return cast(tfl, tfl.relu(cast(tfl, x, types.FLOAT32)), tfl.dtype)
    # RELU takes integers for quantised numbers.
    return elementwise(tfl, "MAXIMUM", x, 0)


@lowers
def Relu6(tfl, x):
    if x.dtype is types.FLOAT32 or x.dtype in HALVES:
        return cast(tfl, tfl.relu6(cast(tfl, x, types.FLOAT32)), tfl.dtype)
    return elementwise(tfl, "MINIMUM", elementwise(tfl, "MAXIMUM", x, 0), 6)


@lowers
@in_float32
def LeakyRelu(tfl, x, *, alpha=0.2):
    return tfl.leaky_relu(x, alpha=alpha)


@lowers
@in_float32
def Elu(tfl, x):
    return tfl.elu(x)


@lowers
@in_float32
def Selu(tfl, x):
    # elu(x) has the sign of x, so the slope below zero is a leaky relu's.
    return tfl.mul(tfl.leaky_relu(tfl.elu(x), alpha=_SELU_ALPHA), _SELU_SCALE)


@lowers
@in_float32
def Softplus(tfl, x):
    # log(1 + exp(x)) overflows; max(x, 0) - log(sigmoid(|x|)) is the same and does not.
    return tfl.sub(tfl.relu(x), tfl.log(tfl.logistic(tfl.abs_(x))))


@lowers
@in_float32
def Softsign(tfl, x):
    return tfl.div(x, tfl.add(tfl.abs_(x), 1.0))


@lowers
@in_float32
def Softmax(tfl, logits):
    return tfl.softmax(logits, beta=1.0)


@lowers
@in_float32
def LogSoftmax(tfl, logits):
    return tfl.log_softmax(logits)
