"""Options that are refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"fuse": "lstm"}, r"fuse takes a list: write \['lstm'\]"),
        ({"fuse": 5}, "fuse takes a list, not 5"),
        ({"rnn": "both"}, "rnn is one of fused, loop, unroll, auto, not 'both'"),
        ({"rnn_state": 1}, "rnn_state is one of written, variable, not 1"),
        ({"quantize": "int2"}, "quantize is one of None, float16, dynamic, int4, int8, int16x8, not 'int2'"),
        ({"calibration_data": []}, "calibration data is for --quantize int8 or int16x8"),
        ({"quantize": "dynamic", "keep_float_under": 0.0}, "give a part of the range, such as 0.01"),
        ({"keep_float_under": 0.1}, "are for --quantize: add it"),
        ({"quantize": "dynamic", "io_types": "int8"}, "--io-types is for --quantize int8 or int16x8"),
        ({"print_ir_after": ["canonicalise"]}, "no pass is called canonicalise; did you mean canonicalize"),
    ],
)
def test_options_that_are_no_choice(options: dict, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "model.pb").write_bytes(b"")
    with pytest.raises(InputError, match=sentence):
        fuseconv.convert(tmp_path / "model.pb", **options)


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
