"""Ragged tensors: what they become as dense ones, their ranges, rows and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from fuseconv.testing import check, check_refused

VALUES = tf.TensorSpec([None], tf.float32)
SPLITS = tf.TensorSpec([None], tf.int64)
NUMBERS = np.arange(1, 8, dtype=np.float32)
ROWS = np.array([0, 3, 3, 4, 7], np.int64)
EMPTY = [np.zeros(0, np.float32), np.zeros(4, np.int64)]


def ragged(values: Any, *splits: Any) -> Any:
    return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)


@pytest.mark.parametrize("shape", [None, [None, 2], [3, None], [6, 5], [2, 1]], ids=str)
@pytest.mark.parametrize("inputs", [[NUMBERS, ROWS], EMPTY], ids=["rows", "empty"])
def test_to_tensor(shape, inputs):
    check(lambda v, s: ragged(v, s).to_tensor(-1.0, shape=shape), VALUES, SPLITS, inputs=inputs, static=False)


def test_values_behind_the_last_row():
    """Splits that nobody checked: no row has the last two values, and what rows lack is still the default."""
    few, outer = np.array([0, 3, 3, 4, 5], np.int64), np.array([0, 2, 2, 4], np.int64)
    check(lambda v, s: ragged(v, s).to_tensor(-1.0), VALUES, SPLITS, inputs=[NUMBERS, few], static=False)
    check(lambda v, s: ragged(v, s).to_tensor(shape=[6, 2]), VALUES, SPLITS, inputs=[NUMBERS, few], static=False)
    specs = (VALUES, SPLITS, SPLITS)
    check(lambda v, *s: ragged(v, *s).to_tensor(-1.0), *specs, inputs=[NUMBERS, outer, few], static=False)


@pytest.mark.parametrize("dtype", [tf.int32, tf.bool, tf.float16, tf.int64], ids=lambda t: t.name)
def test_rows_of_vectors(dtype):
    values = np.arange(14).reshape(7, 2).astype(dtype.as_numpy_dtype)
    default = np.array([5, 1]).astype(dtype.as_numpy_dtype)
    spec = tf.TensorSpec([None, 2], dtype)
    check(lambda v, s: ragged(v, s).to_tensor(default), spec, SPLITS, inputs=[values, ROWS], static=False)
    check(lambda v, s: ragged(v, s).to_tensor(), spec, SPLITS, inputs=[values, ROWS], static=False)


def test_rows_of_rows():
    inputs = [NUMBERS, np.array([0, 2, 2, 4], np.int64), ROWS]
    check(lambda v, *s: ragged(v, *s).to_tensor(), VALUES, SPLITS, SPLITS, inputs=inputs, static=False)
    check(lambda v, *s: ragged(v, *s).to_tensor(shape=[4, 3, 2]), VALUES, SPLITS, SPLITS, inputs=inputs, static=False)


def test_a_shape_that_is_computed():
    def fn(v, s, n):
        return tf.raw_ops.RaggedTensorToTensor(
            shape=tf.stack([-1, n]), values=v, default_value=0.0, row_partition_tensors=[s],
            row_partition_types=["ROW_SPLITS"],
        )  # fmt: skip

    for wanted in (-1, 2, 5):
        inputs = [NUMBERS, ROWS, np.array(wanted, np.int32)]
        check(fn, VALUES, SPLITS, tf.TensorSpec([], tf.int32), inputs=inputs, static=False)


def test_rows_that_are_numbered():
    def fn(values, outer, inner, count):
        numbered = tf.RaggedTensor.from_nested_value_rowids(values, [outer, inner], [count, 4], validate=False)
        return numbered.to_tensor(), numbered.with_values(numbered.values.to_tensor()).to_tensor()

    inputs = [NUMBERS, np.array([0, 0, 2, 2]), np.array([0, 0, 0, 2, 3, 3, 3]), np.array(5)]
    check(fn, VALUES, SPLITS, SPLITS, tf.TensorSpec([], tf.int64), inputs=inputs, static=False)


def test_to_sparse():
    def fn(v, *s):
        sparse = ragged(v, *s).to_sparse()
        return sparse.indices, sparse.values, sparse.dense_shape

    check(fn, VALUES, SPLITS, inputs=[NUMBERS, ROWS], static=False)
    check(fn, VALUES, SPLITS, SPLITS, inputs=[NUMBERS, np.array([0, 2, 2, 4], np.int64), ROWS], static=False)
    vectors = tf.TensorSpec([None, 2])
    check_refused(fn, vectors, SPLITS, match="more than one dimension")


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float32], ids=lambda t: t.name)
def test_ranges(dtype):
    def fn(starts, limits, deltas):
        made = tf.ragged.range(starts, limits, deltas), tf.ragged.range(limits), tf.ragged.range(starts, 7, deltas)
        return [part for each in made for part in (each.flat_values, each.row_splits)]

    columns = [[0, 5, 3, 9, 2], [10, 5, 9, -2, 1], [3, 1, 2, -4, 1]]
    inputs = [np.array(column, dtype.as_numpy_dtype) for column in columns]
    check(fn, *[tf.TensorSpec([None], dtype)] * 3, inputs=inputs, static=False)


@pytest.mark.parametrize("indices", [[2, 0, 0, 3], [[1, 3], [0, 2], [0, 0]], [[[1, 3]], [[0, 2]]]], ids=str)
def test_rows_by_index(indices):
    def fn(i, v, *s):
        made = tf.gather(ragged(v, *s), i)
        return [made.flat_values, *made.nested_row_splits]

    at = np.array(indices, np.int32)
    spec = tf.TensorSpec([None, *at.shape[1:]], tf.int32)
    check(fn, spec, VALUES, SPLITS, inputs=[at, NUMBERS, ROWS], static=False)
    check(fn, spec, VALUES, SPLITS, SPLITS, inputs=[at, NUMBERS, np.array([0, 2, 2, 3, 4]), ROWS], static=False)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts(binary, weighted):
    def fn(values, splits, weights):
        return tf.raw_ops.RaggedBincount(
            splits=splits, values=values, size=4, weights=weights if weighted else tf.zeros([0]), binary_output=binary
        )

    inputs = [np.array([1, 0, 1, 3, 2, 2, 9], np.int32), ROWS, NUMBERS]
    if weighted and binary:
        inputs[2] = np.ones(7, np.float32)  # TensorFlow takes weights for no binary output
    check(fn, tf.TensorSpec([7], tf.int32), SPLITS, tf.TensorSpec([7]), inputs=inputs, static=False)


def test_a_model_of_words():
    """Words of sentences -> the mean of their vectors, and their first three letters' counts."""
    table = np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32)

    def fn(words, splits):
        sentences = ragged(words, splits)
        vectors = tf.ragged.map_flat_values(lambda w: tf.nn.embedding_lookup(table, w), sentences)
        longer = tf.concat([sentences, tf.reverse(sentences, [1])], 1)
        return tf.reduce_mean(vectors, 1), sentences.row_lengths(), sentences.value_rowids(), longer.to_tensor()

    inputs = [np.array([1, 0, 1, 3, 2, 2, 9], np.int32), np.array([0, 3, 4, 7], np.int64)]
    check(fn, tf.TensorSpec([None], tf.int32), SPLITS, inputs=inputs, static=False)


def test_a_recurrent_layer_of_keras_2():
    embedding, lstm = tf_keras.layers.Embedding(10, 4), tf_keras.layers.LSTM(3)
    inputs = [np.array([1, 0, 1, 3, 2, 2, 9], np.int32), np.array([0, 3, 4, 7], np.int64)]
    words = tf.TensorSpec([None], tf.int32)
    check(lambda w, s: lstm(embedding(ragged(w, s))), words, SPLITS, inputs=inputs, static=False)
