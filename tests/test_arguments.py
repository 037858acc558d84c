"""Names and types of what the functions of the interface are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError

LSTM = Path(__file__).parents[1] / "testdata" / "keras2_lstm"
FUNCTIONS = (fuseconv.convert, fuseconv.quantize_file, fuseconv.verify, fuseconv.inspect)
# What they need besides.
NEEDED: Mapping[str, tuple] = {"convert": ("m",), "quantize_file": ("m",), "verify": ("m", "m"), "inspect": ("m",)}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"batchsize": 1}, "convert has no argument batchsize; did you mean batch_size?"),
        ({"input_shapess": {}}, "did you mean input_shapes?"),
        ({"verify": True}, "convert has no argument verify; call fuseconv.verify(model, file)"),
        ({"input_shape": "x=1", "input_shapes": {}}, "convert gets input_shapes twice"),
    ],
)
def test_names_of_arguments_that_are_none(given: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        fuseconv.convert("model.pb", **given)
    assert sentence in str(error.value)


@pytest.mark.parametrize("shape", ["sequence=2,10,6", np.array([2, 10, 6]), {"sequence": ("2", 10, None)}])
def test_arguments_by_the_names_of_the_command_line(shape: object) -> None:
    given: dict = {"input_shape": shape, "signature": "serving_default", "fuse": None}
    report = fuseconv.convert(Path(__file__).parents[1] / "testdata" / "keras2_lstm", **given).report
    assert report.signatures[0].inputs[0].shape == (2, 10, 6)
    assert report.signatures[0].names == ("serving_default",)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"fuse": "lstm"}, "fuse takes a list: write ['lstm']"),
        ({"fuse": 5}, "fuse takes a list, not 5"),
        ({"fuse": {"lstm": 1}}, "fuse takes a list, not {'lstm': 1}"),
        ({"fuse": ["a", 5]}, "each item of fuse is a text, not 5"),
        ({"plugins": [None]}, "each item of plugins is a text or a path, not None"),
        ({"fuse": np.array(5)}, "fuse takes a list, not 5"),
        ({"target": 5}, "target takes a text, not 5"),
        ({"image_mean": np.array(True)}, "image_mean takes a number or a list, not True"),
        ({"image_mean": (float(n) for n in (1, 2, 3))}, "--image-mean and --image-scale are for --calibration-data"),
        ({"metadata": 5}, "metadata takes a dict, not 5"),
        ({"metadata": {5: "a"}}, "--metadata does not know 5; there are name, "),
        ({"metadata": {"labels": ["a"]}}, "labels stand in a file, one a line: give its path, not ['a']"),
        ({"batch_size": "2"}, "batch_size takes a whole number, not '2'"),
        ({"batch_size": True}, "batch_size takes a whole number, not True"),
        ({"trust_model": "no"}, "trust_model takes True or False, not 'no'"),
        ({"image_mean": ["a"]}, "image_mean takes a number or a list, not ['a']"),
        ({"keep_float_under": np.zeros((99, 99))}, "keep_float_under takes a number, not array("),
        ({"progress": 5}, "progress takes a function, not 5"),
        ({"out": ""}, "out is an empty path"),
        ({"out": b"a.tflite"}, "out takes a text or a path, not b'a.tflite'"),
    ],
)
def test_values_of_another_type(given: dict, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        fuseconv.convert(LSTM, **given)
    assert sentence in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_no_argument_takes_just_anything(function: Callable) -> None:
    """Whatever the argument, an object that is nothing ends in a sentence that names it, or what it stands for."""
    names = [name for name, parameter in inspect.signature(function).parameters.items() if name != "model"]
    for name in names:
        given: dict[str, Any] = dict(zip(inspect.signature(function).parameters, NEEDED[function.__name__]))
        if name == "calibration_data":
            given["quantize"] = "int8"
        elif function is fuseconv.quantize_file:
            given["quantize"] = "dynamic"
        with pytest.raises(InputError, match="object"):
            function(**given | {name: object()})


def test_what_is_in_a_conversion_is_named(tmp_path: Path) -> None:
    in_memory, written = fuseconv.convert(LSTM), fuseconv.convert(LSTM, tmp_path / "m.tflite")
    functions: list[Callable] = [
        fuseconv.inspect, partial(fuseconv.quantize_file, quantize="dynamic"), partial(fuseconv.verify, LSTM)
    ]  # fmt: skip
    for function in functions:
        with pytest.raises(InputError, match=r"bytes, not <Conversion .*>; give its \.data$"):
            function(in_memory)
        with pytest.raises(InputError, match=r"bytes, not <Conversion .*>; give its \.path$"):
            function(written)


def test_numbers_of_numpy_and_what_yields_items_are_taken() -> None:
    given: dict[str, Any] = {"strip_names": np.bool_(True), "fuse": (name for name in ("keras_lstm", "gelu"))}
    given["max_constant_bytes"] = np.array(1 << 30)
    made = fuseconv.convert(LSTM, batch_size=np.int64(2), **given)
    assert made.report.signatures[0].inputs[0].shape == (2, 10, 6) and made.report.strips_names
    assert {record.rule for record in made.report.records if record.kind == "fused"} == {"keras_lstm"}


def test_a_target_by_its_name() -> None:
    data = fuseconv.convert(LSTM).data
    assert data is not None
    assert fuseconv.inspect(data, "micro")["target"]["name"] == "micro"
    assert fuseconv.inspect(data)["file"] == {"path": None, "size": len(data), "version": 3, "description": mock.ANY}
    with pytest.raises(InputError, match="no target is called gup; did you mean gpu"):
        fuseconv.inspect(data, "gup")
