"""Parity of Einsum."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def weights(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize(
    ("equation", "shape", "weights_shape", "ops"),
    [
        ("ab,bc->ac", (None, 6), (6, 5), ["FULLY_CONNECTED"]),
        ("abc,cd->abd", (None, 4, 6), (6, 5), ["FULLY_CONNECTED"]),
        ("abc,dc->abd", (None, None, 6), (5, 6), ["FULLY_CONNECTED"]),
        ("abc,cde->abde", (None, 4, 6), (6, 2, 5), ["FULLY_CONNECTED", "RESHAPE"]),
        ("abcd,cde->abe", (None, 4, 2, 3), (2, 3, 5), ["RESHAPE", "FULLY_CONNECTED"]),
        ("abcd,dce->abe", (None, 4, 2, 3), (3, 2, 5), ["RESHAPE", "FULLY_CONNECTED"]),
        ("...x,xy->...y", (None, 4, 2, 6), (6, 5), ["FULLY_CONNECTED"]),
        ("abc,bd->acd", (None, 6, 4), (6, 5), ["TRANSPOSE", "FULLY_CONNECTED"]),
        ("ab,bc->ca", (None, 6), (6, 5), ["FULLY_CONNECTED", "TRANSPOSE"]),
        ("a,ab->b", (6,), (6, 5), ["FULLY_CONNECTED"]),
    ],
)
def test_a_constant_makes_a_dense_layer(equation, shape, weights_shape, ops):
    w = weights(*weights_shape)
    check(lambda x: tf.einsum(equation, x, w), spec(*shape), ops=ops)


def test_a_constant_on_the_left_makes_a_dense_layer():
    check(lambda x: tf.einsum("cd,abc->abd", weights(6, 5), x), spec(None, 4, 6), ops=["FULLY_CONNECTED"])


@pytest.mark.parametrize(
    ("equation", "left", "right", "transposes"),
    [
        ("abc,acd->abd", (None, 4, 6), (None, 6, 5), 0),
        ("abc,adc->abd", (None, 4, 6), (None, 5, 6), 0),
        ("acb,acd->abd", (None, 6, 4), (None, 6, 5), 0),
        ("abc,acd->adb", (None, 4, 6), (None, 6, 5), 0),
        ("aecd,abcd->acbe", (None, 4, 2, 3), (None, 5, 2, 3), 2),
        ("acbe,aecd->abcd", (None, 2, 5, 4), (None, 4, 2, 3), 2),
        ("abcd,aecd->acbe", (None, None, 2, 3), (None, None, 2, 3), 2),
        ("BTNH,BSNH->BNTS", (None, 4, 2, 3), (None, 5, 2, 3), 2),
        ("abc,dc->abd", (None, 4, 6), (5, 6), 0),
        ("abcd,cde->abe", (None, 4, 2, 3), (2, 3, 5), 0),
        ("abcdef,abcdfg->abcdeg", (None, 2, 1, 3, 4, 5), (None, 2, 1, 3, 5, 2), 0),
        ("...ij,...jk->...ik", (None, 3, 4, 5), (None, 3, 5, 2), 0),
        ("...ij,...jk->...ik", (None, 1, 4, 5), (None, 3, 5, 2), 0),
        ("...ij,...jk->...ik", (None, 3, 4, 5), (5, 2), 0),
        ("...ij,...jk->...ik", (None, 3, 4, 5), (1, 5, 2), 0),
        ("i,i->", (6,), (6,), 0),
        ("bi,bi->b", (None, 6), (None, 6), 0),
        ("abc,abd->acd", (None, 4, 6), (None, 4, 5), 0),
    ],
)
def test_a_batched_product(equation, left, right, transposes):
    converted = check(lambda x, y: tf.einsum(equation, x, y), spec(*left), spec(*right))
    assert converted.ops.count("BATCH_MATMUL") == 1
    assert converted.ops.count("TRANSPOSE") == transposes


@pytest.mark.parametrize(
    ("equation", "shape", "weights_shape", "ops"),
    [
        ("bhid,jhd->bhij", (None, 2, 3, 4), (5, 2, 4), ["BATCH_MATMUL"]),
        ("bhij,hjd->bhid", (None, 2, 3, 5), (2, 5, 4), ["BATCH_MATMUL"]),
        ("nchw,cwd->nchd", (None, 3, 4, 5), (3, 5, 2), ["BATCH_MATMUL"]),
        ("abhid,hdj->abhij", (None, 3, 2, 3, 4), (2, 4, 5), ["BATCH_MATMUL"]),
        ("bqhd,khd->bhqk", (None, 3, 2, 4), (5, 2, 4), ["TRANSPOSE", "BATCH_MATMUL"]),
        ("ibnd,jnd->bnij", (3, None, 2, 4), (5, 2, 4), ["TRANSPOSE", "BATCH_MATMUL"]),
        # Each matrix would be one row, for which all weights are read.
        ("bhd,jhd->bhj", (None, 2, 4), (5, 2, 4), ["TRANSPOSE", "BATCH_MATMUL", "TRANSPOSE"]),
    ],
)
def test_positions_are_broadcast_along_the_batch(equation, shape, weights_shape, ops):
    w = weights(*weights_shape)
    check(lambda x: tf.einsum(equation, x, w), spec(*shape), ops=ops)
    check(lambda x, y: tf.einsum(equation, x, y), spec(*shape), spec(*weights_shape))


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ij,ij->ij", (None, 4), (None, 4)),
        ("ij,ik->ijk", (None, 4), (None, 5)),
        ("i,j->ij", (4,), (5,)),
        ("i,j->ji", (None,), (5,)),
        ("ij,->ji", (None, 4), ()),
        ("abc,b->cab", (None, 4, 3), (4,)),
        ("ab,cd->ac", (None, 4), (5, 3)),
    ],
)
def test_an_elementwise_product(equation, left, right):
    check(lambda x, y: tf.einsum(equation, x, y), spec(*left), spec(*right))


@pytest.mark.parametrize(
    ("equation", "ops"),
    [
        ("abc->cab", ["TRANSPOSE"]),
        ("abc->ac", ["SUM"]),
        ("abc->ca", ["SUM", "TRANSPOSE"]),
        ("abc->", ["SUM"]),
        ("...c->c...", ["TRANSPOSE"]),
    ],
)
def test_one_operand(equation, ops):
    check(lambda x: tf.einsum(equation, x), spec(None, 4, 3), ops=ops)


@pytest.mark.parametrize("equation", ["abc,acd->abd", "abc,acd->adb", "abc,acd->bd"])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_integers(equation, dtype):
    check(lambda x, y: tf.einsum(equation, x, y), spec(None, 4, 6, dtype=dtype), spec(None, 6, 5, dtype=dtype))


@pytest.mark.parametrize("equation", ["abc,acd->adb", "ab,abc->abc"])
def test_half_precision(equation):
    left = (None, 4, 6) if equation.startswith("abc") else (None, 6)
    check(
        lambda x, y: tf.einsum(equation, x, y), spec(*left, dtype=tf.float16), spec(None, 6, 5, dtype=tf.float16),
        atol=1e-2,
    )  # fmt: skip


def test_what_is_refused():
    check_refused(lambda x: tf.einsum("ii->i", x), spec(None, None), match="diagonal")
    check_refused(lambda x, y: tf.einsum("ij,jk->ik", x, y), *[spec(4, 4, dtype=tf.float64)] * 2, match="float64")
    shapes = spec(None, 1, 2, 3, 4, 4), spec(None, 1, 2, 3, 4, 4)
    check_refused(lambda x, y: tf.einsum("...ij,...jk->...ik", x, y), *shapes, match="may broadcast")


@pytest.mark.parametrize(
    "equation", ["ii->i", "ii->", "bii->bi", "ibi->bi", "biji->bj", "i...i->...i", "iijj->ij", "iii->i"]
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.complex64], ids=lambda t: t.name)
def test_diagonals(equation, dtype):
    rank = len(equation.partition("->")[0].replace("...", "bc"))
    check(lambda x: tf.einsum(equation, x), spec(*[3] * rank, dtype=dtype))


def test_diagonals_of_products():
    check(lambda x, y: tf.einsum("bii,ij->bj", x, y), spec(None, 4, 4), spec(4, 3))
    check(lambda x: tf.raw_ops.Einsum(inputs=[x], equation="bi->bii"), spec(None, 4))
    check(lambda x, y: tf.raw_ops.Einsum(inputs=[x, y], equation="bi,bi->ibi"), spec(2, 4), spec(2, 4))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,jk->bik", "ij,ij->ij", "bij,bkj->bik", "i,j->ji"])
def test_complex(equation):
    terms = equation.partition("->")[0].split(",")
    check(lambda x, y: tf.einsum(equation, x, y), *[spec(*[3] * len(term), dtype=tf.complex64) for term in terms])


def test_sizes_that_only_a_constant_knows():
    weights = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    fn = lambda x, n: tf.einsum("ij,jk->ik", tf.reshape(x, tf.stack([-1, n[0] * 0 + 4])), weights)  # noqa: E731
    check(fn, spec(2, 8), spec(1, dtype=tf.int32))


def test_sums_of_no_products_are_0():
    none = np.zeros((0, 3), np.float32)
    check(lambda x: tf.einsum("abc,cd->adb", x, none) + 1.0, tf.TensorSpec([None, 2, 0]))
    check(lambda x: tf.einsum("abc,bcd->abd", x, none.reshape(2, 0, 3)) + 1.0, tf.TensorSpec([None, 2, 0]))
