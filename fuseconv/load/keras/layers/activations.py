"""Activation functions, and the layers that are nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import ANY, OWN, PASS, builtin

_FUNCTIONS: dict[str, Callable[[Call, Value], Value]] = {}
_Function = Callable[..., Value]


def _activation(*names: str) -> Callable[[_Function], _Function]:
    def enter(function: _Function) -> _Function:
        _FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return enter


def _op(kind: str) -> _Function:
    return lambda k, x: k.tf.add(kind, [x], {}, x.dtype)


_FUNCTIONS |= {
    "relu": _op("Relu"), "relu6": _op("Relu6"), "sigmoid": _op("Sigmoid"), "tanh": _op("Tanh"),
    "softplus": _op("Softplus"), "softsign": _op("Softsign"), "exponential": _op("Exp"), "elu": _op("Elu"),
    "selu": _op("Selu"), "linear": lambda k, x: x,
}  # fmt: skip


def activate(k: Call, x: Value, activation: Any) -> Value:
    """Apply the function of an `activation` setting: its name, or an object of an architecture; None for none."""
    if activation is None:
        return x
    if isinstance(activation, dict):
        kind, config = activation.get("class_name"), activation.get("config")
        if kind == "function" and isinstance(config, str):
            activation = config
        else:
            module = activation.get("module")
            if kind not in _LAYERS or not isinstance(config, dict) or module not in ("keras.layers", None):
                k.refuse(f"its activation {kind!r} is not read as data")
            return k.inner("activation", kind, config).call([x], {})  # type: ignore[no-any-return]
    function = _FUNCTIONS.get(activation) if isinstance(activation, str) else None
    if function is None:
        k.refuse(f"its activation {activation!r} is not read as data")
    return function(k, x)


_LAYERS = frozenset({"ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax"})


def number(k: Call, x: Value, value: float) -> Value:
    """Return a scalar of the type of x."""
    return k.tf.number(value, x.dtype)


def added(k: Call, x: Value, y: Value) -> Value:
    """Add as Keras does. Keras 3 takes a tensor that has one dimension of more than one element for a bias. Wherever
    that dimension would stand, it adds it along the last dimension of x, or else the second, if that is as large."""
    shape, wide = k.shape(x), [size for size in k.shape(y) if size != 1]
    if not k.model.keras3 or len(shape) < 2 or len(wide) != 1 or not isinstance(wide[0], int):
        return k.tf.AddV2(x, y)
    if wide[0] == shape[-1]:
        return k.tf.AddV2(x, k.tf.reshaped(y, wide))
    if wide[0] == shape[1]:
        return k.tf.AddV2(x, k.tf.reshaped(y, [*wide, *[1] * (len(shape) - 2)]))
    return k.tf.AddV2(x, y)


def times(k: Call, x: Value, factor: float) -> Value:
    return k.tf.Mul(number(k, x, factor), x)


@_activation("silu", "swish")
def silu(k: Call, x: Value) -> Value:
    return k.tf.Mul(x, k.tf.Sigmoid(x))


@_activation("hard_sigmoid")
def hard_sigmoid(k: Call, x: Value) -> Value:
    """relu6(x + 3) / 6 in Keras 3; in Keras 2, 0.2 x + 0.5 between 0 and 1."""
    if not k.model.keras3:
        made = k.tf.AddV2(k.tf.Mul(x, number(k, x, 0.2)), number(k, x, 0.5))
        return k.tf.Maximum(k.tf.Minimum(made, number(k, x, 1)), number(k, x, 0))
    return k.tf.RealDiv(k.tf.Relu6(k.tf.AddV2(x, number(k, x, 3))), number(k, x, 6))


@_activation("hard_silu", "hard_swish")
def hard_silu(k: Call, x: Value) -> Value:
    return k.tf.Mul(x, hard_sigmoid(k, x))


@_activation("mish")
def mish(k: Call, x: Value) -> Value:
    return k.tf.Mul(x, k.tf.Tanh(k.tf.Softplus(x)))


@_activation("gelu")
def gelu(k: Call, x: Value) -> Value:
    """x * Phi(x), in the steps of tf.nn.gelu: 1 + erf(z) would cancel in 16 bits where x is negative."""
    return k.tf.Mul(times(k, x, 0.5), k.tf.Erfc(times(k, k.tf.Neg(x), math.sqrt(0.5))))


def gelu_by_tanh(k: Call, x: Value) -> Value:
    """Approximate GELU, in the steps of tf.nn.gelu."""
    tf = k.tf
    cubed = tf.Pow(x, number(k, x, 3))
    inner = tf.AddV2(x, tf.Mul(number(k, x, 0.044715), cubed))
    inner = tf.Tanh(tf.Mul(number(k, x, 0.7978845608028654), inner))
    return tf.Mul(times(k, x, 0.5), tf.AddV2(number(k, x, 1), inner))


def leaky_relu(k: Call, x: Value, slope: float = 0.2) -> Value:
    return k.tf.LeakyRelu(x, alpha=slope)


@_activation("log_sigmoid")
def log_sigmoid(k: Call, x: Value) -> Value:
    return k.tf.Neg(k.tf.Softplus(k.tf.Neg(x)))


@_activation("hard_tanh")
def hard_tanh(k: Call, x: Value) -> Value:
    return k.tf.Maximum(k.tf.Minimum(x, number(k, x, 1)), number(k, x, -1))


@_activation("tanh_shrink")
def tanh_shrink(k: Call, x: Value) -> Value:
    return k.tf.Sub(x, k.tf.Tanh(x))


def softmax(k: Call, x: Value, axis: int = -1) -> Value:
    return _along_last(k, x, axis, lambda y: k.tf.Softmax(y))


def log_softmax(k: Call, x: Value, axis: int = -1) -> Value:
    return _along_last(k, x, axis, lambda y: k.tf.LogSoftmax(y))


@_activation("celu")
def celu(k: Call, x: Value, alpha: float = 1.0) -> Value:
    zero = number(k, x, 0)
    below = k.tf.Minimum(x, zero)
    if alpha == 1:
        return k.tf.AddV2(k.tf.Maximum(x, zero), k.tf.Expm1(below))
    below = k.tf.Mul(number(k, x, alpha), k.tf.Expm1(k.tf.RealDiv(below, number(k, x, alpha))))
    return k.tf.AddV2(k.tf.Maximum(x, zero), below)


@_activation("glu")
def glu(k: Call, x: Value, axis: int = -1) -> Value:
    """Multiply the first half of a dimension by the sigmoid of the second."""
    (axis,) = axes_of(k, axis, len(k.shape(x)))
    if k.known(x, axis) % 2:
        k.refuse("a gated linear unit of an odd size")
    first, second = k.tf.split(x, 2, axis)
    return k.tf.Mul(first, k.tf.Sigmoid(second))


@_activation("squareplus")
def squareplus(k: Call, x: Value) -> Value:
    tf = k.tf
    root = tf.Sqrt(tf.AddV2(tf.Square(x), number(k, x, 4)))
    return tf.RealDiv(tf.AddV2(x, root), number(k, x, 2))


def _chosen(k: Call, kind: str, x: Value, bound: float, then: Value, other: Value) -> Value:
    return k.tf.SelectV2(k.tf.add(kind, [x, number(k, x, bound)], {}, types.BOOL), then, other, dtype=x.dtype)


@_activation("hard_shrink")
def hard_shrink(k: Call, x: Value, threshold: float = 0.5) -> Value:
    return _chosen(k, "Greater", k.tf.Abs(x), threshold, x, number(k, x, 0))


@_activation("soft_shrink")
def soft_shrink(k: Call, x: Value, threshold: float = 0.5) -> Value:
    by = number(k, x, threshold)
    below = _chosen(k, "Less", x, -threshold, k.tf.AddV2(x, by), number(k, x, 0))
    return _chosen(k, "Greater", x, threshold, k.tf.Sub(x, by), below)


@_activation("sparse_plus")
def sparse_plus(k: Call, x: Value) -> Value:
    """x above 1, 0 below -1, (x + 1)^2 / 4 between."""
    between = times(k, k.tf.Square(k.tf.AddV2(x, number(k, x, 1))), 0.25)
    return _chosen(k, "LessEqual", x, -1, number(k, x, 0), _chosen(k, "Less", x, 1, between, x))


@_activation("sparse_sigmoid")
def sparse_sigmoid(k: Call, x: Value) -> Value:
    """(x + 1) / 2 between 0 and 1."""
    between = times(k, k.tf.AddV2(x, number(k, x, 1)), 0.5)
    return k.tf.Minimum(k.tf.Maximum(between, number(k, x, 0)), number(k, x, 1))


@_activation("sparsemax")
def sparsemax(k: Call, x: Value) -> Value:
    """Project the last dimension onto what sums up to one: x minus a threshold, where that is positive."""
    tf, size = k.tf, k.known(x, -1)
    if size < 1:
        k.refuse("a sparsemax of nothing")
    budget.require_elements((size,), np.dtype(np.int64), f"{tf.scope}/Const")
    ordered = tf.several("TopKV2", [x, tf.ints(size)], {}, [x.dtype, types.INT32])[0]
    sums, one = tf.Cumsum(ordered, tf.ints(len(k.shape(x)) - 1)), number(k, x, 1)
    counts = tf.array(np.arange(1, size + 1), x.dtype)
    above = tf.Greater(tf.Sub(ordered, tf.RealDiv(tf.Sub(sums, one), counts)), number(k, x, 0), dtype=types.BOOL)
    kept = tf.SelectV2(above, sums, number(k, x, 0), dtype=x.dtype)
    count = tf.Sum(tf.Cast(above, dtype=x.dtype), tf.ints([-1]), keep_dims=True)
    threshold = tf.RealDiv(tf.Sub(tf.Sum(kept, tf.ints([-1]), keep_dims=True), one), count)
    return tf.Maximum(tf.Sub(x, threshold), number(k, x, 0))


_FUNCTIONS |= {"leaky_relu": leaky_relu, "softmax": softmax, "log_softmax": log_softmax}


def _along_last(k: Call, x: Value, axis: int, function: Callable[[Value], Value]) -> Value:
    """Apply a function along an axis that works along the last: the two change places."""
    rank = len(k.shape(x))
    (axis,) = axes_of(k, axis, rank)
    if rank < 2:
        k.refuse("a softmax of a vector")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return k.tf.transpose(function(k.tf.transpose(x, order)), order)


def rectified(k: Call, x: Value, slope: float, most: float | None, threshold: float) -> Value:
    """Build ReLU with a slope below the threshold and a largest value, in the steps in which Keras does."""
    tf = k.tf
    if slope and most is None and threshold == 0:
        return leaky_relu(k, x, slope)
    negative = None
    if slope:
        negative = tf.Relu(tf.AddV2(tf.Neg(x), number(k, x, threshold)) if threshold else tf.Neg(x))
    clips = most is not None
    if threshold:
        above = tf.Greater(x, number(k, x, threshold), dtype=types.BOOL)
        made = tf.SelectV2(above, x, number(k, x, 0), dtype=x.dtype)
    elif most == 6:
        made, clips = tf.Relu6(x), False
    else:
        made = tf.Relu(x)
    if clips:
        assert most is not None
        made = tf.Maximum(tf.Minimum(made, number(k, x, most)), number(k, x, 0))
    return made if negative is None else tf.Sub(made, times(k, negative, slope))


@builtin("Activation", masks=PASS, half=True)
def activation(k: Call, x: Value, *, activation: str | dict) -> Value:
    return activate(k, x, activation)


@builtin("ReLU", masks=PASS, half=True)
def relu(
    k: Call, x: Value, *, max_value: float | None = None, negative_slope: float | None = 0.0,
    threshold: float | None = 0.0,
) -> Value:  # fmt: skip
    return rectified(k, x, negative_slope or 0.0, max_value, threshold or 0.0)


@builtin("LeakyReLU", masks=PASS, half=True)
def leaky_relu_layer(k: Call, x: Value, *, negative_slope: float | None = None, alpha: float | None = None) -> Value:
    given = [slope for slope in (negative_slope, alpha) if slope is not None]
    return rectified(k, x, given[0] if given else 0.3, None, 0.0)


@builtin("ELU", masks=PASS, half=True)
def elu(k: Call, x: Value, *, alpha: float = 1.0) -> Value:
    made = k.tf.Elu(x)
    if alpha == 1:
        return made
    return k.tf.SelectV2(k.tf.Greater(x, number(k, x, 0), dtype=types.BOOL), made, times(k, made, alpha),
                         dtype=x.dtype)  # fmt: skip


@builtin("PReLU", masks=PASS, half=True)
def prelu(k: Call, x: Value, *, shared_axes: list[int] | None = None) -> Value:
    shape = k.shape(x)
    shared = set(axes_of(k, shared_axes, len(shape))) if shared_axes else set()
    alpha = k.weight("alpha", [1 if axis in shared else k.known(x, axis) for axis in range(1, len(shape))])
    negative = k.tf.Mul(k.tf.Neg(alpha), k.tf.Relu(k.tf.Neg(x)))
    return k.tf.AddV2(k.tf.Relu(x), negative)


@builtin("ThresholdedReLU", masks=PASS)
def thresholded_relu(k: Call, x: Value, *, theta: float = 1.0) -> Value:
    return k.tf.Mul(x, k.tf.Cast(k.tf.Greater(x, number(k, x, theta), dtype=types.BOOL), dtype=x.dtype))


# What Keras' layer puts in the place of masked scores; in 16 bits Keras 3, and tf-keras, another number.
MASKED = -1e9
_MASKED_HALF = (-3e4, -65504.0)


@builtin("Softmax", masks=OWN, takes=ANY, half=True)
def softmax_layer(k: Call, x: Value, mask: Any = None, *, axis: int | list[int] = -1) -> Value:
    mask = k.option("mask", mask)
    axes = axes_of(k, axis, len(k.shape(x)))
    if not x.dtype.is_float or (mask is None and k.mask(x) is not None):
        k.refuse(f"it is called on {x.dtype}, or on what is masked by steps")
    if mask is None:
        return softmax_along(k, x, axes)
    if not isinstance(mask, Value) or mask.dtype is not types.BOOL:
        k.refuse("its mask is no tensor of booleans")
    return masked_softmax(k, x, mask, lambda scores: softmax_along(k, scores, axes))


def masked_softmax(k: Call, scores: Value, mask: Value, function: Callable[[Value], Value]) -> Value:
    """Apply a softmax where a mask is true, as the layer Softmax does: Keras 3 leaves zeros elsewhere."""
    lowest = _MASKED_HALF[not k.model.keras3] if scores.dtype is types.FLOAT16 else MASKED
    zero, low = number(k, scores, 0), number(k, scores, lowest)
    if not k.model.keras3:
        return function(k.tf.AddV2(scores, k.tf.SelectV2(mask, zero, low, dtype=scores.dtype)))
    made = function(k.tf.SelectV2(mask, scores, low, dtype=scores.dtype))
    return k.tf.SelectV2(mask, made, zero, dtype=scores.dtype)


def softmax_along(k: Call, x: Value, axes: list[int]) -> Value:
    """Return the softmax along one dimension or several, in the steps of tf.reduce_logsumexp."""
    if len(axes) == 1:
        return softmax(k, x, axes[0])
    tf = k.tf
    shifted = tf.Sub(x, tf.Max(x, tf.ints(axes), keep_dims=True))
    return tf.Exp(tf.Sub(shifted, tf.Log(tf.Sum(tf.Exp(shifted), tf.ints(axes), keep_dims=True))))
