"""Parity of matrix products."""


import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def weights(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("transpose", [False, True])
def test_matmul_with_constant_weights(transpose):
    w = weights(5, 7) if transpose else weights(7, 5)
    check(lambda x: tf.matmul(x, w, transpose_b=transpose), spec(None, 7), ops=["FULLY_CONNECTED"])


def test_matmul_with_constant_weights_and_a_transposed_input():
    check(lambda x: tf.matmul(x, weights(7, 5), transpose_a=True), spec(7, None))


def test_matmul_with_a_constant_on_the_left():
    check(lambda x: tf.matmul(weights(5, 7), x), spec(7, None))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul_of_two_inputs(transpose_a, transpose_b):
    a = spec(7, None) if transpose_a else spec(None, 7)
    b = spec(None, 7) if transpose_b else spec(7, None)
    check(lambda x, y: tf.matmul(x, y, transpose_a, transpose_b), a, b, ops=["BATCH_MATMUL"])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16])
def test_matmul_that_is_told_of_many_zeros(sparse, dtype):
    w = weights(5, 7)
    w[::2] = 0

    def layer(x):
        column = tf.matmul(tf.cast(x, dtype), tf.cast(w, dtype), transpose_b=True, b_is_sparse=True, a_is_sparse=sparse)
        return column, tf.raw_ops.SparseMatMul(a=x, b=tf.cast(x, dtype), transpose_a=True, a_is_sparse=sparse)

    check(layer, spec(None, 7))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("adjoint", [False, True])
def test_matmul_of_integers(dtype, adjoint):
    a, b = spec(None, 7, dtype=dtype), spec(*((5, 7) if adjoint else (7, 5)), dtype=dtype)
    check(lambda x, y: tf.matmul(x, y, transpose_b=adjoint), a, b)
    batched = spec(None, 3, 7, dtype=dtype)
    check(lambda x, y: tf.matmul(x, tf.expand_dims(y, 0), transpose_b=adjoint), batched, b)


def test_batch_matmul_of_int16_keeps_what_is_left_of_16_bits():
    batched = spec(None, 3, 7, dtype=tf.int16)
    check(lambda x: tf.matmul(1000 * x, x, transpose_b=True), batched)


def product(x, y, made, adj_x=False, adj_y=False):
    return tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=made, adj_x=adj_x, adj_y=adj_y)


@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
def test_int32_of_int8(adj_x, adj_y):
    a = spec(*((None, 7, 6) if adj_x else (None, 6, 7)), dtype=tf.int8)
    b = spec(*((5, 7) if adj_y else (7, 5)), dtype=tf.int8)
    check(lambda x, y: product(x, y, tf.int32, adj_x, adj_y), a, b, ops=["BATCH_MATMUL"])
    many = spec(None, 2, 1, 2, 3, 7, dtype=tf.int8)
    check(lambda x, y: product(x, tf.reshape(y, [7, 5]), tf.int32), many, b)


def test_int8_weights_stay_in_the_file():
    w = np.random.default_rng(1).integers(-128, 128, (2000, 300)).astype(np.int8)
    converted = check(lambda x: product(x, w, tf.int32), spec(None, 2000, dtype=tf.int8), ops=["BATCH_MATMUL"])
    assert len(converted.data) < w.size * 1.1
    transposed = check(lambda x: product(x, tf.transpose(w), tf.int32), spec(None, 300, dtype=tf.int8))
    assert transposed.ops == ["BATCH_MATMUL"]


@pytest.mark.parametrize(("left", "right"), [(tf.int8, tf.uint8), (tf.uint8, tf.int8), (tf.uint8, tf.uint8)])
def test_int32_of_bytes(left, right):
    check(lambda x, y: product(x, y, tf.int32), spec(None, 6, 7, dtype=left), spec(7, 5, dtype=right))


