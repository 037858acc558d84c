"""Options that a file gives, for those that are the same on every run: `--config FILE.toml`, or pyproject.toml."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from fuseconv.errors import InputError, suggestion

_PYPROJECT = "pyproject.toml"
_TABLE = "tool.fuseconv"
# What lets code run, or lifts a limit: a file that lies where a model was unpacked does not say so.
_ONLY_NAMED = frozenset({"plugin", "trust-model", "follow-links", "max-constant-bytes", "calibration-data"})


def defaults_of(command: str, path: str | None, options: Sequence[str]) -> dict[str, Any]:
    """Return the options that a file gives a command, by their names without the dashes in front.

    path: a TOML file with a table named as the command; None: the table [tool.fuseconv.COMMAND] of a pyproject.toml in
    the working directory, if there is one. options: what the command has.
    Raises InputError for what cannot be read, an option that the command has not, or one that only a file that is
    named may give."""
    text = _read(path or _PYPROJECT, missing_is_empty=path is None)
    if not text or (path is None and _TABLE not in text):
        return {}
    name = path or _PYPROJECT
    tables = _parsed(text, name)
    for key in _TABLE.split(".") if path is None else ():
        tables = tables.get(key, {})
    table = tables.get(command, {})
    if not isinstance(table, dict):
        raise InputError(f"{name}: {command} is a table of options, not {table!r}")
    given = {key.replace("_", "-"): value for key, value in table.items()}
    for key, value in given.items():
        if key not in options:
            raise InputError(f"{name}: {command} has no option {key}{suggestion(key, options)}")
        if path is None and key in _ONLY_NAMED:
            raise InputError(f"{name}: {key} is taken only from a file that is named: --config {name}")
        if isinstance(value, dict):
            raise InputError(f"{name}: {key} is no table: write what follows --{key} on the command line")
    return given


def _read(path: str, missing_is_empty: bool) -> str:
    if missing_is_empty and not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:
        raise InputError(f"to read {name}, Python 3.11 or later is needed: give the options by hand") from None
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name} is no TOML: {error}") from None
    return tables
