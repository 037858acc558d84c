"""The errors a user can meet, each with its exit code."""

from __future__ import annotations

from typing import Any


class FuseconvError(Exception):
    """A sentence that says what is wrong and what to do. The command line prints it without a traceback."""

    exit_code = 1


class InputError(FuseconvError):
    """The model, an option or a path cannot be used."""

    exit_code = 2


class UnsupportedError(FuseconvError):
    """The model holds operations that cannot be converted. `ops` lists (op, node names, why) for each kind of op;
    `report` tells how far the conversion came, once `convert` has raised it."""

    exit_code = 3

    def __init__(self, message: str, ops: list[tuple[str, list[str], str]]) -> None:
        super().__init__(message)
        self.ops = ops
        self.report: Any = None


class VerificationError(FuseconvError):
    """The converted file and the model differ by more than the tolerance."""

    exit_code = 4
