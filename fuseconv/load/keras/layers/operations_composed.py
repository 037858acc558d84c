"""Functions of `keras.ops` that take several ops: norms, attention, differences, logarithms to a base."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers import tensors
from fuseconv.load.keras.layers.activations import number
from fuseconv.load.keras.layers.attention import causal_mask, softmax_of_scores
from fuseconv.load.keras.layers.normalization import moments
from fuseconv.load.keras.layers.operations import operation
from fuseconv.load.keras.layers.reshaping import repeated
from fuseconv.load.keras.layers.settings import axes_of, channels_first

# What Keras adds to a variance where nothing is said.
_EPSILON = 1e-7


def _logarithm(base: float) -> Callable[..., Value]:
    def build(k: Call, x: Value) -> Value:
        made = k.tf.Log(tensors.floats(k, x))
        return k.tf.RealDiv(made, k.tf.Log(number(k, made, base)))

    return build


operation("Log2")(_logarithm(2))
operation("Log10")(_logarithm(10))


@operation("StopGradient", half=True)
def stop_gradient(k: Call, x: Value) -> Value:
    return x


@operation("BroadcastTo", half=True)
def broadcast_to(k: Call, x: Value, *, shape: list[int]) -> Value:
    return k.tf.BroadcastTo(x, k.tf.ints(shape), dtype=x.dtype)


@operation("Slice", half=True)
def slice_(k: Call, x: Value, starts: Any, *, shape: list[int]) -> Value:
    if not isinstance(starts, list) or not all(type(start) is int and start >= 0 for start in starts):
        k.refuse(f"the starts {str(starts)[:60]}")
    return k.tf.Slice(x, k.tf.ints(starts), k.tf.ints(shape))


@operation("Append", half=True)
def append(k: Call, x1: Any, x2: Any, *, axis: int) -> Value:
    return tensors.joined(k, [x1, x2], axis)


@operation("Vstack", half=True)
def vstack(k: Call, xs: Any) -> Value:
    return tensors.joined(k, xs, 0)


@operation("Hstack", half=True)
def hstack(k: Call, xs: Any) -> Value:
    return tensors.joined(k, xs, 1)


@operation("Diff", n=1)
def diff(k: Call, x: Value, *, axis: int = -1) -> Value:
    """Return how each element differs from the one before it along an axis."""
    (axis,) = axes_of(k, axis, len(k.shape(tensors.numbers(k, x))))
    later, earlier = (tensors.sliced(k, x, [slice(None)] * axis + [key]) for key in (slice(1, None), slice(None, -1)))
    return k.tf.Sub(later, earlier)


@operation("DivideNoNan")
def divide_no_nan(k: Call, x1: Any, x2: Any) -> Value:
    a, b = (tensors.floats(k, x) for x in tensors.operands(k, x1, x2))
    return k.tf.DivNoNan(a, b)


@operation("Logaddexp")
def logaddexp(k: Call, x1: Any, x2: Any) -> Value:
    tf = k.tf
    a, b = (tensors.floats(k, x) for x in tensors.operands(k, x1, x2))
    apart = tf.Sub(a, b)
    made = tf.AddV2(tf.Maximum(a, b), tf.Log1p(tf.Exp(tf.Neg(tf.Abs(apart)))))
    # Infinities of one sign lie no number apart.
    return tf.SelectV2(tf.NotEqual(apart, apart, dtype=types.BOOL), tf.AddV2(a, b), made, dtype=made.dtype)


@operation("LogicalXor")
def logical_xor(k: Call, x1: Any, x2: Any) -> Value:
    a, b = (tensors.cast(k, x, types.BOOL) for x in tensors.operands(k, x1, x2))
    return k.tf.NotEqual(a, b, dtype=types.BOOL)


@operation("CountNonzero")
def count_nonzero(k: Call, x: Value, *, axis: int | list[int] | None = None) -> Value:
    return tensors.reduced(k, "Sum", tensors.cast(k, tensors.cast(k, x, types.BOOL), types.INT32), axis, False)


@operation("Trunc")
def trunc(k: Call, x: Value) -> Value:
    tf, x = k.tf, tensors.floats(k, x)
    return tf.SelectV2(tf.Less(x, number(k, x, 0), dtype=types.BOOL), tf.Ceil(x), tf.Floor(x), dtype=x.dtype)


@operation("Threshold")
def threshold(k: Call, x: Value, *, threshold: float, default_value: float) -> Value:
    kept = k.tf.Greater(tensors.floats(k, x), number(k, x, threshold), dtype=types.BOOL)
    return k.tf.SelectV2(kept, x, number(k, x, default_value), dtype=x.dtype)


@operation("Moments", synchronized=False)
def moments_(k: Call, x: Value, *, axes: int | list[int], keepdims: bool = False) -> list[Value]:
    found = axes_of(k, axes, len(k.shape(tensors.floats(k, x))))
    made = moments(k, x, found)
    return list(made) if keepdims else [k.tf.Squeeze(each, squeeze_dims=found) for each in made]


@operation("LayerNorm", rms_scaling=False)
def layer_norm(
    k: Call, x: Value, gamma: Any = None, beta: Any = None, *, axis: int | list[int] = -1, epsilon: float | None = None
) -> Value:
    tf, axes = k.tf, axes_of(k, axis, len(k.shape(tensors.floats(k, x))))
    mean, variance = moments(k, x, axes)
    inverse = tf.Rsqrt(tf.AddV2(variance, number(k, x, _EPSILON if epsilon is None else epsilon)))
    inverse = inverse if gamma is None else tf.Mul(inverse, _along(k, x, gamma, axes))
    shift = tf.Mul(tf.Neg(mean), inverse)
    shift = shift if beta is None else tf.AddV2(shift, _along(k, x, beta, axes))
    return tf.AddV2(tf.Mul(x, inverse), shift)


@operation("RMSNorm")
def rms_norm(
    k: Call, x: Value, scale: Any = None, *, axis: int | list[int] = -1, epsilon: float | None = None
) -> Value:
    tf, axes = k.tf, axes_of(k, axis, len(k.shape(tensors.floats(k, x))))
    mean = tf.Mean(tf.Square(x), tf.ints(axes), keep_dims=True)
    made = tf.Mul(x, tf.Rsqrt(tf.AddV2(mean, number(k, x, _EPSILON if epsilon is None else epsilon))))
    if scale is not None and axes != [len(k.shape(x)) - 1]:
        k.refuse(f"axis={axis} and a scale")
    return made if scale is None else tf.Mul(made, tensors.floats(k, k.constant(scale)))


@operation("BatchNorm")
def batch_norm(
    k: Call, x: Value, mean: Any, variance: Any, offset: Any = None, scale: Any = None, *, axis: int,
    epsilon: float = 1e-3,
) -> Value:  # fmt: skip
    tf, axes = k.tf, axes_of(k, axis, len(k.shape(tensors.floats(k, x))))
    inverse = tf.Rsqrt(tf.AddV2(_along(k, x, variance, axes), number(k, x, epsilon)))
    inverse = inverse if scale is None else tf.Mul(inverse, _along(k, x, scale, axes))
    shift = tf.Neg(tf.Mul(_along(k, x, mean, axes), inverse))
    shift = shift if offset is None else tf.AddV2(_along(k, x, offset, axes), shift)
    return tf.AddV2(tf.Mul(x, inverse), shift)


def _along(k: Call, x: Value, values: Any, axes: list[int]) -> Value:
    """Return the values of some dimensions of x, so that they spread over the others."""
    given, shape = tensors.floats(k, k.constant(values)), k.shape(x)
    if k.shape(given) != tuple(shape[axis] for axis in axes):
        k.refuse(f"its operand has the shape {given.shape}, of the dimensions {axes} of {shape}")
    if axes == [len(shape) - 1]:
        return given
    return k.tf.reshaped(given, [k.known(x, at) if at in axes else 1 for at in range(len(shape))])


@operation("Sort")
def sort(k: Call, x: Value, *, axis: int = -1) -> Value:
    return tensors.ordered(k, x, axis)[0]


@operation("Argsort")
def argsort(k: Call, x: Value, *, axis: int = -1) -> Value:
    return tensors.ordered(k, x, axis)[1]


@operation("Tensordot")
def tensordot(k: Call, x1: Any, x2: Any, *, axes: int | list = 2) -> Value:
    return tensors.dotted(k, x1, x2, axes)


@operation("Dot")
def dot(k: Call, x1: Any, x2: Any) -> Value:
    """Sum products over the last dimension of a tensor and the last but one of another, or the only one of a vector."""
    a, b = tensors.operands(k, x1, x2)
    return tensors.dotted(k, a, b, [[-1], [-1 if len(k.shape(b)) == 1 else -2]])


@operation("Inner")
def inner(k: Call, x1: Any, x2: Any) -> Value:
    return tensors.dotted(k, x1, x2, [[-1], [-1]])


@operation("Digitize")
def digitize(k: Call, x: Value, bins: Any) -> Value:
    if not isinstance(bins, (list, np.ndarray)) or np.ndim(bins) != 1:
        k.refuse("its bins are no list of numbers")
    return k.tf.Bucketize(tensors.floats(k, x), boundaries=[float(edge) for edge in bins], dtype=types.INT32)


@operation("NanToNum")
def nan_to_num(
    k: Call, x: Value, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Value:
    tf, most = k.tf, float(np.finfo(np.float32).max)
    if tensors.floats(k, x).dtype is not types.FLOAT32:
        k.refuse(f"it is called on {x.dtype}")
    x = tf.SelectV2(tf.IsNan(x, dtype=types.BOOL), number(k, x, nan), x, dtype=x.dtype)
    for end, given, other in ((math.inf, posinf, most), (-math.inf, neginf, -most)):
        is_there = tf.Equal(x, number(k, x, end), dtype=types.BOOL)
        x = tf.SelectV2(is_there, number(k, x, other if given is None else given), x, dtype=x.dtype)
    return x


@operation("Exp2")
def exp2(k: Call, x: Value) -> Value:
    return tensors.binary(k, "Pow", 2.0, tensors.floats(k, x))


@operation("RGBToGrayscale")
def rgb_to_grayscale(k: Call, images: Value, *, data_format: str | None = None) -> Value:
    if channels_first(k, data_format) or len(k.shape(tensors.floats(k, images))) not in (3, 4):
        k.refuse("its pictures have the channels first, or other dimensions")
    if k.known(images, -1) == 1:
        return images
    weights = k.tf.array(np.reshape([0.2989, 0.5870, 0.1140], (3, 1)), images.dtype)
    return tensors.matmul(k, images, weights)


@operation("DotProductAttention", flash_attention=None, attn_logits_soft_cap=None)
def dot_product_attention(k: Call, query: Value, key: Value, value: Value, *, is_causal: bool = False) -> Value:
    """Attend from a query [B, T, N, H] to a key and a value [B, S, M, H], where N is M or some times as many."""
    tf, mask, scale = k.tf, k.option("mask"), k.option("scale")
    heads, groups = (k.known(tensors.floats(k, x), 2) for x in (query, key))
    if {len(k.shape(x)) for x in (query, key, value)} != {4} or heads % groups or k.known(value, 2) != groups:
        k.refuse("its operands are other than queries, keys and values of heads")
    if scale is not None and not (isinstance(scale, float) and math.isclose(scale, k.known(query, 3) ** -0.5)):
        k.refuse(f"scale={scale}")
    if mask is not None and (not isinstance(mask, Value) or mask.dtype is not types.BOOL or len(k.shape(mask)) != 4):
        k.refuse("its mask is no tensor of booleans of four dimensions")
    if is_causal:
        causal = tf.ExpandDims(causal_mask(k, query, key), 1)
        mask = causal if mask is None else tf.LogicalAnd(mask, causal, dtype=types.BOOL)
    key, value = (repeated(k, x, heads // groups, 2) for x in (key, value))
    weights = softmax_of_scores(k, query, key, mask, by_layer=False)
    return tf.Einsum(weights, value, equation="BNTS,BSNH->BTNH")
