"""Parity of the spectra that TFLite has custom kernels for."""

import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops


def spec(*shape):
    return tf.TensorSpec(shape)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("window, stride", [(16, 8), (20, 7), (2, 1), (40, 5)])
def test_spectrogram(window, stride, squared):
    def fn(x):
        return raw.AudioSpectrogram(input=x, window_size=window, stride=stride, magnitude_squared=squared)

    # Of fewer samples than the window takes nothing is computed.
    assert check(fn, spec(39, 2)).ops == (["AudioSpectrogram"] if window < 39 else ["SLICE"])


def test_spectrogram_of_any_number_of_samples():
    def fn(x):
        y = raw.AudioSpectrogram(input=x, window_size=16, stride=8)
        return tf.reduce_sum(y, 1)

    check(fn, spec(None, 1), batches=(40, 64))


def test_windows_that_take_all_memory_are_refused():
    def fn(x):
        return raw.AudioSpectrogram(input=x, window_size=1 << 30, stride=1)

    check_refused(fn, spec(None, 1), match="windows of 1073741824 samples")


def cepstrum(x, **options):
    y = raw.AudioSpectrogram(input=x, window_size=480, stride=160, magnitude_squared=True)
    return raw.Mfcc(spectrogram=y, sample_rate=16000, **options)


@pytest.mark.parametrize("options", [{}, {"upper_frequency_limit": 7000.0, "dct_coefficient_count": 20}], ids=len)
def test_mfcc(options):
    assert check(lambda x: cepstrum(x, **options), spec(1600, 1), atol=1e-4).ops == ["AudioSpectrogram", "Mfcc"]


def test_limits_that_the_kernel_would_round_are_refused():
    check_refused(lambda x: cepstrum(x, lower_frequency_limit=20.5), spec(1600, 1), match="20.5.*whole part")
