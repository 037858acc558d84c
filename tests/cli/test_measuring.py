"""The options of `profile` and `compare`; what they do is tested where it is done."""

from __future__ import annotations

import pytest

from tests.test_cli import fails, run


@pytest.mark.parametrize("command", ["profile", "compare"])
@pytest.mark.parametrize("option", [["--threads", 0], ["--delegate", "gpu"], ["--runs", -1]])
def test_numbers_and_names_that_are_none(command: str, option: list) -> None:
    files = ["x.tflite"] * (1 + (command == "compare"))
    result = run(command, *files, *option)
    assert result.exit_code == 2 and "Invalid value" in result.stderr


def test_a_file_that_is_not_there() -> None:
    assert "does not exist" in fails(2, "profile", "none.tflite")
    assert "none.tflite does not exist" in fails(2, "compare", "none.tflite", "none.tflite")

