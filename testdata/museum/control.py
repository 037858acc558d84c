"""Loops, branches, lists, variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from testdata.museum.case import case, spec, weights


@case("tensorflow#42181", "'tf.TensorListReserve' that was explicitly marked illegal", spec(dtype=tf.int32))
def array_that_is_written_one_by_one() -> Callable[..., Any]:
    def write(n: tf.Tensor) -> tf.Tensor:
        outputs = tf.TensorArray(tf.int32, size=1, dynamic_size=True)
        outputs = outputs.write(0, n).write(1, 2).write(2, 3)
        return outputs.gather(tf.range(outputs.size()))

    return write


@case("tensorflow#37134", "a list that grows in a loop", spec(None, 3))
def array_that_grows_in_a_loop() -> Callable[..., Any]:
    def run(x: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])
        for index in tf.range(tf.shape(x)[0]):
            rows = rows.write(index, x[index] * 2.0)
        return rows.stack()

    return tf.function(run)


@case("tensorflow-onnx#2209", "no end: a break on a size that only a run tells", spec(None))
def loop_with_a_break() -> Callable[..., Any]:
    def run(x: tf.Tensor) -> tf.Tensor:
        total = tf.zeros([1])
        for index in tf.range(10):
            if index == tf.shape(x)[0]:
                break
            total += x[index]
        return total

    return tf.function(run)


@case("tensorflow#46656", "the branch takes another type than the op", spec(100))
def branch_on_a_number_of_rows() -> Callable[..., Any]:
    def run(x: tf.Tensor) -> tf.Tensor:
        found = tf.cast(tf.gather(tf.where(x > 0.8), 0, axis=1), tf.float32)
        if tf.shape(found)[0] > 10:
            found = found * 2.0
        return found

    return tf.function(run)


@case(
    "tflite-micro#869",
    "the inner branch is never taken",
    spec(None),
    spec(),
    inputs=[np.ones(3, np.float32), np.array(9, np.float32)],
)
def branches_in_branches() -> Callable[..., Any]:
    def run(x: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
        if value > 5.0:  # noqa: SIM108 (this is what autograph makes branches of)
            factor = 8.0 if value > 8.0 else 6.0
        else:
            factor = 4.0 if value > 3.0 else 2.0
        return x + factor

    return tf.function(run)


@case("tensorflow#35927 tensorflow#47107", "a list of unknown element shapes in a map", spec(None, 4, 3))
def map_over_rows() -> Callable[..., Any]:
    kernel = weights(3, 2)
    return lambda x: tf.map_fn(lambda row: tf.nn.relu(row @ kernel), x)


@case("here", "a size from outside of a loop is unknown in its body", spec(None, 32))
def size_from_outside_of_a_loop() -> Callable[..., Any]:
    kernel = weights(32, 32)

    def run(x: tf.Tensor) -> tf.Tensor:
        rows = tf.shape(x)[0]

        def body(i: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, tf.reshape(tf.tanh(state @ kernel), [rows, 32])

        return tf.while_loop(lambda i, _: i < 3, body, (0, x), (tf.TensorShape([]), tf.TensorShape([None, 32])))[1]

    return run


@case(
    "here",
    "the last row of a sequence that grows is of unknown length",
    spec(1, 2, 4),
)
def last_row_of_what_grows() -> Callable[..., Any]:
    kernel = weights(4, 4)

    def run(x: tf.Tensor) -> tf.Tensor:
        steps = tf.TensorArray(tf.float32, size=3, element_shape=[1, 1, 4])
        for index in tf.range(3):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([1, None, 4]))])
            new = tf.tanh(x @ kernel)[:, -1:, :]
            steps = steps.write(index, new)
            x = tf.concat([x, new], 1)
        return steps.concat()

    return tf.function(run)


@case("addons#1923", "both branches are converted, one of them for a length of one", spec(1, None, 4))
def branch_on_a_length() -> Callable[..., Any]:
    kernel = weights(4, 4)

    def run(x: tf.Tensor) -> tf.Tensor:
        one = lambda: tf.argmax(x[:, :1], -1)[:, 0]  # noqa: E731
        more = lambda: tf.argmax(tf.reduce_max(x @ kernel, 1), -1)  # noqa: E731
        return tf.cond(tf.equal(tf.shape(x)[1], 1), one, more)

    return run


@case("tensorflow#56170", "'Variable constant folding is failed' for a counter", spec(2))
def counter() -> Callable[..., Any]:
    count = tf.Variable(weights(2))
    return lambda x: tf.identity(count.assign_add(x)) * 2.0


@case(
    "here", "a loop whose number of turns depends on its numbers", spec(3, 3), inputs=[np.full((3, 3), 0.1, np.float32)]
)
def loop_until_a_sum_is_large() -> Callable[..., Any]:
    return lambda x: tf.while_loop(lambda x: tf.reduce_sum(x) < 10.0, lambda x: (x + 1.0,), (x,))


@case("here", "branches by number, the default for what is out of range", spec(dtype=tf.int32), spec(3))
def switch_with_a_default() -> Callable[..., Any]:
    def run(n: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        return tf.switch_case(n - 4, [lambda: x + 1.0, lambda: x * 2.0, lambda: -x])

    return run


@case("here", "refused: parts of different lengths, read one by one", spec(6, 3), spec(3, dtype=tf.int32),
      inputs=[weights(6, 3), np.array([1, 3, 2], np.int32)])  # fmt: skip
def array_of_parts_of_different_lengths() -> Callable[..., Any]:
    def run(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        parts = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, lengths)
        sums = tf.TensorArray(tf.float32, 3)
        _, sums = tf.while_loop(
            lambda i, _: i < 3, lambda i, s: (i + 1, s.write(i, tf.reduce_sum(parts.read(i), 0))), (0, sums)
        )
        return sums.stack()

    return run


@case("here", "refused: rows padded to a number of them by a maximum, of which the sizes were lost", spec(None, 6, 4))
def map_of_padded_rows() -> Callable[..., Any]:
    def padded(rows: tf.Tensor) -> tf.Tensor:
        found = tf.boolean_mask(rows, rows[:, 0] > 0.0)[:3]
        return tf.pad(found, [[0, tf.maximum(3 - tf.shape(found)[0], 0)], [0, 0]])

    return lambda x: tf.map_fn(padded, x, fn_output_signature=tf.TensorSpec([3, 4], tf.float32))


@case("here", "of two results that a loop carries, the older becomes the newer", spec(2, 12))
def filter_of_second_order() -> Callable[..., Any]:
    def run(x: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, 12)
        last = older = tf.zeros_like(x[:, 0])
        for index in tf.range(12):
            made = x[:, index] + 0.6 * last - 0.2 * older
            rows = rows.write(index, made)
            last, older = made, last
        return tf.transpose(rows.stack())

    return tf.function(run)


@case("here", "a branch that returns a size corrupts the heap once sizes change", spec(None, 3), spec())
def branch_that_returns_a_size() -> Callable[..., Any]:
    def layer(x: tf.Tensor, flag: tf.Tensor) -> tf.Tensor:
        return tf.cond(flag > 0, lambda: tf.shape(x), lambda: tf.shape(x) * 2)

    return layer


@case("here", "one variable for both operands of an op ends the process in XNNPACK", spec(2, 3))
def variable_plus_itself() -> Callable[..., Any]:
    state = tf.Variable(tf.zeros([2, 3]))

    def layer(x: tf.Tensor) -> tf.Tensor:
        state.assign(x)
        return state + state

    layer.state = state  # type: ignore[attr-defined]
    return layer
