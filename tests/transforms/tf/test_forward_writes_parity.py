"""Variables hold after each invoke what they hold in TensorFlow, though they are read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import convert_function

SHAPE = [3, 5]


class Cells:
    """Two variables, which start as random numbers."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.v, self.w = (tf.Variable(rng.normal(size=SHAPE).astype(np.float32)) for _ in range(2))


def _read_before_a_write(cells: Cells, x: tf.Tensor) -> tf.Tensor:
    old = cells.v.read_value()
    cells.v.assign(x * 2.0)
    return old * 3.0 + x - cells.v


def _swap(cells: Cells, x: tf.Tensor) -> tf.Tensor:
    v, w = cells.v.read_value(), cells.w.read_value()
    cells.v.assign(w)
    cells.w.assign(v)
    return cells.v - cells.w * x + v


def _write_several_times(cells: Cells, x: tf.Tensor) -> tf.Tensor:
    total = x
    for _ in range(3):
        cells.v.assign(tf.tanh(cells.v * x))
        total += cells.v
        cells.w.assign_add(total * cells.v)
    return total - cells.w


def _write_in_a_branch(cells: Cells, x: tf.Tensor) -> tf.Tensor:
    old = cells.v.read_value()
    cells.v.assign(x * 2.0)
    if tf.reduce_sum(x) > 0:
        cells.v.assign_sub(old * x)
    return old * cells.v + cells.v


def _write_in_a_loop(cells: Cells, x: tf.Tensor) -> tf.Tensor:
    before = cells.v + x
    for _ in tf.range(tf.cast(tf.reduce_max(tf.abs(x)), tf.int32) + 1):
        cells.v.assign(cells.v * 0.5 + x)
        cells.w.assign(cells.v + cells.w)
    return before - cells.v * cells.w


# Each with how many reads all graphs together may have.
CASES: dict[str, tuple[Callable[[Cells, tf.Tensor], tf.Tensor], int]] = {
    "read before a write": (_read_before_a_write, 1), "swapped": (_swap, 2),
    "written several times": (_write_several_times, 2), "written in a branch": (_write_in_a_branch, 3),
    "written in a loop": (_write_in_a_loop, 5),
}  # fmt: skip
RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


@pytest.mark.parametrize(("step", "most"), CASES.values(), ids=CASES)
def test_numbers_of_several_invokes(step: Callable[[Cells, tf.Tensor], tf.Tensor], most: int) -> None:
    first = Cells()
    converted = convert_function(tf.function(lambda x: step(first, x)), tf.TensorSpec(SHAPE))
    assert Counter(converted.ops)["READ_VARIABLE"] <= most
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(4, *SHAPE)).astype(np.float32)
    cells = Cells()
    expected = [tf.function(step)(cells, tf.constant(x)).numpy() for x in rows]
    for resolver in RESOLVERS:
        interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        run = interpreter.get_signature_runner()
        made = [next(iter(run(**{next(iter(run.get_input_details())): x}).values())) for x in rows]
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("optimizer", [keras.optimizers.Adam, keras.optimizers.SGD, keras.optimizers.RMSprop])
def test_a_step_of_training_reads_each_variable_once(optimizer: type) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(3)])
    stepper = optimizer(0.01)
    stepper.build(model.trainable_variables)

    def train(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x)))
        stepper.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    ops = Counter(convert_function(tf.function(train), tf.TensorSpec([2, 4])).ops)
    assert 0 < ops["READ_VARIABLE"] <= len(model.variables) + len(stepper.variables)