def test_halves_of_integers():
    # TensorFlow sums in halves.
    a, b = spec(None, 6, 7, dtype=tf.bfloat16), spec(7, 5, dtype=tf.int8)
    check(lambda x, y: product(x, y, tf.bfloat16), a, b, atol=2**-6)


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_quantized_layers_of_keras(mode):
    dense = tf.keras.layers.Dense(16, activation="relu")
    einsum = tf.keras.layers.EinsumDense("abc,cd->abd", output_shape=(None, 6), bias_axes="d")
    model = tf.keras.Sequential([tf.keras.Input((5, 8)), dense, einsum])
    for layer in (dense, einsum):
        layer.quantize(mode)
    check(model, spec(None, 5, 8))


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_matmul_in_half_precision(dtype):
    check(lambda x: tf.matmul(x, tf.cast(weights(7, 5), dtype)), spec(None, 7, dtype=dtype))


@pytest.mark.parametrize("dtype", [tf.float64, tf.complex128])
def test_matmul_of_other_types_is_refused(dtype):
    check_refused(lambda x, y: tf.matmul(x, y), spec(2, 7, dtype=dtype), spec(7, 5, dtype=dtype), match=dtype.name)


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
@pytest.mark.parametrize(
    ("batch_a", "batch_b"),
    [((None,), (None,)), ((None, 3), (3,)), ((None, 1), (1, 4)), ((), (None, 2)), ((None, 2, 3), (3,))],
)
def test_batch_matmul(adjoint_a, adjoint_b, batch_a, batch_b):
    a = spec(*batch_a, *((6, 5) if adjoint_a else (5, 6)))
    b = spec(*batch_b, *((4, 6) if adjoint_b else (6, 4)))
    check(lambda x, y: tf.linalg.matmul(x, y, False, False, adjoint_a, adjoint_b), a, b, ops=["BATCH_MATMUL"])


def test_batch_matmul_of_high_rank():
    check(lambda x: tf.matmul(x, x, transpose_b=True), spec(None, 2, 3, 1, 5, 6))
    check_refused(lambda x, y: tf.matmul(x, y), spec(None, 2, 3, 1, 5, 6), spec(None, 1, 3, 1, 6, 4), match="rank 5")


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    "left, right, merges",
    [
        ((2, 2, 3, 1), (3, 1), True),
        ((None, 2, 3, 2), (2,), True),
        ((None, None, 3, 2), (1, 1, 3, 2), True),
        ((None, 1, 3, 2), (1, 2, 3, 2), True),
        ((2, 1, 3, 1), (1, 2, 1, 3), False),
        ((2, 1, 3, 1, 2), (2, 1, 3, 1), False),
    ],
)
def test_batch_matmul_of_high_rank_that_broadcasts(left, right, merges, swapped):
    a, b = ((6, 5), (4, 6)) if swapped else ((5, 6), (6, 4))
    converted = check(
        lambda x, y: tf.matmul(x, y, transpose_a=swapped, transpose_b=swapped), spec(*left, *a), spec(*right, *b)
    )
    assert ("TILE" not in converted.ops) == merges and "BATCH_MATMUL" in converted.ops


@pytest.mark.parametrize("shape", [(None, 3, 6), (None, None, 2, 6)])
@pytest.mark.parametrize("adjoint", [False, True])
def test_batch_matmul_with_a_constant_matrix_is_a_dense_layer(shape, adjoint):
    w = weights(4, 6) if adjoint else weights(6, 4)
    check(lambda x: tf.matmul(x, w, transpose_b=adjoint), spec(*shape), ops=["FULLY_CONNECTED"])


def test_batch_matmul_with_constants():
    check(lambda x: tf.matmul(x, weights(3, 6, 4)), spec(None, 3, 5, 6), ops=["BATCH_MATMUL"])
    check(lambda x: tf.matmul(x, weights(1, 6, 4)), spec(None, 5, 6), ops=["FULLY_CONNECTED"])
    check(lambda x: tf.matmul(weights(3, 5, 6), x), spec(None, 3, 6, 4), ops=["BATCH_MATMUL"])
    check(lambda x: tf.matmul(x, weights(5, 4), transpose_a=True), spec(None, 5, 6))


