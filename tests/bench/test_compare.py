"""What counts as a difference between two commits."""

from __future__ import annotations

import pytest

from tests.bench.compare import verdict
from tests.bench.models import MODELS, chosen

STEADY = [1.00, 1.01, 1.00, 1.02, 1.01]
NOISY = [0.9, 1.3, 1.0, 1.1, 1.6]


def scaled(factor: float) -> list[float]:
    return [factor * value for value in STEADY]


def test_differences_beyond_the_noise_are_told() -> None:
    assert verdict("warm", STEADY, scaled(1.1)) == "slower"
    assert verdict("cold", STEADY, scaled(0.9)) == "faster"
    assert verdict("peak_megabytes", STEADY, scaled(1.2)) == "more"


def test_noise_and_trifles_are_not() -> None:
    assert not verdict("warm", STEADY, scaled(1.02))
    assert not verdict("warm", NOISY, [1.1 * value for value in NOISY])


def test_counts_are_compared_as_they_are() -> None:
    assert verdict("ops", [70, 70], [71, 71]) == "more"
    assert not verdict("ops", [70, 70], [70, 70])
    assert verdict("bytes", [1000, 1000], [999, 999]) == "less"


def test_models_are_chosen_by_their_names() -> None:
    assert chosen("") == list(MODELS) and chosen("ResNet50,DenseNet121") == ["ResNet50", "DenseNet121"]
    with pytest.raises(SystemExit, match="no model is called LSTM; there are MobileNetV2, "):
        chosen("ResNet50,LSTM")
