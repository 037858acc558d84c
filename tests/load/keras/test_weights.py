"""Weights of files: each is one that a layer expects, of its shape; views of the file."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras import load, weights
from fuseconv.load.keras.parts import UNNAMED, Part, Weight
from fuseconv.load.keras.registry import UnknownLayer

KERNEL = np.arange(6, dtype=np.float32).reshape(2, 3)


def model(shape: tuple[int, ...] = (2, 3), name: str = "kernel") -> Part:
    dense = Part("dense", "Dense 'dense'", weights=[Weight(name, Value(types.FLOAT32, shape, "w"), True)])
    return Part("model", "Model 'model'", parts=[(("layers/dense",), dense)])


def save(path: Path, name: str = "dense", data: np.ndarray = KERNEL, version: str = "2.15.0", count: int = 1,
         weight: str = "kernel") -> Path:  # fmt: skip
    with h5py.File(path / "model.h5", "w") as file:
        root = file.create_group("model_weights")
        root.attrs["keras_version"] = version
        root.attrs["layer_names"] = np.array([name.encode()])
        group = root.create_group(name)
        names = [f"{name}/{weight}:{index}" for index in range(count)]
        group.attrs["weight_names"] = np.array([each.encode() for each in names])
        for each in names:
            group.create_dataset(each, data=data)
    return path / "model.h5"


def test_a_weight_is_a_view_of_the_file(tmp_path: Path) -> None:
    part = model()
    weights.read(save(tmp_path), part)
    data = part.all_weights()[0].value.data
    assert data is not None and not data.flags.owndata and not data.flags.writeable
    np.testing.assert_array_equal(data, KERNEL)


def test_a_weight_of_another_float_type_is_converted(tmp_path: Path) -> None:
    part = model()
    weights.read(save(tmp_path, data=KERNEL.astype(np.float16)), part)
    data = part.all_weights()[0].value.data
    assert data is not None and data.dtype == np.float32


def test_two_bytes_are_a_bfloat16_where_the_file_says_so(tmp_path: Path) -> None:
    halves = KERNEL.view(np.uint32) >> 16
    path = save(tmp_path, data=halves.astype(np.uint16).view("V2"))
    for said in ("float16", np.array(["bfloat16", "bfloat16"], "S"), 3):
        with h5py.File(path, "r+") as file:
            file["model_weights/dense/dense/kernel:0"].attrs["dtype"] = said
        with pytest.raises(UnknownLayer, match=r"of the type \|V2"):
            weights.read(path, model())
    with h5py.File(path, "r+") as file:
        file["model_weights/dense/dense/kernel:0"].attrs["dtype"] = "bfloat16"
    part = model()
    weights.read(path, part)
    np.testing.assert_array_equal(part.all_weights()[0].value.data, KERNEL)


def test_keras_3_numbers_weights_without_a_name(tmp_path: Path) -> None:
    for said in ("variable", "variable_12"):
        weights.read(save(tmp_path, weight=said), model(name=UNNAMED))
    for said in ("variables", "variable_", "kernel_1"):
        with pytest.raises(UnknownLayer, match=f"{said}:0' in the place of its variable"):
            weights.read(save(tmp_path, weight=said), model(name=UNNAMED))


def test_weights_that_the_layers_do_not_expect_are_refused(tmp_path: Path) -> None:
    for part, options, why in (
        (model((3, 2)), {}, r"has the shape \(2, 3\), where \(3, 2\) is expected"),
        (model(name="gamma"), {}, "in the place of its gamma"),
        (model(), {"name": "other"}, "which is no layer of it"),
        (model(), {"count": 2}, "has 2 weights of it, where 1 are expected"),
        (model(), {"data": KERNEL.astype(np.int32)}, "of the type int32"),
        (model(), {"version": "1.2.2"}, "laid out its weights otherwise"),
    ):
        with pytest.raises(UnknownLayer, match=why):
            weights.read(save(tmp_path, **options), part)  # type: ignore[arg-type]


def test_a_group_in_the_place_of_a_weight_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path)
    with h5py.File(path, "r+") as file:
        del file["model_weights/dense/dense/kernel:0"]
        file.create_group("model_weights/dense/dense/kernel:0")
    with pytest.raises(UnknownLayer, match="the file has no array for its kernel"):
        weights.read(path, model())


def test_weights_of_theano_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path)
    with h5py.File(path, "r+") as file:
        file["model_weights"].attrs["backend"] = b"theano"
    with pytest.raises(InputError, match="Theano"):
        weights.read(path, model())


def test_weights_of_the_halves_of_a_bidirectional_layer_are_not_confused(tmp_path: Path) -> None:
    """tf-keras writes a frozen half behind the other, and its config does not say that it is frozen."""
    import tf_keras

    layer = tf_keras.layers.Bidirectional(tf_keras.layers.SimpleRNN(2))
    model = tf_keras.Sequential([tf_keras.Input((3, 2)), layer])
    model.save(tmp_path / "whole.h5")
    load(tmp_path / "whole.h5")
    layer.forward_layer.trainable = False
    model.save(tmp_path / "frozen.h5")
    with pytest.raises(InputError, match="half is frozen"):
        load(tmp_path / "frozen.h5")
