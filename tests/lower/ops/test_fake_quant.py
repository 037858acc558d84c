"""Parity of simulated quantization."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def wide(rng, shape, dtype):
    return rng.uniform(-5, 7, shape).astype(dtype)


RANGES = [(-3.0, 2.5), (0.0, 4.0), (0.3, 4.0), (-6.0, -1.0)]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", [8, 4, 16])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_fake_quant(low, high, bits, narrow):
    options = {"num_bits": bits, "narrow_range": narrow}
    quantize = tf.quantization
    x = spec(None, 50)
    # Of 2 ** 16 steps, float32 does not always tell which is the nearest.
    loose = {"inputs": wide, "ops": None if narrow else ["FAKE_QUANT"], "atol": 1e-4 if bits == 16 else 1e-5}
    check(lambda x: quantize.fake_quant_with_min_max_args(x, low, high, **options), x, **loose)
    check(lambda x: quantize.fake_quant_with_min_max_vars(x, low, high, **options), x, **loose)


def test_fake_quant_of_a_range_that_nobody_has_trained():
    converted = check(lambda x: tf.quantization.fake_quant_with_min_max_vars(x, 0.0, 0.0), spec(None, 5))
    assert "FAKE_QUANT" not in converted.ops
    fn = lambda x: tf.quantization.fake_quant_with_min_max_vars(x, 2.0, 1.0)  # noqa: E731
    check_refused(fn, spec(2, 5), match="is empty")


@pytest.mark.parametrize("bits", [2**40, 2**62])
def test_absurd_numbers_of_bits_are_refused(bits):
    """2 ** bits would fill any memory."""
    v4 = lambda x: raw.QuantizeAndDequantizeV4(input=x, input_min=-1.0, input_max=1.0, num_bits=bits)  # noqa: E731
    computed = lambda x: raw.FakeQuantWithMinMaxVars(inputs=x, min=-x[0, 0], max=x[0, 1], num_bits=bits)  # noqa: E731
    for fn in (v4, computed):
        check_refused(fn, spec(2, 5), match=f"num_bits={bits} is out of range|quantizes to {bits} bits")


def test_fake_quant_with_computed_ranges():
    def quantize(x, low, high):
        return tf.quantization.fake_quant_with_min_max_vars(x, low, high)

    inputs = [wide(np.random.default_rng(0), (3, 50), np.float32), np.float32(-3), np.float32(2.5)]
    check(quantize, spec(3, 50), spec(), spec(), inputs=[np.asarray(x) for x in inputs])


@pytest.mark.parametrize("narrow", [False, True])
def test_fake_quant_by_channel(narrow):
    low, high = np.array(RANGES, np.float32).T

    def quantize(x):
        return tf.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high, 8, narrow)

    check(quantize, spec(None, 30, 4), inputs=wide)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("mode", ["HALF_TO_EVEN", "HALF_UP"])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("given", [(-3.0, 2.5), (-1.0, 6.0), None])
def test_quantize_and_dequantize(signed, mode, narrow, given):
    low, high = given or (0.0, 0.0)
    options = {"signed_input": signed, "range_given": given is not None, "round_mode": mode, "narrow_range": narrow}

    def quantize(x):
        return tf.quantization.quantize_and_dequantize(x, low, high, **options)

    check(quantize, spec(None, 50), inputs=wide)


def test_other_versions():
    limits = {"signed_input": True, "range_given": True, "input_min": -3.0, "input_max": 2.0}
    check(lambda x: raw.QuantizeAndDequantizeV2(input=x, **limits), spec(None, 50), inputs=wide)
    check(lambda x: raw.QuantizeAndDequantizeV3(input=x, num_bits=6, **limits), spec(None, 50), inputs=wide)


def test_by_axis():
    def quantize(x):
        zeros = tf.zeros([3])
        return tf.quantization.quantize_and_dequantize_v2(x, zeros, zeros, range_given=False, axis=1)

    check(quantize, spec(None, 3, 20), inputs=wide)


def test_quantized_types_are_refused():
    def quantize(x):
        y, low, high = tf.quantization.quantize(x, -3.0, 3.0, tf.quint8, mode="MIN_FIRST")
        return tf.quantization.dequantize(y, low, high)

    check_refused(quantize, spec(5), match="QuantizeV2")
