"""Random numbers. TFLite's generators give the distribution, not TensorFlow's numbers. They go on from one run to the
next, as TensorFlow's do, and start anew from the seeds, if there are any, when an interpreter is made.

What is drawn from seeds that are operands (Stateless...) is a function of them. It is folded where the seeds are
constants, and a draw like the others where the model moves the seeds on (`transforms/tf/legalize_seeded_random.py`).
Else it is computed (`lower/ops/stateless_random.py`).
"""

from __future__ import annotations

import math

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.special import erfinv
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, shape_of
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, scalar
from fuseconv.lower.support.type_promotion import cast, in_float32

_TWO_SIGMA = math.erf(math.sqrt(2.0))


@lowers
@in_float32
def RandomUniform(tfl, shape, *, seed=0, seed2=0):
    """RANDOM_UNIFORM."""
    return _uniform(tfl, shape, seed, seed2)


@lowers
@in_float32
def RandomStandardNormal(tfl, shape, *, seed=0, seed2=0):
    """RANDOM_STANDARD_NORMAL."""
    return tfl.random_standard_normal(cast(tfl, shape, types.INT32), **_seeds(seed, seed2))


@lowers
@in_float32
def TruncatedNormal(tfl, shape, *, seed=0, seed2=0):
    """The inverse of the normal distribution's integral, of RANDOM_UNIFORM numbers between its values at -2 and 2."""
    spread = tfl.sub(tfl.mul(_uniform(tfl, shape, seed, seed2), 2 * _TWO_SIGMA), _TWO_SIGMA)
    return tfl.mul(erfinv(tfl, spread), math.sqrt(2.0))


@lowers
def RandomUniformInt(tfl, shape, minval, maxval, *, seed=0, seed2=0):
    """RANDOM_UNIFORM numbers as the bits of an integer, modulo the range."""
    # TensorFlow takes what is left of 32 bits for int32, of 64 for int64; those here are 16 at a time.
    halves = 2 if tfl.dtype is types.INT32 else 4
    bits = scalar(0, types.INT64)
    for half in range(halves):
        piece = tfl.floor(tfl.mul(_uniform(tfl, shape, seed, seed2 + half if seed or seed2 else 0), 2.0**16))
        if half == 3:
            piece = tfl.floor(tfl.mul(piece, 0.5))  # an int64 has 63 bits that are not its sign
        bits = elementwise(tfl, "ADD", elementwise(tfl, "MUL", bits, 1 << 16), cast(tfl, piece, types.INT64))
    low, high = cast(tfl, minval, types.INT64), cast(tfl, maxval, types.INT64)
    rest = elementwise(tfl, "FLOOR_MOD", bits, tfl.sub(high, low))
    return cast(tfl, elementwise(tfl, "ADD", rest, low), tfl.dtype)


@lowers
def RandomShuffle(tfl, x, *, seed=0, seed2=0):
    """GATHER in the order that TOPK_V2 gives RANDOM_UNIFORM numbers."""
    count = dim_scalar(tfl, shape_of(x)[0], x)
    _, order = tfl.topk_v2(_uniform(tfl, tfl.reshape(count, [1]), seed, seed2), count)
    return build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, order, axis=0), x)


@lowers
def Multinomial(tfl, logits, num_samples, *, seed=0, seed2=0):
    """MULTINOMIAL."""
    require(tfl.dtype in (types.INT32, types.INT64), f"MULTINOMIAL makes no {tfl.dtype}")
    result = [(tfl.dtype, tfl.shape)]
    return tfl.multinomial(cast(tfl, logits, types.FLOAT32), num_samples, results=result, **_seeds(seed, seed2))


def _uniform(tfl: Lowering, shape: Value, seed: int, seed2: int) -> Value:
    return tfl.random_uniform(cast(tfl, shape, types.INT32), **_seeds(seed, seed2))


def _seeds(seed: int, seed2: int) -> dict[str, int]:
    """Return the seeds as attributes; TFLite too takes two zeros for none."""
    return {"seed": seed, "seed2": seed2}
