"""Padded non-max suppression, with TensorFlow's own body."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import image_ops_impl

from fuseconv.testing import check
from tests.annotated import FORMS, annotated

BODY = image_ops_impl.non_max_suppression_padded_v2.python_function
LIMITS = np.int32(4), np.float32(0.5), np.float32(0.3)


def boxes_and_scores(rng, shape, dtype):
    if shape[-1] != 4:
        return rng.uniform(0.1, 1, shape).astype(dtype)
    corner = rng.uniform(0, 1, (*shape[:-1], 2))
    return np.concatenate([corner, corner + rng.uniform(0.2, 0.6, corner.shape)], -1).astype(dtype)


def nms(form="string"):
    """TensorFlow's body; the limits are operands, what follows them is bound while tracing."""
    traced = annotated(BODY, NAME, form)
    return lambda b, s: traced(b, s, *map(tf.constant, LIMITS), False, False, 16)


NAME = "non_max_suppression_padded_v2"


@pytest.mark.parametrize("form", FORMS)
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


def test_a_batch_of_unknown_size_stays_with_the_body():
    fn = nms()
    specs = tf.TensorSpec([None, 9, 4]), tf.TensorSpec([None, 9])
    converted = check(fn, *specs, inputs=boxes_and_scores, static=False)
    assert "batch" in converted.refused["non_max_suppression"] and "WHILE" in converted.ops


def test_tensorflows_own_function():
    """Numbers of Python's are operands of an annotated function as well."""
    specs = tf.TensorSpec([9, 4]), tf.TensorSpec([9])
    converted = check(
        lambda b, s: tf.image.non_max_suppression_padded(b, s, 4, 0.5, 0.3, pad_to_max_output_size=True, tile_size=16),
        *specs, inputs=boxes_and_scores,
    )  # fmt: skip
    assert converted.fused[:1] == ["non_max_suppression"], converted.refused
