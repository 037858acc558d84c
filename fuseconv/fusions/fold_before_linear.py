"""Constants before convolutions and dense layers -> their weights and biases: x * a, x + b, x * a + b.

A product with a constant for each input channel moves into the weights. A sum moves into the bias where no zeros stand
beside the data, and only behind products, norms and other linear ops. Elsewhere x - c can be small and exact where x is
large, and x * weights - c * weights is neither then. But x * a - c is no more exact than x * a, which is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Dialect, Term, pattern
from fuseconv.fusions.constant_operands import finite_array, per_channel, reciprocal, scaled, scaled_weights, summed
from fuseconv.fusions.fold_into_linear import linear_of, rebuilt
from fuseconv.fusions.shared_weights import factor_before, require_own_weights, same_array
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import LAYOUTS, Linear, linear

_DATA_FIRST = tuple(kind for kind, layout in LAYOUTS.items() if layout.data == 0)
_DATA_THIRD = tuple(kind for kind, layout in LAYOUTS.items() if layout.data == 2)
_OTHER_READER = "another reader of the value cannot take the constant"
_NOT_PER_CHANNEL = "the constant is not one number for each input channel"
_INEXACT = "the numbers do not fit into the weights without loss"


def _reads(tfl: Dialect, data: Any, shape: Any, weights: Any) -> Term:
    """Return a linear op with this data; the first operand of a transposed convolution is its output's shape."""
    return tfl[_DATA_FIRST](data, ..., name="linear") | tfl[_DATA_THIRD](shape, weights, data, ..., name="linear")


@pattern
def scale(tfl: Any, x: Any, a: Constant, shape: Any, weights: Any) -> Term:
    return _reads(tfl, tfl.MUL(x, a, shared=True, name="inner"), shape, weights)


@pattern
def shift(tfl: Any, x: Any, b: Constant, shape: Any, weights: Any) -> Term:
    return _reads(tfl, tfl.ADD(x, b, shared=True, name="inner"), shape, weights)


@pattern
def affine(tfl: Any, x: Any, a: Constant, b: Constant, shape: Any, weights: Any) -> Term:
    return _reads(tfl, tfl.ADD(tfl.MUL(x, a), b, shared=True, name="inner"), shape, weights)


@pattern
def affine_read_once(tfl: Any, x: Any, a: Constant, b: Constant, shape: Any, weights: Any) -> Term:
    return _reads(tfl, tfl.ADD(tfl.MUL(x, a), b, name="inner"), shape, weights)


@pattern
def gated(tfl: Any, x: Any, gate: Any, a: Constant, shape: Any, weights: Any) -> Term:
    return _reads(tfl, tfl.MUL(x, tfl.MUL(gate, a, name="factor"), name="inner"), shape, weights)


def check(m: Match) -> None:
    value = m.inner.result
    _require_elementwise(m)
    readers = []
    for reader in value.uses:
        found = linear(reader)
        if found is None or found.data is not value or value.uses[reader] != 1:
            m.refuse(_OTHER_READER)
        readers.append(found)
    for found in readers:
        m.require(_channels(found, m.a) and _channels(found, m.b), _NOT_PER_CHANNEL)
        m.require(m.b is None or not found.pads, "the convolution pads with zeros, to which the sum does not apply")
        _require_own_weights(m, found, m.inner.result)
    rounded = m.b is None or _rounds(m.x.op) or (m.a is not None and _rounds_all(m.a.data))
    m.require(rounded, "the sum is exact as it is, and would be rounded as a part of the bias")


def rewrite(tfl: Builder, m: Match) -> Value:
    """A product or sum with a constant before a linear op -> its weights and bias."""
    found = linear_of(m)
    weights, bias = _folded(m, found, m.b)
    return rebuilt(tfl, found, weights, bias, found.activation, data=m.x)


def _require_elementwise(m: Match) -> None:
    """Refuse constants with an activation behind them, and those that repeat the data."""
    m.require(not m.inner.attrs.get("fused_activation_function"), "an activation stands between the two ops")
    m.require(m.x.shape is not None and m.x.shape == m.inner.result.shape, "a constant gives the data a larger shape")


def check_factored(m: Match) -> None:
    found, a = linear_of(m), finite_array(m.a)
    _require_elementwise(m)
    m.require(_channels(found, m.a) and finite_array(m.b) is not None, _NOT_PER_CHANNEL)
    m.require(reciprocal(a) is not None and scaled(m.b.data, reciprocal(a)) is not None, _INEXACT)  # type: ignore[arg-type]
    _require_own_weights(m, found, m.inner.result)


