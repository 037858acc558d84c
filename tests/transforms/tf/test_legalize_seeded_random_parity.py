"""Seeds that move on from run to run are TFLite's own; others stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import Converted, check_refused, convert_function

SHAPE = (40, 50)
X = tf.TensorSpec(SHAPE)
random = keras.random
DRAWS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "uniform": (lambda x, seed: random.uniform(tf.shape(x), seed=seed), 0.5, 12**-0.5),
    "normal": (lambda x, seed: random.normal(tf.shape(x), seed=seed), 0.0, 1.0),
    "truncated": (lambda x, seed: random.truncated_normal(tf.shape(x), seed=seed), 0.0, 0.88),
    "whole": (lambda x, seed: tf.cast(random.randint(tf.shape(x), 0, 7, seed=seed), tf.float32), 3.0, 2.0),
    "class": (lambda x, seed: tf.cast(random.categorical(x * 0.0, 50, seed=seed), tf.float32), 24.5, 14.43),
    "dropout": (lambda x, seed: random.dropout(x * 0.0 + 1.0, 0.5, seed=seed), 1.0, 1.0),
}


class Sampler(tf.Module):
    """Draws from a seed of its own."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.generator = keras.random.SeedGenerator(1)
        self.state = self.generator.state.value

    def run(self, x: tf.Tensor) -> Any:
        return self.draw(x, self.generator)


def _runs(converted: Converted) -> list[np.ndarray]:
    interpreter = Interpreter(model_content=converted.data)
    interpreter.allocate_tensors()
    results = []
    for _ in range(2):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros(SHAPE, np.float32))
        interpreter.invoke()
        results.append([interpreter.get_tensor(end["index"]) for end in interpreter.get_output_details()])
    return [np.stack(result) for result in results]


@pytest.mark.parametrize("name", DRAWS)
def test_each_run_draws_anew(name: str) -> None:
    draw, mean, deviation = DRAWS[name]
    converted = convert_function(Sampler(draw).run, X)
    first, second = _runs(converted)
    assert not np.array_equal(first, second)
    for drawn in (first, second):
        assert abs(drawn.mean() - mean) < 0.1 * deviation
        assert abs(drawn.std() - deviation) < 0.1 * deviation
    assert any("of the same distribution" in warning for warning in converted.report.warnings)
    assert not any("VARIABLE" in op or op == "VAR_HANDLE" for op in converted.ops)


def test_what_is_drawn_from_a_drawn_seed() -> None:
    def sample(x: tf.Tensor) -> tf.Tensor:
        """Draw a class in each step, as transformers' `generate` does."""
        drawn = tf.TensorArray(tf.int32, 300, element_shape=[2])
        for step in tf.range(300):
            seed = tf.experimental.numpy.random.randint(tf.int32.min, tf.int32.max, (2,), dtype=tf.int32)
            classes = tf.random.stateless_categorical(x[:2], 1, seed, dtype=tf.int32)
            drawn = drawn.write(step, classes[:, 0])
        return drawn.stack()

    converted = convert_function(sample, X)
    assert "MULTINOMIAL" in converted.ops
    first, second = _runs(converted)
    assert not np.array_equal(first, second)
    for drawn in (first, second):
        assert abs(np.mean(drawn) - 24.5) < 0.2 * 14.43
        assert abs(np.std(drawn) - 14.43) < 0.2 * 14.43


def test_equal_draws_from_one_seed_are_one() -> None:
    def draw(x: tf.Tensor, generator: Any) -> list[tf.Tensor]:
        seed = generator.next()
        return [x + tf.random.stateless_normal(SHAPE, seed), tf.random.stateless_normal(SHAPE, seed)]

    converted = convert_function(Sampler(draw).run, X)
    assert converted.ops.count("RANDOM_STANDARD_NORMAL") == 1
    one, other = _runs(converted)[0]
    np.testing.assert_array_equal(one, other)


def test_different_draws_from_one_seed_are_computed() -> None:
    def draw(x: tf.Tensor, generator: Any) -> list[tf.Tensor]:
        seed = generator.next()
        return [x + tf.random.stateless_normal(SHAPE, seed), tf.random.stateless_uniform(SHAPE, seed)]

    sampler = Sampler(draw)
    for run in _runs(convert_function(sampler.run, X)):
        for result, expected in zip(run, sampler.run(tf.zeros(SHAPE))):
            np.testing.assert_allclose(result, expected, atol=1e-5)


GENERATED: dict[str, tuple[Callable[..., Any], float, float]] = {
    "uniform": (lambda g: g.uniform(SHAPE, -1.0, 2.0), 0.5, 3 * 12**-0.5),
    "normal": (lambda g: g.normal(SHAPE, 2.0, 3.0), 2.0, 3.0),
    "truncated": (lambda g: g.truncated_normal(SHAPE), 0.0, 0.88),
    "whole": (lambda g: tf.cast(g.uniform(SHAPE, 0, 7, tf.int32), tf.float32), 3.0, 2.0),
    "of its seeds": (lambda g: tf.random.stateless_normal(SHAPE, g.make_seeds(1)[:, 0]), 0.0, 1.0),
}


class Generated(tf.Module):
    """Draws from a generator of TensorFlow's."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.generator = tf.random.Generator.from_seed(1)

    def run(self, x: tf.Tensor) -> Any:
        return x + self.draw(self.generator)

    def state(self, x: tf.Tensor) -> Any:
        return [x + self.draw(self.generator), self.generator.state.read_value()]


@pytest.mark.parametrize("name", GENERATED)
def test_generators_draw_anew_in_each_run(name: str) -> None:
    draw, mean, deviation = GENERATED[name]
    converted = convert_function(Generated(draw).run, X)
    first, second = _runs(converted)
    assert not np.array_equal(first, second)
    for drawn in (first, second):
        assert abs(drawn.mean() - mean) < 0.1 * deviation
        assert abs(drawn.std() - deviation) < 0.1 * deviation
    assert any("of the same distribution" in warning for warning in converted.report.warnings)


def test_the_state_of_a_generator_is_not_handed_out() -> None:
    check_refused(Generated(GENERATED["normal"][0]).state, X, match="ReadVariableOp: it reads the state of a random")


def test_bits_of_a_generator_are_refused() -> None:
    def bits(generator: Any) -> tf.Tensor:
        return tf.cast(generator.uniform_full_int(SHAPE, tf.uint32), tf.float32)

    check_refused(Generated(bits).run, X, match="RngReadAndSkip: TFLite keeps no such state")
