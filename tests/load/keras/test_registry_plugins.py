"""Layers of plug-ins: one function has a custom layer read as data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv import convert
from fuseconv.errors import InputError
from fuseconv.load.keras.registry import LAYERS
from tests.keras_parity import Runner
from tests.load.keras.test_keras import save

_SCALED = """
from fuseconv.load.keras import layer


@layer("{name}")
def scaled(k, x, *, factor: float = 1.0, units: int = 0):
    return k.tf.Mul(k.tf.MatMul(x, k.weight("kernel", [2, units])), k.weight("bias", [units]))
"""


def plugin(path: Path, name: str) -> str:
    (path / "acme_layers.py").write_text(_SCALED.format(name=name))
    return str(path / "acme_layers.py")


def test_a_function_reads_a_custom_layer_as_data(tmp_path: Path) -> None:
    file = save(tmp_path, "acme>Scaled", factor=2.0)
    for _ in range(2):
        made = convert(file, tmp_path / "made.tflite", plugins=[plugin(tmp_path, "acme>Scaled")], keras_loader="data")
        x = np.array([[1, 2]], np.float32)
        np.testing.assert_array_equal(Runner(made.path)({"x": x})["it"], [[0, 3, 6]])
    assert "acme>Scaled" not in LAYERS
    with pytest.raises(InputError, match="Scaled 'it': its class is none"):
        convert(file, None, keras_loader="data")


def test_a_plugin_leaves_the_layers_of_keras_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the Keras layer Dense of a plug-in comes with fuseconv"):
        convert(save(tmp_path), None, plugins=[plugin(tmp_path, "Dense")])
