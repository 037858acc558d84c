"""Defaults of options from a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from fuseconv.cli import main
from fuseconv.cli.config import defaults_of
from fuseconv.errors import InputError

pytest.importorskip("tomllib")
OPTIONS = ["batch-size", "fuse", "plugin", "quantize"]
COMMANDS = ["convert", "inspect"]
MODEL = str(Path(__file__).parents[2] / "testdata" / "conv_bn")


def _write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_file_that_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "ci.toml", '[convert]\nbatch_size = 4\nfuse = ["a", "b"]\nplugin = "p.py"\n[other]\nx = 1')
    assert defaults_of("convert", path, OPTIONS, COMMANDS) == {"batch-size": 4, "fuse": ["a", "b"], "plugin": "p.py"}
    assert defaults_of("inspect", path, OPTIONS, COMMANDS) == {}


def test_the_project_s_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert defaults_of("convert", None, OPTIONS, COMMANDS) == {}
    _write(tmp_path / "pyproject.toml", "this is no TOML")
    assert defaults_of("convert", None, OPTIONS, COMMANDS) == {}  # nothing in it is ours
    _write(tmp_path / "pyproject.toml", "[tool.fuseconv.convert]\nbatch-size = 2")
    assert defaults_of("convert", None, OPTIONS, COMMANDS) == {"batch-size": 2}


@pytest.mark.parametrize(("text", "why"), [
    ("[convert]\nbatch-sise = 1", "convert has no option batch-sise; did you mean batch-size?"),
    ("[convert]\nfuse = {a = 1}", "fuse is no table"),
    ("[convert]\nfuse = [{a = 1}]", "fuse is no table"),
    ("[convert]\nfuse = [[1]]", "fuse is no list"),
    ("[convert]\nbatch-size = 1979-05-27", "batch-size is no date"),
    ("convert = 3", "convert is a table of options, not 3"),
    ("[convert", "is no TOML"),
    ("batch-size = " + "9" * 5000, "is no TOML"),
    ("[konvert]\nfuse = 1", "there is no command konvert; did you mean convert?"),
    ("[tool.fuseconv.convrt]\nfuse = 1", "there is no command convrt; did you mean convert?"),
])  # fmt: skip
def test_what_is_no_option_is_refused(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why.replace("?", r"\?")):
        defaults_of("convert", _write(tmp_path / "ci.toml", text), OPTIONS, COMMANDS)


def test_a_pyproject_that_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "pyproject.toml", "[tool.fuseconv.convert]\nbatch-size = 2\n[tool.other]\nx = 1")
    assert defaults_of("convert", path, OPTIONS, COMMANDS) == {"batch-size": 2}


@pytest.mark.parametrize(("line", "why"), [
    ('batch-size = "two"', "batch-size is a number, not 'two'"),
    ('verify = "yes"', "verify is true or false: not 'yes'"),
    ("batch-size = 2.5", "batch-size is a whole number, not 2.5"),
    ("batch-size = true", "batch-size is no flag: not True"),
    ('rnn = ["loop"]', "rnn takes one value, not a list"),
    ('image-mean = "a"', "a is no list of numbers"),
])  # fmt: skip
def test_a_value_of_another_type(line: str, why: str, tmp_path: Path) -> None:
    path = _write(tmp_path / "ci.toml", f"[convert]\n{line}")
    result = CliRunner().invoke(main, ["convert", MODEL, "--config", path])
    assert result.exit_code == 2 and why in result.stderr, result.stderr


def test_a_number_of_a_file(tmp_path: Path) -> None:
    path = _write(tmp_path / "ci.toml", "[convert]\nimage-mean = 127.5")
    result = CliRunner().invoke(main, ["convert", MODEL, "--config", path])
    assert "--image-mean and --image-scale are for --calibration-data" in result.stderr


@pytest.mark.parametrize("option", ["plugin", "output", "report", "metadata"])
def test_what_runs_code_or_names_files_needs_a_file_that_is_named(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "pyproject.toml", f'[tool.fuseconv.convert]\n{option} = "evil"')
    with pytest.raises(InputError, match=f"{option} is taken only from a file that is named: --config pyproject"):
        defaults_of("convert", None, [*OPTIONS, option], COMMANDS)


def test_files_that_are_no_text_of_options(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match="is a pipe, no ordinary file"):
        defaults_of("convert", str(tmp_path / "pipe.toml"), OPTIONS, COMMANDS)
    for text, why in (("fuse = " + "[" * 100_000, "nested too deeply"), ("#" * (1 << 21), "at most 1048576")):
        with pytest.raises(InputError, match=why):
            defaults_of("convert", _write(tmp_path / "ci.toml", text), OPTIONS, COMMANDS)
    with pytest.raises(InputError, match="cannot be read"):
        defaults_of("convert", str(tmp_path / "no.toml"), OPTIONS, COMMANDS)


def test_options_of_a_file_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = _write(tmp_path / "ci.toml", '[convert]\nbatch-size = 3\nno-fuse = "softmax"\nquiet = true')
    for name, args in (("a", ["--config", path]), ("b", ["--batch-size", "3", "--no-fuse", "softmax", "-q"])):
        result = CliRunner().invoke(main, ["convert", MODEL, "-o", f"{name}.tflite", *args])
        assert (result.exit_code, result.output) == (0, "")
    assert Path("a.tflite").read_bytes() == Path("b.tflite").read_bytes()
    result = CliRunner().invoke(main, ["convert", MODEL, "-q", "--config", path, "--batch-size", "5", "-o", "c.tflite"])
    assert result.exit_code == 0 and Path("c.tflite").read_bytes() != Path("a.tflite").read_bytes()
    _write(tmp_path / "ci.toml", "[convert]\nbatch = 3")
    result = CliRunner().invoke(main, ["convert", MODEL, "--config", path])
    (line,) = result.stderr.splitlines()
    assert result.exit_code == 2 and "did you mean batch-size?" in line
