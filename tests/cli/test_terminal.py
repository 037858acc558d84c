"""What an error becomes: a message, an exit code, and what would help."""

from __future__ import annotations

import pytest

from fuseconv.cli.terminal import error_entry
from fuseconv.errors import InputError, UnsupportedError, VerificationError


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (InputError("no model"), "no model", 2),
        (VerificationError("it differs"), "it differs", 4),
        (MemoryError("8 GB"), "this machine's memory does not suffice for the model: 8 GB", 2),
        (FileNotFoundError(2, "No such file", "m.pb"), "m.pb: No such file", 2),
        (FileNotFoundError(2, "No such file or directory"), "the working directory no longer exists", 2),
    ],
)
def test_each_error_has_its_exit_code(error: Exception, message: str, code: int) -> None:
    assert error_entry(error) == {"message": message, "exit_code": code}


def test_a_defect_is_told_as_one() -> None:
    entry = error_entry(KeyError("x"))
    assert entry["exit_code"] == 1 and "defect of fuseconv" in entry["message"] and "KeyError: 'x'" in entry["message"]


def test_unsupported_ops_are_listed() -> None:
    entry = error_entry(UnsupportedError("some", [("Betainc", ["a", "b"], "no rule")]))
    assert entry["exit_code"] == 3
    assert entry["ops"] == [{"op": "Betainc", "count": 2, "nodes": ["a", "b"], "why": "no rule"}]
