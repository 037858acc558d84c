"""Options of `convert` that are refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import InputError
from tests.frozen import FLOAT, Frozen


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"fuse": "lstm"}, r"fuse takes a list: write \['lstm'\]"),
        ({"rnn": "both"}, "rnn is one of fused, loop, unroll, auto, not 'both'"),
        ({"rnn_state": 1}, "rnn_state is one of written, variable, not 1"),
        ({"quantize": "int4"}, "quantize is one of None, float16, dynamic, int8, int16x8, not 'int4'"),
        ({"quantize": "int8"}, "--quantize int8 needs samples of real inputs: give --calibration-data an .npz file"),
        ({"calibration_data": []}, "calibration data is for --quantize int8 or int16x8"),
        ({"quantize": "dynamic", "io_types": "int8"}, "--io-types is for --quantize int8 or int16x8"),
        ({"print_ir_after": ["canonicalise"]}, "no pass is called canonicalise; did you mean canonicalize"),
    ],
)
def test_options_that_are_no_choice(options: dict, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "model.pb").write_bytes(b"")
    with pytest.raises(InputError, match=sentence):
        fuseconv.convert(tmp_path / "model.pb", **options)


def test_a_conversion_writes_a_file_or_gives_its_bytes(tmp_path: Path) -> None:
    graph = Frozen(2)
    graph.node("y", "Neg", "x", T={"type": FLOAT})
    model = graph.write(tmp_path)
    given = fuseconv.convert(model)
    written = fuseconv.convert(model, tmp_path / "out.tflite")
    assert given.path is None and written.data is None
    assert written.path is not None and written.path.read_bytes() == given.data
    assert [op.type for op in given.report.emitted] == ["NEG"]
