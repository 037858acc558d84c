"""x * relu6(x + 3) / 6 -> HARD_SWISH."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def hard_swish(tf: Any, x: Any) -> Term:
    shifted = tf.AddV2(x, 3.0)
    gate = tf.Relu6(shifted) | tf.Minimum(tf.Relu(shifted) | tf.Maximum(shifted, 0.0), 6.0)
    gate |= tf.Maximum(tf.Minimum(shifted, 6.0), 0.0) | tf.ClipByValue(shifted, 0.0, 6.0)

    def sixth(value: Any) -> Term:
        return tf.Mul(value, 1 / 6) | tf.RealDiv(value, 6.0)

    return tf.Mul(x, sixth(gate)) | sixth(tf.Mul(x, gate)) | tf.Mul(sixth(x), gate)


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.hard_swish(m.x)


FUSIONS = [Fusion("hard_swish", "HARD_SWISH", hard_swish, rewrite, require_float32)]
