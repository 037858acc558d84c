"""Lowering of non-maximum suppression.

TFLite's kernel differs from TensorFlow's in three ways, which the rules make up for. It drops boxes whose overlap
equals the threshold, so that it is given the next larger one. It orders equal scores as its heap will have it, so that
it is given ranks for scores. And it takes a box without an area again and again, since what overlaps with nothing does
not overlap with itself: such boxes are moved to where nothing else is, and given an area.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import filled, scalar, select
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.nms_boxes import falling_numbers, separate_boxes

# Each becomes an op, for each image unless they are in a loop.
_MOST_CLASSES = 512


@lowers
def NonMaxSuppression(tfl, boxes, scores, max_output_size, *, iou_threshold=0.5):
    """NON_MAX_SUPPRESSION_V4, cut to the boxes that there are."""
    return NonMaxSuppressionV2(tfl, boxes, scores, max_output_size, scalar(iou_threshold, types.FLOAT32))


@lowers
def NonMaxSuppressionV2(tfl, boxes, scores, max_output_size, iou_threshold):
    """NON_MAX_SUPPRESSION_V4, cut to the boxes that there are."""
    lowest = scalar(-np.inf, types.FLOAT32)
    return NonMaxSuppressionV3(tfl, boxes, scores, max_output_size, iou_threshold, lowest)


@lowers
def NonMaxSuppressionV3(tfl, boxes, scores, max_output_size, iou_threshold, score_threshold):
    """NON_MAX_SUPPRESSION_V4, cut to the boxes that there are."""
    operands = _floats(tfl, boxes, scores, iou_threshold, score_threshold)
    return _first(tfl, *_ranked(tfl, operands[0], operands[1], max_output_size, *operands[2:]))[0]


@lowers
def NonMaxSuppressionV4(
    tfl, boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size=False
):
    """NON_MAX_SUPPRESSION_V4; cut to the boxes that there are unless it is to be padded."""
    boxes, scores, iou_threshold, score_threshold = _floats(tfl, boxes, scores, iou_threshold, score_threshold)
    found = _ranked(tfl, boxes, scores, max_output_size, iou_threshold, score_threshold)
    return list(_padded(tfl, *found) if pad_to_max_output_size else _first(tfl, *found))


@lowers
def NonMaxSuppressionV5(
    tfl, boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, *,
    pad_to_max_output_size=False,
):  # fmt: skip
    """NON_MAX_SUPPRESSION_V4 where the sigma is 0, else NON_MAX_SUPPRESSION_V5 (which selects one of several equal
    boxes); cut to the boxes that there are unless it is to be padded."""
    sigma = float(constant_of(soft_nms_sigma, "soft_nms_sigma").reshape(()))
    boxes, wide, *limits = _floats(tfl, boxes, scores, iou_threshold, score_threshold)
    if sigma:
        # TensorFlow only lowers scores then. The kernel must drop what it has taken, which overlaps with itself.
        limit = scalar(1.0, types.FLOAT32)
        best = _size(tfl, max_output_size)
        soft = scalar(sigma, types.FLOAT32)
        numbers = _numbers(tfl, boxes, wide)
        apart = _with_areas(tfl, boxes, numbers)
        indices, chosen, count = tfl.non_max_suppression_v5(apart, wide, best, limit, limits[1], soft)
        if not pad_to_max_output_size:
            indices, chosen = _cut(tfl, indices, count), _cut(tfl, chosen, count)
    else:
        found = _ranked(tfl, boxes, wide, max_output_size, *limits)
        indices, count = _padded(tfl, *found) if pad_to_max_output_size else _first(tfl, *found)
        chosen = tfl.gather(wide, indices, axis=0)
        if pad_to_max_output_size:
            chosen = select(tfl, _selection_mask(tfl, indices, count), chosen, 0)
    return [indices, cast(tfl, chosen, scores.dtype), count]


@lowers
@in_float32
def CombinedNonMaxSuppression(
    tfl, boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold, *,
    pad_per_class=False, clip_boxes=True,
):  # fmt: skip
    """NON_MAX_SUPPRESSION_V4 for each image and class, and TOPK_V2 of what they select; in a WHILE over the images if
    it is not known how many there are, or if there are many."""
    images, every, *_ = shape_of(boxes, 4)
    (classes,) = static_dims(shape_of(scores, 3)[2:], "how many classes there are")
    require(classes <= _MOST_CLASSES, f"{classes} classes are too many")
    each, total = (
        int(constant_of(size, "a number of boxes").reshape(()))
        for size in (max_output_size_per_class, max_total_size)
    )
    if isinstance(every, int):
        each = min(each, every)

    def selected(tfl: Lowering, boxes: Value, scores: Value, iou: Value, least: Value) -> Sequence[Value]:
        found = [_of_class(tfl, boxes, scores, at, each, iou, least) for at in range(classes)]
        return _top_of_classes(tfl, found, each, total, clip_boxes)

    if isinstance(images, int) and images * classes <= _MOST_CLASSES:
        made = []
        for image in range(images):
            mine = (_of_image(tfl, x, scalar(image, types.INT32)) for x in (boxes, scores))
            made.append(selected(tfl, *mine, iou_threshold, score_threshold))
        results = [tfl.pack(*parts, axis=0) for parts in zip(*made)]
    else:
        results = _for_each_image(tfl, selected, total, boxes, scores, iou_threshold, score_threshold)
    if pad_per_class and isinstance(max_output_size_per_class.data, np.ndarray):
        width = min(int(max_output_size_per_class.data) * classes, total)
        results[:3] = [tfl.slice_(r, [0] * len(r.shape), [-1, width, *r.shape[2:]]) for r in results[:3]]
    return results


def _for_each_image(
    tfl: Lowering, selected: Callable[..., Sequence[Value]], total: int, boxes: Value, scores: Value, *limits: Value
) -> list[Value]:
    """Run `selected` on each image, and stack its results."""
    images = shape_of(boxes)[0]
    carried = [x for x in limits if not x.is_const]

    def once(tfl: Lowering, image: Value, boxes: Value, scores: Value, *others: Value) -> list[Value]:
        given, made = iter(others[: len(carried)]), others[len(carried) :]
        own = [x if x.is_const else next(given) for x in limits]
        parts = selected(tfl, *(_of_image(tfl, x, image) for x in (boxes, scores)), *own)
        rows = []
        for whole, part in zip(made, parts):
            start = tfl.mul(tfl.const(np.eye(1, len(shape_of(whole)), dtype=np.int32)[0]), image)
            rows.append(tfl.dynamic_update_slice(whole, tfl.expand_dims(part, 0), start))
        return [boxes, scores, *others[: len(carried)], *rows]

    shapes = [((images, total, 4), types.FLOAT32), *[((images, total), types.FLOAT32)] * 2, ((images,), types.INT32)]
    nothing = [filled(tfl, shape, 0, dtype, boxes) for shape, dtype in shapes]
    return tfl.repeat(dim_scalar(tfl, images, boxes), once, [boxes, scores, *carried, *nothing])[-4:]


def _of_image(tfl: Lowering, x: Value, image: Value) -> Value:
    """Return the operands of one image."""
    return tfl.gather(x, image, axis=0)


def _of_class(
    tfl: Lowering, boxes: Value, scores: Value, at: int, each: int, iou: Value, least: Value
) -> tuple[Value, Value, Value]:
    """Return boxes [each, 4], scores [each] (-infinity beyond the last) and how many there are, of one class of an
    image's boxes [n, groups, 4] and scores [n, classes]."""
    group = 0 if shape_of(boxes)[1] == 1 else at
    own = tfl.strided_slice(boxes, [0, group, 0], [0, group + 1, 0], [1] * 3, end_mask=0b101, shrink_axis_mask=0b010)
    its = tfl.strided_slice(scores, [0, at], [0, at + 1], [1] * 2, end_mask=0b01, shrink_axis_mask=0b10)
    indices, count = _padded(tfl, *_ranked(tfl, own, its, scalar(each, types.INT32), iou, least))
    chosen = select(tfl, _selection_mask(tfl, indices, count), tfl.gather(its, indices, axis=0), -np.inf)
    return tfl.gather(own, indices, axis=0), chosen, count


