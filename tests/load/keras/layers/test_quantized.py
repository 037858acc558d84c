"""Weights that Keras 3 has quantized."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras.quantizers import Int4QuantizationConfig, Int8QuantizationConfig

from fuseconv import convert
from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import Runner, assert_close, randomize
from tests.pairwise import mostly_slow

L = keras.layers
_PER_CHANNEL = Int4QuantizationConfig(block_size=-1)
# Blocks of 4 do not divide the sizes of the layers.
CONFIGS: dict[str, tuple[str, Any]] = {
    "int8": ("int8", None), "int8 weights": ("int8", Int8QuantizationConfig(activation_quantizer=None)),
    "int4": ("int4", None), "int4 in blocks": ("int4", Int4QuantizationConfig(block_size=4)),
    "int4 by channel": ("int4", _PER_CHANNEL),
}  # fmt: skip


def products() -> Any:
    x = keras.Input((5, 6), name="x")
    outputs = [
        L.Dense(2)(L.Dense(7, activation="relu")(x)), L.EinsumDense("abc,cd->adb", (3, None), bias_axes="d")(x),
        L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de")(x), L.EinsumDense("abc,bce->ae", (7,))(x),
    ]  # fmt: skip
    return keras.Model(x, outputs)


def tables() -> Any:
    x = keras.Input((5,), dtype="int32", name="x")
    return keras.Model(x, [L.Embedding(9, 5)(x), L.Embedding(9, 4, mask_zero=True)(x)])


def reversed_tables() -> Any:
    x = keras.Input((5,), dtype="int32", name="x")
    tied, apart = L.ReversibleEmbedding(9, 5, logit_soft_cap=3.0), L.ReversibleEmbedding(7, 4, tie_weights=False)
    return keras.Model(x, [tied(L.Dense(5)(apart(x)), reverse=True), tied(x), apart(L.Dense(4)(tied(x)), reverse=True)])


@pytest.mark.filterwarnings("ignore:Layer InputLayer does not have")
@mostly_slow(how=[*CONFIGS], make=[products, tables, reversed_tables])
def test_integers_and_their_scales(how: str, make: Callable[[], Any], tmp_path: Path) -> None:
    model, (mode, config) = make(), CONFIGS[how]
    randomize(model)
    model.quantize(mode, config=config)
    random = np.random.default_rng(2)
    floats, ids = random.normal(size=(3, 5, 6)).astype(np.float32), random.integers(0, 7, (3, 5)).astype(np.int32)
    x = floats if make is products else ids
    for suffix in ("keras", "h5"):
        path = tmp_path / f"model.{suffix}"
        model.save(path)
        made = Runner(convert(path, tmp_path / "model.tflite", keras_loader="data").path)({"x": x})
        (signature,) = load(path).signatures
        for name, value in zip(signature.outputs, map(np.asarray, model(x, training=False))):
            assert_close(made[name], value, 1e-5, f"{suffix}: {name}")


@pytest.mark.filterwarnings("ignore:Layer InputLayer does not have")
@pytest.mark.parametrize(("before", "after", "why"), [
    ('"mode": "int8"', '"mode": "float8"', "quantized as float8"),
    ('"value_range": [-127, 127]', '"value_rage": [-127, 127]', "quantized in a way"),
    ('"class_name": "Int8QuantizationConfig"', '"class_name": "Int8"', "quantization_config is none"),
])  # fmt: skip
def test_what_is_quantized_in_another_way_is_refused(before: str, after: str, why: str, tmp_path: Path) -> None:
    x = keras.Input((6,))
    model = keras.Model(x, L.Dense(3)(x))
    model.quantize("int8")
    model.save(tmp_path / "model.keras")
    _rewrite(tmp_path / "model.keras", tmp_path / "other.keras", before, after)
    with pytest.raises(UnknownLayer, match=why):
        load(tmp_path / "other.keras")


def _rewrite(source: Path, target: Path, before: str, after: str) -> None:
    """Copy an archive with another text in its config."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            assert name != "config.json" or before.encode() in data
            new.writestr(name, data.replace(before.encode(), after.encode()) if name == "config.json" else data)


def test_a_layer_that_knows_no_integers_is_refused(tmp_path: Path) -> None:
    x = keras.Input((6, 4))
    keras.Model(x, L.Conv1D(3, 2, name="conv")(x)).save(tmp_path / "model.keras")
    policy = '"class_name": "DTypePolicy", "config": {"name": "float32"}'
    other = '"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8", "source_name": "float32"}'
    _rewrite(tmp_path / "model.keras", tmp_path / "other.keras", policy, other)
    with pytest.raises(UnknownLayer, match="its weights are quantized"):
        load(tmp_path / "other.keras")
