"""Padded non-max suppression, with TensorFlow's own body: equal scores, overlaps that equal the threshold, and boxes
without an area, the wrong way round, or at coordinates below 0."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import image_ops_impl

from fuseconv.fusions.non_max_suppression_padded import _least_area
from fuseconv.testing import check, convert_function
from tests.annotated import MOSTLY_SLOW_FORMS, annotated
from tests.pairwise import mostly_slow

BODY = image_ops_impl.non_max_suppression_padded_v2.python_function
LIMITS = np.int32(4), np.float32(0.5), np.float32(0.3)


def boxes_and_scores(rng, shape, dtype):
    if shape[-1] != 4:
        return rng.uniform(0.1, 1, shape).astype(dtype)
    corner = rng.uniform(0, 1, (*shape[:-1], 2))
    return np.concatenate([corner, corner + rng.uniform(0.2, 0.6, corner.shape)], -1).astype(dtype)


def grid(rng, shape, dtype):
    """Clusters of four boxes on a coarse grid: in longer chains of equal overlaps the body may stop too early."""
    if shape[-1] != 4:
        return (rng.integers(-3, 5, shape) / 5).astype(dtype)
    cluster = np.arange(shape[-2])[:, None] // 4
    corner = 16 * (cluster - 1) + rng.integers(-3, 3, (*shape[:-1], 2))
    sides = rng.choice([1, 2, 2, 3, 4, 4, 0, -1], corner.shape)
    return np.concatenate([corner, corner + sides], -1).astype(dtype)


def reversed_grid(rng, shape, dtype):
    """The same with the other corner first, mostly."""
    drawn = grid(rng, shape, dtype)
    return drawn if shape[-1] != 4 else drawn[..., [2, 1, 0, 3] if rng.random() < 0.3 else [2, 3, 0, 1]]


def nms(form="string"):
    """TensorFlow's body; the limits are operands, what follows them is bound while tracing."""
    traced = annotated(BODY, NAME, form)
    return lambda b, s: traced(b, s, *map(tf.constant, LIMITS), False, False, 16)


NAME = "non_max_suppression_padded_v2"


@pytest.mark.parametrize("form", MOSTLY_SLOW_FORMS)
def test_one_image(form):
    fn = nms(form)
    specs = tf.TensorSpec([9, 4]), tf.TensorSpec([9])
    converted = check(fn, *specs, inputs=boxes_and_scores)
    assert "NON_MAX_SUPPRESSION_V4" in converted.ops and "WHILE" not in converted.ops


def test_a_number_of_boxes_that_is_not_known():
    fn = nms()
    specs = tf.TensorSpec([None, 4]), tf.TensorSpec([None])
    converted = check(
        fn, *specs, inputs=boxes_and_scores, batches=(9, 7), static=False,
    )  # fmt: skip
    assert "NON_MAX_SUPPRESSION_V4" in converted.ops


def test_a_batch_is_taken_apart():
    fn = nms()
    specs = tf.TensorSpec([3, 9, 4]), tf.TensorSpec([3, 9])
    converted = check(fn, *specs, inputs=boxes_and_scores)
    assert converted.ops.count("NON_MAX_SUPPRESSION_V4") == 3


@pytest.mark.parametrize("shape", [[1, 9, 4], [1, 1, None, 4]])
def test_a_batch_of_one_image_is_that_image(shape):
    specs = tf.TensorSpec(shape), tf.TensorSpec(shape[:-1])
    converted = check(nms(), *specs, inputs=grid, static=False, batches=(9, 13))
    assert not {"WHILE", "UNPACK", "PACK"} & {*converted.ops}


@pytest.mark.parametrize("threshold", [1e-9, 0.25, 0.5, 0.9, 1.0, 1.5])
def test_the_least_area_that_overlaps_with_itself(threshold):
    limit, area = np.float32(threshold), _least_area(np.float32(threshold))
    below = np.nextafter(area, np.float32(0))
    assert not below / (below + np.float32(1e-8)) >= limit
    assert np.isinf(area) if limit > 1 else area / (area + np.float32(1e-8)) >= limit


@pytest.mark.parametrize("shape", [[None, 9, 4], [None, None, 4], [None, 2, 9, 4]])
def test_a_batch_of_unknown_size_is_a_loop_over_images(shape):
    specs = tf.TensorSpec(shape), tf.TensorSpec(shape[:-1])
    converted = check(nms(), *specs, inputs=grid, static=False)
    assert converted.ops.count("NON_MAX_SUPPRESSION_V4") == 1 and converted.ops.count("WHILE") == 1


def padded(most=5, iou=0.5, least=0.2, **options):
    """tf.image.non_max_suppression_padded, whose numbers are operands."""
    return lambda b, s: tf.image.non_max_suppression_padded(
        b, s, most, iou, least, pad_to_max_output_size=True, tile_size=8, **options
    )


IOUS, LEASTS = [0.25, 0.5, 1.0, 1.5], [-np.inf, -0.2, 0.2]
# One image or two, of which fewer boxes are asked for than there are, or more: in turn, so that each meets each
# threshold of scores, and three of them each threshold of overlaps (slow tests among them).
ASKED = [([21, 4], 3), ([2, 21, 4], 40), ([21, 4], 40), ([2, 21, 4], 3)]


