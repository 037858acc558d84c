"""Spectrograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import number
from fuseconv.load.keras.layers.convolutional import convolve
from fuseconv.load.keras.layers.core import product
from fuseconv.load.keras.layers.settings import channels_first, padding_of, sizes
from fuseconv.load.keras.registry import builtin

_EPSILON = 1e-7
_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")


@builtin("STFTSpectrogram", unread=("window", "periodic", "scaling"))
def stft_spectrogram(
    k: Call, x: Value, *, mode: str = "log", frame_length: int = 256, frame_step: int | None = None,
    fft_length: int | None = None, padding: str = "valid", expand_dims: bool = False, data_format: str | None = None,
) -> Value:  # fmt: skip
    """Convolve each channel with waves, which are weights: [batch, time, channels] -> [batch, steps, frequencies]."""
    tf, first = k.tf, channels_first(k, data_format)
    k.shape(x, 3)
    length, step = (*sizes(k, frame_length, 1), *sizes(k, frame_step or max(frame_length // 2, 1), 1))
    bins = (fft_length or 2 ** math.ceil(math.log2(length))) // 2 + 1
    if mode not in _MODES or bins < 2:
        k.refuse(f"mode={mode!r}, fft_length={fft_length}")
    budget.require_elements((length, bins), np.dtype(np.float32), f"{tf.scope}/kernel")
    channels = k.known(x, 1 if first else 2)
    rows = tf.reshaped(x if first else tf.transpose(x, [0, 2, 1]), [-1, "2", 1])

    def waves(part: str) -> Value:
        kernel = k.weight(f"{part}_kernel", [length, 1, bins])
        made = convolve(k, rows, kernel, [step], [1], padding_of(k, padding))
        return tf.reshaped(made, [-1, channels, "1", bins])  # [batch, channels, steps, frequencies]

    y = _of_mode(k, mode, *(waves(part) for part in ("real", "imag") if mode not in ("real", "imag") or part == mode))
    if expand_dims:
        return y if first else tf.transpose(y, [0, 2, 3, 1])
    wide = tf.transpose(y, [0, 1, 3, 2] if first else [0, 2, 1, 3])
    count = channels * k.known(y, 3)
    return tf.reshaped(wide, [-1, count, "3"] if first else ["0", "1", count])


def _of_mode(k: Call, mode: str, *parts: Value) -> Value:
    """Return what a mode tells of the real and the imaginary part of a spectrum, whose last dimension is frequency."""
    tf = k.tf
    if len(parts) == 1:
        return parts[0]
    real, imaginary = parts
    if mode == "stft":
        return tf.ConcatV2(real, imaginary, tf.ints(3), dtype=real.dtype)
    if mode == "angle":
        return tf.Atan2(imaginary, real)
    power = tf.AddV2(tf.Square(real), tf.Square(imaginary))
    least = number(k, power, _EPSILON)
    if mode == "psd":  # all frequencies but the outermost stand for two
        bins = k.known(power, 3)
        return tf.Mul(power, tf.array([1, *[2] * (bins - 2), 1], power.dtype))
    linear = tf.Sqrt(tf.Maximum(power, least))
    return linear if mode == "magnitude" else tf.Log(tf.Maximum(linear, least))


@builtin("MelSpectrogram")
def mel_spectrogram(
    k: Call, x: Value, *, fft_length: int = 2048, sequence_stride: int = 512, sequence_length: int | None = None,
    window: str = "hann", sampling_rate: float = 16000, num_mel_bins: int = 128, min_freq: float = 20.0,
    max_freq: float | None = None, power_to_db: bool = True, top_db: float = 80.0, mag_exp: float = 2.0,
    min_power: float = 1e-10, ref_power: float = 1.0,
) -> Value:  # fmt: skip
    """Return the energy in bands of frequencies: [batch, time] -> [batch, bands, steps]."""
    tf = k.tf
    k.shape(x, 2)
    fft, step, bands = (sizes(k, each, 1)[0] for each in (fft_length, sequence_stride, num_mel_bins))
    budget.require_elements((fft + bands, 8), np.dtype(np.float64), f"{tf.scope}/window")
    frames = _frames(k, x, fft, step, _window(k, window, sizes(k, sequence_length or fft, 1)[0], fft))
    spectrum = tf.RFFT(frames, [fft], dtype=types.COMPLEX64)
    real, imaginary = (tf.add(kind, [spectrum], {}, types.FLOAT32) for kind in ("Real", "Imag"))
    y = tf.Pow(tf.Sqrt(tf.AddV2(tf.Square(real), tf.Square(imaginary))), number(k, x, mag_exp))
    edges = float(min_freq), float(max_freq or int(sampling_rate / 2))
    y = product(k, y, tf.array(_mel_matrix(fft // 2 + 1, bands, float(sampling_rate), *edges), types.FLOAT32))
    if power_to_db:
        decibel, reference = 10 / math.log(10), max(abs(ref_power), min_power)
        y = tf.Mul(tf.Log(tf.Maximum(y, number(k, y, min_power))), number(k, y, decibel))
        y = tf.Sub(y, number(k, y, 10 * math.log10(reference)))
        # The loudest of the whole batch says how low the others may be.
        y = tf.Maximum(y, tf.Sub(tf.Max(y, tf.ints([0, 1, 2])), number(k, y, top_db)))
    return tf.Transpose(y, [0, 2, 1])


def _window(k: Call, kind: str, length: int, fft: int) -> np.ndarray:
    """Return the weights of a frame's samples, with zeros on both sides of a window that is shorter."""
    if kind not in ("hann", "hamming") or length > fft:
        k.refuse(f"window={kind!r}, sequence_length={length} of {fft}")
    mean = 0.5 if kind == "hann" else 0.54
    period = length + (length % 2 == 0) - 1
    angle = 2 * np.pi * np.arange(length) / max(period, 1)
    made = mean - (1 - mean) * np.cos(angle) if length > 1 else np.ones(1)
    left = (fft - length) // 2
    return np.pad(made, (left, fft - length - left)).astype(np.float32)


