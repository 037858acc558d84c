"""What is known of sizes from outside goes into loops and branches."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check

WORDS, WIDTH, HEADS, STEPS = 11, 8, 2, 5
X = tf.TensorSpec([None, WIDTH])


def _weights(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 0.5


KERNEL = _weights(4, 4, seed=0)
EMBEDDING = _weights(WORDS, WIDTH, seed=1)
QUERY, KEY, VALUE, OUT = (_weights(WIDTH, WIDTH, seed=seed) for seed in range(2, 6))
POSITIONS = _weights(STEPS, WIDTH, seed=6)


def rows_of_a_list(x: tf.Tensor) -> tf.Tensor:
    """The elements of the list are known only where the rows are."""
    rows = tf.shape(x)[0]

    def step(i: tf.Tensor, h: tf.Tensor, array: tf.TensorArray) -> tuple:
        h = tf.reshape(tf.tanh(tf.matmul(tf.reshape(h, [rows * 2, 4]), KERNEL)), [rows, WIDTH])
        return i + 1, h, array.write(i, h)

    return tf.while_loop(lambda i, *_: i < STEPS, step, [0, x, tf.TensorArray(tf.float32, STEPS)])[2].stack()


def nested_loops(x: tf.Tensor) -> tf.Tensor:
    rows = tf.shape(x)[0]
    array = tf.TensorArray(tf.float32, 2)
    for i in tf.range(2):
        h = x
        for _ in tf.range(3):
            h = tf.reshape(tf.nn.softmax(tf.reshape(h, [rows, 2, 4])), [rows, WIDTH])
        array = array.write(i, h * tf.cast(i + 1, tf.float32))
    return array.stack()


def branches(x: tf.Tensor) -> tf.Tensor:
    """Each side makes a list of its own."""
    rows = tf.shape(x)[0]

    def side(factor: float) -> tf.Tensor:
        array = tf.TensorArray(tf.float32, 2)
        for i in tf.range(2):
            array = array.write(i, tf.reshape(tf.sin(x * factor), [rows * 2, 4]))
        return array.stack()

    return tf.cond(tf.reduce_sum(x) > 0, lambda: side(1.0), lambda: side(3.0))


def greedy_decoder(x: tf.Tensor) -> list[tf.Tensor]:
    """Attends to the keys and values of earlier steps, which it keeps, and stops when each sentence has ended."""
    rows = tf.shape(x)[0]
    empty = tf.zeros([rows, STEPS, HEADS, WIDTH // HEADS])
    tokens = tf.TensorArray(tf.int32, STEPS)

    def step(i: tf.Tensor, word: tf.Tensor, ended: tf.Tensor, keys: tf.Tensor, values: tf.Tensor, tokens) -> tuple:
        h = tf.gather(EMBEDDING, word) + tf.gather(POSITIONS, i) + x
        here = tf.stack([tf.range(rows), tf.fill([rows], i)], 1)
        heads = [rows, HEADS, WIDTH // HEADS]
        keys = tf.tensor_scatter_nd_update(keys, here, tf.reshape(h @ KEY, heads))
        values = tf.tensor_scatter_nd_update(values, here, tf.reshape(h @ VALUE, heads))
        scores = tf.einsum("bhd,bthd->bht", tf.reshape(h @ QUERY, heads), keys)
        scores = tf.where(tf.range(STEPS) <= i, scores, -1e9)
        read = tf.einsum("bht,bthd->bhd", tf.nn.softmax(scores), values)
        h = h + tf.reshape(read, [rows, WIDTH]) @ OUT
        word = tf.where(ended, 0, tf.argmax(tf.matmul(h, EMBEDDING, transpose_b=True), -1, tf.int32))
        return i + 1, word, ended | (word == 3), keys, values, tokens.write(i, word)

    start = [0, tf.ones([rows], tf.int32), tf.zeros([rows], tf.bool), empty, empty, tokens]
    running = lambda i, word, ended, *_: (i < STEPS) & ~tf.reduce_all(ended)  # noqa: E731
    steps, *_, keys, _, tokens = tf.while_loop(running, step, start)
    return [steps, keys, tf.transpose(tokens.stack())]


@pytest.mark.parametrize("model", [rows_of_a_list, nested_loops, branches, greedy_decoder])
def test_sizes_from_outside(model) -> None:
    check(tf.function(model), X)


def test_what_is_asserted_of_a_shape_holds_in_a_loop_too() -> None:
    def masked_rows(x: tf.Tensor) -> tf.Tensor:
        array = tf.TensorArray(tf.float32, 3)
        for i in tf.range(3):
            rows = tf.boolean_mask(x, tf.range(5) < 3) * tf.cast(i + 1, tf.float32)
            array = array.write(i, tf.ensure_shape(rows, [3, None]))
        return array.stack()

    check(tf.function(masked_rows), tf.TensorSpec([5, 2]))


def test_what_is_asserted_of_a_shape_is_held_to() -> None:
    def rows(x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.ensure_shape(tf.boolean_mask(x, x[:, 0] > 0), [3, 2]), [2, 3])

    three = np.array([[1, 2], [-1, 2], [3, 4], [5, 6], [-1, 0]], np.float32)
    converted = check(rows, tf.TensorSpec([5, 2]), inputs=[three])
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros([5, 2], np.float32))
    with pytest.raises(RuntimeError, match="RESHAPE"):
        interpreter.invoke()
