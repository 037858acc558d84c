"""tf.image.non_max_suppression_padded -> NON_MAX_SUPPRESSION_V4.

The contract is that of TensorFlow's `non_max_suppression_padded_v2` (python/ops/image_ops_impl.py) and of
ConvertNMSPaddedFunc of TFLiteConverter: boxes [..., n, 4], scores [..., n], max_output_size, iou_threshold and
score_threshold -> the selected indices [batch, max_output_size], padded with 0, and how many they are [...].

TensorFlow's body is no plain suppression, and the kernel gets its operands so that it selects the same:
- Equal scores: the first comes first. The kernel's heap has an order of its own, so boxes are sorted, or stand as they
  are where sorted_input says that they do, and get ranks for scores.
- A score_threshold of -infinity leaves out nothing, not even scores of -infinity.
- Which corner is which is told by the first box of all images, unless canonicalized_coordinates says that it is known.
  A box whose corners are the other way round overlaps with nothing.
- An overlap is divided by the area of the union and 1e-8. What therefore overlaps with itself by less than the
  threshold, like any box without an area, neither suppresses nor is suppressed: it is moved away from all others.
- A box without a positive coordinate suppresses others, but is not selected: the kernel selects so many more, and they
  are left out.
The kernel takes one image. Those of a batch of unknown size go through it in a loop.

The result differs from the body's in four cases:
- Two boxes whose overlap is within 1e-8 / union of the threshold: with coordinates in [0, 1] the 1e-8 is not lost in
  rounding, and another box may be chosen.
- Boxes and scores that are not finite: the body makes NaN of them, of scores if the threshold is not -infinity.
- An iou_threshold of 0 that is known only at run time: the body keeps the whole first tile and nothing else.
- A chain of five or more boxes, of which two overlap by exactly the threshold: the body may stop too early behind it.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.nms_boxes import falling_numbers, separate_boxes

NMS = composite(
    "non_max_suppression_padded_v2",
    "boxes scores max_output_size iou_threshold score_threshold "
    "sorted_input? canonicalized_coordinates? tile_size? -> indices count",
)
# What the body adds to the area of a union.
_EPSILON = 1e-8
# Boxes that may overlap when random ones are drawn: fewer than make a chain of five.
_CLUSTER = 4


def check(m: Match) -> None:
    m.require((m.boxes.rank or 0) >= 2, "the boxes are not known to be of rank 2 or more")
    m.require(m.scores.rank == m.boxes.rank - 1, "the scores are not known to have a rank of one less than the boxes")
    m.require(0 not in m.boxes.shape, "there are no boxes")
    wanted = {"boxes": types.FLOAT32, "scores": types.FLOAT32, "max_output_size": types.INT32}
    for name in ("max_output_size", "iou_threshold", "score_threshold"):
        m.require(m.operands[name].rank == 0, f"the operand {name} is not known to be a scalar")
    for name, dtype in {**wanted, "iou_threshold": types.FLOAT32, "score_threshold": types.FLOAT32}.items():
        m.require(m.operands[name].dtype is dtype, f"the operand {name} is {m.operands[name].dtype}, not {dtype}")
    iou = m.iou_threshold.data
    m.require(iou is None or iou > 0, "the body keeps all of the first tile and nothing else if iou_threshold is 0")
    for name in ("sorted_input", "canonicalized_coordinates"):
        flag = m.operands[name]
        m.require(flag is None or (flag.is_const and flag.dtype is types.BOOL), f"{name} is no constant of type bool")


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    boxes, scores = _by_images(tfl, m)
    every = _size(tfl, scores, _last(scores))
    order, best = None, scores
    if not _holds(m.sorted_input):
        best, order = tfl.topk_v2(scores, every)
    ranks = falling_numbers(tfl, every)
    apart = separate_boxes(tfl, boxes, _overlaps_itself(tfl, m, boxes, scores), ranks)
    visible = tfl.greater(tfl.reduce_max(boxes, [_last(boxes)]), 0.0)
    if not _all_count(m):
        ranks = _where(tfl, _counts(tfl, m, best), ranks, 0)
        # What does not count is never selected.
        visible = tfl.logical_or(visible, tfl.logical_not(_counts(tfl, m, scores)))
    visible = tfl.cast(visible, out_data_type="INT32")
    size = _selection_size(tfl, m.max_output_size, every, visible)
    apart = _at(tfl, apart, order) if order is not None else apart
    places, found = _selected(tfl, apart, ranks, size, tfl.minimum(m.iou_threshold, 1.0))

    places = _at(tfl, order, places) if order is not None else places
    left = tfl.sub(tfl.expand_dims(found, 1) if found.rank else found, _range(tfl, size))
    # The first of those that are visible.
    left, at = tfl.topk_v2(tfl.mul(left, _at(tfl, visible, places)), m.max_output_size)
    there = tfl.greater(left, 0)
    count = tfl.sum(tfl.cast(there, out_data_type="INT32"), [_last(places)])
    indices = _where(tfl, there, _at(tfl, places, at), 0)
    return {"indices": indices if indices.rank == 2 else tfl.expand_dims(indices, 0), "count": _of_batch(tfl, m, count)}


def _by_images(tfl: Builder, m: Match) -> tuple[Value, Value]:
    """Return boxes [images, n, 4] and scores [images, n]; without the first dimension if there is one image."""
    batch = m.boxes.shape[:-2]
    images = math.prod(batch) if is_static(batch) else -1
    if m.boxes.rank == 2 or (m.boxes.rank == 3 and images != 1):
        return m.boxes, m.scores
    if images == 1:
        return tfl.reshape(m.boxes, [-1, 4]), tfl.reshape(m.scores, [-1])
    every = tfl.reshape(_size(tfl, m.scores, m.scores.rank - 1), [1])
    each = (tfl.concatenation(tfl.ints([images]), every, tfl.ints(sides), axis=0) for sides in ((4,), ()))
    boxes, scores = (tfl.reshape(x, shape) for x, shape in zip((m.boxes, m.scores), each))
    return boxes, scores


def _of_batch(tfl: Builder, m: Match, count: Value) -> Value:
    rank = len(m.boxes.shape) - 2
    if rank == count.rank:
        return count
    if not count.rank:
        return tfl.reshape(count, [1] * rank)
    batch = tfl.strided_slice(tfl.shape(m.scores), [0], [-1], [1], begin_mask=1)
    return tfl.reshape(count, batch)


def _all_count(m: Match) -> bool:
    return m.score_threshold.data is not None and m.score_threshold.data == -math.inf


def _counts(tfl: Builder, m: Match, scores: Value) -> Value:
    """Return a mask of the scores by which a box counts."""
    least = m.score_threshold
    counted = tfl.greater(scores, least)
    return counted if least.is_const else tfl.logical_or(counted, tfl.equal(least, -math.inf))


def _overlaps_itself(tfl: Builder, m: Match, boxes: Value, scores: Value) -> Value:
    """Return a mask of the boxes that overlap with a box, if only themselves, by the threshold, bool [..., n, 1]."""
    axis = _last(boxes)
    first, second = tfl.split(tfl.const(axis, types.INT32), boxes, num_splits=2)
    sides = tfl.sub(second, first)
    if not _holds(m.canonicalized_coordinates):
        # What does not count is all zeros by then.
        other = tfl.less(tfl.slice(sides, [0] * (axis + 1), [*[1] * axis, 2]), 0.0)
        if not _all_count(m):
            other = tfl.logical_and(other, _counts(tfl, m, tfl.slice(scores, [0] * axis, [1] * axis)))
        sides = tfl.mul(sides, _where(tfl, other, tfl.const(-1.0, types.FLOAT32), 1))
    area = tfl.reduce_prod(tfl.relu(sides), [axis], keep_dims=True)
    if m.iou_threshold.data is not None:
        return tfl.greater_equal(area, _least_area(np.float32(m.iou_threshold.data)))
    return tfl.greater_equal(tfl.div(area, tfl.add(area, _EPSILON)), m.iou_threshold)


def _least_area(threshold: np.float32) -> np.float32:
    """Return the least area of a box that overlaps with itself by the threshold; infinity if there is none."""
    least, beyond = 0, int(np.float32(np.inf).view(np.int32))
    while least < beyond:  # Positive floats are in the order of their bits.
        middle = (least + beyond) // 2
        area = np.int32(middle).view(np.float32)
        least, beyond = (least, middle) if area / (area + np.float32(_EPSILON)) >= threshold else (middle + 1, beyond)
    return np.int32(least).view(np.float32)


def _selection_size(tfl: Builder, most: Value, every: Value, visible: Value) -> Value:
    """Return how many boxes to select so that `most` visible ones remain. visible: 1 or 0, int32 [..., n]."""
    if most.data is not None and every.data is not None and every.data <= most.data:
        return most
    shown = tfl.sum(visible, [_last(visible)])
    return tfl.sub(tfl.add(most, every), tfl.reduce_min(shown, [0]) if shown.rank else shown)


def _selected(tfl: Builder, boxes: Value, ranks: Value, size: Value, limit: Value) -> tuple[Value, Value]:
    """Select boxes of each image: return their places, [images, size], and how many they are, [images]; of boxes [n, 4]
    without the first dimension.

    ranks: those of the boxes, 0 for what does not count, as float32 [images, n], or [n] where all are the same."""
    least = tfl.const(0.0, types.FLOAT32)
    if boxes.rank == 2:
        return tfl.non_max_suppression_v4(boxes, ranks, size, limit, least)
    images = boxes.shape[0]  # type: ignore[index]
    if isinstance(images, int):
        each = tfl.op("UNPACK", (boxes,), {"num": images, "axis": 0})
        its = tfl.op("UNPACK", (ranks,), {"num": images, "axis": 0}) if ranks.rank == 2 else [ranks] * images
        made = [tfl.non_max_suppression_v4(b, r, size, limit, least) for b, r in zip(each, its)]
        places, found = (tfl.pack(*parts, axis=0) for parts in zip(*made))
        return places, found

    def one(
        tfl: Builder, image: Value, boxes: Value, ranks: Value, size: Value, limit: Value, places: Value, found: Value
    ) -> list[Value]:
        its = tfl.gather(ranks, image) if ranks.rank == 2 else ranks
        where, count = tfl.non_max_suppression_v4(tfl.gather(boxes, image), its, size, limit, least)
        where, count, at = tfl.expand_dims(where, 0), tfl.reshape(count, [1]), tfl.reshape(image, [1])
        places = tfl.dynamic_update_slice(places, where, tfl.concatenation(at, tfl.ints([0]), axis=0))
        return [boxes, ranks, size, limit, places, tfl.dynamic_update_slice(found, count, at)]

    count, none = tfl.reshape(_size(tfl, boxes, 0), [1]), tfl.const(0, types.INT32)
    places = tfl.fill(tfl.concatenation(count, tfl.reshape(size, [1]), axis=0), none)
    carried = [boxes, ranks, size, limit, places, tfl.fill(count, none)]
    *_, places, found = tfl.repeat(_size(tfl, boxes, 0), one, carried)
    return places, found


def _at(tfl: Builder, x: Value, places: Value) -> Value:
    """Gather the elements of each image at its indices."""
    return tfl.gather(x, places, axis=_last(places), batch_dims=_last(places))


def _last(x: Value) -> int:
    """Return the number of the last dimension."""
    return len(x.shape) - 1  # type: ignore[arg-type]


def _where(tfl: Builder, condition: Value, x: Value, other: int) -> Value:
    return tfl.select_v2(condition, x, tfl.const(other, x.dtype))


def _size(tfl: Builder, x: Value, axis: int) -> Value:
    size = x.shape[axis]  # type: ignore[index]
    if isinstance(size, int):
        return tfl.const(size, types.INT32)
    return tfl.strided_slice(tfl.shape(x), [axis], [axis + 1], [1], shrink_axis_mask=1)


def _range(tfl: Builder, count: Value) -> Value:
    """Return 0, 1, 2, ... as int32."""
    if count.data is not None:
        return tfl.ints([*range(int(count.data.reshape(())))])
    return tfl.range(tfl.const(0, types.INT32), count, tfl.const(1, types.INT32))


def _holds(flag: Value | None) -> bool:
    return flag is not None and bool(flag.data)


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw boxes on a coarse grid, in clusters, some without an area, the wrong way round or at coordinates below 0:
    equal scores, and overlaps that equal the threshold, are frequent."""
    shape = m.boxes.shape[:-1]
    cluster = np.arange(shape[-1]) // _CLUSTER
    # Half of the clusters lie at positive coordinates; sides are of 1 at least, as the body's 1e-8 is lost then.
    near = 16 * np.where(cluster % 2, -1 - cluster // 2, cluster // 2)[:, np.newaxis]
    corner = near + rng.integers(-1, 3, (*shape, 2))
    sides = rng.choice([1, 2, 2, 3, 4, 4, 0, -1], (*shape, 2))
    drawn = {
        "boxes": np.concatenate([corner, corner + sides], -1),
        "scores": rng.integers(0, 6, shape) / 5,
        "max_output_size": rng.integers(1, 1 + shape[-1]),
        "iou_threshold": rng.choice([0.25, 0.5, 0.6]),
        "score_threshold": rng.choice([-math.inf, 0.0, 0.2]),
    }
    return {n: a.astype(m.operands[n].dtype.numpy) for n, a in drawn.items() if not m.operands[n].is_const}


FUSIONS = [Fusion("non_max_suppression", "NON_MAX_SUPPRESSION_V4", NMS, rewrite, check, draw)]
