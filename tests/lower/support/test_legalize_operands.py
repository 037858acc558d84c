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
    begin = np.ones(6, np.int32)
    check_refused(
        lambda x, size: tf.slice(x, begin, size), spec(2, 1, 2, 1, 2, 1), spec(6, dtype=tf.int32), match="Slice.*rank 6"
    )


def strings(*shape):
    return spec(*shape, dtype=tf.string)


@pytest.mark.parametrize(
    "move",
    [
        lambda x: tf.transpose(x, [2, 0, 1]),
        lambda x: tf.reverse(x, [0, -1]),
        lambda x: tf.slice(x, [0, 1, 1], [-1, 1, -1]),
        lambda x: tf.unstack(x, axis=1),
        lambda x: tf.split(x, [1, 3], 2),
        lambda x: tf.gather(x, [[1, 0], [0, 0]], axis=1),
        lambda x: tf.boolean_mask(x, [True, False], axis=1),
        lambda x: tf.broadcast_to(x[:1], [2, 3, 2, 4]),
        lambda x: x[1:, ::-1, tf.newaxis, 2],
    ],
)
def test_strings_are_moved(move):
    check(move, strings(None, 2, 4))


def test_strings_are_handed_on():
    check(lambda x: [x, tf.identity(x), tf.expand_dims(x, 1)], strings(None, 2))


@pytest.mark.parametrize(
    "join", [lambda x: tf.concat([x, x], 0), lambda x: tf.stack([x, x]), lambda x: tf.where([True, False], x, "")]
)
def test_strings_are_not_joined(join):
    check_refused(join, strings(None, 2), match="no kernel that takes strings from two tensors into one")


@pytest.mark.parametrize(
    "choose",
    [
        lambda x: tf.where(x > 0, "yes", "no"),
        lambda x: tf.where(x > 0, tf.constant([["a", "bb"]]), ["c", ""]),
        lambda x: tf.where(x[:, :1] > 0, tf.constant([["a", "bb"], ["", "é"]]), ["c", "a"]),
    ],
)
def test_constant_strings_are_joined(choose):
    check(choose, tf.TensorSpec([None, 2], tf.float32), batches=(2,))
