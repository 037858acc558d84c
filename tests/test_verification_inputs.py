"""Inputs to verify with: random ones that the model accepts, and the caller's."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.errors import InputError
from fuseconv.runners import Arrays, Function, Spec
from fuseconv.tfl.index_bounds import Bound
from fuseconv.verification_inputs import Draws, dims_text, given_batches, random_batches

FLOATS = {"x": Spec(np.dtype(np.float32), (None, 2))}


def doubled(feed: Arrays) -> dict[str, np.ndarray]:
    return {"y": feed["x"] * 2}


def test_a_dynamic_batch_runs_twice_with_two_sizes() -> None:
    draws = Draws(FLOATS, {}, np.random.default_rng(0))
    batches = list(random_batches(Function(FLOATS, doubled), "f", {"x"}, draws))
    assert draws.how == {"x": ["normal distribution"]}
    assert [[feed["x"].shape for feed, _ in batch] for batch in batches] == [[(1, 2)] * 2, [(3, 2)] * 2]
    (first, _), (second, _) = batches[0]
    assert not np.array_equal(first["x"], second["x"])


def test_an_array_that_the_caller_forgot() -> None:
    with pytest.raises(InputError, match=r"the data has no array 'x'.* takes x float32\[\?,2\]"):
        list(given_batches(Function(FLOATS, doubled), "f", FLOATS, {"x"}, {}))


def test_sizes_as_a_person_writes_them() -> None:
    assert dims_text((None, 3)) == "[?,3]"


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8])
def test_indices_are_drawn_from_all_rows_of_their_table(dtype: type) -> None:
    specs = {"x": Spec(np.dtype(dtype), (None, 40)), "y": Spec(np.dtype(np.float32), (None,))}
    draws = Draws(specs, {"x": Bound(90, "GATHER")}, np.random.default_rng(0))
    batches = list(random_batches(Function(specs, lambda feed: {"z": feed["x"]}), "f", {"x", "y"}, draws))
    drawn = np.concatenate([feed["x"].ravel() for batch in batches for feed, _ in batch])
    assert drawn.min() >= 0 and 80 < drawn.max() < 90 and np.array_equal(drawn, np.floor(drawn))
    assert draws.how == {"x": ["whole numbers below 90, as GATHER looks them up"], "y": ["normal distribution"]}


def test_another_range_where_the_model_refuses_that_of_the_table() -> None:
    def small(feed: Arrays) -> dict[str, np.ndarray]:
        if feed["x"].max() > 7:
            raise tf.errors.InvalidArgumentError(None, None, "too large")
        return {"y": feed["x"]}

    specs = {"x": Spec(np.dtype(np.int32), (40,))}
    draws = Draws(specs, {"x": Bound(90, "GATHER")}, np.random.default_rng(0))
    assert len(list(random_batches(Function(specs, small), "f", set(), draws))) == 1
    assert draws.how == {"x": ["whole numbers below 8"]}
