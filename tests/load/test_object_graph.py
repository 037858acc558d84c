"""Variables that only TensorFlow's graph of objects finds in the checkpoint."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from fuseconv.load import load
from tests.random_weights import randomize


def test_keras_3_models_that_tensorflow_saves(tmp_path: Path) -> None:
    layers = [keras.layers.Dense(5, name="one"), keras.layers.Dense(5, name="two")]
    model = keras.Sequential([keras.Input((5,)), *layers])
    randomize(model, 1)
    tf.saved_model.save(model, str(tmp_path / "model"))
    held = {name.rpartition("sequential")[2]: v.data for name, v in load(tmp_path / "model").variables.items()}
    for layer in layers:
        for weight in layer.weights:
            (data,) = [data for name, data in held.items() if name.endswith(f"{layer.name}/{weight.name}")]
            np.testing.assert_array_equal(data, weight.numpy())
