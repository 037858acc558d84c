"""What guards against numbers that cannot come is gone, and the file computes what TensorFlow does."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

TABLE = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
IDS = tf.TensorSpec([None, 6], tf.int32)


def lookup(ids):
    """Look up rows as JAX does: negative numbers count from the end, and others beyond the table give NaN."""
    placed = tf.where(ids < 0, ids + 20, ids)
    inside = (placed >= 0) & (placed <= 19)
    rows = tf.gather(TABLE, tf.clip_by_value(placed, 0, 19))
    return tf.where(inside[..., tf.newaxis], rows, np.nan)


def drawn(low: int, high: int):
    return lambda rng, shape, dtype: rng.integers(low, high, shape, dtype, endpoint=True)


def test_an_embedding() -> None:
    check(lookup, IDS, inputs=drawn(0, 19), input_ranges={"x0": (0, 19)}, ops=["GATHER"])
    check(lookup, IDS, inputs=drawn(-20, 19), input_ranges="-20:19")
    made = check(lookup, IDS, inputs=drawn(-40, 40))
    assert "SELECT_V2" in made.ops


def test_a_mask_of_ids_that_are_never_padding() -> None:
    def fn(ids):
        return tf.where(ids[..., tf.newaxis] != 0, tf.gather(TABLE, ids), 0.0)

    check(fn, IDS, inputs=drawn(1, 19), input_ranges={"x0": (1, 19)}, ops=["GATHER"])


def test_the_place_of_a_maximum() -> None:
    def fn(x):
        return lookup(tf.argmax(x, 1, tf.int32))

    check(fn, tf.TensorSpec([None, 7]), ops=["ARG_MAX", "GATHER"])


def test_a_decoder_that_looks_up_what_it_chose() -> None:
    weights = np.random.default_rng(1).normal(size=(5, 20)).astype(np.float32)

    def fn(ids):
        def step(at, ids, total):
            row = lookup(tf.where(ids < 0, ids + 20, ids)) + tf.gather(TABLE, tf.clip_by_value(at, 0, 19))
            return at + 1, tf.argmax(tf.tanh(row) @ weights, -1, tf.int32), total + row

        return tf.while_loop(lambda at, *_: at < 7, step, (0, ids, tf.zeros([tf.shape(ids)[0], 5])))

    ids = tf.TensorSpec([None], tf.int32)
    made = check(fn, ids, inputs=drawn(0, 19), input_ranges={"x0": (0, 19)})
    assert not {"SELECT_V2", "MINIMUM", "MAXIMUM", "EQUAL"} & set(made.ops)
    assert "MINIMUM" not in check(fn, ids, inputs=drawn(-20, 19)).ops[-1:]
