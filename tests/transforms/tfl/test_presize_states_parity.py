"""`reset_all_variables` runs on files of a dynamic batch, which compute the same before and behind it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check, convert_function
from tests.random_weights import randomize


def _lstm(units: int, inputs: int, **options: bool) -> tf_keras.layers.LSTM:
    layer = tf_keras.layers.LSTM(units, **options)
    layer.build((None, 7, inputs))
    randomize(layer, 1)
    return layer


def _resets(fn: Callable[[tf.Tensor], tf.Tensor], *kinds: str) -> None:
    """Convert a function of [?, 7, 3] and compare what its file computes with more rows than the runtime has place for
    in what it takes for one, with delegates and without. kinds: ops that are to be in the file."""
    converted = convert_function(fn, tf.TensorSpec([None, 7, 3]))
    assert {*kinds} <= {*converted.ops}
    x = np.random.default_rng(0).standard_normal((40, 7, 3)).astype(np.float32)
    for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        for batch in (1, 40, 3, 40):
            interpreter.resize_tensor_input(0, (batch, 7, 3))
            interpreter.allocate_tensors()
            expected = converted.function(tf.constant(x[:batch]))[0].numpy()
            for _ in range(2):
                interpreter.set_tensor(0, x[:batch])
                interpreter.invoke()
                actual = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
                np.testing.assert_allclose(actual, expected, atol=1e-5)
                interpreter.reset_all_variables()


def test_variables_are_reset_with_any_batch() -> None:
    first, second = _lstm(5, 3, return_sequences=True), _lstm(4, 5)
    _resets(lambda x: second(first(x)))


def test_states_behind_what_is_copied_lest_it_be_written_over() -> None:
    """The copy was of dynamic size: the runtime crashed on the states."""
    layer = _lstm(4, 3, return_sequences=True)

    def fn(x: tf.Tensor) -> tf.Tensor:
        scaled = tf.exp(x) * tf.constant([0.5, -0.25, 0.125])
        flat = tf.reshape(scaled, [-1, 21]) + np.linspace(-1, 1, 21, dtype=np.float32)
        return layer(tf.reshape(tf.cos(flat), [-1, 7, 3])) + tf.reduce_sum(tf.sin(scaled), 1, keepdims=True)[:, :, :1]

    _resets(fn)


def test_states_behind_masks() -> None:
    layer = _lstm(4, 3)
    _resets(lambda x: layer(x, mask=tf.reduce_any(x > 0.2, -1)), "CUMSUM", "TOPK_V2")


def test_states_behind_a_loop() -> None:
    loop = tf_keras.layers.GRU(5, return_sequences=True)
    loop.build((None, 7, 3))
    randomize(loop, 1)
    first, second = _lstm(3, 3, return_sequences=True), _lstm(4, 5)
    _resets(lambda x: second(loop(first(x))), "WHILE")


def test_states_behind_a_loop_that_grows_or_changes_places() -> None:
    """The runtime learns what these carry as it runs, and the states stay of dynamic size."""
    layer, doubled = _lstm(4, 3), tf.constant([1.0, -2.0, 0.5])
    shape = tf.TensorShape([None, 7, 3])

    def grows(x: tf.Tensor) -> tf.Tensor:
        step = lambda at, y: (at + 1, tf.concat([y, doubled * x[:1]], 0))  # noqa: E731
        return layer(tf.while_loop(lambda at, y: at < 3, step, [0, x], [tf.TensorShape([]), shape])[1])

    def changes(x: tf.Tensor) -> tf.Tensor:
        step = lambda at, y, z: (at + 1, z, y)  # noqa: E731
        more = tf.cast(tf.reduce_sum(x), tf.int32) % 4
        return layer(tf.while_loop(lambda at, y, z: at < more, step, [0, x, x * doubled])[1])

    for fn in (grows, changes):
        check(fn, tf.TensorSpec([None, 7, 3]), batches=(1, 40, 3))


@pytest.mark.parametrize(("fn", "kind"), [
    (lambda x: tf.cumsum(x, 1), "CUMSUM"),
    (lambda x: tf.math.top_k(tf.tanh(x), 3).values, "TOPK_V2"),
    (lambda x: tf.math.top_k(x, 3).values, ""),
    (lambda x: tf.image.resize(x[..., None], [7, 3])[..., 0] + tf.image.resize(x[:, ::2, :, None], [7, 3])[..., 0],
     "RESIZE_BILINEAR"),
    (lambda x: tf.nn.conv3d(x[:, :, None, :, None], tf.ones([3, 1, 2, 1, 1]), [1] * 5, "SAME")[:, :, 0, :, 0],
     "CONV_3D"),
])  # fmt: skip
def test_states_behind_ops_that_are_sized_by_their_operands(fn: Callable, kind: str) -> None:
    """What an input sorts is of dynamic size: TOPK_V2 reads its signature."""
    layer = _lstm(4, 3)
    if kind:
        _resets(lambda x: layer(fn(x)), kind)
    else:
        check(lambda x: layer(fn(x)), tf.TensorSpec([None, 7, 3]), batches=(1, 40, 3))


def test_products_with_constants_beside_a_layer() -> None:
    rng = np.random.default_rng(0)
    before, behind = (rng.standard_normal(shape, np.float32) for shape in ((7, 3, 5), (4, 3)))
    layer = _lstm(4, 5, time_major=True, return_sequences=True)
    many = tf.constant(np.broadcast_to(behind, (7, 4, 3)) * np.arange(1, 8, dtype=np.float32)[:, None, None])
    specs = tf.TensorSpec([7, None, 3])
    converted = check(lambda x: tf.matmul(layer(tf.matmul(x, before)), many), specs, batches=(1, 3))
    assert converted.ops.count("BATCH_MATMUL") == 2
