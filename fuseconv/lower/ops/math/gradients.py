"""Gradients of elementwise functions and of padding, as models that hold their own gradients have them."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.reduction import reduced
from fuseconv.lower.ops.segment import unsorted
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.data_format import is_channels_first
from fuseconv.lower.support.dynamic_shapes import dim_scalar, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import check_rank, elementwise, scalar, select
from fuseconv.lower.support.type_promotion import cast, conjugate, in_float32

_ONE = np.ones((), np.float32)
_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


@lowers
@in_float32
def SigmoidGrad(tfl, y, dy):
    """dy * y * (1 - y), where y is the sigmoid."""
    return tfl.mul(tfl.mul(dy, y), tfl.sub(_ONE, y))


@lowers
@in_float32
def TanhGrad(tfl, y, dy):
    """dy * (1 - y * y), where y is the tanh."""
    return tfl.mul(dy, tfl.sub(_ONE, tfl.mul(y, y)))


@lowers
@in_float32
def SqrtGrad(tfl, y, dy):
    """dy / 2 / y, where y is the square root."""
    return tfl.div(tfl.mul(dy, 0.5), y)


@lowers
@in_float32
def RsqrtGrad(tfl, y, dy):
    """-dy / 2 * y ** 3, where y is the reciprocal square root."""
    return tfl.mul(tfl.mul(dy, -0.5), tfl.mul(y, tfl.mul(y, y)))


@lowers("ReciprocalGrad", "InvGrad")
def ReciprocalGrad(tfl, y, dy):
    """-dy * y * y, where y is the reciprocal, or for complex numbers its conjugate."""
    y = conjugate(tfl, y) if y.dtype.is_complex else y
    return elementwise(tfl, "NEG", elementwise(tfl, "MUL", dy, elementwise(tfl, "MUL", y, y)))


@lowers
def ReluGrad(tfl, dy, x):
    """dy where x is above 0."""
    return select(tfl, elementwise(tfl, "GREATER", x, 0), dy, 0)


@lowers
def Relu6Grad(tfl, dy, x):
    """dy where x is between 0 and 6."""
    inside = elementwise(tfl, "LOGICAL_AND", elementwise(tfl, "GREATER", x, 0), elementwise(tfl, "LESS", x, 6))
    return select(tfl, inside, dy, 0)


@lowers
def LeakyReluGrad(tfl, dy, x, *, alpha=0.2):
    """dy where x is above 0, else alpha times it."""
    return select(tfl, elementwise(tfl, "GREATER", x, 0), dy, elementwise(tfl, "MUL", dy, alpha))


@lowers
@in_float32
def EluGrad(tfl, dy, y):
    """dy, times y + 1 where y, the ELU, is below 0."""
    return select(tfl, tfl.less(y, 0.0), tfl.mul(dy, tfl.add(y, 1.0)), dy)


@lowers
@in_float32
def SeluGrad(tfl, dy, y):
    """dy times the scale, or y and scale * alpha where y, the SELU, is below 0."""
    below = tfl.mul(dy, tfl.add(y, _SELU_SCALE_ALPHA))
    return select(tfl, tfl.less(y, 0.0), below, tfl.mul(dy, _SELU_SCALE))


@lowers
@in_float32
def SoftplusGrad(tfl, dy, x):
    """dy times the sigmoid of x."""
    return tfl.mul(dy, tfl.logistic(x))


@lowers
@in_float32
def SoftsignGrad(tfl, dy, x):
    """dy / (1 + |x|) ** 2."""
    reach = tfl.add(tfl.abs_(x), 1.0)
    return tfl.div(dy, tfl.mul(reach, reach))


@lowers
def BiasAddGrad(tfl, dy, *, data_format="NHWC"):
    """SUM over all but the channels."""
    rank = len(shape_of(dy))
    channels = 1 if is_channels_first(data_format) else rank - 1
    return reduced(tfl, "SUM", dy, tfl.ints([axis for axis in range(rank) if axis != channels]), False, 0)


@lowers
@in_float32
def SoftmaxCrossEntropyWithLogits(tfl, logits, labels):
    """The SUM of -labels * LOG_SOFTMAX, and SOFTMAX less the labels. Logits of one class become as many as labels
    have."""
    classes, labeled = shape_of(logits, 2)[1], shape_of(labels, 2)[1]
    if classes != labeled and (classes == 1 or not isinstance(classes, int)):
        logits = tfl.broadcast_to(logits, tfl.broadcast_args(tfl.shape_(logits), tfl.shape_(labels)))
    loss = tfl.neg(tfl.sum(elementwise(tfl, "MUL", labels, tfl.log_softmax(logits)), [1]))
    return [loss, elementwise(tfl, "SUB", tfl.softmax(logits, beta=1.0), labels)]


@lowers
@in_float32
def SparseSoftmaxCrossEntropyWithLogits(tfl, logits, labels):
    """As SoftmaxCrossEntropyWithLogits, the labels ONE_HOT."""
    classes = dim_scalar(tfl, shape_of(logits, 2)[1], logits)
    on, off = scalar(1, types.FLOAT32), scalar(0, types.FLOAT32)
    one_hot = tfl.one_hot(cast(tfl, labels, types.INT32), classes, on, off, axis=-1)
    return SoftmaxCrossEntropyWithLogits(tfl, logits, one_hot)


@lowers
def ConcatOffset(tfl, concat_dim, *shapes, shape_type=None):
    """ADD of the sizes before each part, times 1 in the dimension that is joined."""
    (rank,) = static_dims(shape_of(shapes[0], 1), "the rank of what is joined")
    joined = np.zeros(rank, tfl.dtype.numpy)
    joined[constant_of(concat_dim, "the axis")] = 1
    begins = [tfl.const(0 * joined)]
    for shape in shapes[:-1]:
        begins.append(tfl.add(begins[-1], tfl.mul(shape, joined)))
    return begins


@lowers
def MirrorPadGrad(tfl, dy, paddings, *, mode):
    """UNSORTED_SEGMENT_SUM by the place that was mirrored; where sizes are not known, the ends in REVERSE_V2, ADDed to
    where they come from, along one dimension after another."""
    before_after = constant_of(paddings, "the paddings")
    if not is_static(shape_of(dy)):
        require(dy.dtype is types.FLOAT32, f"the shape must be known for gradients of {dy.dtype}")
        check_rank("PAD", dy)
        for axis in np.flatnonzero(before_after.any(axis=1)):
            dy = _folded(tfl, dy, int(axis), *before_after[axis].tolist(), mode == "REFLECT")
        return dy
    dims = static_dims(shape_of(dy), "the shape")
    budget.require_room(math.prod(dims), 4, tfl.name)
    inner = [size - int(pair.sum()) for size, pair in zip(dims, before_after)]
    places = np.arange(int(np.prod(inner)), dtype=np.int32).reshape(inner)
    ids = np.pad(places, before_after, mode="reflect" if mode == "REFLECT" else "symmetric").reshape(-1)
    flat = reshape(tfl, dy, (int(np.prod(dims)),))
    count = scalar(places.size, types.INT32)
    return reshape(tfl, unsorted(tfl, "UNSORTED_SEGMENT_SUM", flat, tfl.const(ids), count), inner)


def _folded(tfl: Lowering, x: Value, axis: int, before: int, after: int, reflects: bool) -> Value:
    """Return x without its ends along an axis, which are added to what they mirror. reflects: all but the edges."""
    (size,) = static_dims([shape_of(x)[axis]], "the size of a dimension that is padded")
    inner = size - before - after

    def part(begin: int, count: int) -> Value:
        starts, counts = [0] * len(shape_of(x)), [-1] * len(shape_of(x))
        starts[axis], counts[axis] = begin, count
        return tfl.slice_(x, starts, counts)

    total = part(before, inner)
    for begin, count, place in ((0, before, reflects), (before + inner, after, inner - after - reflects)):
        if count:
            around = np.zeros((len(shape_of(x)), 2), np.int32)
            around[axis] = place, inner - place - count
            turned = tfl.reverse_v2(part(begin, count), [axis])
            total = elementwise(tfl, "ADD", total, tfl.pad(turned, around))
    return total
