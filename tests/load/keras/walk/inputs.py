"""Layers that prepare inputs: numbers, categories, pictures, sound; and those that only change what they train on."""

from __future__ import annotations

from typing import Any

from tests.load.keras.walk.case import Case, each

_WORDS = ["red", "green", "blue"]
_PIXELS = (9, 7, 3)
_SPECTRA = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")


def _numbers() -> dict[str, list[Case]]:
    counted: list[dict[str, Any]] = [
        {"num_tokens": 6}, {"num_tokens": 7, "output_mode": "one_hot"}, {"num_tokens": 6, "output_mode": "count"},
        {"num_tokens": 6, "output_mode": "multi_hot"},
    ]  # fmt: skip
    edges: dict[str, Any] = {"bin_boundaries": [-0.5, 0.1, 0.7]}
    return {
        "Rescaling": [*each(_PIXELS, {"scale": 1 / 255}, {"scale": 2.0, "offset": -1.0}, {"scale": [1.0, 2.0, 3.0]}),
                      *each(_PIXELS, {"scale": 1 / 255}, dtype="uint8")],
        "Normalization": [
            *each((5, 4), {}, {"axis": None}, {"axis": 1}, {"axis": [1, 2]},
                  {"mean": 2.0, "variance": 3.0, "axis": None},
                  {"mean": [1.0, 2.0, 3.0, 4.0], "variance": [1.0, 2.0, 3.0, 4.0], "invert": True}),
            *each((None, 4), {}),
        ],
        "Discretization": [
            *each((5,), edges, edges | {"output_mode": "one_hot"}, edges | {"output_mode": "multi_hot"},
                  edges | {"output_mode": "count"}),
            *each((5, 2), edges), *each((1,), edges | {"output_mode": "one_hot"}),
        ],
        "CategoryEncoding": [*each((1,), *counted, dtype="int32"), *each((5,), counted[2], counted[3], dtype="int32")],
        "HashedCrossing": each(
            [(1,), (1,)], {"num_bins": 5}, {"num_bins": 7, "output_mode": "one_hot"}, {"num_bins": 3}, dtype="string"
        ),
        "Hashing": each(
            (3,), {"num_bins": 5}, {"num_bins": 7, "salt": 3}, {"num_bins": 5, "mask_value": ""}, dtype="string"
        ),
    }  # fmt: skip


def _tables() -> dict[str, list[Case]]:
    modes: list[dict[str, Any]] = [
        {}, {"num_oov_indices": 0}, {"num_oov_indices": 2}, {"output_mode": "one_hot"}, {"output_mode": "multi_hot"},
        {"output_mode": "count"}, {"invert": True},
    ]  # fmt: skip
    return {
        "IntegerLookup": [
            *each((4,), *({"vocabulary": [2, 5, 3], **mode} for mode in modes),
                  {"vocabulary": [2, 5, 3], "mask_token": 0, "oov_token": -2}, dtype="int64"),
            *each((1,), {"vocabulary": [2, 5, 3], "output_mode": "one_hot"}, dtype="int64"),
        ],
        "StringLookup": [
            *each((4,), *({"vocabulary": _WORDS, **mode} for mode in modes[:-1]),
                  {"vocabulary": _WORDS, "mask_token": ""}, dtype="string"),
            *each((4,), {"vocabulary": _WORDS, "invert": True}, dtype="int64"),
        ],
        "TextVectorization": [
            *each((1,), *({"vocabulary": _WORDS, **more} for more in
                  ({}, {"output_sequence_length": 4}, {"output_mode": "multi_hot"})), dtype="string"),
        ],
    }  # fmt: skip


