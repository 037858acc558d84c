"""exp(x - max) / sum(exp(x - max)) along the last dimension -> SOFTMAX; its logarithm -> LOG_SOFTMAX.

Without the maximum the model overflows where the ops do not, and is left as it is.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.fusions.l2_normalization import require_last_axis
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK


@pattern
def softmax(tf: Any, x: Any, axes: Constant) -> Term:
    power = tf.Exp(tf.Sub(x, tf.Max(x, axes, keep_dims=True)))
    return tf.RealDiv(power, tf.Sum(power, axes, keep_dims=True))


@pattern
def log_softmax(tf: Any, x: Any, axes: Constant) -> Term:
    shifted = tf.Sub(x, tf.Max(x, axes, keep_dims=True))
    return tf.Sub(shifted, tf.Log(tf.Sum(tf.Exp(shifted), axes, keep_dims=True)))


@pattern
def less_log_sum_exp(tf: Any, x: Any, axes: Constant) -> Term:
    largest = tf.Max(x, axes, keep_dims=True)
    # What tf.reduce_logsumexp takes off before it raises.
    finite = tf["SelectV2", "Select"](tf.IsFinite(largest), largest, 0.0) | largest
    return tf.Sub(x, tf.AddV2(tf.Log(tf.Sum(tf.Exp(tf.Sub(x, finite)), axes, keep_dims=True)), finite))


def check(m: Match) -> None:
    require_float32(m)
    require_last_axis(m)


def check_softmax(m: Match) -> None:
    check(m)
    m.require(m.x.rank <= RANK["SOFTMAX"], "SOFTMAX takes fewer dimensions than the data has")


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.softmax(m.x, beta=1.0)


def rewrite_log(tfl: Builder, m: Match) -> Value:
    """x - max - log(sum(exp(x - max))) -> LOG_SOFTMAX."""
    return tfl.log_softmax(m.x)


FUSIONS = [
    Fusion("softmax", "SOFTMAX", softmax, rewrite, check_softmax),
    Fusion("log_softmax", "LOG_SOFTMAX", (log_softmax, less_log_sum_exp), rewrite_log, check),
]
