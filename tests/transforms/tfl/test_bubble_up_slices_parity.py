"""Slices that are taken before the ops that make more."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
ROWS = tf.TensorSpec([None, 5, 4])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W, V, B = draw(4, 6), draw(6, 4), draw(6)


def dense(x, w=W):
    return tf.nn.relu(tf.tensordot(x, w, 1) + draw(w.shape[1]))


def sizes(converted):
    """The shapes of what dense layers make, for a batch of one."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    shapes = {tensor["index"]: tensor["shape"].tolist() for tensor in interpreter.get_tensor_details()}
    made = [op["outputs"][0] for op in interpreter._get_ops_details() if op["op_name"] == "FULLY_CONNECTED"]
    return [shapes[index] for index in made]


@pytest.mark.parametrize("row", [0, 3, -1])
def test_a_row_of_a_dense_layer(row):
    converted = check(lambda x: dense(x)[:, row], ROWS, ops=["STRIDED_SLICE", "FULLY_CONNECTED", "RESHAPE"])
    assert sizes(converted) == [[1, 1, 6]]
    converted = check(lambda x: dense(dense(x)[:, row], V), ROWS, ops=["STRIDED_SLICE", *2 * ["FULLY_CONNECTED"]])
    assert sizes(converted) == [[1, 1, 6], [1, 4]]


def test_several_rows():
    converted = check(lambda x: tf.exp(dense(x))[:, 1:3], ROWS, ops=["STRIDED_SLICE", "FULLY_CONNECTED", "EXP"])
    assert sizes(converted) == [[1, 2, 6]]


def test_data_of_unknown_length():
    x = tf.TensorSpec([None, None, 4])
    for row in (2, -1, -3):
        ops = check(lambda x: dense(dense(x)[:, row], V), x).ops  # noqa: B023
        assert ops[0] == "STRIDED_SLICE" and ops[-2:] == 2 * ["FULLY_CONNECTED"]
    assert check(lambda x: dense(x)[:, 1:3], x).ops[-1] == "STRIDED_SLICE"


def test_operands_that_are_broadcast_or_constant():
    def fn(x, y):
        return tf.nn.softmax(dense(x) * y + draw(5, 1))[:, 2]

    ops = ["SLICE", "FULLY_CONNECTED", "MUL", "ADD", "SOFTMAX", "RESHAPE"]
    check(fn, tf.TensorSpec([3, 5, 4]), tf.TensorSpec([3, 1, 6]), ops=ops)


def test_through_moves_and_reductions():
    def fn(x):
        y = tf.transpose(tf.reshape(dense(x), [-1, 5, 2, 3]), [0, 2, 1, 3])
        return tf.reduce_max(tf.concat([y, -y], 3), -1)[:, :, 1:2]

    assert sizes(check(fn, ROWS)) == [[1, 1, 6]]


def test_attention():
    def fn(x):
        q, k, v = (tf.tensordot(x, draw(4, 6), 1) for _ in range(3))
        y = x + tf.tensordot(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)) @ v, V, 1)
        return (y + tf.tensordot(tf.nn.gelu(tf.tensordot(y, W, 1)), V, 1))[:, 0]

    converted = check(fn, ROWS)
    # Keys and values are read as a whole.
    assert sorted(sizes(converted)) == [[1, 1, 4], [1, 1, 4], [1, 1, 6], [1, 1, 6], [1, 5, 6], [1, 5, 6]]


def test_keras_layers():
    import keras

    x = y = keras.Input((5, 8))
    for _ in range(2):
        z = keras.layers.LayerNormalization()(y)
        y = keras.layers.Add()([y, keras.layers.MultiHeadAttention(2, 4)(z, z)])
        z = keras.layers.Dense(16, activation="gelu")(keras.layers.LayerNormalization()(y))
        y = keras.layers.Add()([y, keras.layers.Dense(8)(z)])
    model = keras.Model(x, keras.layers.Dense(3)(y[:, 0]))
    made = sizes(check(model, tf.TensorSpec([None, 5, 8])))
    assert [1, 1, 16] in made and made.count([1, 5, 16]) == 1


def test_other_readers_need_the_whole():
    def both(x):
        y = dense(x)
        return y[:, 0], tf.reduce_max(y, 1)

    def output(x):
        y = dense(x)
        return y[:, 0], y

    def other_rows(x):
        y = dense(x)
        return y[:, 0], y[:, 1]

    for fn in (both, output, other_rows):
        assert sizes(check(fn, ROWS)) == [[1, 5, 6]]


def test_slices_of_the_same_rows():
    def fn(x):
        y = dense(x)
        return y[:, 1:2], y[:, 1]

    assert sizes(check(fn, ROWS)) == [[1, 1, 6]]


def test_what_mixes_the_rows_stays():
    check(lambda x: tf.nn.softmax(x, 1)[:, 0], ROWS, static=False)
    check(lambda x: tf.cumsum(dense(x), 1)[:, 0], ROWS, ops=["FULLY_CONNECTED", "CUMSUM", "GATHER"])
    assert sizes(check(lambda x: dense(x)[..., 1:3], ROWS)) == [[1, 5, 6]]
    assert sizes(check(lambda x: tf.reshape(dense(x), [-1, 3, 10])[:, 0], ROWS)) == [[1, 5, 6]]


def test_no_more_ops_for_little():
    x, y = (tf.TensorSpec([None, 5, 4]) for _ in range(2))
    check(lambda x, y: (x * y)[:, 0], x, y, ops=["MUL", "GATHER"])
    check(lambda x: tf.abs(x)[:, 1:3], ROWS, ops=["ABS", "STRIDED_SLICE"])
