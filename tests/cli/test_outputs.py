"""Where files go that no path was given for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import fuseconv
from fuseconv.cli import main
from fuseconv.cli.outputs import named_for

TESTDATA = Path(__file__).parents[2] / "testdata"
MODEL = TESTDATA / "conv_bn"


def _run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_names(tmp_path: Path) -> None:
    (tmp_path / "v1.2").mkdir()
    assert named_for(str(tmp_path / "v1.2")) == "v1.2.tflite"
    assert named_for("a/model.keras") == "model.tflite"


def test_a_file_by_the_name_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = _run("convert", MODEL)
    assert (result.exit_code, result.stderr) == (0, "fuseconv: note: wrote conv_bn.tflite\n")
    assert Path("conv_bn.tflite").read_bytes() == fuseconv.convert(MODEL).data
    assert _run("convert", MODEL, "-q").stderr == ""


def test_stdout_gets_the_bytes_and_nothing_else(tmp_path: Path) -> None:
    result = _run("convert", MODEL, "-o", "-", "--report", tmp_path / "report.json")
    assert result.exit_code == 0 and result.stdout_bytes == fuseconv.convert(MODEL).data
    assert json.loads((tmp_path / "report.json").read_text())["model"] == str(MODEL)
    result = _run("convert", MODEL, "-o", "-", "--json")
    assert result.exit_code == 2 and "both write to stdout" in result.stderr


def test_several_models(tmp_path: Path) -> None:
    models = [MODEL, TESTDATA / "frozen.pb", TESTDATA / "weights_only.h5"]
    result = _run("convert", *models, "-o", tmp_path)
    assert result.exit_code == 2 and result.stderr == "fuseconv: error: 1 of 3 models were not converted\n"
    lines = result.stdout.splitlines()
    assert [line.startswith(str(model)) for line, model in zip(lines, models, strict=True)] == [True] * 3
    assert "done" in lines[0] and "done" in lines[1] and "2: " in lines[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conv_bn.tflite", "frozen.tflite"]
    assert (tmp_path / "conv_bn.tflite").read_bytes() == fuseconv.convert(MODEL).data


@pytest.mark.parametrize(("args", "why"), [
    (["-o", "no_directory"], "give a directory for several models"), (["-o", "-"], "give a directory"),
    (["--report", "r.json"], "are of one model"), ([str(MODEL)], "two of the models would be written to"),
])  # fmt: skip
def test_what_several_models_cannot_have(args: list[str], why: str) -> None:
    result = _run("convert", MODEL, TESTDATA / "frozen.pb", *args)
    assert result.exit_code == 2 and why in result.stderr and not result.stdout
