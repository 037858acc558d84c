"""Inputs to verify with: random ones that the model accepts, and the caller's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.runners import Arrays, Function, Spec
from fuseconv.verification_inputs import dims_text, given_batches, random_batches

FLOATS = {"x": Spec(np.dtype(np.float32), (None, 2))}


def doubled(feed: Arrays) -> dict[str, np.ndarray]:
    return {"y": feed["x"] * 2}


def test_a_dynamic_batch_runs_twice_with_two_sizes(tf: Any) -> None:
    batches = list(random_batches(Function(FLOATS, doubled), "f", FLOATS, {"x"}, np.random.default_rng(0)))
    assert [[feed["x"].shape for feed, _ in batch] for batch in batches] == [[(1, 2)] * 2, [(3, 2)] * 2]
    (first, _), (second, _) = batches[0]
    assert not np.array_equal(first["x"], second["x"])


def test_an_array_that_the_caller_forgot() -> None:
    with pytest.raises(InputError, match=r"the data has no array 'x'.* takes x float32\[\?,2\]"):
        list(given_batches(Function(FLOATS, doubled), "f", FLOATS, {"x"}, {}))


def test_sizes_as_a_person_writes_them() -> None:
    assert dims_text((None, 3)) == "[?,3]"
