"""Models as layers: the calls between layers, in the forms that Keras 3 and Keras 2 write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest

from fuseconv.load.keras.model import class_of, snake_case
from tests.keras_parity import check_cases

L = keras.layers


def dicts() -> Any:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = L.Dense(3, name="shared")
    once, twice = shared(a), shared(shared(b))
    return keras.Model({"b": b, "a": a}, {"z": twice, "m": L.Add()([once, twice])})


def nested() -> Any:
    """A frozen model of two outputs that is called twice, and a Sequential one that is."""
    x = keras.Input((6, 6, 3))
    image = L.BatchNormalization()(L.Conv2D(4, 3)(x))
    inner = keras.Model(x, [image, L.GlobalMaxPooling2D()(image)], name="inner")
    inner.trainable = False
    layers = [keras.Input((4,)), L.Dense(5, activation="relu"), L.BatchNormalization(), L.Dense(2)]
    head = keras.Sequential(layers, name="head")
    x = keras.Input((6, 6, 3))
    (image, rows), (image2, rows2) = inner(x), inner(L.ReLU()(x))
    difference = L.Flatten()(L.Subtract()([image, image2]))
    return keras.Model(x, [L.Add()([head(rows), head(rows2)]), L.Dense(2)(difference)])


def sequential() -> Any:
    body = keras.Sequential([L.Conv2D(3, 3), L.BatchNormalization()])
    return keras.Sequential([keras.Input((8, 8, 3)), body, L.Flatten(), L.Dense(2, activation="softmax")])


CASES = {"dicts": dicts, "nested": nested, "sequential": sequential}


@pytest.mark.parametrize("name", CASES)
def test_data_and_keras_agree(name: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path)


def test_names_are_those_of_paths() -> None:
    assert [snake_case(name) for name in ("Conv2DTranspose", "LSTM", "PReLU", "UpSampling2D")] == [
        "conv2d_transpose", "lstm", "p_re_lu", "up_sampling2d",
    ]  # fmt: skip


def test_classes_of_other_modules_are_no_layers_of_keras() -> None:
    assert class_of({"class_name": "Dense", "module": "keras.layers"}) == "Dense"
    assert class_of({"class_name": "Dense", "module": "mine"}) == "mine>Dense"
    assert class_of({"class_name": "Dense", "registered_name": "mine>Dense"}) == "mine>Dense"
    assert class_of({"class_name": "Add", "module": "keras.src.ops.numpy"}) == "ops>Add"


def test_the_lists_of_keras_2_are_read(tmp_path: Path) -> None:
    """Shared and nested models, whose own call counts as their first in these files."""
    import tf_keras

    layers = tf_keras.layers
    x = tf_keras.Input((6, 6, 3))
    image = layers.BatchNormalization()(layers.Conv2D(4, 3)(x))
    inner = tf_keras.Model(x, [image, layers.GlobalMaxPooling2D()(image)], name="inner")
    inner.trainable = False
    head = tf_keras.Sequential([tf_keras.Input((4,)), layers.Dense(5), layers.BatchNormalization()], name="head")
    x = tf_keras.Input((6, 6, 3))
    (image, rows), (image2, rows2) = inner(x), inner(layers.ReLU()(x))
    difference = layers.Flatten()(layers.Subtract()([image, image2]))
    model = tf_keras.Model(x, [layers.Add()([head(rows), head(rows2)]), layers.Dense(2)(difference)])
    check_cases({"nested": lambda: model}, "nested", tmp_path)
