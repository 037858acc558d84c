"""Parity of Fourier transforms."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

signal = tf.signal


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 12, 16, 20])
@pytest.mark.parametrize("shape", [(None, 3, 12), (None, 12), (12,)], ids=len)
def test_rfft(shape, length):
    check(lambda x: signal.rfft(x, [length]), spec(*shape))


def test_rfft_of_a_power_of_two_is_one_kernel():
    converted = check(signal.rfft, spec(4, 16))
    assert "RFFT2D" in converted.ops and "FULLY_CONNECTED" not in converted.ops


@pytest.mark.parametrize("length", [(4, 8), (8, 4), (6, 8), (3, 5), (1, 4), (4, 1), (8, 16)])
def test_rfft2d(length):
    check(lambda x: signal.rfft2d(x, length), spec(None, 6, 8))


def test_rfft3d():
    check(lambda x: signal.rfft3d(x, [4, 3, 5]), spec(None, 4, 5, 6))


@pytest.mark.parametrize("length", [1, 2, 7, 8, 10, 16])
@pytest.mark.parametrize("shape", [(None, 3, 5), (5,)], ids=len)
def test_irfft(shape, length):
    check(lambda x: signal.irfft(x, [length]), spec(*shape, dtype=tf.complex64))


@pytest.mark.parametrize("length", [(4, 8), (6, 7), (3, 5)])
def test_irfft2d(length):
    check(lambda x: signal.irfft2d(x, length), spec(None, 4, 5, dtype=tf.complex64))


def test_irfft3d():
    check(lambda x: signal.irfft3d(x, [4, 3, 6]), spec(None, 4, 3, 4, dtype=tf.complex64))


@pytest.mark.parametrize("length", [405, 441, 1000, 2002])
def test_a_long_transform_is_made_of_shorter_ones(length):
    """The rows are not full where the signal is cropped, and where half a spectrum is read or made."""

    def fn(x):
        spectrum = signal.rfft(x)
        back = signal.irfft(spectrum * tf.complex(0.5, 2.0), [length])
        return signal.fft(tf.complex(x, tf.reverse(x, [1]))), back, signal.rfft(x[:, 9:], [length])

    converted = check(fn, spec(None, length))
    assert len(converted.data) < length**2


def test_a_long_transform_of_unknown_numbers_of_rows():
    """In between they are one dimension, which tells neither."""
    check(lambda x: (signal.rfft(x), signal.ifft(tf.complex(x, -x))), spec(None, None, 405))


def test_a_length_of_a_large_prime_is_one_matrix():
    assert check(signal.rfft, spec(2, 3 * 167)).ops.count("FULLY_CONNECTED") == 1


def test_a_transform_of_an_audio_clip():
    converted = check(signal.fft, spec(1, 16000, dtype=tf.complex64))
    assert len(converted.data) < 1 << 21


@pytest.mark.parametrize("length", [486, 500, 510])
def test_the_angle_of_an_end_of_a_long_spectrum(length):
    check(lambda x: tf.math.angle(signal.rfft(x)[:, :: length // 2]), spec(3, length))


@pytest.mark.parametrize(
    "op",
    [signal.fft, signal.ifft, signal.fft2d, signal.ifft2d, signal.fft3d, signal.ifft3d],
    ids=lambda op: op.__name__,
)
def test_complex(op):
    check(op, spec(None, 3, 4, 5, dtype=tf.complex64))


@pytest.mark.parametrize("op", [signal.fft, signal.ifft], ids=lambda op: op.__name__)
@pytest.mark.parametrize("shape", [(None,), (2, None), (None, 3, None)], ids=len)
def test_a_length_that_is_not_known(op, shape):
    check(op, spec(*shape, dtype=tf.complex64))


@pytest.mark.parametrize("op", [signal.fft2d, signal.ifft2d], ids=lambda op: op.__name__)
@pytest.mark.parametrize("shape", [(None, None, 4), (None, 4, None), (None, None, None)])
def test_lengths_of_two_dimensions_that_are_not_known(op, shape):
    check(op, spec(*shape, dtype=tf.complex64))


def there_and_back(forwards, backwards, rank):
    """A transform, its angles and what comes back, all of unknown lengths."""

    def fn(x):
        spectrum = forwards(x)
        turned = spectrum * tf.complex(0.5, 2.0)
        return tf.math.real(spectrum), tf.math.imag(spectrum), backwards(turned, tf.shape(x)[-rank:])

    return fn


@pytest.mark.parametrize("shape", [(None,), (2, None), (3, 2, None)], ids=len)
def test_a_real_signal_of_an_unknown_length(shape):
    check(there_and_back(signal.rfft, signal.irfft, 1), spec(*shape), batches=(6, 7, 9))


@pytest.mark.parametrize("shape", [(2, None, None), (2, None, 6), (2, 5, None)], ids=str)
def test_an_image_of_unknown_sizes(shape):
    check(there_and_back(signal.rfft2d, signal.irfft2d, 2), spec(*shape))


def test_a_volume_of_unknown_sizes():
    check(there_and_back(signal.rfft3d, signal.irfft3d, 3), spec(None, None, 3, None))


def test_the_angle_of_an_end_of_a_spectrum_of_an_unknown_length():
    check(lambda x: tf.math.angle(signal.rfft(x)), spec(None, None), batches=(3, 4), static=False)


def test_a_part_of_a_signal_of_unknown_length():
    def fn(x, y):
        length = tf.shape(y)
        spectrum = signal.rfft(x, length)
        return tf.abs(spectrum), signal.irfft(spectrum * tf.complex(0.5, 2.0), length // 2)

    check(fn, spec(None), spec(None), inputs=[np.float32([3, 1, 4, 1, 5, 9, 2]), np.zeros(6, np.float32)], static=False)


def test_outer_lengths_that_are_computed_otherwise_are_refused():
    def longer(x):
        return tf.raw_ops.RFFT2D(input=x, fft_length=2 * tf.shape(x))

    check_refused(longer, spec(None, None), match="neither constant nor the size")


def test_stft_and_back():
    def roundtrip(x):
        spectrum = signal.stft(x, frame_length=12, frame_step=4)
        return tf.abs(spectrum), signal.inverse_stft(spectrum, frame_length=12, frame_step=4)

    check(roundtrip, spec(2, 60))


def test_lengths_that_are_fed():
    """The length is even by default, one more than twice the rest of the spectrum."""

    def fn(x, n):
        spectrum = tf.complex(x, x / 2)
        return signal.rfft(x, n), signal.irfft(spectrum, n), signal.irfft(spectrum)

    x = np.random.default_rng(0).standard_normal((2, 7), np.float32)
    for length in (5, 6, 12):
        check(fn, spec(None, None), spec(1, dtype=tf.int32), inputs=[x, np.int32([length])], static=False)


def test_the_size_of_a_spectrum_tells_its_signal_of_unknown_length():
    check(lambda x: signal.irfft(signal.rfft(x)), spec(None, None), batches=(3, 4))


def test_what_is_not_transformed():
    lengths = spec(2, dtype=tf.int32)
    check_refused(lambda x, n: tf.raw_ops.RFFT2D(input=x, fft_length=n), spec(8, 8), lengths, match="RFFT2D.*constant")
    check_refused(lambda x: signal.rfft(x), spec(8, dtype=tf.float64), match="RFFT.*float64")
    wide = lambda x: tf.raw_ops.RFFT(input=x, fft_length=[8], Tcomplex=tf.complex128)  # noqa: E731
    check_refused(wide, spec(8), match="RFFT.*complex128")
    prime = spec(4099, dtype=tf.complex64)
    check_refused(signal.fft, prime, match="FFT.*length 4099, is too large")
