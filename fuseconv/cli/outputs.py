"""Where the file of `convert` and `quantize` goes: to the path that is given, one by the model's name, or stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuseconv.api import Conversion
from fuseconv.cli.conversion import convert_to_file
from fuseconv.cli.terminal import Terminal, say
from fuseconv.cli.values import STDOUT
from fuseconv.errors import InputError


def convert_one(
    terminal: Terminal, model: str, output: str | None, report_path: str | None, verifying: dict[str, Any] | None,
    options: dict[str, Any], convert: Callable[..., Conversion], named_for: Callable[[str], str],
) -> None:  # fmt: skip
    """Convert one model to the file `output`, "-" for stdout, or one by the model's name if `output` is a directory or
    None; tell of it.

    convert: the function of `fuseconv.api` that does so. named_for: what names the file for the model."""
    if output == STDOUT:
        _to_stdout(terminal, model, report_path, verifying, options, convert)
        return
    if output and os.path.isdir(output) and os.path.realpath(output) == os.path.realpath(model):
        raise InputError(f"--output {output} is the directory of the model: name a file, or another directory")
    path = os.path.join(output or "", named_for(model)) if output is None or os.path.isdir(output) else output
    written = convert_to_file(terminal, model, path, report_path, verifying, options, convert)
    if path != output and written.failure is None and not terminal.quiet:
        say("note", f"wrote {path}")
    written.tell(terminal)


def _to_stdout(
    terminal: Terminal, model: str, report_path: str | None, verifying: dict[str, Any] | None, options: dict[str, Any],
    convert: Callable[..., Conversion],
) -> None:  # fmt: skip
    """Write the model's bytes to stdout, warnings to stderr. A model that fails its verification is not written. Raises
    InputError if --json wants stdout too, or it is a terminal."""
    if terminal.json:
        raise InputError("--output - and --json both write to stdout: choose one, or write the JSON with --report")
    if sys.stdout.isatty():
        raise InputError("--output - writes bytes, and stdout is a terminal: send it to a file or a pipe")
    import tempfile  # few files go to stdout

    with tempfile.TemporaryDirectory(prefix="fuseconv-") as folder:
        file = Path(folder, "model.tflite")
        written = convert_to_file(terminal, model, str(file), report_path, verifying, options, convert)
        for warning in written.report.warnings:
            terminal.warn(warning)
        if written.failure:
            raise written.failure
        sys.stdout.buffer.write(file.read_bytes())
        sys.stdout.buffer.flush()