@pytest.mark.parametrize("shape", [(6,), (None, 6), (None, None, 6), (2, 3, 4, 6)])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_constant_matrix_times_vectors_is_a_dense_layer(shape, transpose):
    w = weights(6, 5) if transpose else weights(5, 6)
    check(lambda x: tf.linalg.matvec(w, x, transpose_a=transpose), spec(*shape), ops=["FULLY_CONNECTED"])


def test_a_constant_matrix_times_columns_is_a_dense_layer():
    w = weights(6, 5)
    for kwargs, shape in ({}, (5, 1)), ({"transpose_b": True}, (1, 5)):
        check(lambda x, kwargs=kwargs: tf.matmul(w, x, **kwargs), spec(*shape), ops=["FULLY_CONNECTED", "RESHAPE"])
    check(lambda x: tf.matmul(weights(5, 6), x, transpose_a=True), spec(5, 1), ops=["FULLY_CONNECTED", "RESHAPE"])
    check(lambda x: tf.matmul(w, x), spec(None, 5, 1), ops=["FULLY_CONNECTED", "RESHAPE"])
    check(lambda x: tf.matmul(w[None], x, transpose_b=True), spec(None, 1, 5), ops=["FULLY_CONNECTED", "RESHAPE"])
    check(lambda x: tf.matmul(w, x), spec(None, 5, 2), ops=["BATCH_MATMUL"])
    check(lambda x: tf.matmul(weights(3, 6, 5), x), spec(None, 3, 5, 1), ops=["BATCH_MATMUL"])
    check(lambda x: tf.matmul(w[None, None], x), spec(None, 5, 1))


def test_a_matrix_that_is_read_as_it_is_is_not_written_twice():
    w = tf.constant(weights(60, 50))

    def there_and_back(x):
        return tf.linalg.matvec(w, tf.tanh(tf.linalg.matvec(w, x)), transpose_a=True)

    assert len(check(there_and_back, spec(None, 50)).data) < 1.5 * 60 * 50 * 4


@pytest.mark.parametrize("columns", [None, 5, 100])
@pytest.mark.parametrize("transpose_a", [False, True])
def test_a_constant_matrix_times_a_matrix_is_a_dense_layer(columns: int | None, transpose_a: bool) -> None:
    w = weights(20, 16) if transpose_a else weights(16, 20)
    f = lambda x: tf.matmul(w, x, transpose_a=transpose_a)  # noqa: E731
    check(f, tf.TensorSpec([20, columns]), ops=["TRANSPOSE", "FULLY_CONNECTED", "TRANSPOSE"])
    f = lambda x: tf.matmul(w, x, transpose_a=transpose_a, transpose_b=True)  # noqa: E731
    check(f, tf.TensorSpec([columns, 20]), ops=["FULLY_CONNECTED", "TRANSPOSE"])


def test_a_small_constant_matrix_times_a_matrix_stays() -> None:
    w = weights(4, 20)
    check(lambda x: tf.matmul(w, x), tf.TensorSpec([20, 5]), ops=["BATCH_MATMUL"])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.float16])
def test_sums_of_no_products_are_0(dtype):
    """The kernels of dense layers take data without elements for no rows."""
    none = np.zeros((0, 3), dtype.as_numpy_dtype)
    check(lambda x: tf.matmul(x, none) + 1, tf.TensorSpec([None, 0], dtype))
    check(lambda x: tf.matmul(x, none.T, transpose_b=True), tf.TensorSpec([None, 2, 0], dtype))
    check(lambda x: tf.matmul(none.T, x), tf.TensorSpec([0, None], dtype))
    check(lambda x, y: tf.matmul(x, y, transpose_b=True), tf.TensorSpec([None, 0], dtype), tf.TensorSpec([4, 0], dtype))
