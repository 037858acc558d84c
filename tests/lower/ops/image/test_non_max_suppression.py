"""Parity of non-maximum suppression: overlaps that equal the threshold, equal scores, boxes without an area."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def grid(rng, shape, dtype):
    """Boxes on a coarse grid, so that overlaps and scores are often equal and areas often zero."""
    if dtype != np.float32:
        return np.array(4, dtype)
    if shape and shape[-1] == 4:
        corners = rng.integers(0, 4, (*shape[:-1], 2))
        return np.concatenate([corners, corners + rng.integers(0, 3, corners.shape)], -1).astype(dtype)
    return rng.integers(0, 5, shape).astype(dtype) / 4


SPECS = spec(None, 4), spec(None)


@pytest.mark.parametrize("most", [3, 40])
@pytest.mark.parametrize("iou", [0.0, 0.5, 1.0])
def test_cut(most, iou):
    sizes = {"batches": (7, 23), "inputs": grid}

    def v1(boxes, scores):
        return raw.NonMaxSuppression(boxes=boxes, scores=scores, max_output_size=most, iou_threshold=iou)

    def v2(boxes, scores):
        return raw.NonMaxSuppressionV2(boxes=boxes, scores=scores, max_output_size=most, iou_threshold=iou)

    check(v1, *SPECS, **sizes)
    check(v2, *SPECS, **sizes)
    check(lambda b, s: tf.image.non_max_suppression(b, s, most, iou, 0.25), *SPECS, **sizes)


@pytest.mark.parametrize("padded", [False, True])
def test_padded(padded):
    limits = {"max_output_size": 6, "iou_threshold": 0.5, "score_threshold": 0.25}

    def v4(boxes, scores):
        return list(raw.NonMaxSuppressionV4(boxes=boxes, scores=scores, **limits, pad_to_max_output_size=padded))

    def v5(boxes, scores):
        options = {"soft_nms_sigma": 0.0, "pad_to_max_output_size": padded}
        return list(raw.NonMaxSuppressionV5(boxes=boxes, scores=scores, **limits, **options))

    check(v4, *SPECS, batches=(5, 23), inputs=grid)
    check(v5, *SPECS, batches=(5, 23), inputs=grid)


@pytest.mark.parametrize("threshold", [0.5, 1.0])
def test_limits_at_run_time(threshold):
    def run(boxes, scores, most, iou, least):
        return tf.image.non_max_suppression(boxes, scores, most, iou, least)

    rng = np.random.default_rng(0)
    boxes, scores = grid(rng, (20, 4), np.float32), grid(rng, (20,), np.float32)
    inputs = [boxes, scores, np.array(9, np.int32), np.array(threshold, np.float32), np.array(0.25, np.float32)]
    check(run, spec(20, 4), spec(20), spec(dtype=tf.int32), spec(), spec(), inputs=inputs)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 1.0])
def test_soft(threshold):
    def soft(boxes, scores):
        return list(tf.image.non_max_suppression_with_scores(boxes, scores, 9, threshold, 0.1, 0.5))

    def distinct(rng, shape, dtype):
        if shape[-1] == 4:
            corners = rng.uniform(0, 2, (*shape[:-1], 2))
            return np.concatenate([corners, corners + rng.uniform(0.5, 1, corners.shape)], -1).astype(dtype)
        return rng.uniform(0, 1, shape).astype(dtype)

    check(soft, *SPECS, batches=(12, 30), inputs=distinct)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(("each", "total"), [(3, 5), (4, 20)])
@pytest.mark.parametrize("options", [{}, {"pad_per_class": True}, {"clip_boxes": False}])
def test_combined(groups, each, total, options):
    def combined(boxes, scores):
        return list(tf.image.combined_non_max_suppression(boxes, scores, each, total, 0.5, 0.2, **options))

    def draw(rng, shape, dtype):
        if shape[-1] == 4:
            return grid(rng, shape, dtype) / 3
        return rng.permutation(np.linspace(0, 1, int(np.prod(shape)))).reshape(shape).astype(dtype)

    check(combined, spec(2, 11, groups, 4), spec(2, 11, 3), inputs=draw)
    looped = check(combined, spec(None, 11, groups, 4), spec(None, 11, 3), inputs=draw, batches=(1, 3), static=False)
    assert looped.ops.count("WHILE") == 1


def test_combined_with_limits_at_run_time():
    def combined(boxes, scores, iou, least):
        return list(tf.image.combined_non_max_suppression(boxes, scores, 3, 7, iou, least))

    rng = np.random.default_rng(0)
    inputs = [grid(rng, (2, 11, 1, 4), np.float32) / 3, rng.uniform(size=(2, 11, 3)).astype(np.float32)]
    specs = spec(None, 11, 1, 4), spec(None, 11, 3), spec(), spec()
    check(combined, *specs, inputs=[*inputs, np.float32(0.3), np.float32(0.4)], static=False)


def test_what_cannot_be_told_is_refused():
    check_refused(lambda b, s: tf.image.non_max_suppression(b, s, 3, 1.5), spec(5, 4), spec(5), match="iou_threshold")

    def classes(boxes, scores):
        return list(tf.image.combined_non_max_suppression(boxes, scores, 3, 9))

    check_refused(classes, spec(2, 11, 1, 4), spec(2, 11, None), match="Combined.*how many classes")


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_classes_that_share_boxes_share_what_sets_them_apart(sigma):
    def layer(boxes, scores):
        kept = [
            tf.image.non_max_suppression_with_scores(boxes, scores[:, at], 4, 0.5, 0.1, sigma)[0] for at in range(3)
        ]
        return [tf.gather(boxes, each) for each in kept]

    rng = np.random.default_rng(3)
    boxes = np.sort(rng.random((9, 2, 2)), 1).reshape(9, 4).astype(np.float32)
    scores = rng.random((9, 3)).astype(np.float32)
    converted = check(layer, spec(None, 4), spec(None, 3), inputs=[boxes, scores], static=False)
    assert converted.ops.count("RANGE") == converted.ops.count("SELECT_V2") - 3 * (not sigma) == 1
