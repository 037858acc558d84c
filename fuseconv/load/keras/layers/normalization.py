"""Normalizations."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import HALVES, Call
from fuseconv.load.keras.layers.activations import number
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import PASS, builtin


@builtin(
    "BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2", "SyncBatchNormalization", masks=PASS,
    virtual_batch_size=None, half=True, unread=("renorm_clipping", "renorm_momentum"),
)  # fmt: skip
def batch_normalization(
    k: Call, x: Value, *, axis: int | list[int] = -1, momentum: float = 0.99, epsilon: float = 1e-3,
    center: bool = True, scale: bool = True, renorm: bool = False,
) -> Value:  # fmt: skip
    rank = len(k.shape(x))
    axes = axes_of(k, axis, rank)
    if len(axes) != 1:
        k.refuse(f"axis={axis!r}")
    size, x = [k.known(x, axes[0])], k.single(x)
    gamma = k.weight("gamma", size, dtype=types.FLOAT32) if scale else None
    beta = k.weight("beta", size, dtype=types.FLOAT32) if center else None
    mean = k.weight("moving_mean", size, trainable=False, dtype=types.FLOAT32)
    variance = k.weight("moving_variance", size, trainable=False, dtype=types.FLOAT32)
    for name in ("moving_stddev", "renorm_mean", "renorm_stddev") if renorm else ():  # of training
        k.weight(name, size, trainable=False, dtype=types.FLOAT32)
    if axes[0] != rank - 1:
        shape = [size[0] if at == axes[0] else 1 for at in range(rank)]
        gamma, beta = (each if each is None else k.tf.reshaped(each, shape) for each in (gamma, beta))
        mean, variance = k.tf.reshaped(mean, shape), k.tf.reshaped(variance, shape)
    return k.computed(normalized(k, x, mean, variance, gamma, beta, epsilon))


def normalized(
    k: Call, x: Value, mean: Value, variance: Value, gamma: Value | None, beta: Value | None, epsilon: float
) -> Value:
    """Scale by gamma / sqrt(variance + epsilon) and shift, in the steps of tf.nn.batch_normalization."""
    tf = k.tf
    inverse = tf.Rsqrt(tf.AddV2(variance, number(k, x, epsilon)))
    if gamma is not None:
        inverse = tf.Mul(inverse, gamma)
    shift = tf.Mul(mean, inverse)
    shift = tf.Neg(shift) if beta is None else tf.Sub(beta, shift)
    return tf.AddV2(tf.Mul(x, inverse), shift)


def moments(k: Call, x: Value, axes: list[int]) -> tuple[Value, Value]:
    """Return mean and variance, in the steps of tf.nn.moments, with the reduced dimensions kept."""
    tf = k.tf
    mean = tf.Mean(x, tf.ints(axes), keep_dims=True)
    return mean, tf.Mean(tf.SquaredDifference(x, mean), tf.ints(axes), keep_dims=True)


@builtin("LayerNormalization", masks=PASS, half=True, casts=False)
def layer_normalization(
    k: Call, x: Value, *, axis: int | list[int] = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
    rms_scaling: bool = False,
) -> Value:  # fmt: skip
    """Normalize over `axis` by mean and variance; with rms_scaling, (x / deviation) * gamma, without subtracting the
    mean."""
    rank = len(k.shape(x))
    axes = axes_of(k, axis, rank)
    x = x if k.model.keras3 else k.autocast(x)  # which Keras 3 does not do
    if x.dtype in HALVES and not k.model.keras3:
        k.refuse(f"tf-keras computes it in other steps in {x.dtype}")
    shape, x = [k.known(x, at) for at in axes], k.single(x)
    gamma = k.weight("gamma", shape, dtype=types.FLOAT32) if scale or rms_scaling else None
    beta = k.weight("beta", shape, dtype=types.FLOAT32) if center and not rms_scaling else None
    if axes != [rank - 1]:
        wide = [k.known(x, at) if at in axes else 1 for at in range(rank)]
        gamma, beta = (each if each is None else k.tf.reshaped(each, wide) for each in (gamma, beta))
    mean, variance = moments(k, x, axes)
    tf = k.tf
    inverse = tf.Rsqrt(tf.AddV2(variance, number(k, x, epsilon)))
    if rms_scaling:  # which subtracts no mean, though it divides by the deviation
        return k.computed(tf.Mul(tf.Mul(x, inverse), gamma))
    if gamma is not None:
        inverse = tf.Mul(inverse, gamma)
    shift = tf.Mul(tf.Neg(mean), inverse)
    if beta is not None:
        shift = tf.AddV2(shift, beta)
    return k.computed(tf.AddV2(tf.Mul(x, inverse), shift))


@builtin("GroupNormalization", masks=PASS)
def group_normalization(
    k: Call, x: Value, *, groups: int = 32, axis: int = -1, epsilon: float = 1e-3, center: bool = True,
    scale: bool = True,
) -> Value:  # fmt: skip
    """Normalize each group of channels over all but the batch: [n, ..., c] -> [n, ..., groups, c / groups] -> [n, ...,
    c]. groups=-1: each channel by itself."""
    rank = len(k.shape(x))
    (axis,) = axes_of(k, axis, rank)
    channels = k.known(x, axis)
    groups = channels if groups == -1 else groups
    if axis == 0 or groups < 1 or channels % groups:
        k.refuse(f"groups={groups} of {channels} channels")
    gamma = k.weight("gamma", [channels]) if scale else None
    beta = k.weight("beta", [channels]) if center else None
    tf = k.tf
    parts = [groups, channels // groups]
    split = tf.reshaped(x, [*(-1 if at == 0 else str(at) for at in range(axis)), *parts,
                            *map(str, range(axis + 1, rank))])  # fmt: skip
    wide = [1] * axis + parts + [1] * (rank - axis - 1)
    mean, variance = moments(k, split, [at for at in range(1, rank + 1) if at != axis])
    inverse = tf.Rsqrt(tf.AddV2(variance, number(k, x, epsilon)))
    if gamma is not None:
        inverse = tf.Mul(inverse, tf.reshaped(gamma, wide))
    shift = tf.Mul(tf.Neg(mean), inverse)
    if beta is not None:
        shift = tf.AddV2(shift, tf.reshaped(beta, wide))
    return tf.Reshape(tf.AddV2(tf.Mul(split, inverse), shift), tf.shape(x))


@builtin("RMSNormalization")
def rms_normalization(k: Call, x: Value, *, axis: int | list[int] = -1, epsilon: float = 1e-6) -> Value:
    rank = len(k.shape(x))
    axes = axes_of(k, axis, rank)
    if axes != list(range(rank - len(axes), rank)):
        k.refuse(f"axis={axis!r}, where Keras multiplies the last dimensions")
    tf = k.tf
    scale = k.weight("scale", [k.known(x, at) for at in axes])
    inverse = tf.Rsqrt(tf.AddV2(tf.Mean(tf.Square(x), tf.ints(axes), keep_dims=True), number(k, x, epsilon)))
    return tf.Mul(tf.Mul(x, inverse), scale)


@builtin("UnitNormalization", masks=PASS)
def unit_normalization(k: Call, x: Value, *, axis: int | list[int] = -1) -> Value:
    tf, axes = k.tf, axes_of(k, axis, len(k.shape(x)))
    total = tf.Sum(tf.Square(x), tf.ints(axes), keep_dims=True)
    if not k.model.keras3:
        return tf.Mul(x, tf.Rsqrt(tf.Maximum(total, number(k, x, 1e-12))))
    return tf.Mul(x, tf.Minimum(tf.Rsqrt(total), number(k, x, 1e12)))
