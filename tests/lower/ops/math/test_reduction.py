"""Parity of reductions and scans."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused
from tests.pairwise import pairwise

raw = tf.raw_ops
NUMBERS = [tf.float32, tf.float16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64]
REDUCTIONS = {
    "SUM": tf.reduce_sum, "MEAN": tf.reduce_mean, "REDUCE_PROD": tf.reduce_prod, "REDUCE_MAX": tf.reduce_max,
    "REDUCE_MIN": tf.reduce_min,
}  # fmt: skip


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 1, -1, [0, 2], [1, -1], []], ids=str)
def test_axes(op, axis):
    check(lambda x: REDUCTIONS[op](x, axis), spec(None, 3, 5), ops=[op] if axis != [] else ["STRIDED_SLICE"])


@pytest.mark.parametrize("op", REDUCTIONS)
def test_kept_dimensions(op):
    check(lambda x: REDUCTIONS[op](x, [0, -1], keepdims=True), spec(None, 3, 5), ops=[op])


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda t: t.name)
def test_types(op, dtype):
    check(lambda x: REDUCTIONS[op](x, 1), spec(None, 3, 5, dtype=dtype), atol=1e-3 if dtype is tf.float16 else 1e-5)


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda t: t.name)
def test_empty(op, dtype):
    if (op, dtype) == ("MEAN", tf.int32):
        check_refused(lambda x: REDUCTIONS[op](x, 1), spec(2, 0, dtype=dtype), match="Mean.*empty")
        return
    check(lambda x: REDUCTIONS[op](x, 1), spec(None, 0, 3, dtype=dtype))
    check(lambda x: REDUCTIONS[op](x), spec(2, 0, dtype=dtype))


@pytest.mark.parametrize("op", REDUCTIONS)
def test_high_rank(op):
    check(lambda x: REDUCTIONS[op](x, [1, 2, 5]), spec(None, 2, 1, 2, 3, 2, 2))
    check(lambda x: REDUCTIONS[op](x, [1, 3, 5], True), spec(None, 2, 3, 2, 3, 2, 2))


@pytest.mark.parametrize("axes", [[0, 2, 4, 6], [0, 2], [1, 3, 6]], ids=str)
def test_high_rank_of_unknown_sizes(axes):
    """As gradients of tiles sum: the parts of what was repeated stand between dimensions of 1."""

    def layer(x):
        n, height, width = tf.unstack(tf.shape(x))[:3]
        return tf.reduce_sum(tf.reshape(x, [1, n, 1, height, 1, width, 3, 2]), axes)

    check(layer, spec(None, None, None, 6))


@pytest.mark.parametrize("axes", [[1, 3, 5], [0, 2, 4, 6]], ids=str)
def test_high_rank_of_unknown_sizes_in_steps(axes):
    def layer(x):
        n, height, width = tf.unstack(tf.shape(x))[:3]
        return tf.reduce_max(tf.reshape(x, [n, 2, height, 2, width, 2, 3]), axes)

    check(layer, spec(None, None, None, 24))


def test_mean_of_integers_along_many_axes_is_refused():
    check_refused(lambda x: tf.reduce_mean(x, [1, 3, 5]), spec(2, 2, 3, 2, 3, 2, 2, dtype=tf.int32), match="in steps")


@pytest.mark.parametrize("op", REDUCTIONS)
def test_axis_at_run_time(op):
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    axis = np.array([0, -1], np.int32)
    check(lambda x, axis: REDUCTIONS[op](x, axis), spec(2, 3, 4), spec(2, dtype=tf.int32), inputs=[x, axis])


@pytest.mark.parametrize("op", [tf.argmax, tf.cumsum])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int64], ids=lambda t: t.name)
def test_one_axis_at_run_time(op, dtype):
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, 4)).astype(dtype.as_numpy_dtype)
    check(op, spec(2, 3, 4, dtype=dtype), spec(dtype=tf.int32), inputs=[x, np.int32(-2)])


@pytest.mark.parametrize("keepdims", [False, True])
def test_truth_values(keepdims):
    check(lambda x: tf.reduce_any(x, 1, keepdims), spec(None, 3, dtype=tf.bool), ops=["REDUCE_ANY"])
    check(lambda x: tf.reduce_all(x, [0, 1], keepdims), spec(None, 3, dtype=tf.bool), ops=["REDUCE_ALL"])
    check(lambda x: tf.reduce_any(x, 1, keepdims), spec(2, 0, dtype=tf.bool))


def test_mean_of_negative_integers_is_cut_off():
    x = np.array([[-1, -1, -5], [1, 1, 5], [100, 27, 1]], np.int32)
    check(lambda x: tf.reduce_mean(x, 1), spec(3, 3, dtype=tf.int32), inputs=[x])


def test_norm():
    check(lambda x: tf.math.reduce_euclidean_norm(x, -1), spec(None, 5))
    check_refused(lambda x: tf.math.reduce_euclidean_norm(x, -1), spec(2, 5, dtype=tf.int32), match="EuclideanNorm")


@pytest.mark.parametrize("op", [tf.argmax, tf.argmin])
@pytest.mark.parametrize("dtype", [*NUMBERS, tf.bool], ids=lambda t: t.name)
def test_position_of_extreme(op, dtype):
    def few(rng, shape, numpy_type):
        return rng.integers(0, 2 if numpy_type.kind == "b" else 4, shape).astype(numpy_type)

    check(lambda x: op(x, 1), spec(None, 7, 2, dtype=dtype), inputs=few)


def large(rng, shape, numpy_type):
    """Integers that no narrower type tells apart."""
    return (np.iinfo(numpy_type).max - rng.permuted(np.indices(shape)[1], axis=1)).astype(numpy_type)


@pytest.mark.parametrize("dtype", [tf.int32, tf.uint32, tf.int64], ids=lambda t: t.name)
def test_extremes_of_large_integers(dtype):
    extremes = lambda x: [tf.argmax(x, 1), tf.argmin(x, 1), tf.reduce_max(x, 1), *tf.math.top_k(x, 3)]  # noqa: E731
    check(extremes, spec(2, 7, dtype=dtype), inputs=large)


@pytest.mark.parametrize("dtype", [tf.float64, tf.uint64], ids=lambda t: t.name)
def test_extremes_of_numbers_without_kernels_are_refused(dtype):
    check_refused(lambda x: tf.argmax(x, 1), spec(2, 7, dtype=dtype), match="ARG_MAX has no kernel for")
    check_refused(lambda x: tf.math.top_k(x, 2)[1], spec(2, 7, dtype=dtype), match="TOPK_V2 has no kernel for")


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64, tf.uint16], ids=lambda t: t.name)
def test_type_of_position(index_type):
    check(lambda x: tf.argmax(x, -1, index_type), spec(None, 7))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(exclusive, reverse):
    check(lambda x: tf.cumsum(x, 1, exclusive, reverse), spec(None, 5, 2), ops=["CUMSUM"])
    check(lambda x: tf.math.cumprod(x, -1, exclusive, reverse), spec(None, 2, 5))


def test_products_of_complex_numbers():
    """Such as the response of a filter, from those of its sections."""
    image = spec(None, 4, 7, dtype=tf.complex64)
    check(lambda x: [tf.reduce_prod(x, axis) for axis in (1, -1, [1, 2], [])], image)
    check(lambda x: tf.reduce_prod(x, 1, keepdims=True), image)
    check(lambda x: [tf.reduce_prod(x[:, :1], 1), tf.reduce_prod(x[:, :0], 1)], image)
    check(tf.reduce_prod, spec(3, 5, 1, 2, 1, 3, dtype=tf.complex64))
    check_refused(lambda x: tf.reduce_prod(x, 0), image, match="Prod.*how many complex numbers")


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_of_complex_numbers(exclusive, reverse):
    for size in (5, None):
        image = spec(None, size, 3, dtype=tf.complex64)
        check(lambda x: tf.math.cumprod(x, 1, exclusive, reverse), image)


@pytest.mark.parametrize("op", [tf.cumsum, tf.math.cumprod])
@pytest.mark.parametrize("dtype", [tf.float16, tf.int8, tf.int32, tf.int64, tf.uint32], ids=lambda t: t.name)
def test_types_of_scans(op, dtype):
    check(lambda x: op(x, 1), spec(None, 4, dtype=dtype))


@pairwise(op=[tf.math.cumprod, tf.math.cumulative_logsumexp], exclusive=[False, True], reverse=[False, True])
def test_scans_along_an_unknown_size(op, exclusive, reverse):
    sizes = (0, 1, 2, 7)
    assert "WHILE" in check(lambda x: op(x, 0, exclusive, reverse), spec(None, 3), batches=sizes).ops
    assert "WHILE" in check(lambda x: op(x, 1, exclusive, reverse), spec(None, None, 2), batches=(1, 3)).ops


@pytest.mark.parametrize("dtype", [tf.float16, tf.int8, tf.int64], ids=lambda t: t.name)
def test_types_of_products_along_an_unknown_size(dtype):
    check(tf.math.cumprod, spec(None, 3, dtype=dtype), batches=(1, 5))


def test_scans_of_many_dimensions():
    check(lambda x: tf.math.cumprod(x, 2), spec(None, 2, 5, 2, 1, 3, 2))
    check(lambda x: tf.math.cumprod(x, 2, reverse=True), spec(2, 2, None, 2, 1, 3, 2))


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda t: t.name)
def test_top_k(dtype):
    def distinct(rng, shape, numpy_type):
        return rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1).astype(numpy_type)

    check(lambda x: list(tf.math.top_k(x, 3)), spec(None, 9, dtype=dtype), inputs=distinct)


def test_top_k_of_equal_elements():
    x = np.array([[1, 3, 3, 1, 2, 3], [0, 0, 0, 0, 0, 0]], np.float32)
    check(lambda x: list(tf.math.top_k(x, 4, index_type=tf.int64)), spec(2, 6), inputs=[x])


def test_number_of_top_elements_at_run_time():
    x = np.random.default_rng(0).standard_normal((2, 7)).astype(np.float32)
    check(lambda x, k: list(tf.math.top_k(x, k)), spec(2, 7), spec(dtype=tf.int32), inputs=[x, np.int32(3)])


@pytest.mark.parametrize("flags", [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_cumulative_logsumexp(dtype, flags):
    check(lambda x: tf.math.cumulative_logsumexp(x, 1, **flags), tf.TensorSpec([None, 6], dtype))


def test_cumulative_logsumexp_of_more_dimensions_than_kernels_take():
    check(lambda x: tf.math.cumulative_logsumexp(x, 2), tf.TensorSpec([None, 2, 5, 2, 3, 2], tf.float32))
