"""Random numbers: their types and shapes, their range, and that each run and each op has its own."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import check, convert_function


def run(layer, *arrays):
    """Two runs of what a function becomes."""
    specs = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
    interpreter = Interpreter(model_content=convert_function(layer, *specs).data)
    runner = interpreter.get_signature_runner()
    feeds = {f"x{index}": array for index, array in enumerate(arrays)}
    made = [runner(**feeds) for _ in range(2)]
    return [[{k: v.copy() for k, v in results.items()}[f"y{n}"] for n in range(len(results))] for results in made]


SHAPE = np.array([50, 20], np.int32)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_uniform(dtype):
    (x, y), (again, _) = run(lambda n: [tf.random.uniform(n, dtype=dtype), tf.random.uniform(n, dtype=dtype)], SHAPE)
    assert x.shape == (50, 20) and x.dtype == dtype.as_numpy_dtype
    assert 0 <= x.min() < 0.05 and 0.95 < x.max() <= 1
    assert not (x == y).all() and not (x == again).all()


def test_normal():
    (x,), (again,) = run(lambda n: tf.random.normal(n, seed=7), SHAPE)
    assert abs(x.mean()) < 0.2 and abs(x.std() - 1) < 0.1
    assert not (x == again).all()


def test_truncated_normal():
    (x,), _ = run(lambda n: tf.random.truncated_normal(n), SHAPE)
    # The deviation of a normal distribution that is cut at two deviations is 0.88.
    assert -2 <= x.min() < -1.7 and 1.7 < x.max() <= 2
    assert abs(x.mean()) < 0.15 and abs(x.std() - 0.88) < 0.1


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_integers(dtype):
    (x, far), _ = run(
        lambda n: [tf.random.uniform(n, -3, 4, dtype), tf.random.uniform(n, 0, dtype.max, dtype, seed=3)], SHAPE
    )
    assert x.dtype == far.dtype == dtype.as_numpy_dtype
    assert set(x.reshape(-1)) == set(range(-3, 4))
    assert far.min() >= 0 and abs(far.mean() / dtype.max - 0.5) < 0.05


def test_shuffle():
    numbers = np.arange(40).reshape(20, 2).astype(np.float32)
    (x,), (again,) = run(tf.random.shuffle, numbers)
    assert not (x == again).all() and not (x == numbers).all()
    assert (np.sort(x[:, 0]) == numbers[:, 0]).all() and (x[:, 1] == x[:, 0] + 1).all()


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_categorical(dtype):
    logits = np.log(np.array([[0.5, 0.5, 1e-30], [1e-30, 1e-30, 1]], np.float32))
    (x,), _ = run(lambda logits: tf.random.categorical(logits, 200, dtype), logits)
    assert x.shape == (2, 200) and x.dtype == dtype.as_numpy_dtype
    assert set(x[0]) == {0, 1} and set(x[1]) == {2}


def test_numbers_that_constant_seeds_give_are_folded():
    def fixed(x):
        seed = tf.constant([1, 2])
        draws = [tf.random.stateless_uniform([3], seed), tf.random.stateless_normal([3], seed)]
        return [x + draw for draw in (*draws, tf.random.stateless_truncated_normal([3], seed))]

    check(fixed, tf.TensorSpec([None, 3]))


def test_dropout_that_is_never_taken():
    def dropout(x, training):
        keep = tf.random.stateless_uniform(tf.shape(x), tf.cast(x[0, :2], tf.int32)) > 0.5
        return tf.cond(training, lambda: tf.nn.dropout(x, 0.5) * tf.cast(keep, tf.float32), lambda: tf.nn.relu(x))

    def constant(x):
        return dropout(x, tf.constant(False))

    def placeholder(x):
        return dropout(x, tf.raw_ops.PlaceholderWithDefault(input=False, shape=[]))

    assert check(constant, tf.TensorSpec([None, 3])).ops == ["RELU"]
    assert check(placeholder, tf.TensorSpec([None, 3])).ops == ["RELU"]
    layer = tf.keras.layers.Dropout(0.5)
    assert "MUL" not in check(layer, tf.TensorSpec([None, 3])).ops
