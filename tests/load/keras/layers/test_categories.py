"""Layers of categories: tables of words and numbers, and vectors of categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import branches, check_data

WORDS = ["red", "green", "blue"]


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_numbers_become_categories(library: Any, tmp_path: Path) -> None:
    layers = library.layers
    looked_up = [
        layers.IntegerLookup(vocabulary=[2, 5, 3]), layers.IntegerLookup(vocabulary=[2, 5, 3], num_oov_indices=2),
        layers.IntegerLookup(vocabulary=[0, -1, 2, 5], mask_token=0, oov_token=-1),
        layers.IntegerLookup(vocabulary=[2, 5, 3], invert=True),
        layers.IntegerLookup(vocabulary=[2, 5, 3], output_mode="count", mask_token=0),
        layers.CategoryEncoding(num_tokens=6, output_mode="multi_hot"),
    ]  # fmt: skip
    model: Any = branches((4,), *looked_up, dtype="int64", library=library)
    check_data(model, tmp_path, ["keras" if library is keras else "h5"])
    bins = {"bin_boundaries": [-0.5, 0.1, 0.7]}
    binned = [layers.Discretization(**bins), layers.Discretization(**bins, output_mode="one_hot")]
    check_data(branches((1,), *binned, library=library), tmp_path, ["h5" if library is keras else "keras"])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_categories_are_counted_by_their_weights(library: Any, tmp_path: Path) -> None:
    x, weights = library.Input((4,), dtype="int32", name="x"), library.Input((4,), name="weights")
    encoding = library.layers.CategoryEncoding(num_tokens=6, output_mode="count")
    check_data(library.Model([x, weights], encoding(x, count_weights=weights)), tmp_path)


def test_words_become_numbers_and_numbers_words(tmp_path: Path) -> None:
    layers = keras.layers
    words, numbers = keras.Input((4,), dtype="string", name="words"), keras.Input((4,), dtype="int32", name="numbers")
    outputs = [
        layers.StringLookup(vocabulary=WORDS)(words), layers.StringLookup(vocabulary=WORDS, mask_token="")(words),
        layers.StringLookup(vocabulary=["[UNK]", *WORDS], output_mode="multi_hot")(words),
        layers.StringLookup(vocabulary=WORDS, invert=True, mask_token="none")(numbers),
    ]  # fmt: skip
    check_data(keras.Model([words, numbers], outputs), tmp_path, ["keras"])


def test_tokens_that_were_found_in_data_stand_beside_the_weights(tmp_path: Path) -> None:
    layers = keras.layers
    words, numbers = keras.Input((4,), dtype="string", name="words"), keras.Input((4,), dtype="int64", name="numbers")
    table, other, counts = layers.StringLookup(), layers.StringLookup(mask_token=""), layers.IntegerLookup()
    table.adapt(WORDS), other.adapt([*WORDS[1:], "grey"]), counts.adapt([5, 3, 5])
    inner = keras.Sequential([words, other], name="inner")
    model = keras.Model([words, numbers], [table(words), inner(words), counts(numbers)])
    check_data(model, tmp_path, ["keras"])
    model.save(tmp_path / "model.h5")  # which does not hold them
    with pytest.raises(UnknownLayer, match=r"no vocabulary\.txt"):
        load(tmp_path / "model.h5")


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"num_oov_indices": 2}, "computes hashes"), ({"num_oov_indices": 0}, "refuses unknown tokens"),
     ({"output_mode": "tf_idf", "idf_weights": [0.1, 0.2, 0.3]}, "idf_weights")],
)  # fmt: skip
def test_tables_that_need_more_are_refused(settings: dict[str, Any], why: str, tmp_path: Path) -> None:
    x = keras.Input((4,), dtype="string")
    keras.Model(x, keras.layers.StringLookup(vocabulary=WORDS, **settings)(x)).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=why):
        load(tmp_path / "model.keras")
