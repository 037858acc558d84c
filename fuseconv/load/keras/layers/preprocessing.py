"""Preprocessing."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import added, number
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.model import class_of, config_of, numbered
from fuseconv.load.keras.registry import ANY, AS_THEY_ARE, OWN, PASS_IN_3, builtin


def _as_computed(k: Call, x: Value) -> Value:
    if not k.dtype.is_float:
        k.refuse(f"it computes in {k.dtype}")
    return x if x.dtype is k.dtype else k.tf.Cast(x, dtype=k.dtype)


def _numbers(k: Call, value: Any) -> np.ndarray:
    """Return the numbers in a setting, as an array: a number, or nested lists of them."""
    if isinstance(value, dict) and value.get("class_name") == "__numpy__":
        value = value["config"]["value"]
    array = np.asarray(value)
    if array.dtype.kind not in "if" or array.ndim > 8:
        k.refuse(f"{str(value)[:60]} are no numbers")
    return array


@builtin("Rescaling", masks=PASS_IN_3, takes=ANY, half=True)
def rescaling(k: Call, x: Value, *, scale: float | list[float], offset: float | list[float] = 0.0) -> Value:
    scales, offsets = (k.tf.array(_numbers(k, each), k.dtype) for each in (scale, offset))
    return k.tf.AddV2(k.tf.Mul(_as_computed(k, x), scales), offsets)


@builtin("Normalization", masks=PASS_IN_3, takes=ANY, half=True)
def normalization(
    k: Call, x: Value, *, axis: int | list[int] | None = -1, invert: bool = False, mean: Any = None,
    variance: Any = None,
) -> Value:  # fmt: skip
    """Compute (x - mean) / max(√variance, 1e-7), or invert it. Mean and variance are weights unless the config has
    them."""
    tf, rank = k.tf, len(k.shape(x))
    kept = axes_of(k, axis, rank) if axis or axis == 0 else []
    wide = [k.known(x, at) if at in kept else 1 for at in range(rank)]
    if mean is None:
        shape = [k.known(x, at) for at in kept]
        means = tf.reshaped(k.weight("mean", shape, trainable=False), wide)
        variances = tf.reshaped(k.weight("variance", shape, trainable=False), wide)
        k.weight("count", [], trainable=False, dtype=types.INT64)
    else:
        means, variances = (tf.array(_broadcast(k, each, kept, wide), k.dtype) for each in (mean, variance))
    x = _as_computed(k, x)
    deviation = tf.Maximum(tf.Sqrt(variances), number(k, x, 1e-7))
    if invert:
        return added(k, means, tf.Mul(x, deviation))
    return tf.RealDiv(tf.Sub(x, means), deviation)


def _broadcast(k: Call, value: Any, kept: list[int], wide: list[int]) -> np.ndarray:
    """Return numbers along the kept axes, from the last on, in the rank of the input."""
    array = _numbers(k, value)
    if array.ndim > len(kept) and array.size > 1:
        array = array.reshape([size for size in array.shape if size > 1])
    shape = [1] * len(wide)
    for size, axis in zip(reversed(array.shape), reversed(kept)):
        shape[axis] = size
    return np.broadcast_to(array.reshape(shape), wide)


# What random layers are told of how they change pictures while they are trained on.
_CHANCES = (
    "factor", "height_factor", "width_factor", "x_factor", "y_factor", "brightness_factor", "contrast_factor",
    "saturation_factor", "hue_factor", "value_range", "scale", "sigma", "kernel_size", "mode", "fill_mode",
    "fill_value", "interpolation", "data_format", "alpha", "num_chains", "chain_depth", "all_ops", "num_ops",
    "rng_type", "addition_factor", "threshold_factor",
)  # fmt: skip


@builtin(
    "RandomFlip", "RandomRotation", "RandomTranslation", "RandomZoom", "RandomShear", "RandomPerspective",
    "RandomSharpness", "RandomErasing", "RandomElasticTransform", "RandomGaussianBlur", "RandomBrightness",
    "RandomContrast", "RandomGrayscale", "RandomHue", "RandomSaturation", "RandomPosterization",
    "RandomColorDegeneration", "RandomColorJitter", "RandomInvert", "Solarization", "AugMix", "RandAugment", "CutMix",
    "MixUp", takes=ANY, unread=_CHANCES, half=True,
)  # fmt: skip
def random_picture(k: Call, x: Value) -> Value:
    """Hand on the input as floats: the layer changes it in training only."""
    return _as_computed(k, x)


@builtin("RandomHeight", "RandomWidth", takes=ANY, unread=_CHANCES)
def random_size(k: Call, x: Value) -> Value:
    """Hand on the input: the layer changes it in training only."""
    return x


@builtin("Pipeline", masks=OWN, takes=AS_THEY_ARE)
def pipeline(k: Call, x: Any, *, layers: list) -> Any:
    """Call layers one after the other."""
    kinds = [class_of(data) for data in layers]
    for attribute, kind, data in zip(numbered("_pipeline_layers", kinds), kinds, layers):
        x = k.inner(attribute, kind, config_of(data)).call([x], {})
    return x
