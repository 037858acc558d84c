"""Models that were trained with FakeQuant compute in integers, without samples, what TensorFlow simulates: some numbers
lie one step of the last range beside, where the kernels' sums are rounded otherwise than TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import Converted, check, convert_function

_RNG = np.random.default_rng(0)
_quantization = tf.quantization


@pytest.fixture(autouse=True)
def _same_weights_alone_and_among_others() -> None:
    _RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


def _fq(x: Any, low: float, high: float) -> Any:
    return _quantization.fake_quant_with_min_max_vars(x, low, high)


def _weights(*shape: int, axis: int | None = -1) -> Any:
    """Weights with a range for each channel, or one; wider than the numbers are, as a moving average is."""
    array = _RNG.normal(size=shape).astype(np.float32)
    if axis is None:
        high = float(np.abs(array).max()) * 1.07
        return _quantization.fake_quant_with_min_max_vars(array, -high, high, 8, True)
    if axis != -1:
        array = np.moveaxis(array, axis, -1)
    highs = np.abs(array).max(tuple(range(array.ndim - 1))) * np.float32(1.07)
    made = _quantization.fake_quant_with_min_max_vars_per_channel(array, -highs, highs, 8, True)
    return made if axis == -1 else tf.convert_to_tensor(np.moveaxis(made.numpy(), -1, axis))


def _bias(size: int) -> np.ndarray:
    return _RNG.normal(size=size).astype(np.float32)


def _check(fn: Callable[..., Any], shape: tuple, step: float, ops: list[str], **options: Any) -> Converted:
    """step: of the result, as a part of its largest number."""
    spec = tf.TensorSpec(shape)
    converted = check(fn, spec, quantize="int8", atol=1.4 * step, ops=ops, batches=(1, 3), **options)
    assert not [item for item in converted.report.quantized if item.why] and not converted.report.warnings
    return converted


@pytest.mark.parametrize("axis", [None, -1])
def test_dense_layers(axis: int | None) -> None:
    first, second, bias = _weights(20, 16, axis=axis), _weights(16, 7, axis=axis), _bias(7)

    def dense(x: Any) -> Any:
        y = _fq(tf.nn.relu(tf.matmul(_fq(x, -3.0, 3.2), first)), 0.0, 6.0)
        return _fq(tf.matmul(y, second) + bias, -20.0, 22.0)

    # A step, in parts of what random results reach at the least.
    _check(dense, (None, 20), 42 / 255 / 10, ["QUANTIZE", "FULLY_CONNECTED", "FULLY_CONNECTED", "DEQUANTIZE"])


def test_convolutions_with_a_residual_a_concatenation_and_pools() -> None:
    plain, deep, ones = _weights(3, 3, 3, 8), _weights(3, 3, 8, 1, axis=2), _weights(1, 1, 8, 6)
    norm, bias = _RNG.uniform(-1.5, 1.5, 8).astype(np.float32), _bias(8)

    def network(x: Any) -> Any:
        y = tf.nn.conv2d(_fq(x, -2.5, 2.5), plain, 1, "SAME") * norm + bias
        y = _fq(tf.nn.relu(y), 0.0, 9.0)
        z = _fq(tf.nn.depthwise_conv2d(y, deep, [1, 1, 1, 1], "SAME") + bias, -20.0, 20.0)
        y = _fq(y + z, -18.0, 19.0)
        wide = tf.concat([tf.nn.conv2d(y, ones, 1, "SAME"), y[..., :3]], -1)
        return tf.nn.max_pool2d(_fq(wide, -30.0, 31.0), 2, 2, "VALID")

    ops = ["QUANTIZE", "CONV_2D", "DEPTHWISE_CONV_2D", "ADD", "CONV_2D", "STRIDED_SLICE", "ADD"]
    _check(network, (None, 8, 6, 3), 2 * 61 / 255 / 31, [*ops, "CONCATENATION", "MAX_POOL_2D", "DEQUANTIZE"])


def test_what_is_requantized_is_rounded_once() -> None:
    """QUANTIZE from int8 to int8 rounds by multiplying twice: an eighth of these numbers would be a step beside."""
    first, second, bias = _weights(1, 1, 4, 8), _weights(3, 3, 4, 8), _bias(8)
    step = 26.177 / 255

    def network(x: Any) -> Any:
        x = _fq(x, -3.013, 3.247)
        y = _fq(tf.nn.conv2d(x, first, 1, "SAME") + bias, -5.113, 4.791)
        z = _fq(tf.nn.conv2d(x, second, 1, "SAME"), -11.37, 13.9)
        return _fq(tf.concat([y, z], -1), -11.977, 14.2)

    x = _RNG.normal(size=(2, 24, 24, 4)).astype(np.float32)
    ops = ["QUANTIZE", "CONV_2D", "CONV_2D", "ADD", "ADD", "CONCATENATION", "DEQUANTIZE"]
    converted = check(network, tf.TensorSpec((None, 24, 24, 4)), quantize="int8", atol=0.02, ops=ops)
    for resolver in (OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO):
        interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        runner = interpreter.get_signature_runner()
        (found,) = runner(**dict.fromkeys(runner.get_input_details(), x)).values()
        assert (np.abs(found - network(x)) > step / 2).mean() < 0.005


def test_an_output_that_is_not_rounded_is_that_of_its_kernel() -> None:
    weights, bias = _weights(12, 5), _bias(5)

    def classify(x: Any) -> Any:
        return tf.nn.softmax(_fq(tf.matmul(_fq(x, -3.0, 3.0), weights) + bias, -16.0, 15.0))

    _check(classify, (None, 12), 0.06, ["QUANTIZE", "FULLY_CONNECTED", "SOFTMAX", "DEQUANTIZE"])


def test_tables_that_lie_on_a_grid() -> None:
    table, weights = _fq(_RNG.normal(size=(40, 8)).astype(np.float32), -3.0, 2.5), _weights(8, 4)

    def embed(x: Any) -> Any:
        return _fq(tf.matmul(tf.gather(table, x), weights), -12.0, 12.0)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.integers(0, 40, shape).astype(dtype)

    converted = check(embed, tf.TensorSpec((None, 5), tf.int32), quantize="int8", atol=0.02, inputs=draw)
    assert converted.ops == ["GATHER", "FULLY_CONNECTED", "DEQUANTIZE"]


def test_one_tensor_that_is_rounded_twice() -> None:
    # Each of its readers has the range that it is to have: nothing is rounded to one on the way to the other.
    def twice(x: Any) -> Any:
        x = tf.exp(x)
        return tf.concat([_fq(x, 0.0, 8.0) * _fq(x, 0.0, 3.0), x], -1)

    converted = check(twice, tf.TensorSpec((None, 9)), quantize="int8", atol=1e-5)
    assert "EXP" in {item.op for item in converted.report.quantized if item.why}


def test_integers_are_taken_and_given() -> None:
    weights = _weights(6, 4)

    def dense(x: Any) -> Any:
        return _fq(tf.matmul(_fq(x, -3.0, 3.0), weights), -9.0, 9.0)

    converted = convert_function(dense, tf.TensorSpec((None, 6)), quantize="int8", io_types="int8")
    assert converted.ops == ["FULLY_CONNECTED"]


def test_other_forms_of_rounding() -> None:
    def limited(x: Any, low: float, high: float, **options: Any) -> Any:
        return _quantization.quantize_and_dequantize_v2(x, low, high, range_given=True, **options)

    def rounded(x: Any, bits: int) -> Any:
        """x + (q(x) - x), as QKeras has it"""
        least, most = -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1
        return x + (tf.clip_by_value(tf.round(x * 8), least, most) / 8 - x)

    first, second, bias = (_RNG.normal(size=size).astype(np.float32) for size in ((16, 12), (12, 5), 5))

    def dense(x: Any) -> Any:
        y = tf.matmul(limited(x, -3.1, 3.0), limited(first, -2.0, 2.0, narrow_range=True))
        y = limited(tf.nn.relu(y), 0.0, 7.9, signed_input=False)
        return rounded(tf.matmul(y, rounded(second, 6)) + bias, 8)

    ops = ["QUANTIZE", "FULLY_CONNECTED", "FULLY_CONNECTED", "DEQUANTIZE"]
    _check(dense, (None, 16), 1 / 8 / 9, ops)


def test_sums_in_the_middle_between_two_steps() -> None:
    """Of powers of two half of the sums lie there. XNNPACK rounds them to even, as the model does."""

    def rounded(x: Any, step: float, low: float, high: float) -> Any:
        return tf.clip_by_value(tf.round(x / step), low, high) * step

    weights = (_RNG.integers(-9, 10, (12, 9)) / 8).astype(np.float32)

    def dense(x: Any) -> Any:
        y = tf.matmul(rounded(x, 1 / 16, -128, 127), weights)
        return rounded(y, 1 / 8, -128, 127)

    converted = convert_function(dense, tf.TensorSpec((None, 12)), quantize="int8")
    assert converted.ops == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]
    x = _RNG.normal(size=(64, 12)).astype(np.float32)
    runner = Interpreter(model_content=converted.data).get_signature_runner()
    (found,) = runner(**dict.fromkeys(runner.get_input_details(), x)).values()
    np.testing.assert_array_equal(found, dense(x))


def _to_grid(x: Any, step: float, least: int = -128, most: int = 127) -> Any:
    return tf.clip_by_value(tf.round(x / step), least, most) * step


def _hard_sigmoid(x: Any) -> Any:
    return tf.clip_by_value(0.5 * x + 0.5, 0.0, 1.0)


_QUANTIZERS = {
    "relu": lambda x: _to_grid(tf.nn.relu(x), 1 / 32, 0, 255),
    "relu of few bits": lambda x: _to_grid(tf.nn.relu(x), 1 / 4, 0, 15),
    "hard tanh": lambda x: tf.clip_by_value(tf.round((2 * _hard_sigmoid(x) - 1) * 128) / 128, -1.0, 127 / 128),
    "symmetric hard tanh": lambda x: _to_grid(2 * _hard_sigmoid(x) - 1, 1 / 128, -127),
    "hard sigmoid": lambda x: _to_grid(_hard_sigmoid(x), 1 / 256, 0, 255),
    "straight through": lambda x: x + tf.stop_gradient(_to_grid(x, 1 / 16, -127) - x),
    # What follows stays float, as there is no such kernel, or no range.
    "relu with a slope": lambda x: _to_grid(tf.nn.relu(x), 1 / 32, 0, 127) + _to_grid(tf.minimum(x, 0) / 8, 1 / 32),
    "sign": lambda x: tf.sign(x) + (1 - tf.abs(tf.sign(x))),
    "ternary": lambda x: tf.sign(x) * tf.cast(tf.abs(x) >= 1 / 3, tf.float32),
    "tanh": lambda x: _to_grid(tf.tanh(x), 1 / 128),
}


@pytest.mark.parametrize("name", _QUANTIZERS)
def test_quantizers_of_qkeras(name: str) -> None:
    """All steps are powers of two, those of each channel of the weights their own."""
    steps = 2.0 ** _RNG.integers(-7, -4, 8)
    first, second = (_RNG.integers(-127, 128, size) for size in ((12, 8), (8, 5)))
    bias = (_RNG.integers(-60, 60, 8) / 64).astype(np.float32)

    def network(x: Any) -> Any:
        y = tf.matmul(_to_grid(x, 1 / 32), (first * steps / 4).astype(np.float32)) + bias
        return _to_grid(tf.matmul(_QUANTIZERS[name](y), (second / 128).astype(np.float32)), 1 / 8)

    converted = convert_function(network, tf.TensorSpec((None, 12)), quantize="int8")
    x = _RNG.normal(size=(64, 12)).astype(np.float32)
    runner = Interpreter(model_content=converted.data).get_signature_runner()
    (found,) = runner(**dict.fromkeys(runner.get_input_details(), x)).values()
    np.testing.assert_array_equal(found, network(x))
    in_integers = list(_QUANTIZERS).index(name) < 6
    assert in_integers == (not [item for item in converted.report.quantized if item.why])


def test_sums_of_two_tensors_in_the_middle_between_two_steps() -> None:
    """Kernels of integers round them up. On floats QUANTIZE rounds them to even, as the model does."""

    def rounded(x: Any, step: float) -> Any:
        return tf.clip_by_value(tf.round(x / step), -128, 127) * step

    def network(x: Any) -> Any:
        x = rounded(x, 1 / 32)
        return rounded(x + rounded(tf.matmul(x, tf.eye(6) * 2), 1 / 16), 1 / 8)

    converted = convert_function(network, tf.TensorSpec((None, 6)), quantize="int8")
    assert [item.op for item in converted.report.quantized if "middle" in item.why] == ["ADD"]
    x = _RNG.normal(size=(64, 6)).astype(np.float32)
    runner = Interpreter(model_content=converted.data).get_signature_runner()
    (found,) = runner(**dict.fromkeys(runner.get_input_details(), x)).values()
    np.testing.assert_array_equal(found, network(x))


def test_what_stays_float_rounds_to_even_as_the_model_does() -> None:
    """FAKE_QUANT would round numbers in the middle between two steps up."""

    def rounded(x: Any) -> Any:
        return tf.clip_by_value(tf.round(x * 8), -100, 99) / 8

    def network(x: Any) -> Any:
        return tf.sin(rounded(x))

    converted = convert_function(network, tf.TensorSpec((None, 9)), quantize="int8")
    assert "ROUND" in converted.ops and "FAKE_QUANT" not in converted.ops
    x = (_RNG.integers(-300, 300, (64, 9)) / 16).astype(np.float32)
    for resolver in (OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO):
        interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        runner = interpreter.get_signature_runner()
        (found,) = runner(**dict.fromkeys(runner.get_input_details(), x)).values()
        np.testing.assert_allclose(found, network(x), atol=1e-6)


def test_fewer_steps_than_integers_have() -> None:
    weights = _weights(16, 9)

    def dense(x: Any) -> Any:
        y = _quantization.fake_quant_with_min_max_vars(x, -2.0, 2.3, 6, True)
        y = _quantization.fake_quant_with_min_max_vars(tf.matmul(y, weights), -12.0, 11.0, 5)
        return tf.reshape(y, [-1, 3, 3])

    ops = ["QUANTIZE", "MINIMUM", "FULLY_CONNECTED", "MINIMUM", "RESHAPE", "DEQUANTIZE"]
    _check(dense, (None, 16), 23 / 31 / 11, ops)


def test_rounding_whose_factors_were_moved_away() -> None:
    """Weights take in what numbers are divided by; what they are multiplied by stands behind the mean."""

    def uniform(x: Any, scale: float) -> Any:
        stored = tf.raw_ops.UniformQuantize(
            input=x, scales=scale, zero_points=-5, Tout=tf.qint8, quantization_min_val=-128, quantization_max_val=127)
        return tf.raw_ops.UniformDequantize(
            input=stored, scales=scale, zero_points=-5, Tout=tf.float32, quantization_min_val=-128,
            quantization_max_val=127)  # fmt: skip

    weights, bias = _weights(3, 3, 3, 6), _bias(6)

    def network(x: Any) -> Any:
        y = uniform(tf.nn.conv2d(uniform(x, 1 / 32), weights, 1, "SAME") + bias, 1 / 5)
        y = _quantization.quantize_and_dequantize_v2(tf.nn.relu(y), -20.0, 20.0, range_given=True)
        return uniform(tf.reduce_mean(y, [1, 2]), 1 / 20)

    ops = ["QUANTIZE", "CONV_2D", "ADD", "MINIMUM", "MEAN", "DEQUANTIZE"]
    _check(network, (None, 8, 6, 3), 1 / 20 / 1.5, ops)


def test_a_loop_that_rounds_its_state() -> None:
    """With samples, which tell ranges of products too, these quantize rows as they come, and their sums are floats: no
    step rounds what the model does not."""
    kernel, recurrent, bias = _weights(8, 16), _weights(16, 16) / 4, _bias(16)

    def loop(x: Any) -> Any:
        def step(t: Any, h: Any) -> Any:
            made = tf.matmul(_fq(tf.gather(x, t, axis=1), -3.0, 3.0), kernel) / 3 + tf.matmul(h, recurrent) + bias
            return t + 1, _fq(tf.tanh(made), -1.0, 1.0)

        shapes = [tf.TensorShape([]), tf.TensorShape([None, 16])]
        return tf.while_loop(lambda t, h: t < 10, step, [0, tf.zeros([tf.shape(x)[0], 16])], shapes)[1]

    samples = [{"x0": _RNG.uniform(-3, 3, (1, 10, 8)).astype(np.float32)} for _ in range(40)]
    converted = check(
        loop, tf.TensorSpec([None, 10, 8]), quantize="int8", calibration_data=samples, atol=0.02, static=False,
        inputs=lambda rng, shape, dtype: rng.uniform(-3, 3, shape).astype(dtype),
    )  # fmt: skip
    assert {item.type for item in converted.report.quantized if item.op == "FULLY_CONNECTED"} == {"int8"}
