"""Functions mapped over the rows of ragged tensors, and such as return rows of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

VALUES = tf.TensorSpec([None], tf.float32)
SPLITS = tf.TensorSpec([None], tf.int64)
ROWS = [np.arange(1, 8, dtype=np.float32), np.array([0, 3, 3, 4, 7], np.int64)]
RAGGED = tf.RaggedTensorSpec([None], tf.float32)
BATCH = tf.TensorSpec([None, 5], tf.float32)


def parts(made: Any) -> list[Any]:
    return [made.values, made.row_splits, made.to_tensor(-9.0)]


def mapped(fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda v, s: tf.map_fn(fn, tf.RaggedTensor.from_row_splits(v, s, validate=False), **options)


def test_rows_become_numbers():
    check(mapped(lambda row: tf.reduce_sum(row) + 1.0, fn_output_signature=tf.float32), VALUES, SPLITS, inputs=ROWS)


def test_rows_become_rows():
    fn = mapped(lambda row: row[:-1] * 2.0)
    converted = check(lambda v, s: parts(fn(v, s)), VALUES, SPLITS, inputs=ROWS, static=False)
    assert "WHILE" in converted.ops


@pytest.mark.parametrize("splits", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_rows_of_vectors(splits):
    """Rows of which each is a matrix, cut and padded with one row of zeros."""
    spec = tf.RaggedTensorSpec([None, 2], tf.float32, ragged_rank=0, row_splits_dtype=splits)
    fn = mapped(lambda row: tf.pad(row[1:], [[0, 1], [0, 0]]), fn_output_signature=spec)
    values = np.random.default_rng(0).standard_normal((7, 2)).astype(np.float32)
    inputs = [values, ROWS[1].astype(splits.as_numpy_dtype)]
    specs = [tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None], splits)]
    check(lambda v, s: [fn(v, s).values, fn(v, s).row_splits], *specs, inputs=inputs, static=False)


def test_elements_of_a_batch_become_rows():
    fn = tf.autograph.experimental.do_not_convert(lambda row: tf.boolean_mask(row, row > 0.0))
    check(lambda x: parts(tf.map_fn(fn, x, fn_output_signature=RAGGED)), BATCH)


def test_no_steps():
    """As no step writes a row, there are no values, and one split."""
    inputs = [np.zeros((0, 5), np.float32)]
    check(
        lambda x: tf.map_fn(lambda row: row[row > 0.0], x, fn_output_signature=RAGGED).row_splits, BATCH,
        inputs=inputs, batches=[0], static=False,
    )  # fmt: skip


def test_rows_beside_numbers():
    """Two results, of which one is a ragged tensor, of two arguments, of which one is."""

    def fn(v, s, x):
        rows = tf.RaggedTensor.from_row_splits(v, s, validate=False)
        made, sums = tf.map_fn(
            lambda row: (tf.concat([row[0], row[1][:1]], 0), tf.reduce_max(row[1])), (rows, x),
            fn_output_signature=(RAGGED, tf.float32),
        )  # fmt: skip
        return [*parts(made), sums]

    numbers = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    check(fn, VALUES, SPLITS, BATCH, inputs=[*ROWS, numbers], static=False)


def test_ragged_rows_are_refused():
    """Of a function that returns ragged tensors, or takes them."""
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    check_refused(
        lambda x: tf.map_fn(lambda row: tf.RaggedTensor.from_tensor([row]), x, fn_output_signature=spec).values.values,
        BATCH, match="RaggedTensorToVariant: of ragged tensors only dense rows .*let the function that is mapped take",
    )  # fmt: skip

    def nested(v, s, t):
        rows = tf.RaggedTensor.from_nested_row_splits(v, [s, t], validate=False)
        return tf.map_fn(lambda row: tf.reduce_sum(row.values), rows, fn_output_signature=tf.float32)

    check_refused(nested, VALUES, SPLITS, SPLITS, match="RaggedTensorToVariant: of ragged tensors only dense rows")
