"""Parity of complex numbers."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("op", [tf.math.real, tf.math.imag, tf.abs, tf.math.angle], ids=lambda op: op.__name__)
def test_parts(op):
    check(op, spec(None, 5, dtype=tf.complex64))


ARITHMETIC = [tf.add, tf.subtract, tf.multiply, tf.divide, tf.math.squared_difference]


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
def test_arithmetic(op):
    check(op, spec(None, 3, dtype=tf.complex64), spec(3, dtype=tf.complex64))


@pytest.mark.parametrize("op", [tf.square, tf.exp, tf.math.reciprocal, tf.negative], ids=lambda op: op.__name__)
def test_functions(op):
    check(op, spec(None, 3, dtype=tf.complex64))


FUNCTIONS = [
    tf.sqrt, tf.math.rsqrt, tf.math.log, tf.sin, tf.cos, tf.tan, tf.sinh, tf.cosh, tf.tanh, tf.sigmoid, tf.sign,
    tf.norm,
]  # fmt: skip


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.__name__)
def test_composed_functions(op):
    check(op, spec(None, 3, dtype=tf.complex64))


def test_sums_from_the_first():
    check(lambda x: tf.cumsum(x, 1, exclusive=True), spec(None, 3, dtype=tf.complex64))


@pytest.mark.parametrize("exponent", [2, -1, 0.5, 2.5, 1 - 2j])
def test_constant_powers(exponent):
    check(lambda x: x**exponent, spec(None, 3, dtype=tf.complex64))


def test_powers():
    x, y = (np.array(each, np.complex64) for each in ([0, 0, 1 + 1j, -2, 1j], [2, 1 + 3j, 2 - 1j, 0.5, -1.5]))
    check(tf.pow, spec(5, dtype=tf.complex64), spec(5, dtype=tf.complex64), inputs=[x, y])


def test_roots_and_logarithms_know_the_sign_of_zero():
    x = np.array([-1, complex(-1, -0.0), 0, 4, -4j, 1e-30, -1e37j, -1e30], np.complex64)
    check(lambda x: [tf.sqrt(x), tf.math.log(x[:2])], spec(8, dtype=tf.complex64), inputs=[x])


def test_functions_far_from_zero():
    x = np.array([50 + 1j, -90 + 2j, 60j, 1e-3, -1e-3j, 0, 1 - 100j], np.complex64)
    check(lambda x: [tf.tanh(x), tf.tan(x), tf.sigmoid(x)], spec(7, dtype=tf.complex64), inputs=[x])


def test_quotients_where_the_divisor_may_be_zero():
    x = np.array([1 + 1j, 0, 2j], np.complex64)
    two = [spec(3, dtype=tf.complex64)] * 2
    check(lambda x, y: [tf.math.divide_no_nan(x, y), tf.math.multiply_no_nan(x, y)], *two, inputs=[x, x])
    check(lambda x, y: tf.math.divide_no_nan(x, tf.constant([1j, 2, 1 + 1j], tf.complex64)), *two, inputs=[x, x])


@pytest.mark.parametrize("op", [tf.equal, tf.not_equal])
def test_comparison(op):
    def few(rng, shape, dtype):
        return (rng.integers(0, 2, shape) + 1j * rng.integers(0, 2, shape)).astype(dtype)

    check(op, spec(None, 9, dtype=tf.complex64), spec(9, dtype=tf.complex64), inputs=few)
    check(lambda x: tf.where(x), spec(None, 9, dtype=tf.complex64), inputs=few)


def test_products():
    x, y = spec(None, 4, 3, dtype=tf.complex64), spec(3, 5, dtype=tf.complex64)
    check(tf.matmul, x, y)
    check(lambda x: tf.matmul(x, x, adjoint_a=True), x)
    check(lambda x: tf.matmul(x, x, transpose_b=True), x)


def test_moves():
    def moved(x):
        joined = tf.concat([x[:, 1:], -x], 1)
        return tf.transpose(joined), tf.gather(x, [1, 0], axis=1), tf.reduce_sum(x, 1), tf.pad(x, [[0, 1], [2, 0]])

    check(moved, spec(None, 3, dtype=tf.complex64))


def test_repeating():
    value = tf.TensorSpec([], tf.complex64)
    check(lambda x: [tf.fill([2, 3], x), tf.one_hot([1, 0], 3, x, 2 * x)], value)
    check(lambda x: [tf.broadcast_to(x, [2, *x.shape]), tf.zeros_like(x)], tf.TensorSpec([1, 3], tf.complex64))
    check(lambda x: [tf.zeros_like(x), tf.ones_like(x)], tf.TensorSpec([None, 3], tf.complex64))


def test_joining():
    check(tf.complex, spec(None, 3), spec(None, 3))
    check(lambda x: tf.cast(x, tf.complex64), spec(None, 3))
    check(tf.math.conj, spec(None, 3, dtype=tf.complex64))
    check(tf.math.conj, spec(None, 3))
    check(lambda x: tf.complex(x, np.float32(2)), spec(None, 3))


def test_transposing_conjugates():
    numbers = spec(None, 3, dtype=tf.complex64)
    check(lambda x: tf.linalg.adjoint(x), numbers)


def test_complex128_is_refused():
    check_refused(tf.exp, spec(3, dtype=tf.complex128), match="Exp.*complex128")
    check_refused(tf.math.asin, spec(3, dtype=tf.complex64), match="Asin.*complex64")


def _by_parts(x):
    spectrum = tf.signal.rfft(x)[:, :-1]
    return tf.math.atan2(tf.math.imag(spectrum), tf.math.real(spectrum))


def _apart(x):
    """What is done to the parts, and to the numbers, before."""
    spectrum = tf.signal.rfft(x) * tf.constant(2 + 0j, tf.complex64)
    parts = tf.stack([tf.math.real(spectrum), tf.math.imag(spectrum)], -1)
    return tf.math.atan2(tf.transpose(parts[..., 1]), tf.transpose(parts[..., 0]))


def _chosen(x):
    spectrum = tf.signal.rfft(x)
    return tf.cond(x[0, 0] > 0, lambda: tf.math.angle(spectrum), lambda: tf.math.angle(tf.concat([spectrum] * 2, 1)))


SPECTRA = {
    "all": lambda x: tf.math.angle(tf.signal.rfft(x)),
    "windows": lambda x: tf.math.angle(tf.signal.stft(x, 16, 8)),
    "square": lambda x: tf.math.angle(tf.signal.rfft2d(x[:, None])),
    "part": _by_parts,
    "apart": _apart,
    "chosen": _chosen,
}


@pytest.mark.parametrize("length", [64, 60, 33])
@pytest.mark.parametrize("fn", SPECTRA.values(), ids=SPECTRA)
def test_the_ends_of_a_spectrum_have_angles_of_0_and_pi(fn, length):
    check(fn, spec(None, length), atol=1e-4)


def test_silence_has_no_angle():
    check(SPECTRA["all"], spec(None, 16), inputs=lambda rng, shape, dtype: np.zeros(shape, dtype))


def test_parts_that_were_put_together_are_there():
    def fn(x):
        numbers = tf.complex(x, tf.cos(x))
        return tf.math.imag(numbers) * tf.math.real(numbers)

    check(fn, spec(None, 3), ops=["COS", "MUL"])


def test_quotients_of_any_size():
    # Squares of these overflow, or vanish.
    sizes = np.float32([1e-25, 1e-20, 1, 1e20, 1e30])
    y = np.concatenate([sizes * (1 + 2j), sizes * (2 - 1j), sizes * 1j, -sizes]).astype(np.complex64)
    three = np.full(20, 3 - 1j, np.complex64)
    check(lambda x: tf.math.imag(x / y) * np.abs(y), tf.TensorSpec([20], tf.complex64), inputs=[three])
    check(lambda x: x / x, tf.TensorSpec([20], tf.complex64), inputs=[y])
