"""Every model of keras.applications, small and with random weights: its files are read as data and compute the same."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from fuseconv import convert
from tests.keras_parity import FORMATS, Runner

NAMES = [name for name in dir(keras.applications) if name[0].isupper()]
# The least sizes of pictures that these models take; 32 for others.
_LEAST = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71, "NASNetLarge": 64, "NASNetMobile": 64}
# Of so many layers that random weights make their numbers those of chaos, unless each layer is damped.
_DAMPED = {"EfficientNetV2L": 0.3, "EfficientNetV2M": 0.3}


def made(library: Any, name: str) -> Any:
    """Return a model with biases and statistics that are not zero, or nearly so."""
    build, size = getattr(library.applications, name), _LEAST.get(name, 32)
    options = {"classifier_activation": None} if "classifier_activation" in inspect.signature(build).parameters else {}
    model = build(weights=None, classes=10, input_shape=(size, size, 3), **options)
    random = np.random.default_rng(1)
    middles = {"bias": 0.0, "beta": 0.0, "moving_mean": 0.0, "gamma": _DAMPED.get(name, 1.0), "moving_variance": 1.0}
    for variable in model.variables:
        kind = variable.name.rpartition("/")[2].partition(":")[0]
        if kind in middles:
            spread = random.normal(size=tuple(variable.shape)) * 0.1
            middle = middles[kind]
            variable.assign(middle * (1 + spread) if kind == "gamma" else middle + abs(spread) if middle else spread)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("library", [keras, tf_keras], ids=lambda library: library.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_files_of_an_application_compute_the_same(name: str, library: Any, tmp_path: Path) -> None:
    if not hasattr(library.applications, name):
        pytest.skip("this Keras has no such model")
    library.backend.clear_session()
    model = made(library, name)
    x = np.random.default_rng(2).normal(size=(2, *model.input_shape[1:])).astype(np.float32)
    expected = np.asarray(model(x, training=False))
    for suffix in FORMATS:
        path = tmp_path / f"model.{suffix}"
        model.save(path)
        run = Runner(convert(path, tmp_path / "model.tflite", keras_loader="data").path)
        path.unlink()
        (result,) = run({next(iter(run.feeds())): x}).values()
        assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max(), suffix
