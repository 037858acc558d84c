"""Parity of diagonals and bands."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused
from tests.pairwise import pairwise

TYPES = [tf.float32, tf.float16, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.bool]
ALIGNS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_main_diagonal_of_each_type(dtype):
    check(tf.linalg.diag, spec(None, 3, dtype=dtype))
    check(tf.linalg.diag_part, spec(None, 3, 4, dtype=dtype))
    check(tf.linalg.set_diag, spec(None, 3, 4, dtype=dtype), spec(None, 3, dtype=dtype))
    check(lambda x: tf.linalg.band_part(x, 1, 0), spec(None, 3, 4, dtype=dtype))


@pairwise(k=[(-2, 1), (1, 2), (-1, -1), (0, 2)], align=ALIGNS, size=[(4, 4), (3, 5), (5, 3)])
def test_diagonals(k, align, size):
    rows, columns = size
    longest = min(rows + min(k[1], 0), columns - max(k[0], 0))
    table = (k[1] - k[0] + 1, longest) if k[0] != k[1] else (longest,)
    diagonals = spec(None, *table)

    def made(x):
        return tf.linalg.diag(x, k=k, num_rows=rows, num_cols=columns, padding_value=7, align=align)

    # The batch is no matter of how diagonals are aligned.
    static = align == ALIGNS[0]
    check(made, diagonals, static=static)
    check(lambda x: tf.linalg.diag_part(x, k=k, padding_value=7, align=align), spec(None, rows, columns), static=static)
    # TensorFlow cannot trace this with an unknown batch.
    check(lambda x, d: tf.linalg.set_diag(x, d, k=k, align=align), spec(2, rows, columns), spec(2, *table))


def test_matrix_as_small_as_its_diagonals():
    check(lambda x: tf.linalg.diag(x, k=(-1, 2)), spec(None, 4, 3))
    check(lambda x: tf.linalg.diag(x, k=1, num_rows=3), spec(None, 3))
    check(lambda x: tf.linalg.diag(x, k=-1), spec(3))


@pytest.mark.parametrize("shape", [(None, None), (2, None, 3), (None, 2), (None, None, None)])
def test_main_diagonal_of_an_unknown_size(shape):
    check(tf.linalg.diag_part, tf.TensorSpec(shape), static=False)


def test_unknown_sizes():
    check(tf.linalg.diag, spec(None, None))
    check(lambda x: tf.linalg.set_diag(x, tf.reduce_sum(x, 1)), spec(None, 7, None), batches=(2,))
    check(lambda x: tf.linalg.band_part(x, 1, -1), spec(None, None, 4))
    check_refused(lambda x: tf.linalg.diag_part(x, k=(0, 1)), spec(None, None, 4), match="MatrixDiagPartV3.*size")


@pytest.mark.parametrize("k", [-2, -1, 1, 2])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.bool])
def test_one_diagonal_of_an_unknown_size(k, dtype):
    check(lambda x: tf.linalg.diag(x, k=k), spec(None, None, dtype=dtype))
    for shape in ((None, None, 4), (2, 5, None), (None, None, None)):
        sizes = [np.resize([1, 0, 3, 5, 7, 2, 0, 4], (2, 5, 4)).astype(dtype.as_numpy_dtype)]
        check(lambda x: tf.linalg.diag_part(x, k=k), spec(*shape, dtype=dtype), inputs=sizes, static=False)


@pytest.mark.parametrize("below", [-1, 0, 2])
@pytest.mark.parametrize("above", [-1, 0, 1])
def test_band(below, above):
    check(lambda x: tf.linalg.band_part(x, below, above), spec(None, 4, 5))
    widths = [np.int64(below), np.int64(above)]
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    number = spec(dtype=tf.int64)
    check(tf.linalg.band_part, spec(4, 5), number, number, inputs=[x, *widths])


def test_a_side_that_is_kept_whole_is_not_compared():
    ops = check(lambda x: tf.linalg.band_part(x, -1, 0), spec(None, None, 4), static=False).ops
    assert ops.count("LESS_EQUAL") == 1 and "LOGICAL_AND" not in ops and "NEG" not in ops
    check(lambda x: tf.tanh(tf.linalg.band_part(x, -1, -1)), spec(None, None, 4), ops=["TANH"], static=False)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
def test_diagonals_of_whole_tensors(dtype):
    check(lambda x: tf.raw_ops.Diag(diagonal=x), tf.TensorSpec([4], dtype))
    check(lambda x: tf.raw_ops.Diag(diagonal=x), tf.TensorSpec([2, 3], dtype))
    check(lambda x: tf.raw_ops.DiagPart(input=x), tf.TensorSpec([4, 4], dtype))
    check(lambda x: tf.raw_ops.DiagPart(input=x), tf.TensorSpec([2, 3, 2, 3], dtype))


@pytest.mark.parametrize("band", [(0, 1), (-1, 0), (2, -1)])
def test_a_band_where_not_even_the_rank_is_known(band) -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        more = tf.ones([tf.cast(x[0, 0, 0] > 0, tf.int32)], tf.int32)
        return tf.linalg.band_part(tf.reshape(x, tf.concat([more, tf.shape(x)], 0)), *band)

    converted = check(fn, tf.TensorSpec([2, 3, 4]), static=False)
    assert {"SHAPE", "RANGE", "SELECT_V2"} <= set(converted.ops)
