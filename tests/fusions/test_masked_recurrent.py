"""Masked recurrent layers: what the numbers of the fused form owe to its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import Converted, convert_function
from tests.pairwise import mostly_slow
from tests.random_weights import randomize
from tests.transforms.rnn.masked import check_fused, draw

TIME, IN, UNITS = 7, 3, 4
X, MASK = tf.TensorSpec([None, None, IN]), tf.TensorSpec([None, None], tf.bool)


def _layer(scale: float = 1.0, **options: Any) -> keras.layers.LSTM:
    layer = keras.layers.LSTM(UNITS, return_state=True, **options)
    layer.build((None, TIME, IN))
    randomize(layer, 1)
    layer.set_weights([scale * weight for weight in layer.get_weights()])
    return layer


def _runner(converted: Converted, resolver: OpResolverType) -> Callable[..., list[np.ndarray]]:
    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        runner = interpreter.get_signature_runner()
        made = runner(**{f"x{number}": array for number, array in enumerate(arrays)})
        return [made[f"y{number}"] for number in range(len(made))]

    return run


RESOLVERS = [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]


@mostly_slow(activation=["tanh", "relu"], scale=[1.0, 100.0])
def test_states_are_kept_to_the_last_bit(activation: str, scale: float) -> None:
    layer = _layer(scale, activation=activation)
    converted = convert_function(lambda x, mask: layer(x, mask=mask), X, MASK, verify_fusions="never")
    x = np.random.default_rng(0).standard_normal((2, 5, IN)).astype(np.float32)
    # Steps in front, between and behind, of any size or none at all, that do not count.
    places = [1, 2, 40, 60, 61]
    long = np.full((2, 100, IN), np.nan, np.float32)
    long[:, 62:] = 1e30
    long[:, places] = x
    mask = np.zeros((2, 100), bool)
    mask[:, places] = True
    for resolver in RESOLVERS:
        run = _runner(converted, resolver)
        for made, wanted in zip(run(long, mask), run(x, np.ones((2, 5), bool)), strict=True):
            np.testing.assert_array_equal(made, wanted)


def test_a_mask_that_is_longer_than_the_sequence() -> None:
    layer = _layer(return_sequences=True)
    converted = convert_function(lambda x, mask: layer(x, mask=mask), X, MASK)
    rng = np.random.default_rng(0)
    x, mask = rng.standard_normal((2, 4, IN)).astype(np.float32), rng.integers(0, 2, (2, 9)).astype(bool)
    run = _runner(converted, OpResolverType.AUTO)
    for made, wanted in zip(run(x, mask), converted.function(tf.constant(x), tf.constant(mask))):
        np.testing.assert_allclose(made, wanted.numpy(), atol=1e-5)
    with pytest.raises(RuntimeError):
        run(x, mask[:, :3])


@mostly_slow(time=[TIME, None], options={"last": {}, "backwards": {"return_sequences": True, "go_backwards": True}})
def test_a_mask_of_one_row_for_all(time: int | None, options: dict[str, Any]) -> None:
    layer = _layer(**options)

    def inputs(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return draw(rng, (1, *shape[1:]) if dtype == np.bool_ else shape, dtype)

    specs = tf.TensorSpec([None, time, IN]), tf.TensorSpec([1, time], tf.bool)
    check_fused(lambda x, mask: layer(x, mask=mask), *specs, inputs=inputs)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_no_step_and_one_step(activation: str) -> None:
    layer = _layer(activation=activation)
    check_fused(lambda x, mask: layer(x, mask=mask), tf.TensorSpec([None, 2, IN]), tf.TensorSpec([None, 2], tf.bool))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_stateful_layer(backwards: bool) -> None:
    layer = keras.layers.LSTM(UNITS, stateful=True, return_sequences=True, go_backwards=backwards)
    layer.build((2, TIME, IN))
    randomize(layer, 1)
    layer.reset_states()
    specs = tf.TensorSpec([2, TIME, IN]), tf.TensorSpec([2, TIME], tf.bool)
    converted = convert_function(lambda x, mask: layer(x, mask=mask), *specs)
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in converted.ops
    interpreter = Interpreter(model_content=converted.data)
    runner = interpreter.get_signature_runner()
    rng = np.random.default_rng(0)
    for density in (0.5, 0.0, 1.0, 0.5):
        x = rng.standard_normal((2, TIME, IN)).astype(np.float32)
        mask = rng.uniform(size=(2, TIME)) < density
        (expected,) = converted.function(tf.constant(x), tf.constant(mask))
        np.testing.assert_allclose(runner(x0=x, x1=mask)["y0"], expected.numpy(), atol=1e-5)
