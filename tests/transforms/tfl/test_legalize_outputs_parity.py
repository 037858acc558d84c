"""Loops whose variables change places, as the runtime copies them: each step's outputs one after another. Branches that
return sizes."""

import pytest
import tensorflow as tf

from fuseconv.testing import Converted, check


def loop(*step: int, condition=None) -> Converted:
    """Run a loop of five steps on rows of x: variable 0 becomes a sum, variable i + 1 what variable step[i] was."""

    def f(x):
        start = [x * float(k + 1) for k in range(len(step) + 1)]

        def body(i, *values):
            return i + 1, values[0] * 0.5 + values[-1], *(values[k] for k in step)

        return tf.while_loop(lambda i, *_: i < 5 + tf.size(x) * 0, body, [0, *start])[1:]

    return check(f, tf.TensorSpec([None, 3]))


@pytest.mark.parametrize(
    ("step", "copies"),
    [((0,), 0), ((0, 1), 0), ((0, 1, 2), 0), ((2, 1), 1), ((2, 3, 1), 1), ((3, 1, 2), 1), ((1, 0, 2), 0),
     ((0, 0, 1), 0)],
)  # fmt: skip
def test_shift_registers_take_no_copies_and_rings_one(step: tuple[int, ...], copies: int) -> None:
    converted = loop(*step)
    assert "WHILE" in converted.ops
    assert converted.ops.count("SLICE") == copies, converted.ops


def test_what_was_before_a_step_takes_no_copy() -> None:
    def f(x):
        def body(before, now):
            return now, tf.minimum(tf.roll(now, 1, 1) * 0.9, now)

        return tf.while_loop(lambda before, now: tf.reduce_any(before != now), body, [tf.zeros_like(x), x])

    converted = check(f, tf.TensorSpec([None, 6]))
    assert converted.ops[converted.ops.index("WHILE") + 1 :].count("SLICE") == 0, converted.ops


def shapes_kept(x, y):
    return lambda: (y, x, x), lambda: (tf.sin(x), x, y)


def shapes_changed(x, y):
    return lambda: (x, x[:1], tf.boolean_mask(y, y[:, 0] > 0)), lambda: (tf.nn.relu(y)[1:], x, y)


@pytest.mark.parametrize("bound", [1e9, -1e9])
@pytest.mark.parametrize("sides", [shapes_kept, shapes_changed])
def test_branches_hand_on_their_operands_without_copies(sides, bound: float) -> None:
    """What else reads an operand, in the branch and behind it, still finds what it was."""

    def f(x):
        a, b = tf.exp(x), x * 2.0
        return *tf.cond(tf.reduce_sum(x) < bound, *sides(a, b)), a + b

    converted = check(f, tf.TensorSpec([None, 3]))
    assert "IF" in converted.ops
    assert "SLICE" not in converted.ops, converted.ops


def test_a_branch_in_a_loop_hands_on_what_the_loop_carries() -> None:
    def f(x):
        def body(i, a, b):
            return i + 1, *tf.cond(tf.reduce_sum(a) > 0, lambda: (b, tf.sin(a) * 2), lambda: (tf.cos(b), a))

        return tf.while_loop(lambda i, *_: i < 5, body, [0, x, x * 2])[1:]

    converted = check(f, tf.TensorSpec([None, 3]))
    assert "IF" in converted.ops
    assert "SLICE" not in converted.ops, converted.ops


@pytest.mark.parametrize(
    "branches",
    [lambda x: (tf.shape(x)[0], 3), lambda x: (tf.shape(x), tf.shape(x) * 2), lambda x: (tf.size(x), 3),
     lambda x: (tf.range(tf.shape(x)[0]), tf.fill([tf.shape(x)[0]], 7)),
     lambda x: (tf.tile([[True, False]], [tf.shape(x)[0], 1]), tf.tile([[False, False]], [tf.shape(x)[0], 1]))],
)  # fmt: skip
def test_a_branch_may_return_sizes(branches) -> None:
    def f(x, condition):
        return tf.cond(condition, lambda: branches(x)[0], lambda: branches(x)[1])

    assert "IF" in check(f, tf.TensorSpec([None, 3]), tf.TensorSpec([], tf.bool), batches=(2, 3, 4)).ops


@pytest.mark.parametrize("threshold", [0.0, 1e9])
def test_places_that_may_be_none(threshold: float) -> None:
    """LiteRT's Python reads no empty tensor that WHERE has sized itself."""
    check(lambda x: (tf.where(x > threshold), tf.where(x[:, 0] > threshold)), tf.TensorSpec([None, 3]))
