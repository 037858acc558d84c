"""SSD post-processing, its body written out from the contract: the custom op that LiteRT has computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import Converted, check, convert_function, implements
from tests.annotated import annotated
from tests.pairwise import pairwise

NAME = "TFLite_Detection_PostProcess"
ATTRS: dict[str, Any] = {
    "max_detections": 4, "max_classes_per_detection": 1, "use_regular_nms": False, "nms_score_threshold": 0.3,
    "nms_iou_threshold": 0.5, "num_classes": 3, "y_scale": 10.0, "x_scale": 8.0, "h_scale": 5.0, "w_scale": 4.0,
}  # fmt: skip
BOXES = 9
ANCHORS = np.random.default_rng(1).uniform(0.2, 0.8, (BOXES, 4)).astype(np.float32)


def decoded(encoded, anchors, attrs):
    """Centers and sizes, relative to the anchors' -> corners."""
    scaled = encoded / [attrs[name] for name in ("y_scale", "x_scale", "h_scale", "w_scale")]
    centers = scaled[:, :2] * anchors[:, 2:] + anchors[:, :2]
    halves = tf.exp(scaled[:, 2:]) * anchors[:, 2:] * 0.5
    return tf.concat([centers - halves, centers + halves], 1)


def selected(boxes, scores, most, attrs):
    """Places of boxes, padded with 0, and which of them count."""
    indices, count = tf.raw_ops.NonMaxSuppressionV4(
        boxes=boxes, scores=scores, max_output_size=most, iou_threshold=attrs["nms_iou_threshold"],
        score_threshold=attrs["nms_score_threshold"], pad_to_max_output_size=True,
    )  # fmt: skip
    return indices, tf.range(most) < count


def fast(boxes, scores, attrs):
    """The best classes of each box; boxes compete by their best class."""
    most, each = attrs["max_detections"], attrs["max_classes_per_detection"]
    classes = min(each, attrs["num_classes"])
    best, which = tf.math.top_k(scores, classes)
    indices, there = selected(boxes, best[:, 0], most, attrs)
    rows = tf.tile(tf.gather(boxes, indices)[:, tf.newaxis], [1, classes, 1])
    results = rows, tf.cast(tf.gather(which, indices), tf.float32), tf.gather(best, indices)
    return results, tf.tile(there[:, tf.newaxis], [1, classes]), there, each - classes


def regular(boxes, scores, attrs):
    """Boxes compete within each class, then the best of all."""
    most = attrs["max_detections"]
    each = min(attrs.get("detections_per_class", 100), most)
    found = [selected(boxes, scores[:, c], each, attrs) for c in range(attrs["num_classes"])]
    rest = [[0, most]]
    values = [tf.where(there, tf.gather(scores[:, c], i), -np.inf) for c, (i, there) in enumerate(found)]
    best, order = tf.math.top_k(tf.pad(tf.concat(values, 0), rest, constant_values=-np.inf), most)
    rows = tf.gather(tf.pad(tf.gather(boxes, tf.concat([i for i, _ in found], 0)), [*rest, [0, 0]]), order)
    which = tf.gather(tf.pad(tf.repeat(tf.range(float(len(found))), each), rest), order)
    there = best > -np.inf
    parts = rows[:, tf.newaxis], which[:, tf.newaxis], best[:, tf.newaxis]
    return parts, there[:, tf.newaxis], there, 0


def postprocess(attrs: dict[str, Any]) -> Callable:
    def body(encoded, scores, anchors):
        boxes = decoded(encoded[0], anchors, attrs)
        own = scores[0, :, scores.shape[2] - attrs["num_classes"] :]
        parts, mask, there, short = (regular if attrs["use_regular_nms"] else fast)(boxes, own, attrs)
        size = attrs["max_detections"] * attrs["max_classes_per_detection"]
        results = []
        for part in parts:
            kept = tf.where(mask[..., tf.newaxis] if part.shape.rank == 3 else mask, part, 0.0)
            kept = tf.pad(kept, [[0, 0], [0, short], [0, 0]][: part.shape.rank])
            flat = tf.reshape(kept, [-1, *part.shape[2:]])
            ends = [[0, size - flat.shape[0]], [0, 0]][: part.shape.rank - 1]
            results.append(tf.pad(flat, ends)[tf.newaxis])
        return *results, tf.reduce_sum(tf.cast(there, tf.float32))[tf.newaxis]

    return body


