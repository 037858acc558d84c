"""Ranks that kernels do not broadcast at."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


OPS = {"add": tf.add, "div": tf.divide, "floormod": tf.math.floormod, "less": tf.less, "max": tf.maximum}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((2, 3, 2, 1, 2, 3), (2, 3, 2, 3, 2, 3)),
        ((2, 1, 2, 3, 1, 2, 2), (2,)),
        ((2, 1, 2, 3, 1, 2, 2), ()),
        ((2, 1, 3, 1, 2), (1, 3, 1, 2, 1)),
    ],
)
def test_high_rank(op, x, y):
    def positive(rng, shape, dtype):
        return rng.uniform(1, 3, shape).astype(dtype)

    check(OPS[op], spec(*x), spec(*y), inputs=positive)


def test_high_rank_with_an_unknown_size():
    check(tf.less, spec(None, 2, 1, 3, 2), spec(2, 2, 1, 1))


def test_high_rank_of_unknown_sizes():
    sizes = [(2, 1, 3, 1, 2), (1, 3, 3, 2, 2)]
    inputs = [np.random.default_rng(0).standard_normal(size).astype(np.float32) for size in sizes]
    check(tf.less, spec(*[None] * 5), spec(*[None] * 5), inputs=inputs, static=False)


def test_select_at_high_rank():
    condition = spec(2, 1, 2, 1, 2, 1, dtype=tf.bool)
    check(tf.where, condition, spec(2, 3, 2, 3, 2, 3), spec(2, 1))


def test_a_rank_that_no_kernel_takes():
    check_refused(lambda x: tf.concat([x, x], 0), spec(2, 1, 2, 1, 2, 1, 2), match="ConcatV2.*rank 7")