def _top_of_classes(
    tfl: Lowering, found: list[tuple[Value, Value, Value]], each: int, total: int, clip: bool
) -> tuple[Value, Value, Value, Value]:
    """Return the best of all classes: boxes [total, 4], scores [total], classes [total] and how many they are."""
    columns = list(zip(*found))[:2]
    boxes, scores = (tfl.concatenation(*parts, axis=0) if len(parts) > 1 else parts[0] for parts in columns)
    short = max(total - each * len(found), 0)
    if short:
        boxes = tfl.pad(boxes, np.array([[0, short], [0, 0]], np.int32))
        scores = tfl.padv2(scores, np.array([[0, short]], np.int32), np.array(-np.inf, np.float32))
    best, order = tfl.topk_v2(scores, scalar(total, types.INT32))
    there = tfl.greater(best, float(np.finfo(np.float32).min))
    corners = tfl.gather(boxes, order, axis=0)
    if clip:
        corners = tfl.maximum(tfl.minimum(corners, 1.0), 0.0)
    corners = select(tfl, reshape(tfl, there, (total, 1)), corners, 0)
    which = cast(tfl, tfl.floor_div(order, each), types.FLOAT32)
    count = tfl.sum(cast(tfl, there, types.INT32), [0])
    return corners, select(tfl, there, best, 0), select(tfl, there, which, 0), count


