"""Options that are refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import InputError


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rnn": "both"}, "rnn is one of fused, loop, unroll, auto, not 'both'"),
        ({"rnn_state": 1}, "rnn_state is one of written, variable, not 1"),
        ({"quantize": "int2"}, "quantize is one of None, float16, dynamic, int4, int8, int16x8, not 'int2'"),
        ({"quantize": "int8", "calibration_samples": 0}, "calibration_samples is 1 or more, not 0"),
        ({"calibration_data": []}, "for --quantize dynamic, int4, int8, int16x8, --quantize-report and"),
        ({"quantize": "float16", "calibration_data": []}, "--calibration-data is for --quantize dynamic, int4"),
        ({"quantize": "dynamic", "keep_float_under": 0.0}, "give a part of the range, such as 0.01"),
        ({"keep_float_under": 0.1}, "are for --quantize: add it"),
        ({"no_quantize": ["*"]}, "choose what --quantize does: add that"),
        ({"quantize_only": ["*"]}, "choose what --quantize does: add that"),
        ({"quantize": "dynamic", "io_types": "int8"}, "--io-types is for --quantize int8 or int16x8"),
        ({"rename": {"x": "a\udcff"}}, r"the file cannot hold 'a\\udcff': give a text in UTF-8"),
        ({"metadata": {"license": "\ud800"}}, r"the file cannot hold '\\ud800'"),
        ({"print_ir_after": ["canonicalise"]}, "no pass is called canonicalise; did you mean canonicalize"),
    ],
)
def test_options_that_are_no_choice(options: dict, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "model.pb").write_bytes(b"")
    with pytest.raises(InputError, match=sentence):
        fuseconv.convert(tmp_path / "model.pb", **options)
