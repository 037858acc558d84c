"""Several models of one command: a file for each, a table of them, and the exit code of the worst."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import fuseconv
from fuseconv.cli import main

TESTDATA = Path(__file__).parents[2] / "testdata"
MODEL = TESTDATA / "conv_bn"


def _run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_several_models(tmp_path: Path) -> None:
    models = [MODEL, TESTDATA / "frozen.pb", TESTDATA / "weights_only.h5"]
    result = _run("convert", *models, "-o", tmp_path)
    assert result.exit_code == 2 and result.stderr == "fuseconv: error: 1 of 3 models were not converted\n"
    lines = result.stdout.splitlines()
    assert [line.startswith(str(model)) for line, model in zip(lines, models, strict=True)] == [True] * 3
    assert "done" in lines[0] and "done" in lines[1] and "2: " in lines[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conv_bn.tflite", "frozen.tflite"]
    assert (tmp_path / "conv_bn.tflite").read_bytes() == fuseconv.convert(MODEL).data


def test_processes_that_are_killed(tmp_path: Path) -> None:
    (tmp_path / "kill.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    result = _run("convert", MODEL, TESTDATA / "frozen.pb", "-o", tmp_path, "--plugin", tmp_path / "kill.py")
    assert result.exit_code == 2 and result.stderr == "fuseconv: error: 2 of 2 models were not converted\n"
    assert result.stdout.count("was killed, perhaps for want of memory") == 2
    assert {path.name for path in tmp_path.iterdir()} <= {"kill.py", "__pycache__"}


@pytest.mark.parametrize(("args", "why"), [
    (["-o", "no_directory"], "there is no such directory: make it"), (["-o", "-"], "give a directory"),
    (["--report", "r.json"], "are of one model"), ([str(MODEL)], "two of the models would be written to"),
    (["m.tflite"], "m.tflite would be read as a model: name the file to write by -o m.tflite"),
])  # fmt: skip
def test_what_several_models_cannot_have(args: list[str], why: str) -> None:
    result = _run("convert", MODEL, TESTDATA / "frozen.pb", *args)
    assert result.exit_code == 2 and why in result.stderr and not result.stdout