@mostly_slow(iou=IOUS, least=LEASTS)
def test_equal_scores_and_overlaps(iou, least):
    shape, most = ASKED[(IOUS.index(iou) + LEASTS.index(least)) % len(ASKED)]
    specs = tf.TensorSpec(shape), tf.TensorSpec(shape[:-1])
    converted = check(padded(most, iou, least), *specs, inputs=grid, seed=most)
    assert "NON_MAX_SUPPRESSION_V4" in converted.ops, converted.refused


@mostly_slow(is_sorted=[False, True], canonical=[False, True])
def test_what_the_caller_says_of_boxes_and_scores(is_sorted, canonical):
    """Be it true or not."""
    fn = padded(sorted_input=is_sorted, canonicalized_coordinates=canonical)
    specs = tf.TensorSpec([None, 13, 4]), tf.TensorSpec([None, 13])
    # Other boxes each time.
    converted = check(fn, *specs, inputs=reversed_grid, batches=(2, 3) * 4, static=False)
    assert "NON_MAX_SUPPRESSION_V4" in converted.ops, converted.refused


@pytest.mark.parametrize("least", [-np.inf, 0.2])
def test_thresholds_at_run_time(least):
    def run(boxes, scores, iou, score):
        return tf.image.non_max_suppression_padded(boxes, scores, 6, iou, score, pad_to_max_output_size=True)

    rng = np.random.default_rng(3)
    inputs = [grid(rng, (14, 4), np.float32), grid(rng, (14,), np.float32), np.float32(0.5), np.float32(least)]
    inputs[1][:3] = -np.inf if least == -np.inf else 0
    specs = tf.TensorSpec([14, 4]), tf.TensorSpec([14]), tf.TensorSpec([]), tf.TensorSpec([])
    converted = check(run, *specs, inputs=inputs)
    assert "NON_MAX_SUPPRESSION_V4" in converted.ops, converted.refused


def test_boxes_that_the_body_does_not_tell_from_none():
    """Of an area so small that the 1e-8 by which the body widens a union counts."""
    boxes = np.array([[0, 0, 1e-4, 1e-4]] * 2 + [[0, 0, 1e-5, 1e-5]] * 2 + [[0, 0, 0.1, 0.1]] * 2, np.float32)
    scores = np.linspace(0.9, 0.4, 6).astype(np.float32)
    converted = check(padded(6, 0.6), tf.TensorSpec([6, 4]), tf.TensorSpec([6]), inputs=[boxes, scores])
    assert "NON_MAX_SUPPRESSION_V4" in converted.ops


def test_a_threshold_of_zero_is_the_bodys_own():
    specs = tf.TensorSpec([9, 4]), tf.TensorSpec([9])
    converted = check(padded(iou=0.0), *specs, inputs=grid)
    assert "first tile" in converted.refused["non_max_suppression"] and "WHILE" in converted.ops


@pytest.mark.parametrize(
    ("shape", "refused"), [([None, 0, 4], "there are no boxes"), ([0, 9, 4], None), ([2, 0, 4], None)]
)
def test_no_boxes(shape, refused):
    """TensorFlow's own body cannot be traced then. What has no elements is a constant, and calls nothing."""

    def body(boxes, scores, most, iou, least):
        return tf.cast(scores[:, :4], tf.int32), tf.reduce_sum(tf.cast(boxes, tf.int32), [1, 2])

    traced, specs = annotated(body, NAME), (tf.TensorSpec(shape), tf.TensorSpec(shape[:-1]))
    converted = convert_function(lambda b, s: traced(b, s, *map(tf.constant, LIMITS)), *specs)
    assert converted.refused.get("non_max_suppression") == refused
    assert refused or {*converted.ops} == {"SLICE"}


def test_a_body_that_takes_no_box_without_an_area_is_found_out():
    """Nor one below 0."""

    def other(boxes, scores, most, iou, least):
        sides = tf.maximum(boxes[:, 2:], boxes[:, :2]) - boxes[:, :2]
        scores = tf.where(tf.reduce_prod(sides, -1) > 0, scores, -1.0)
        return BODY(boxes, scores, most, iou, float(LIMITS[2]), False, False, 16)

    traced = annotated(other, NAME)
    specs = tf.TensorSpec([9, 4]), tf.TensorSpec([9])
    converted = check(lambda b, s: traced(b, s, *map(tf.constant, LIMITS)), *specs, inputs=grid)
    assert "something else" in converted.refused["non_max_suppression"]


def test_tensorflows_own_function():
    """Numbers of Python's are operands of an annotated function as well."""
    specs = tf.TensorSpec([9, 4]), tf.TensorSpec([9])
    converted = check(
        lambda b, s: tf.image.non_max_suppression_padded(b, s, 4, 0.5, 0.3, pad_to_max_output_size=True, tile_size=16),
        *specs, inputs=boxes_and_scores,
    )  # fmt: skip
    assert converted.fused[:1] == ["non_max_suppression"], converted.refused
