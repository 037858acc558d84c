"""Where files go that no path was given for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import fuseconv
from fuseconv.cli import main

TESTDATA = Path(__file__).parents[2] / "testdata"
MODEL = TESTDATA / "conv_bn"


def _run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_a_file_by_the_name_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = _run("convert", MODEL)
    assert (result.exit_code, result.stderr) == (0, "fuseconv: note: wrote conv_bn.tflite\n")
    assert Path("conv_bn.tflite").read_bytes() == fuseconv.convert(MODEL).data
    assert _run("convert", MODEL, "-q").stderr == ""
    Path("files").mkdir()
    for folder in ("files", "files/"):
        assert _run("convert", MODEL, "-o", folder).stderr == "fuseconv: note: wrote files/conv_bn.tflite\n"
    assert [path.name for path in Path("files").iterdir()] == ["conv_bn.tflite"]
    shutil.copytree(MODEL, "model")
    for folder in ("model", "model/", "files/../model"):
        result = _run("convert", "model", "-o", folder)
        assert result.exit_code == 2 and "is the directory of the model: name a file" in result.stderr
    assert {path.name for path in Path("model").iterdir()} == {path.name for path in MODEL.iterdir()}


def test_stdout_gets_the_bytes_and_nothing_else(tmp_path: Path) -> None:
    result = _run("convert", MODEL, "-o", "-", "--report", tmp_path / "report.json")
    assert result.exit_code == 0 and result.stdout_bytes == fuseconv.convert(MODEL).data
    assert json.loads((tmp_path / "report.json").read_text())["model"] == str(MODEL)
    result = _run("convert", MODEL, "-o", "-", "--json")
    assert result.exit_code == 2 and "both write to stdout" in result.stderr


def test_quantize_writes_where_convert_does(tmp_path: Path) -> None:
    file, folder = tmp_path / "small.tflite", tmp_path / "files"
    fuseconv.convert(MODEL, file)
    folder.mkdir()
    data = fuseconv.quantize_file(file, quantize="float16").data
    to_stdout = _run("quantize", file, "-o", "-", "--quantize", "float16")
    assert to_stdout.exit_code == 0 and to_stdout.stdout_bytes == data
    to_folder = _run("quantize", file, "-o", folder, "--quantize", "float16")
    assert (to_folder.exit_code, to_folder.stderr) == (0, f"fuseconv: note: wrote {folder}/small.tflite\n")
    assert (folder / "small.tflite").read_bytes() == data
    beside = _run("quantize", file, "-o", tmp_path, "--quantize", "float16")
    assert beside.exit_code == 2 and "would overwrite the model" in beside.stderr