def draw(rng, shape, dtype):
    drawn = rng.standard_normal(shape) * 3 if shape[-1] == 4 else rng.uniform(0, 1, shape)
    return drawn.astype(dtype)


@pairwise(
    use_regular_nms=[False, True],
    background=[0, 1],
    attrs=[{}, {"max_detections": 20}, {"max_classes_per_detection": 2}, {"max_classes_per_detection": 5}],
)
def test_parity(attrs, background, use_regular_nms):
    attrs = {**ATTRS, **attrs, "use_regular_nms": use_regular_nms}
    fn = annotated(postprocess(attrs), implements(NAME, **attrs))
    specs = tf.TensorSpec([1, BOXES, 4]), tf.TensorSpec([1, BOXES, 3 + background])
    converted = check(lambda b, s: fn(b, s, ANCHORS), *specs, inputs=draw)
    assert converted.fused == ["detection_postprocess"] and converted.ops.count(NAME) == 1
    assert reason(converted).startswith("the body agrees")


def reason(converted: Converted) -> str:
    return next(record.why for record in converted.report.records if record.kind == "fused")


@pytest.mark.parametrize("each", [1, 3])
def test_detections_of_each_class(each):
    attrs = {**ATTRS, "use_regular_nms": True, "detections_per_class": each}
    fn = annotated(postprocess(attrs), implements(NAME, **attrs))
    specs = tf.TensorSpec([1, BOXES, 4]), tf.TensorSpec([1, BOXES, 4]), tf.TensorSpec([BOXES, 4])
    converted = convert_function(fn, *specs)
    assert converted.ops == [NAME] and reason(converted).startswith("the body agrees")


@pytest.mark.parametrize(
    "different",
    [{"y_scale": 9.0}, {"nms_iou_threshold": 0.3}, {"nms_score_threshold": 0.4}, {"use_regular_nms": True},
     {"x_scale": 9.0}],
)  # fmt: skip
def test_a_body_that_computes_something_else_is_used(different):
    fn = annotated(postprocess(ATTRS | different), implements(NAME, **ATTRS))
    specs = tf.TensorSpec([1, BOXES, 4]), tf.TensorSpec([1, BOXES, 4])
    converted = check(lambda b, s: fn(b, s, ANCHORS), *specs, inputs=draw)
    assert "differ" in converted.refused["detection_postprocess"] and NAME not in converted.ops


@pytest.mark.parametrize(
    ("attrs", "shapes", "why"),
    [
        ({}, ([None, 9, 4], [None, 9, 4], [9, 4]), "one image"),
        ({}, ([1, 9, 4], [1, 9, 5], [9, 4]), "of 3 classes"),
        ({}, ([1, 9, 4], [1, 9, 4], [8, 4]), "differ in number"),
        ({}, ([1, 9, 5], [1, 9, 4], [9, 4]), "4 numbers each"),
        ({"nms_iou_threshold": 0.0}, ([1, 9, 4], [1, 9, 4], [9, 4]), "between 0 and 1"),
        ({"max_detections": 0}, ([1, 9, 4], [1, 9, 4], [9, 4]), "max_detections is 0"),
    ],
)
def test_what_the_kernel_does_not_take(attrs, shapes, why):
    fn = annotated(lambda b, s, a: [tf.reduce_sum(v) for v in (b, s, a, b)], implements(NAME, **ATTRS | attrs))
    converted = convert_function(fn, *[tf.TensorSpec(shape) for shape in shapes])
    assert why in converted.refused["detection_postprocess"] and NAME not in converted.ops
