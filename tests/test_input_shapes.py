"""Shapes of inputs, in each form in which people write them."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.input_shapes import ONLY, full_names, given_to, named, read_shapes


@pytest.mark.parametrize(
    ("given", "shapes"),
    [
        ({"x": [1, None, 3]}, {"x": (1, None, 3)}),
        ({"x": "1,?,3", "y": ()}, {"x": (1, None, 3), "y": ()}),
        ("x=1,?,-1", {"x": (1, None, None)}),
        (("a=b=1,2", "y="), {"a=b": (1, 2), "y": ()}),
        ([1, None, 28], {ONLY: (1, None, 28)}),
        (["1", "?"], {ONLY: (1, None)}),
        ("5", {ONLY: (5,)}),
        ("(1, 28)", {ONLY: (1, 28)}),
        ({}, {}),
        ((), {}),
    ],
)
def test_forms(given: Any, shapes: dict) -> None:
    assert read_shapes(given) == shapes


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("x=1,two", "--input-shape x=1,two is no shape: write NAME=1,28,28"),
        ("x=1,-2", "is no shape"),
        ("=1,2", "--input-shape =1,2 is no shape"),
        (["x=1", "x=2"], "gives x twice"),
        (["1,2", "3,4"], "gives the only input twice"),
        ({"x": 5}, "the shape 5 of x is no list of sizes"),
        ([1.5], "the size 1.5 is no whole number"),
        ([True], "the size True is no whole number"),
        ([""], "is no shape"),
        ("x", "--input-shape x is no shape"),
        (7, "a dict from names to shapes, not 7"),
    ],
)
def test_what_is_no_shape(given: Any, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        read_shapes(given)
    assert sentence in str(error.value)


def test_the_only_input_gets_its_name() -> None:
    assert named({ONLY: (1, 2)}, ["x", "x"]) == {"x": (1, 2)}
    assert named({"y": ()}, ["x", "y"]) == {"y": ()}
    with pytest.raises(InputError, match="there are x, y: write NAME="):
        named({ONLY: (1, 2)}, ["x", "y"])


def test_what_is_given_to_inputs_of_a_signature() -> None:
    given = {"x": 1, "train/x": 2, "fit/y": 3, "infer/x": 4}
    assert given_to(["train", "fit"], ["x", "y", "z"], given) == {"x": 2, "y": 3}
    assert given_to(["serve"], ["x", "y"], given) == {"x": 1}
    assert full_names(["train", "fit"], ["x"]) == ["x", "train/x", "fit/x"]
