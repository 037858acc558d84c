"""Loops, branches and cases compute what they compute in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused, convert_function

X = tf.TensorSpec([None, 3])
N = tf.TensorSpec([], tf.int32)
WEIGHT = np.random.default_rng(1).standard_normal((3, 3)).astype(np.float32)


def _with(index: int) -> Any:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else np.full(shape, index, dtype)

    return draw


@tf.function
def power(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(n):
        x = tf.tanh(x @ WEIGHT)
    return x


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_loop(n: int) -> None:
    converted = check(power, X, N, inputs=_with(n))
    assert converted.ops.count("WHILE") == 1


@tf.function
def nested(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    total = tf.zeros_like(x)
    for i in tf.range(n):
        row = x
        for j in tf.range(i + 1):
            if tf.reduce_sum(row) > tf.cast(j, tf.float32):  # noqa: SIM108 (a branch of the graph)
                row = row * 0.5
            else:
                row = row + tf.reduce_mean(x, 0)
        total += row
    return total


@pytest.mark.parametrize("n", [0, 3])
def test_loops_and_branches_in_loops(n: int) -> None:
    check(nested, X, N, inputs=_with(n))


@tf.function
def swap(x: tf.Tensor, n: tf.Tensor) -> tuple[tf.Tensor, ...]:
    a, b, c = x, -x, x * 2.0
    for _ in tf.range(n):
        a, b = b, a
        c = a
    return a, b, c


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_values_that_change_places(n: int) -> None:
    check(swap, X, N, inputs=_with(n))


def test_invariants_come_out_as_they_went_in() -> None:
    def loop(x: tf.Tensor, y: tf.Tensor) -> Any:
        return tf.while_loop(
            lambda i, s, y: tf.reduce_sum(s) < 50.0, lambda i, s, y: (i + 1, s + tf.abs(y), y), [0, tf.abs(x) + 1.0, y]
        )

    check(loop, X, X)


def test_values_of_other_types() -> None:
    def loop(words: tf.Tensor, flags: tf.Tensor, count: tf.Tensor) -> Any:
        def body(words: tf.Tensor, flags: tf.Tensor, count: tf.Tensor, odd: tf.Tensor) -> Any:
            return tf.reshape(tf.tile(words, [1]), [2]), tf.logical_not(flags), count - 1, tf.logical_not(odd)

        return tf.while_loop(lambda w, f, c, o: c > 0, body, [words, flags, count, tf.constant(False)])

    specs = [tf.TensorSpec([2], tf.string), tf.TensorSpec([4], tf.bool), tf.TensorSpec([], tf.int64)]
    flags = np.array([True, False, False, True])
    for count in (0, 3):
        check(loop, *specs, inputs=[np.array([b"a", b"bc"], object), flags, np.array(count, np.int64)])


@tf.function
def growing(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, 3]))])
        x = tf.concat([x, x[:1] + 1.0], 0)
    return x


def test_a_shape_that_changes_in_the_loop() -> None:
    check(growing, X)


@tf.function
def growing_from_nothing(x: tf.Tensor) -> tf.Tensor:
    y = x[:0]
    for i in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None, 3]))])
        y = tf.concat([y, x[:1] * tf.cast(i, tf.float32)], 0)
    return y


def test_a_value_that_begins_empty() -> None:
    check(growing_from_nothing, X)


def test_two_sizes_that_are_equal_at_first_only() -> None:
    @tf.function
    def differ(x: tf.Tensor) -> tf.Tensor:
        mask = tf.boolean_mask(x, x[:, 0] > -100.0)
        first = tf.shape(mask)[0]
        for _ in tf.range(2):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(mask, tf.TensorShape([None, 3]))])
            mask = tf.concat([mask, mask[:1]], 0)
        return tf.shape(mask)[0] - first

    check(differ, X)


def test_a_branch_whose_sides_have_different_shapes() -> None:
    def branch(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x[:1], lambda: tf.concat([x, x], 0))

    check(branch, X, inputs=lambda rng, shape, dtype: np.abs(rng.standard_normal(shape)).astype(dtype))
    check(branch, X, inputs=lambda rng, shape, dtype: -np.abs(rng.standard_normal(shape)).astype(dtype))


def test_a_branch_that_hands_its_operand_on() -> None:
    def branch(x: tf.Tensor, i: tf.Tensor) -> Any:
        return tf.cond(i > 0, lambda: (x, x, tf.ones([2])), lambda: (-x, x, tf.zeros([2])))

    for index in (0, 1):
        check(branch, X, N, inputs=_with(index))


def test_a_result_that_nobody_reads() -> None:
    def branch(x: tf.Tensor, i: tf.Tensor) -> Any:
        root = lambda: tf.linalg.trace(tf.linalg.sqrtm(x @ WEIGHT))  # noqa: E731
        taken = tf.cond(i > 0, lambda: (x, root()), lambda: (-x, tf.constant(1.0)))
        return taken[0]

    converted = convert_function(branch, tf.TensorSpec([3, 3]), N)
    assert "IF" in converted.ops


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 3, 7])
def test_a_case(index: int) -> None:
    def case(x: tf.Tensor, i: tf.Tensor) -> Any:
        weight = tf.constant(WEIGHT)
        sides = [lambda: (x, 1), lambda: (x @ weight, 2), lambda: (tf.tanh(x), 3), lambda: (x - 1.0, 4)]
        return tf.switch_case(i, sides)

    converted = check(case, X, N, inputs=_with(index))
    assert converted.ops.count("IF") == 3


def test_a_case_of_one() -> None:
    converted = check(lambda x, i: tf.switch_case(i, [lambda: x + 1.0]), X, N, inputs=_with(0))
    assert "IF" not in converted.ops


def test_a_case_that_is_known() -> None:
    sides = [tf.sin, tf.cos, tf.tanh]
    case = lambda x: tf.switch_case(tf.constant(1), [lambda side=side: side(x) for side in sides])  # noqa: E731
    check(case, X, ops=["COS"])


@pytest.mark.parametrize("value", [0, 2])
def test_a_condition_that_is_a_number(value: int) -> None:
    def branch(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        yes, no = (tf.function(f).get_concrete_function(tf.TensorSpec([None, 3])) for f in (tf.sin, tf.cos))
        return tf.raw_ops.If(cond=i, input=[x], Tout=[tf.float32], then_branch=yes, else_branch=no)

    check(branch, X, N, inputs=_with(value))


@pytest.mark.parametrize("size", [0, 2])
def test_a_condition_that_is_no_scalar_holds_unless_it_is_empty(size: int) -> None:
    def branch(x: tf.Tensor, flags: tf.Tensor) -> tf.Tensor:
        yes, no = (tf.function(f).get_concrete_function(tf.TensorSpec([2, 3])) for f in (tf.sin, tf.cos))
        return tf.raw_ops.StatelessIf(cond=flags, input=[x], Tout=[tf.float32], then_branch=yes, else_branch=no)

    flags = tf.TensorSpec([size], tf.bool)
    check(branch, tf.TensorSpec([2, 3]), flags, inputs=lambda rng, shape, dtype: np.zeros(shape, dtype))


class _Layer(tf.Module):
    def __init__(self) -> None:
        self.weight = tf.Variable(WEIGHT)

    @tf.function
    def once(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x @ self.weight)

    @tf.function
    def run(self, x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(n):
            x = self.once(x) if tf.reduce_sum(x) > 0 else x + self.weight[0]
        return x


def test_weights_and_calls_in_a_loop() -> None:
    layer = _Layer()
    converted = check(layer.run, X, N, inputs=_with(4))
    assert "VAR_HANDLE" not in converted.ops


def test_a_condition_that_is_a_string_is_refused() -> None:
    def branch(x: tf.Tensor, word: tf.Tensor) -> tf.Tensor:
        yes, no = (tf.function(f).get_concrete_function(tf.TensorSpec([None, 3])) for f in (tf.sin, tf.cos))
        return tf.raw_ops.If(cond=word, input=[x], Tout=[tf.float32], then_branch=yes, else_branch=no)

    check_refused(branch, X, tf.TensorSpec([], tf.string), match="a condition of type string")


def test_branches_that_wait_for_each_other_are_taken():
    def layer(x):
        count = tf.shape(x)[1]
        for _ in range(8):
            fewer, more = tf.range(count - 2), tf.range(count + 7)
            count = tf.cond(count > 4, lambda f=fewer: tf.size(f), lambda m=more: tf.size(m))
        return tf.cond(count > 9, lambda: x, lambda: x + 1)

    assert check(layer, tf.TensorSpec([None, 5])).ops == ["ADD"]


def test_a_growing_loop_hands_on_what_it_only_reads() -> None:
    states, n = tf.TensorSpec([2, 3]), tf.TensorSpec([None], tf.int32)

    def fn(x: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        scaled = tf.tanh(x)
        for step in tf.range(4):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(ids, tf.TensorShape([None]))])
            row = tf.argmax(tf.linalg.matvec(scaled, tf.cast(tf.fill([3], step), tf.float32)), output_type=tf.int32)
            ids = tf.concat([ids, [row + tf.size(ids)]], 0)
            if tf.size(ids) > 5:
                break
        return ids

    check(fn, states, n, batches=(0, 1, 3))