def _pictures() -> dict[str, list[Case]]:
    size = {"height": 5, "width": 4}
    resized: list[dict[str, Any]] = [
        size, {"height": 18, "width": 14}, size | {"interpolation": "nearest"}, size | {"crop_to_aspect_ratio": True},
        size | {"interpolation": "bicubic"}, size | {"pad_to_aspect_ratio": True}, size | {"antialias": True},
    ]  # fmt: skip
    factor: dict[str, list[dict[str, Any]]] = {
        "RandomBrightness": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.1, "value_range": [0, 1]}],
        "RandomContrast": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.5, "seed": 1}],
        "RandomFlip": [{}, {"mode": "horizontal"}, {"mode": "vertical", "seed": 3}],
        "RandomRotation": [
            {"factor": 0.2}, {"factor": [-0.1, 0.3], "fill_mode": "nearest"}, {"factor": 0.1, "seed": 2},
        ],
        "RandomTranslation": [{"height_factor": 0.2, "width_factor": 0.1}, {"height_factor": 0.1, "width_factor": 0.1,
                              "fill_mode": "wrap"}, {"height_factor": 0.3, "width_factor": 0.0, "seed": 4}],
        "RandomZoom": [
            {"height_factor": 0.2}, {"height_factor": 0.1, "width_factor": 0.3}, {"height_factor": 0.4, "seed": 1},
        ],
        "RandomHeight": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.4, "interpolation": "nearest"}],
        "RandomWidth": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.4, "interpolation": "nearest"}],
        "RandomGrayscale": [{}, {"factor": 0.2}, {"factor": 1.0}],
        "RandomHue": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.1, "value_range": [0, 1]}],
        "RandomSaturation": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.1, "value_range": [0, 1]}],
        "RandomSharpness": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.1, "value_range": [0, 1]}],
        "RandomPosterization": [{"factor": 4}, {"factor": 2}, {"factor": 4, "value_range": [0, 1]}],
        "RandomColorDegeneration": [{"factor": 0.2}, {"factor": [0.1, 0.3]}, {"factor": 0.1, "value_range": [0, 1]}],
        "RandomColorJitter": [{}, {"brightness_factor": 0.2}, {"contrast_factor": 0.2, "hue_factor": 0.1}],
        "RandomShear": [{}, {"x_factor": 0.2}, {"y_factor": 0.2, "fill_mode": "nearest"}],
        "RandomPerspective": [{}, {"factor": 0.5}, {"scale": 0.5}],
        "RandomErasing": [{}, {"factor": 0.5}, {"scale": 0.2}],
        "RandomElasticTransform": [{}, {"factor": 0.5}, {"scale": 0.5}],
        "RandomGaussianBlur": [{}, {"factor": 0.5}, {"kernel_size": 5}],
        "RandomInvert": [{}, {"factor": 0.5}, {"value_range": [0, 1]}],
        "AugMix": [{}, {"factor": 0.5}, {"value_range": [0, 1]}],
        "RandAugment": [{}, {"factor": 0.3}, {"value_range": [0, 1]}],
        "MixUp": [{}, {"alpha": 0.3}, {"seed": 3}],
        "CutMix": [{}, {"factor": 0.3}, {"seed": 3}],
        "AutoContrast": [{}, {"value_range": [0, 1]}, {"value_range": [0, 2]}],
        "Equalization": [{}, {"value_range": [0, 1]}, {"bins": 16}],
        "Solarization": [{}, {"addition_factor": 0.2}, {"threshold_factor": 0.5, "value_range": [0, 1]}],
        "ContrastLimitedAdaptiveHistogramEqualization": [{}, {"value_range": [0, 1]}, {"clip_limit": 2.0}],
    }  # fmt: skip
    return {
        "Resizing": [*each(_PIXELS, *resized), *each((None, None, 3), *resized[:4]),
                     *each(_PIXELS, size, dtype="uint8"),
                     *each((3, 9, 7), size | {"data_format": "channels_first"})],
        "CenterCrop": [*each(_PIXELS, size, {"height": 12, "width": 4}, {"height": 4, "width": 4}),
                       *each((None, None, 3), size)],
        "RandomCrop": [*each(_PIXELS, size, {"height": 12, "width": 4}, {"height": 4, "width": 4}),
                       *each((None, None, 3), size)],
        **{name: [*each(_PIXELS, *settings), *each(_PIXELS, settings[0], dtype="uint8")]
           for name, settings in factor.items()},
        "Pipeline": each(_PIXELS, *({"layers": lambda L, factor=factor: [L.Rescaling(factor), L.RandomFlip()]}
                                      for factor in (0.5, 1, 2))),
    }  # fmt: skip


def _sounds() -> dict[str, list[Case]]:
    framed = {"frame_length": 16, "frame_step": 5, "fft_length": 32}
    return {
        # A window by its name takes scipy, which only says what the weights are at first.
        "STFTSpectrogram": [
            *each((64, 1), *({"frame_length": 16, "mode": mode, "window": None} for mode in _SPECTRA)),
            *each((64, 2), *(framed | {"window": None, **more} for more in (
                {"mode": "log"}, {"mode": "stft", "padding": "same"}, {"mode": "psd", "expand_dims": True}))),
            *each((2, 64), *(framed | {"window": None, "data_format": "channels_first", **more} for more in (
                {"mode": "magnitude"}, {"mode": "imag", "expand_dims": True}))),
            *each((None, 2), {"frame_length": 4, "window": None}),
        ],
        "MelSpectrogram": each((64,), *({"fft_length": 16, "sequence_stride": 8, "num_mel_bins": bins,
                               "sampling_rate": 100, "max_freq": 40.0, "min_freq": 2.0, **more} for bins, more in (
                               (3, {}), (4, {"power_to_db": False, "window": "hamming", "sequence_length": 11}),
                               (5, {"mag_exp": 1.0, "top_db": 20.0, "ref_power": 2.0})))),
    }  # fmt: skip


CASES = {**_numbers(), **_tables(), **_pictures(), **_sounds()}
