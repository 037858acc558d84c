"""Shapes that are put together of sizes: known to the runtime before it runs."""

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import assert_close, check, convert_function

X = tf.TensorSpec([None, 4])
JOINED = ["SHAPE", "STRIDED_SLICE", "CONCATENATION", "FILL"]


def test_sizes_and_numbers():
    check(lambda x: tf.fill([2, 3, tf.shape(x)[0], 5, 6], 1.0), X, ops=JOINED, static=False)
    check(lambda x: tf.fill([tf.shape(x)[-2]], 1.0), X, ops=["SHAPE", "STRIDED_SLICE", "FILL"], static=False)
    check(lambda x: tf.fill([tf.shape(x, tf.int64)[0], 2], 1.0), X, static=False)


def test_two_sizes():
    def fn(x):
        shape = tf.shape(x)
        return tf.fill([shape[1], 2, shape[0]], 1.0)

    check(fn, tf.TensorSpec([None, None]), static=False)


def test_sizes_that_stand_side_by_side():
    def fn(x):
        shape = tf.shape(x)
        return tf.fill([shape[0], shape[1], 2, shape[1], shape[2]], 1.0), tf.zeros([shape[0], shape[1], shape[2]])

    ops = ["SHAPE", *["STRIDED_SLICE"] * 2, "CONCATENATION", "FILL", "FILL"]
    check(fn, tf.TensorSpec([None, None, None]), ops=ops, static=False)


def test_what_is_computed_of_sizes_is_packed():
    converted = check(lambda x: tf.fill([tf.shape(x)[0] * 2, 3], 1.0), X, static=False)
    assert "PACK" in converted.ops


def test_a_size_that_is_read_as_a_number_too():
    def fn(x):
        count = tf.shape(x)[0]
        return tf.fill([count, 3], 1.0), tf.cast(count, tf.float32)

    check(fn, X, static=False)


def _sorted_loop(x):
    boxes = tf.sort(tf.sigmoid(tf.reshape(x, [-1, 20, 1, 4])), -1)
    scores = tf.reduce_mean(boxes, -1)
    scores = tf.concat([scores, 1 - scores], -1)

    def suppressed(pair):
        boxes, scores = pair
        found = tf.image.combined_non_max_suppression(boxes[None], scores[None], 5, 5, score_threshold=0.2)
        return [part[0] for part in found]

    dtypes = [tf.float32, tf.float32, tf.float32, tf.int32]
    return tf.map_fn(suppressed, (boxes, scores), fn_output_signature=dtypes)


def test_a_loop_is_prepared_before_the_first_run():
    converted = convert_function(_sorted_loop, tf.TensorSpec([None, 80]))
    rng = np.random.default_rng(0)
    for batch in [1] * 10 + [3]:
        # Where memory lies differs from one interpreter to the next, and with it which copies would be left out.
        interpreter = Interpreter(model_content=converted.data)
        details = interpreter.get_input_details()[0]
        interpreter.resize_tensor_input(details["index"], [batch, 80])
        interpreter.allocate_tensors()
        # Sizes that only a run would tell are 1 until then; a runtime that has prepared the loop knows them.
        outputs = interpreter.get_output_details()
        assert all(output["shape"][0] == batch and interpreter.get_tensor(output["index"]) is not None
                   for output in outputs)  # fmt: skip
        runner = interpreter.get_signature_runner()
        names = sorted(runner.get_output_details())
        for _ in range(3):
            x = rng.normal(size=[batch, 80]).astype(np.float32)
            actual = runner(x0=x)
            for name, expected in zip(names, converted.function(tf.constant(x)), strict=True):
                assert_close(actual[name], expected.numpy())
