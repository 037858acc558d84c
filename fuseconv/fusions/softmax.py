"""exp(x - max) / sum(exp(x - max)) along the last dimensions -> SOFTMAX; its logarithm along the last -> LOG_SOFTMAX.

Without the maximum the model overflows where the ops do not, and is left as it is. So is the logarithm of many
elements: LOG_SOFTMAX takes 172 us for 128,000, and XNNPACK, which has no such op, 81 for the parts; of 1,000 both take
as long.
"""

from __future__ import annotations

import math
from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.fusions.l2_normalization import require_last_axis
from fuseconv.ir.dims import open_sizes
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK

_MOST_ELEMENTS = 1024


@pattern
def softmax(tf: Any, x: Any, axes: Constant) -> Term:
    power = tf.Exp(tf.Sub(x, tf.Max(x, axes, keep_dims=True)))
    return tf.RealDiv(power, tf.Sum(power, axes, keep_dims=True))


def _log_softmax(tf: Any, x: Any, axes: Constant) -> Term:
    shifted = tf.Sub(x, tf.Max(x, axes, keep_dims=True))
    return tf.Sub(shifted, tf.Log(tf.Sum(tf.Exp(shifted), axes, keep_dims=True)))


def _less_log_sum_exp(tf: Any, x: Any, axes: Constant) -> Term:
    largest = tf.Max(x, axes, keep_dims=True)
    # What tf.reduce_logsumexp takes off before it raises.
    finite = tf["SelectV2", "Select"](tf.IsFinite(largest), largest, 0.0) | largest
    return tf.Sub(x, tf.AddV2(tf.Log(tf.Sum(tf.Exp(tf.Sub(x, finite)), axes, keep_dims=True)), finite))


@pattern
def log_softmax(tf: Any, x: Any, axes: Constant) -> Term:
    return _log_softmax(tf, x, axes)


@pattern
def less_log_sum_exp(tf: Any, x: Any, axes: Constant) -> Term:
    return _less_log_sum_exp(tf, x, axes)


@pattern
def raised_log_softmax(tf: Any, x: Any, axes: Constant) -> Term:
    return tf.Exp(_log_softmax(tf, x, axes))


@pattern
def raised_less_log_sum_exp(tf: Any, x: Any, axes: Constant) -> Term:
    return tf.Exp(_less_log_sum_exp(tf, x, axes))


def check(m: Match) -> None:
    require_float32(m)
    require_last_axis(m)


def check_log(m: Match) -> None:
    check(m)
    known = math.prod(size for size in m.x.shape if isinstance(size, int))
    unknown = sum(not isinstance(size, int) for size in m.x.shape)
    m.require(known <= _MOST_ELEMENTS and unknown < 2, "it has many elements, and the parts are faster then")


def check_softmax(m: Match) -> None:
    require_float32(m)
    shape, axes = m.x.shape, m.axes.data.reshape(-1)
    m.require(shape and axes.size, "the number of dimensions is not known, or there is no axis")
    last = {axis % len(shape) for axis in axes.tolist()} == set(range(len(shape) - len(axes), len(shape)))
    m.require(last, "it is not taken along the last axes")
    if not _takes(m):
        m.require(all(isinstance(size, int) for size in shape[-len(axes) :]), "the sizes of its axes are not known")
        known = sum(not isinstance(size, int) for size in shape) < 2
        m.require(known, "more than one size of the data is not known")


def _takes(m: Match) -> bool:
    """Return whether SOFTMAX takes the data as it is: along one axis, of as few dimensions as its kernel has."""
    return m.axes.data.size == 1 and len(m.x.shape) <= RANK["SOFTMAX"]


def rewrite(tfl: Builder, m: Match) -> Value:
    """Softmax over the last axes -> RESHAPE to rows, SOFTMAX, RESHAPE."""
    shape = m.x.shape
    if _takes(m):
        return tfl.softmax(m.x, beta=1.0)
    rows = tfl.reshape(m.x, [-1, math.prod(shape[-m.axes.data.size :])])
    return tfl.reshape(tfl.softmax(rows, beta=1.0), open_sizes(shape))


def rewrite_log(tfl: Builder, m: Match) -> Value:
    """x - max - log(sum(exp(x - max))) -> LOG_SOFTMAX."""
    return tfl.log_softmax(m.x)


FUSIONS = [
    # The exponentials of logarithms: of Keras's layer Softmax over several axes, as attention over images has it.
    Fusion("softmax", "SOFTMAX", (softmax, raised_log_softmax, raised_less_log_sum_exp), rewrite, check_softmax),
    Fusion("log_softmax", "LOG_SOFTMAX", (log_softmax, less_log_sum_exp), rewrite_log, check_log),
]
