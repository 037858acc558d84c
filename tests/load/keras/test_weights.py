"""Weights of files: each is one that a layer expects, of its shape; views of the file."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from fuseconv import convert
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras import load, weights
from fuseconv.load.keras.model import snake_case
from fuseconv.load.keras.parts import UNNAMED, Part, Weight
from fuseconv.load.keras.registry import UnknownLayer
from tests.keras_parity import randomize

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


def test_integers_of_jax_are_widened(tmp_path: Path) -> None:
    """Keras on JAX saves the count of a Normalization as int32."""
    numbers = KERNEL.astype(np.int32)
    part = model()
    part.parts[0][1].weights[0].value.dtype = types.INT64
    weights.read(save(tmp_path, data=numbers), part)
    data = part.all_weights()[0].value.data
    assert data is not None and data.dtype == np.int64
    np.testing.assert_array_equal(data, numbers)
    part.parts[0][1].weights[0].value.dtype = types.INT32
    with pytest.raises(UnknownLayer, match="of the type int64, where int32 is expected"):
        weights.read(save(tmp_path, data=numbers.astype(np.int64)), part)


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


def test_archives_of_keras_2_13(tmp_path: Path) -> None:
    """tf-keras of later versions refuses them: they have the layers elsewhere, and number them otherwise."""
    import tf_keras

    layers = tf_keras.layers
    inner = tf_keras.Sequential([layers.Dense(4, input_shape=(5,)), layers.BatchNormalization(), layers.Dense(5)])
    x = tf_keras.Input((7, 5))
    y = layers.ReLU()(layers.Dense(5)(x))
    y = layers.ReLU(6.0)(layers.Dense(5)(y))
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(y)
    y = layers.RNN([layers.LSTMCell(3), layers.GRUCell(5)])(layers.TimeDistributed(layers.Dense(5))(y))
    made = tf_keras.Model(x, layers.Dense(2)(inner(layers.Dense(5)(y))))
    randomize(made)
    path, older = tmp_path / "model.keras", tmp_path / "older.keras"
    made.save(path)
    places = dict(_older_places(made))
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(older, "w") as copy:
        moved = io.BytesIO()
        with h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as file, h5py.File(moved, "w") as out:
            file.visititems(lambda name, item: _copy(name, item, places, out))
        copy.writestr("model.weights.h5", moved.getvalue())
        for name in ("config.json", "metadata.json"):
            copy.writestr(name, archive.read(name))
    assert convert(older, keras_loader="data").data == convert(path, keras_loader="data").data
    with pytest.raises(InputError, match="cannot be loaded"):
        convert(older, keras_loader="keras")


def _older_places(model: Any) -> Iterator[tuple[str, str]]:
    """Yield where the layers of a model are in an archive, and where Keras 2.13 has them, by its own list of them."""
    new, old = Counter[str](), Counter[str]()
    for layer in dict.fromkeys(model._layer_checkpoint_dependencies.values()):
        kind = snake_case(type(layer).__name__)
        times = sum(each is layer for each in model._layer_checkpoint_dependencies.values())
        place = f"layers/{kind}_{new[kind]}".removesuffix("_0")
        older = f"_layer_checkpoint_dependencies/{kind}_{old[kind]}".removesuffix("_0")
        yield place, older
        if hasattr(layer, "_layer_checkpoint_dependencies"):
            yield from ((f"{place}/{below}", f"{older}/{then}") for below, then in _older_places(layer))
        new[kind] += 1
        old[kind] += times


def _copy(name: str, item: Any, places: dict[str, str], out: h5py.File) -> None:
    if isinstance(item, h5py.Dataset):
        longest = max((place for place in places if name.startswith(f"{place}/")), key=len)
        out[places[longest] + name.removeprefix(longest)] = item[()]


def test_an_archive_behind_hdf5_is_not_read(tmp_path: Path) -> None:
    """`keras_container.read` has checked what the file begins with; zip reads from the end."""
    archive = tmp_path / "a.keras"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("assets/words.txt", "a")
    assert weights.asset(archive, "assets/words.txt") == b"a"
    path = tmp_path / "model.h5"
    path.write_bytes(Path("testdata/keras2.h5").read_bytes() + archive.read_bytes())
    assert weights.asset(path, "assets/words.txt") is None
