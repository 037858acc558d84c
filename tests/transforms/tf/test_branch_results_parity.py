"""Flags, scalars and what both sides of a branch return need no branch: the same numbers as TensorFlow's."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

ROWS = tf.TensorSpec([None, 3])


def test_any_and_all() -> None:
    def fn(x):
        n, total, found = tf.constant(0), tf.constant(0.0), tf.constant(False)
        while n < tf.shape(x)[0] and not found:
            total += tf.reduce_sum(x[n])
            if total > 2.0 or n > 5:
                found = True
            n += 1
        return total, n, found

    made = check(fn, ROWS)
    assert "IF" not in made.ops and made.ops.count("LOGICAL_OR") >= 1


def test_break_and_continue() -> None:
    def fn(x):
        total = tf.zeros([3])
        for i in tf.range(10):
            if i % 3 == 1:
                continue
            total += x[0] * tf.cast(i, tf.float32)
            if tf.reduce_sum(total) > 5.0:
                break
        return total

    check(fn, ROWS)


def test_scalars_are_selected() -> None:
    def fn(x):
        low, high = tf.constant(0), tf.constant(0)
        for i in tf.range(tf.shape(x)[0]):
            if x[i, 0] > 0.0:
                low += 1
            else:
                high += i
        return low, high

    made = check(fn, ROWS)
    assert "IF" not in made.ops and "SELECT_V2" in made.ops


def test_what_both_sides_return_does_not_go_through_the_branch() -> None:
    def fn(x, y):
        z = tf.identity(y) * 2.0
        if tf.reduce_sum(x) > 0.0:
            kept, made = z, tf.matmul(x, x, transpose_b=True)
        else:
            kept, made = z, tf.matmul(y, y, transpose_b=True)
        return kept, made

    made = check(fn, ROWS, ROWS)
    assert made.ops.count("IF") == 1 and "SLICE" not in made.ops


def test_a_division_that_the_condition_guards_stays_in_the_branch() -> None:
    def fn(n):
        if n[0] != 0:
            return 10 // n[0]
        return tf.constant(-1)

    def some(rng, shape, dtype):
        return np.array([0, 3], dtype) if rng.integers(2) else np.array([3, 0], dtype)

    assert "IF" in check(fn, tf.TensorSpec([2], tf.int32), inputs=some).ops
