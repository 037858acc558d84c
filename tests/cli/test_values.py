"""Values of options that hold more than one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseconv.cli.values import given, named_for, read_metadata, read_options
from fuseconv.errors import InputError


def test_options_of_a_model() -> None:
    lists = {"tags": ("a,b", "c"), "inputs": (), "outputs": ("y,",)}
    options = lists | {"rename": ("x=y",), "input_shape": ("x=1,?,3",), "input_range": ("ids=-1:9",)}
    assert read_options(options) == {
        "tags": ("a", "b", "c"), "inputs": (), "outputs": ("y",), "rename": {"x": "y"},
        "input_shapes": {"x": (1, None, 3)}, "input_ranges": {"ids": (-1, 9)},
    }  # fmt: skip
    assert given(a=1, b=None, c=0) == {"a": 1, "c": 0}


def test_a_comma_divides_metadata_before_a_key_only() -> None:
    told = read_metadata(("author=Acme, Inc,mean=1,2,3,std=4", "labels:a_b/c:0=x,y.txt"))
    assert told == {"author": "Acme, Inc", "mean": "1,2,3", "std": "4", "labels:a_b/c:0": "x,y.txt"}


@pytest.mark.parametrize(("values", "sentence"), [
    (("author",), "--metadata author is no entry: write KEY=VALUE"),
    (("=x",), "is no entry"),
    (("name=",), "is no entry"),
    (("name=a", "name=b"), "gives name twice"),
])  # fmt: skip
def test_metadata_that_is_none_is_refused(values: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_metadata(values)


def test_a_file_has_the_name_of_its_model(tmp_path: Path) -> None:
    (tmp_path / "v1.2").mkdir()
    assert named_for(str(tmp_path / "v1.2")) == "v1.2.tflite"
    assert named_for("a/model.keras") == "model.tflite"
