"""Random numbers: of the same distribution as TensorFlow's, and from the same seeds, but not the same numbers."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.lower.carriers import cast
from fuseconv.lower.rules import lowers


@lowers
def RandomUniform(tfl, shape, *, seed=0, seed2=0):
    """RANDOM_UNIFORM."""
    return cast(tfl, tfl.random_uniform(cast(tfl, shape, types.INT32), seed=seed, seed2=seed2), tfl.dtype)


@lowers
def RandomStandardNormal(tfl, shape, *, seed=0, seed2=0):
    """RANDOM_STANDARD_NORMAL."""
    return cast(tfl, tfl.random_standard_normal(cast(tfl, shape, types.INT32), seed=seed, seed2=seed2), tfl.dtype)


@lowers
def Multinomial(tfl, logits, num_samples, *, seed=0, seed2=0):
    """MULTINOMIAL."""
    logits, count = cast(tfl, logits, types.FLOAT32), cast(tfl, num_samples, types.INT32)
    return tfl.multinomial(logits, count, seed=seed, seed2=seed2, results=[(tfl.dtype, tfl.shape)])