def _frames(k: Call, x: Value, size: int, step: int, window: np.ndarray) -> Value:
    """Return the frames [batch, steps, size] of samples that are mirrored at both ends, times a window."""
    tf, half, given = k.tf, size // 2, k.known(x, 1)
    count = (given + 2 * half - size) // step + 1
    if half >= given or count < 1:
        k.refuse(f"{given} samples, with fft_length={size}")
    padded = tf.MirrorPad(x, tf.ints([[0, 0], [half, half]]), mode="REFLECT")
    budget.require_elements((count, size), np.dtype(np.int32), f"{tf.scope}/Const")
    at = np.arange(count, dtype=np.int32)[:, None] * step + np.arange(size, dtype=np.int32)
    frames = tf.GatherV2(padded, tf.array(at, types.INT32), tf.ints(1), dtype=x.dtype)
    return tf.Mul(frames, tf.array(window, types.FLOAT32))


def _mel(hertz: Any) -> Any:
    return np.float32(1127) * np.log(np.float32(1) + np.asarray(hertz, np.float32) / np.float32(700))


def _mel_matrix(bins: int, bands: int, rate: float, low: float, high: float) -> np.ndarray:
    """Return how much of each frequency [bins] is in each band [bands]: triangles on the mel scale, none of bin 0."""
    budget.require_elements((bins, bands), np.dtype(np.float32), "the matrix of a mel scale")
    at = _mel(np.linspace(0, rate / 2, bins, dtype=np.float32)[1:])[:, None]
    edges = np.linspace(_mel(low), _mel(high), bands + 2, dtype=np.float32)
    rising = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    return np.pad(np.maximum(0, np.minimum(rising, falling)), [(1, 0), (0, 0)])