def rewrite_factored(tfl: Builder, m: Match) -> Value:
    """(x * a + b) before a linear op -> x + b / a, and a in the weights: where b cannot move into the bias."""
    found = linear_of(m)
    weights, bias = _folded(m, found, None)
    data = tfl.add(m.x, scaled(m.b.data, reciprocal(m.a.data)))  # type: ignore[arg-type]
    return rebuilt(tfl, found, weights, bias, found.activation, data)


def check_gated(m: Match) -> None:
    found = linear_of(m)
    m.require(not m.inner.attrs.get("fused_activation_function"), "an activation stands between the two ops")
    m.require(not m.factor.attrs.get("fused_activation_function"), "an activation stands between the two ops")
    m.require(_channels(found, m.a), _NOT_PER_CHANNEL)
    m.require(
        m.gate.shape is not None and m.gate.shape == m.factor.result.shape, "the constant gives the gate a larger shape"
    )
    _require_own_weights(m, found, m.factor.result)


def rewrite_gated(tfl: Builder, m: Match) -> Value:
    """x * (gate * a) before a linear op -> x * gate, and a in the weights: squeeze and excitation by hard sigmoids."""
    found = linear_of(m)
    weights, bias = _folded(m, found, None)
    return rebuilt(tfl, found, weights, bias, found.activation, tfl.mul(m.x, m.gate))


def _rounds(op: Op | None) -> bool:
    """Return True for an op whose result is no more exact than a sum of products with it: a linear one, the last of a
    norm."""
    if op is None or op.dialect != "tfl":
        return False
    makers = [value.op.type for value in op.operands if value is not None and value.op is not None]
    return op.type in LAYOUTS or (op.type == "MUL" and "RSQRT" in makers) or (op.type == "DIV" and "SQRT" in makers)


def _rounds_all(factors: np.ndarray) -> bool:
    """Return True if products with these factors have more digits than fit: none is a power of two."""
    return bool((np.abs(np.frexp(factors)[0]) != 0.5).all())


def _channels(found: Linear, constant: Value | None) -> bool:
    return constant is None or _vector(found, constant) is not None


def _vector(found: Linear, constant: Value) -> np.ndarray | None:
    """Return one number an input channel. The data must keep its last dimension, so that no other broadcasts."""
    array, inputs = finite_array(constant), found.inputs
    if array is None:
        return None
    if inputs is None:  # a grouped convolution
        return array.reshape(1) if array.size == 1 and array.ndim <= (found.data.rank or 0) else None
    return per_channel(array, found.data.shape, inputs)


def _require_own_weights(m: Match, found: Linear, saved: Value) -> None:
    """Refuse a factor for weights that others read without it."""
    if m.a is not None:
        factor = _along(found, _vector(found, m.a))  # type: ignore[arg-type]
        same = lambda other: same_array(factor_before(other.data.op), m.a.data)  # noqa: E731
        require_own_weights(m, found, factor, saved, same)


def _along(found: Linear, vector: np.ndarray) -> np.ndarray:
    """Return the numbers of input channels, shaped to broadcast to the weights."""
    return vector if found.inputs is None else found.along_inputs(vector)


def _folded(m: Match, found: Linear, b: Value | None) -> tuple[Value, np.ndarray | None]:
    """Fold `m.a` and `b` into the weights and the bias; refuses the fusion where digits would be lost."""
    weights, bias = found.weights, found.bias
    if b is not None:
        vector = _vector(found, b)
        assert vector is not None
        extra = found.per_output(found.array * found.along_inputs(vector))
        bias = summed(extra, np.zeros_like(extra) if bias is None else bias)
        m.require(bias is not None, _INEXACT)
    if m.a is not None:
        vector = _vector(found, m.a)
        assert vector is not None
        product = scaled_weights(weights, _along(found, vector))
        if product is None:
            m.refuse(_INEXACT)
        weights = product
    return weights, bias


FUSIONS = [
    Fusion("constants_into_next_weights", "CONV_2D", (affine, scale, shift), rewrite, check),
    Fusion("factor_into_next_weights", "CONV_2D", affine_read_once, rewrite_factored, check_factored),
    Fusion("gate_factor_into_next_weights", "CONV_2D", gated, rewrite_gated, check_gated),
]
