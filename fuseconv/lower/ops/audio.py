"""Spectra of sound: custom ops that TFLite's own resolver brings, so that they need no delegate (register.cc).

Their options are a map as in the kernels audio_spectrogram.cc and mfcc.cc, which compute as TensorFlow's do.
"""

from __future__ import annotations

from fuseconv.lower.rules import lowers, require

# The kernel makes its tables when it is prepared. 23 s of music.
_LONGEST_WINDOW = 1 << 20


@lowers
def AudioSpectrogram(tfl, x, *, window_size, stride, magnitude_squared=False):
    """[samples, channels] -> [channels, windows, frequencies]."""
    require(window_size <= _LONGEST_WINDOW, f"its windows of {window_size} samples take more memory than there is")
    options = {"window_size": window_size, "stride": stride, "magnitude_squared": magnitude_squared}
    return tfl.custom("AudioSpectrogram", [x], [(tfl.dtype, tfl.shape)], options)


@lowers
def Mfcc(
    tfl,
    x,
    sample_rate,
    *,
    upper_frequency_limit=4000.0,
    lower_frequency_limit=20.0,
    filterbank_channel_count=40,
    dct_coefficient_count=13,
):
    """[channels, windows, frequencies] -> [channels, windows, coefficients]. The kernel reads whole limits only."""
    limits = {"upper_frequency_limit": upper_frequency_limit, "lower_frequency_limit": lower_frequency_limit}
    for name, limit in limits.items():
        require(limit == int(limit), f"{name} is {limit}, of which TFLite's kernel reads the whole part only")
    options = {name: int(limit) for name, limit in limits.items()}
    options["filterbank_channel_count"] = filterbank_channel_count
    options["dct_coefficient_count"] = dct_coefficient_count
    return tfl.custom("Mfcc", [x, sample_rate], [(tfl.dtype, tfl.shape)], options)
