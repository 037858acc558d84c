"""Inputs to verify with: random ones that the model accepts, and the caller's."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.errors import InputError
from fuseconv.input_shapes import given_to
from fuseconv.runners import Arrays, Function, Spec
from fuseconv.tfl.index_bounds import Bound
from fuseconv.verification_inputs import Draws, data_of, dims_text, given_batches, random_batches

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


@pytest.mark.parametrize(("given", "shape", "fed"), [
    ((5, 2), (None, 2), [(5, 2), (5, 2), (7, 2), (7, 2)]), ((5, 1, 2), (None, 2), [(5, 2), (5, 2), (7, 2), (7, 2)]),
    ((4, 3, 2), (3, 2), [(3, 2)] * 4), ((6, 2), (3, 2), [(3, 2)] * 2), ((3, 2), (3, 2), [(3, 2)] * 2),
])  # fmt: skip
def test_samples_and_rows(given: tuple[int, ...], shape: tuple[int | None, ...], fed: list[tuple[int, ...]]) -> None:
    specs = {"x": Spec(np.dtype(np.float32), shape)}
    array = np.arange(np.prod(given)).reshape(given)
    dynamic = {"x"} if shape[0] is None else set()
    batches = given_batches(Function(specs, doubled), "f", specs, dynamic, {"x": array})
    runs = [run for batch in batches for run in batch]
    assert [feed["x"].shape for feed, _ in runs] == fed
    rows = np.concatenate([feed["x"] for feed, _ in runs]).ravel()
    assert rows[: array.size].tolist() == array.ravel().tolist()
    with pytest.raises(InputError, match=r"x' has the shape \[5, 3\], where the model takes .*2\], or samples of that"):
        list(given_batches(Function(specs, doubled), "f", specs, dynamic, {"x": np.ones((5, 3))}))


def test_samples_of_a_model_with_a_scalar() -> None:
    specs = FLOATS | {"n": Spec(np.dtype(np.int32), ())}
    run = Function(specs, lambda feed: {"y": feed["x"] * feed["n"]})
    data = {"x": np.ones((3, 1, 2)), "n": np.arange(3)}
    (runs, _) = given_batches(run, "f", specs, {"x"}, data)
    assert [made["y"].tolist() for _, made in runs] == [[[0, 0]], [[1, 1]], [[2, 2]]]
    with pytest.raises(InputError, match="different numbers of samples: 3, 4"):
        list(given_batches(run, "f", specs, {"x"}, data | {"n": np.arange(4)}))


def test_arrays_of_samples() -> None:
    samples: list[Arrays] = [{"x": np.full((1, 2), number)} for number in range(3)]
    samples += [{"x": np.ones((2, 2))}, {"z": np.ones(1)}]
    specs = {name: Spec(np.dtype(np.float64), shape) for name, shape in (("x", (None, 2)), ("z", (1,)))}
    found = data_of(samples, "f", {"x": specs["x"]})
    assert found is not None and found["x"].tolist() == [[[0, 0]], [[1, 1]], [[2, 2]]]
    assert data_of(samples, "f", specs) is None and data_of([], "f", {"x": specs["x"]}) is None


def test_samples_of_several_signatures() -> None:
    """Those of another signature have its name in front, and none is taken that does not fit."""
    samples: list[Arrays] = [{"x": np.zeros((1, 2))}, {"g/x": np.ones((1, 3))}]
    samples.append({**samples[1], "z": np.ones(1)})
    of_f, of_g = ({"x": Spec(np.dtype(np.float64), (1, size))} for size in (2, 3))
    (f, g) = data_of(samples, "f", of_f), data_of(samples, "g", of_g)
    assert f is not None and f["x"].tolist() == [[[0, 0]]]
    assert g is not None and g["x"].tolist() == [[[1, 1, 1]]]
    assert data_of(samples, "h", of_g) is None
    assert given_to(["g"], ["x", "y"], {"x": samples[0]["x"], **samples[1]})["x"].shape == (1, 3)


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


def test_inputs_that_no_memory_holds_are_not_drawn() -> None:
    draws = Draws({"x": Spec(np.dtype(np.float32), (None, 1 << 29))}, {}, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"'x' takes an array of \[1,536870912\], which is too large to draw"):
        draws.feed(1, 7, draws.ranges()[0])


def test_inputs_that_no_memory_holds_together_are_not_drawn() -> None:
    draws = Draws({name: Spec(np.dtype(np.float32), (1 << 26,)) for name in "xyz"}, {}, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"'z' takes an array .* too large"):
        draws.feed(1, 7, draws.ranges()[0])


def test_whole_numbers_of_a_range_that_the_caller_knows() -> None:
    specs = {"ids": Spec(np.dtype(np.int64), (None, 50)), "n": Spec(np.dtype(np.int8), ())}
    ranges = {"ids": (2**63 - 3, 2**63 - 1), "n": (-128, -127)}
    draws = Draws(specs, {"ids": Bound(4, "GATHER")}, np.random.default_rng(0), ranges)
    run = Function(specs, lambda feed: {"y": feed["ids"]})
    feeds = [feed for batch in random_batches(run, "f", {"ids"}, draws) for feed, _ in batch]
    assert {*np.concatenate([feed["ids"].ravel() for feed in feeds])} == {2**63 - 3, 2**63 - 2, 2**63 - 1}
    assert {feed["n"].item() for feed in feeds} <= {-128, -127} and feeds[0]["n"].dtype == np.int8
    assert draws.how == {
        "ids": [f"whole numbers from {2**63 - 3} to {2**63 - 1}"], "n": ["whole numbers from -128 to -127"],
    }  # fmt: skip
