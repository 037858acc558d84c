"""The files of a conversion: the report is opened before anything else is done, and both are put in their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseconv.cli.conversion import convert_to_file
from fuseconv.cli.terminal import Terminal
from fuseconv.errors import InputError, UnsupportedError
from tests.frozen import FLOAT, Frozen

QUIET = Terminal(json=False, quiet=True, verbose=False, debug=False)


def model(folder: Path, op: str) -> str:
    graph = Frozen(2)
    graph.node("y", op, "x", T={"type": FLOAT})
    return str(graph.write(folder))


def test_the_file_and_the_report_are_written(tmp_path: Path) -> None:
    out, report = tmp_path / "y.tflite", tmp_path / "report.json"
    written = convert_to_file(QUIET, model(tmp_path, "Neg"), str(out), str(report), None, {})
    assert written.failure is None and written.document["output"]["bytes"] == out.stat().st_size
    assert '"emitted"' in report.read_text()


def test_a_report_tells_why_nothing_was_written(tmp_path: Path) -> None:
    out, report = tmp_path / "y.tflite", tmp_path / "report.json"
    with pytest.raises(UnsupportedError):
        convert_to_file(QUIET, model(tmp_path, "NoSuchOp"), str(out), str(report), None, {})
    assert not out.exists() and "NoSuchOp" in report.read_text()


def test_a_report_that_cannot_be_written_comes_first(tmp_path: Path) -> None:
    out = tmp_path / "y.tflite"
    with pytest.raises(InputError, match=r"--report .* would overwrite the --output"):
        convert_to_file(QUIET, model(tmp_path, "Neg"), str(out), str(out), None, {})
    assert not out.exists()
