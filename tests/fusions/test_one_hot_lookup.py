"""Rows of a table that one-hot vectors select."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
WORDS, DEPTH = 600, 7
TABLE = RNG.standard_normal((WORDS, DEPTH)).astype(np.float32)
IDS = tf.TensorSpec([None, 5], tf.int32)
LOOKUP = ["MINIMUM", "MAXIMUM", "ADD", "GATHER"]


def ids(rng, shape, dtype):
    """Places in the table, and some that are not."""
    return rng.integers(-9, WORDS + 9, shape).astype(dtype)


FORMS = {
    "matmul": lambda x: tf.matmul(tf.one_hot(x, WORDS), TABLE),
    "transposed": lambda x: tf.matmul(tf.one_hot(x[:, 0], WORDS), np.ascontiguousarray(TABLE.T), transpose_b=True),
    "tensordot": lambda x: tf.tensordot(tf.one_hot(x, WORDS), TABLE, 1),
    "einsum": lambda x: tf.einsum("btv,vd->btd", tf.one_hot(x, WORDS), TABLE),
    "flat": lambda x: tf.matmul(tf.one_hot(tf.reshape(x, [-1]), WORDS), TABLE),
}


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint8])
def test_types(dtype):
    converted = check(FORMS["matmul"], tf.TensorSpec([None, 5], dtype), inputs=ids)
    assert set(LOOKUP) <= set(converted.ops) <= {*LOOKUP, "CAST"}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    converted = check(FORMS[form], IDS, inputs=ids)
    assert set(LOOKUP) <= set(converted.ops) and "ONE_HOT" not in converted.ops


@pytest.mark.parametrize("axis", [-1, 1])
def test_a_place_that_was_searched_is_inside(axis):
    def function(x):
        found = tf.argmin(x, axis)
        return tf.matmul(tf.one_hot(found, 8), TABLE[:8])

    x = tf.TensorSpec([None, 3, 8]) if axis == -1 else tf.TensorSpec([None, 8, 3])
    assert check(function, x).ops == ["ARG_MIN", "GATHER"]


def test_a_table_that_is_the_head_too_is_stored_once():
    table = tf.constant(RNG.standard_normal((50, 64)), tf.float32)

    def function(x):
        return tf.matmul(tf.nn.gelu(tf.matmul(tf.one_hot(x, 50), table)), table, transpose_b=True)

    assert len(check(function, IDS, inputs=ids).data) < 1.5 * table.numpy().nbytes


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.matmul(tf.one_hot(x, 15), TABLE[:15]),
        lambda x: tf.matmul(tf.one_hot(x, WORDS, off_value=-1.0), TABLE),
        lambda x: tf.matmul(tf.one_hot(x, WORDS), np.where(TABLE > 2, np.inf, TABLE).astype(np.float32)),
        lambda x: tf.matmul(tf.one_hot(x, 5, axis=1), TABLE[:5]),
        lambda x: tf.einsum("btv,vd->bdt", tf.one_hot(x, WORDS), TABLE),
    ],
    ids=["small", "other values", "infinite", "other axis", "other order"],
)
def test_near_misses(function):
    spec = tf.TensorSpec([None, 5], tf.int32)
    assert "ONE_HOT" in check(function, spec, inputs=ids).ops
