"""Parity of pooling over cells that a seed tells."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

RATIO = [1.0, 1.5, 1.5, 1.0]
IMAGES = tf.TensorSpec([None, 11, 14, 3], tf.float32)
POOLS = {"max": tf.nn.fractional_max_pool, "avg": tf.nn.fractional_avg_pool}


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("kind", POOLS)
def test_cells_of_a_seed(kind, pseudo_random, overlapping):
    """The sequences of the cells' bounds are results too. A ratio of 5.2 leaves few cells, of any number of rows."""
    for ratio, seed in (([1.0, 1.44, 1.73, 1.0], 7), ([1.0, 2.0, 5.2, 1.0], 2**40 + 3)):
        check(lambda x: list(POOLS[kind](x, ratio, pseudo_random, overlapping, seed=seed)), IMAGES)  # noqa: B023


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_whole_numbers(dtype):
    spec = tf.TensorSpec([None, 9, 7, 2], dtype)
    check(lambda x: tf.nn.fractional_max_pool(x, RATIO, seed=3)[0], spec)
    check_refused(lambda x: tf.nn.fractional_avg_pool(x, RATIO, seed=3)[0], spec, match="computes it in float32")


def test_many_cells_of_both_seeds():
    """Seeds of 64 bits, whose halves are parts of the key and of the counter, and more cells than a block has
    numbers."""
    images = tf.TensorSpec([1, 37, 53, 1], tf.float32)
    for pseudo_random in (False, True):
        check(
            lambda x: list(tf.raw_ops.FractionalMaxPool(
                value=x, pooling_ratio=[1.0, 1.2, 1.9, 1.0], pseudo_random=pseudo_random, deterministic=True,  # noqa: B023
                seed=2**35 + 1, seed2=2**50 + 9,
            )), images,
        )  # fmt: skip


def test_equal_cells_with_an_infinity():
    values = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)
    values[0, 1, 1] = np.inf
    images = tf.TensorSpec([1, 4, 6, 1], tf.float32)
    check(lambda x: tf.nn.fractional_max_pool(x, 2.0, seed=1)[0], images, inputs=[values])


@pytest.mark.parametrize("kind", POOLS)
def test_refusals(kind):
    check_refused(lambda x: POOLS[kind](x, RATIO, seed=0)[0], IMAGES, match="drawn anew in each run; give it a seed")
    unknown = tf.TensorSpec([1, None, 8, 3], tf.float32)
    check_refused(lambda x: POOLS[kind](x, RATIO, seed=4)[0], unknown, match="height and width must be known")
