"""Spectrograms."""

from __future__ import annotations

from pathlib import Path

import keras

from tests.keras_parity import branches, check_data

L = keras.layers
# A window by its name takes scipy, which only says what the weights are at first.
_FRAMES = {"frame_length": 16, "frame_step": 5, "fft_length": 32, "window": None}


def test_spectra_of_waves_in_the_file(tmp_path: Path) -> None:
    made = [L.STFTSpectrogram(**_FRAMES, mode=mode) for mode in ("log", "psd", "angle", "stft")]
    made += [L.STFTSpectrogram(**_FRAMES, mode="real", expand_dims=True, padding="same")]
    check_data(branches((40, 2), *made), tmp_path, ["keras"])
    first = {**_FRAMES, "data_format": "channels_first"}
    made = [L.STFTSpectrogram(**first), L.STFTSpectrogram(**first, mode="magnitude", expand_dims=True)]
    check_data(branches((2, 40), *made), tmp_path, ["keras"])


def test_bands_of_the_mel_scale(tmp_path: Path) -> None:
    bands = {"fft_length": 16, "sequence_stride": 7, "sampling_rate": 100, "max_freq": 40.0, "min_freq": 2.0}
    made = [
        L.MelSpectrogram(**bands, num_mel_bins=3), L.MelSpectrogram(**bands, num_mel_bins=4, power_to_db=False,
        window="hamming", sequence_length=11), L.MelSpectrogram(**bands, num_mel_bins=5, mag_exp=1.0, top_db=20.0,
        ref_power=2.0),
    ]  # fmt: skip
    check_data(branches((50,), *made), tmp_path, ["keras"])
