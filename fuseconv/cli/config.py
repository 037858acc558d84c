"""Options that a file gives, for those that are the same on every run: `--config FILE.toml`, or pyproject.toml."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

from fuseconv.errors import InputError, suggestion
from fuseconv.files import read_file

PYPROJECT = "pyproject.toml"
_TABLE = "tool.fuseconv"
# What lets code run, lifts a limit, or names files to write or to put into the output: a file that lies where a model
# was unpacked does not say so.
_ONLY_NAMED = frozenset({
    "calibration-data", "data", "follow-links", "max-constant-bytes", "metadata", "model-explorer", "output", "plugin",
    "quantize-report", "report", "trust-model",
})  # fmt: skip
_MOST_BYTES = 1 << 20


def defaults_of(command: str, path: str | None, options: Sequence[str], commands: Collection[str]) -> dict[str, Any]:
    """Return the options that a file gives a command, by their names without the dashes in front.

    path: a TOML file with a table named as the command, or [tool.fuseconv.COMMAND]; None: such a table of a
    pyproject.toml in the working directory, if there is one. options: what the command has. commands: all there are.
    Raises InputError for what cannot be read, a table that looks like a command's, an option that the command has not,
    or one that only a file that is named may give."""
    text = _read(path or PYPROJECT, missing_is_empty=path is None)
    if not text or (path is None and _TABLE not in text):
        return {}
    name = path or PYPROJECT
    tables = _tables(_parsed(text, name), path is None)
    for key in tables:
        # Others may have tables of their own in a file that is named.
        if key not in commands and (alike := suggestion(key, commands)):
            raise InputError(f"{name}: there is no command {key}{alike}")
    table = tables.get(command, {})
    if not isinstance(table, dict):
        raise InputError(f"{name}: {command} is a table of options, not {table!r}")
    given = {key.replace("_", "-"): value for key, value in table.items()}
    for key, value in given.items():
        if key not in options:
            raise InputError(f"{name}: {command} has no option {key}{suggestion(key, options)}")
        if path is None and key in _ONLY_NAMED:
            raise InputError(f"{name}: {key} is taken only from a file that is named: --config {name}")
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, (str, int, float)):  # a table, a list in a list, a date or time
                what = "table" if isinstance(item, dict) else type(item).__name__
                raise InputError(f"{name}: {key} is no {what}: write what follows --{key} on the command line")
    return given


def _tables(document: dict[str, Any], nested: bool) -> dict[str, Any]:
    """Return the tables of commands in a file: those within [tool.fuseconv], where all others are not ours, or, unless
    they must be nested, all."""
    tool = document.get("tool", {})
    ours = tool.get("fuseconv") if isinstance(tool, dict) else None
    return ours if isinstance(ours, dict) else {} if nested or "tool" in document else document


def _read(path: str, missing_is_empty: bool) -> str:
    if missing_is_empty and not os.path.isfile(path):
        return ""
    try:
        return read_file(path, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:
        raise InputError(f"to read {name}, Python 3.11 or later is needed: give the options by hand") from None
    try:
        tables = tomllib.loads(text)
    except ValueError as error:  # numbers of more digits than Python takes are no TOMLDecodeError
        raise InputError(f"{name} is no TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{name} is nested too deeply for a file of options") from None
    return tables
