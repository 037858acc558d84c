"""Constants and activations behind a convolution or dense layer -> its weights, its bias and its activation.

A product or sum with a constant for each output channel changes filter and bias: batch norms of any form, and biases of
any form, vanish in this way. A sum changes the bias alone, which computed weights have, too. RELU, RELU6 and
RELU_N1_TO_1 become the fused activation. RELU lets factors through that are not negative: RELU(x) * a is RELU(x * a).
In the weights in front of it, each channel has a scale of its own when they are quantized; in those behind, channels
that are much smaller than others would get lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import finite_array, per_channel, scaled, scaled_weights, summed
from fuseconv.fusions.shared_weights import factor_behind, require_own_weights, same_array
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import FUSED_ACTIVATIONS, LAYOUTS, Linear, linear
from fuseconv.tfl.traits import ARITHMETIC, POOLS, activation_of

_LINEAR = tuple(LAYOUTS)
BEHIND_ACTIVATION = "an activation stands between the two ops"
NOT_PER_CHANNEL = "the constant is not one number for each output channel"
INEXACT = "the numbers do not fit into the weights without loss"


@pattern
def scale(tfl: Any, c: Constant) -> Term:
    return tfl.MUL(tfl[_LINEAR](..., name="linear"), c, name="last")


@pattern
def shift(tfl: Any, c: Constant) -> Term:
    return tfl.ADD(tfl[_LINEAR](..., name="linear"), c, name="last")


@pattern
def difference(tfl: Any, c: Constant) -> Term:
    return tfl.SUB(c, tfl[_LINEAR](..., name="linear"), name="last")


def rewrite(tfl: Builder, m: Match) -> Value:
    found = linear_of(m, computed=m.last.kind == "tfl.ADD")
    activation = activation_of(m.last)
    if found.activation == "RELU" and m.last.kind == "tfl.MUL" and activation == "NONE":
        return _rewrite_behind_relu(tfl, m, found)
    m.require(found.activation == "NONE", BEHIND_ACTIVATION)
    weights, bias = _folded(m, found, _factors(m, found))
    return rebuilt(tfl, found, weights, bias, activation)


def _rewrite_behind_relu(tfl: Builder, m: Match, found: Linear) -> Value:
    """RELU(x * weights) * c -> RELU(x * (weights * |c|)), times the signs of c if some are negative."""
    factors = _factors(m, found)
    sizes: np.ndarray = np.abs(factors)
    signs = np.where(factors < 0, np.float32(-1), np.float32(1))
    # One factor of all is as good in the weights behind, or is the step of what rounds.
    m.require(sizes.min() != sizes.max(), BEHIND_ACTIVATION)
    weights, bias = _folded(m, found, sizes)
    made = rebuilt(tfl, found, weights, bias, "RELU")
    return made if (factors >= 0).all() else tfl.mul(made, signs)


def linear_of(m: Match, computed: bool = False) -> Linear:
    """Return the linear op of the match. Refuses the fusion if its weights are no constants, nor `computed` ones that
    are welcome."""
    found = linear(m.linear, computed)
    if found is None:
        m.refuse("the weights are not constants of float32")
    return found


def rebuilt(
    tfl: Builder,
    found: Linear,
    weights: Value,
    bias: np.ndarray | None,
    activation: str,
    data: Value | None = None,
) -> Value:
    """Return the op with other weights, bias and activation, on other data if that is given."""
    operands: list[Any] = list(found.op.operands)
    operands += [None] * (found.layout.bias + 1 - len(operands))
    operands[found.layout.weights] = weights
    operands[found.layout.bias] = bias
    operands[found.layout.data] = data or found.data
    if bias is None:
        operands.pop()
    attrs = found.op.attrs | {"fused_activation_function": activation}
    if data is None:
        return tfl.again(found.op, operands, attrs)
    built = tfl.op(found.op.type, tuple(operands), attrs)[0]
    built.shape = built.shape if built.shape is not None else found.op.result.shape
    return built


def _factors(m: Match, found: Linear) -> np.ndarray:
    """Return the constant as one number an output channel; refuses the fusion where it is none."""
    array = finite_array(m.c)
    constant = None if array is None else per_channel(array, m.linear.result.shape, found.outputs)
    if constant is None:
        m.refuse(NOT_PER_CHANNEL)
    return constant


def _folded(m: Match, found: Linear, constant: np.ndarray) -> tuple[Value, np.ndarray | None]:
    """Fold the constant into the weights and the bias; refuses the fusion where digits would be lost."""
    weights, bias = found.weights, found.bias
    if m.last.kind != "tfl.ADD":
        factors = constant if m.last.kind == "tfl.MUL" else np.full_like(constant, -1)
        along = found.along_outputs(factors)
        require_own_weights(m, found, along, m.last.result, lambda other: _takes(other.op, m))
        product = scaled_weights(weights, along)
        bias = scaled(bias, factors) if bias is not None else None
        if product is None or (bias is None) != (found.bias is None):
            m.refuse(INEXACT)
        weights = product
    if m.last.kind != "tfl.MUL":
        bias = summed(constant, np.zeros_like(constant) if bias is None else bias)
        m.require(bias is not None, INEXACT)
    return weights, bias


def _takes(other: Op, m: Match) -> bool:
    """Return True if the constant of the match stands behind another linear op too."""
    if m.last.kind == "tfl.MUL":
        return same_array(factor_behind(other), m.c.data)
    readers = [*other.result.uses]
    return len(readers) == 1 and readers[0].kind == m.last.kind and readers[0].operands[1] is other.result


# CONCATENATION has the option, but its kernel refuses any activation.
_ACTIVATED = (*LAYOUTS, *ARITHMETIC, *POOLS)


@pattern
def activated(tfl: Any) -> Term:
    return tfl[FUSED_ACTIVATIONS](tfl[_ACTIVATED](..., name="op"), name="activation")


def check_activation(m: Match) -> None:
    m.require(activation_of(m.op) == "NONE", BEHIND_ACTIVATION)


def rewrite_activation(tfl: Builder, m: Match) -> Value:
    """An activation -> the fused activation of the op before it."""
    attrs = m.op.attrs | {"fused_activation_function": m.activation.type}
    return tfl.again(m.op, m.op.operands, attrs)


FUSIONS = [
    Fusion("constants_into_weights", "CONV_2D", (scale, shift, difference), rewrite),
    Fusion("fused_activation", "CONV_2D", activated, rewrite_activation, check_activation),
]