def _floats(tfl: Lowering, *operands: Value) -> list[Value]:
    return [cast(tfl, x, types.FLOAT32) for x in operands]


def _ranked(
    tfl: Lowering, boxes: Value, scores: Value, most: Value, iou: Value, least: Value
) -> tuple[Value, Value, Value]:
    """Return the order of the boxes by their scores, the places in it of those that are selected, padded with 0, and
    how many they are."""
    known = float(iou.data) if iou.data is not None else None
    require(known is None or 0 <= known <= 1, f"an iou_threshold of {known} is not between 0 and 1")
    limit, together = _next_float(tfl, iou), None
    if known is None or known == 1:
        # A box has to overlap with itself by the limit. Where that is 1, no other overlap counts: none is left.
        limit, together = tfl.minimum(limit, 1.0), tfl.less(iou, 1.0)
    (every,) = shape_of(scores, 1)
    # TOPK_V2 puts the first of equal numbers first.
    best, order = tfl.topk_v2(scores, dim_scalar(tfl, every, scores))
    numbers = _numbers(tfl, boxes, scores)
    ranks = select(tfl, tfl.greater(best, least), numbers, 0)
    # Before they are ordered, as what is the same for all classes of an image.
    corners = tfl.gather(_with_areas(tfl, boxes, numbers, together), order, axis=0)
    nothing = scalar(0, types.FLOAT32)
    return order, *tfl.non_max_suppression_v4(corners, ranks, _size(tfl, most), limit, nothing)


def _numbers(tfl: Lowering, boxes: Value, scores: Value) -> Value:
    """Return n, ..., 2, 1 for the n boxes: of how many boxes there are, since several classes may share them."""
    (every,) = shape_of(scores, 1)
    source = scores if isinstance(every, int) else boxes
    return falling_numbers(tfl, dim_scalar(tfl, shape_of(source)[0], source))


def _padded(tfl: Lowering, order: Value, places: Value, count: Value) -> tuple[Value, Value]:
    """Return the indices of the boxes that are selected, padded with 0, and how many they are."""
    return select(tfl, _selection_mask(tfl, places, count), tfl.gather(order, places, axis=0), 0), count


def _first(tfl: Lowering, order: Value, places: Value, count: Value) -> tuple[Value, Value]:
    """Return the indices of the boxes that are selected, and how many they are."""
    return tfl.gather(order, _cut(tfl, places, count), axis=0), count


def _size(tfl: Lowering, most: Value) -> Value:
    return scalar(most.data, types.INT32) if most.data is not None else cast(tfl, most, types.INT32)


def _next_float(tfl: Lowering, threshold: Value) -> Value:
    """Return the next float32 above a number that is not negative."""
    if threshold.data is not None:
        return scalar(np.nextafter(threshold.data, np.float32(np.inf)), types.FLOAT32)
    bits = tfl.bitcast(threshold, results=[(types.INT32, threshold.shape)])
    return tfl.bitcast(tfl.add(bits, 1), results=[(types.FLOAT32, threshold.shape)])


def _with_areas(tfl: Lowering, boxes: Value, numbers: Value, together: Value | None = None) -> Value:
    """Return the boxes [n, 4] with boxes without an area, or all unless `together` holds, moved apart from all others.
    numbers: as `separate_boxes` takes them."""
    shape_of(boxes, 2)
    first, second = tfl.split(scalar(1, types.INT32), boxes, num_splits=2)
    # What is not 0 is true.
    kept = tfl.cast(tfl.reduce_prod(tfl.sub(second, first), [1], keep_dims=True), out_data_type="BOOL")
    return separate_boxes(tfl, boxes, kept if together is None else tfl.logical_and(kept, together), numbers)


def _selection_mask(tfl: Lowering, indices: Value, count: Value) -> Value:
    """Return a bool mask of the valid indices."""
    return tfl.less(iota(tfl, shape_of(indices, 1)[0], indices), count)


def _cut(tfl: Lowering, x: Value, count: Value) -> Value:
    return tfl.slice_(x, [0], reshape(tfl, count, (1,)))
