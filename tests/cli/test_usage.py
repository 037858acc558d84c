"""Commands are called in one way, and say how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fuseconv.cli import main
from fuseconv.cli.usage import _GROUPS

MODEL = str(Path(__file__).parents[2] / "testdata" / "conv_bn")


def _run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.mark.parametrize("command", main.commands)
def test_help_has_groups_and_exit_codes(command: str) -> None:
    shown = _run(command, "--help").stdout
    assert "Of every command:" in shown and "Exit codes: 0 done" in shown
    for parameter in main.commands[command].params:
        for option in parameter.opts:
            assert option in shown or not option.startswith("--"), option


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_fits_80_columns(command: str | None) -> None:
    shown = CliRunner().invoke(main, [*filter(None, [command]), "--help"], terminal_width=80).stdout.splitlines()
    assert [line for line in shown if len(line) > 80 and not line.lstrip().startswith("fuseconv ")] == []


@pytest.mark.parametrize(("args", "named"), [
    ([""], "an argument"), ([MODEL, "-o", ""], "-o"), ([MODEL, "--calibration-data="], "--calibration-data"),
])  # fmt: skip
def test_what_is_empty_is_no_path_of_the_working_directory(args: list[str], named: str) -> None:
    result = _run("convert", *args)
    assert result.exit_code == 2 and f"error: {named} is empty; " in result.stderr
    document = json.loads(_run("convert", *args, "--json").stdout)
    assert document["error"]["exit_code"] == 2 and f"{named} is empty" in document["error"]["message"]


def test_convert_has_examples_and_no_option_without_a_group() -> None:
    shown = _run("convert", "--help").stdout
    assert "fuseconv convert saved_model_dir --verify" in [line.strip() for line in shown.splitlines()]
    assert "\nOptions:\n" not in shown and all(f"\n{heading}:\n" in shown for heading in _GROUPS)


def test_groups_name_options_that_there_are() -> None:
    names = {parameter.name for command in main.commands.values() for parameter in command.params} | {"help"}
    assert {name for group in _GROUPS.values() for name in group} <= names


def test_the_help_of_the_root_is_whole() -> None:
    shown = " ".join(_run("--help").stdout.split())
    assert "Run MODEL in TensorFlow and FILE in LiteRT on the same inputs, and compare the outputs." in shown


def test_common_options_may_stand_before_the_command() -> None:
    before, after = _run("--json", "-q", "fusions", "softmax"), _run("fusions", "softmax", "--json", "-q")
    assert before.exit_code == 0 and before.stdout == after.stdout
    assert [row["name"] for row in json.loads(before.stdout)["fusions"]] == ["softmax"]


@pytest.mark.parametrize("name", sorted(main.commands))
def test_help_ends_with_examples_and_exit_codes(name: str) -> None:
    told = _run(name, "--help").stdout.rpartition("Examples:")[2]
    assert f"  fuseconv {name} " in told and "Exit codes: 0 done; 1 a defect of fuseconv; 2 bad usage" in told
    strict = "--strict" in [flag for option in main.commands[name].params for flag in option.opts]
    verifies = name in ("convert", "quantize", "verify")
    assert ("; 4 " in told) == (strict or verifies) and ("what the target refuses" in told) == strict
    assert ("; 3 operations" in told) == verifies


def test_the_version_is_short() -> None:
    assert _run("-V").stdout == _run("--version").stdout


@pytest.mark.parametrize("args", [
    ["convrt"], ["convert"], ["convert", "--unknown"], ["--unknown"], ["fusions", "--json", "-x"],
    ["quantize", MODEL, "-o", "x.tflite", "--json"], ["convrt", "--json"], ["--json"], ["--unknown", "--json"],
])  # fmt: skip
def test_errors_of_usage_are_one_sentence(args: list[str]) -> None:
    result = _run(*args)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("fuseconv: error: ") and line.endswith("--help`")
    if "--json" in args:
        assert line.startswith(f"fuseconv: error: {json.loads(result.stdout)['error']['message']}")
    else:
        assert not result.stdout


@pytest.mark.parametrize(("args", "sentence"), [
    (["fusions", "sofmax"], "no fusion is known by the name sofmax; did you mean softmax?"),
    (["fusions", "LSTM"],
     'no fusion is known by the name LSTM; did you mean "*lstm*" (keras_lstm, bidirectional_lstm, masked_lstm, ...)?'),
    (["ops", "matmul"], "no operation is known by the name matmul; did you mean MatMul?"),
])  # fmt: skip
def test_names_are_suggested(args: list[str], sentence: str) -> None:
    result = _run(*args)
    assert (result.exit_code, result.stderr) == (2, f"fuseconv: error: {sentence}\n")


def test_passes_by_name() -> None:
    rows = json.loads(_run("passes", "fuse-*", "lower", "--json").stdout)["passes"]
    assert {row["name"] for row in rows} >= {"fuse-composites", "lower"}
    assert all(row["name"] == "lower" or row["name"].startswith("fuse-") for row in rows)


def test_fusions_by_name() -> None:
    rows = json.loads(_run("fusions", "*lstm*", "gelu*", "--json").stdout)["fusions"]
    assert rows and all("lstm" in row["name"] or row["name"].startswith("gelu") for row in rows)
