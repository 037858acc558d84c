"""Several models of one `convert`: each becomes a file in a directory, by a process for each core."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from fuseconv.cli.terminal import Terminal, error_entry
from fuseconv.cli.values import STDOUT, named_for
from fuseconv.collector import importing
from fuseconv.errors import FuseconvError, InputError
from fuseconv.process import native_logs_muted, processors


@dataclass(frozen=True)
class _Job:
    """One of several conversions: what a process is given, and then what came of it."""

    model: str
    output: str
    terminal: Terminal
    verifying: dict[str, Any] | None
    options: dict[str, Any]


def convert_each(
    terminal: Terminal, models: Sequence[str], output: str | None, report_path: str | None,
    verifying: dict[str, Any] | None, options: dict[str, Any],
) -> None:  # fmt: skip
    """Convert several models, each to a file of its name in the directory `output`, and print a table of them.

    Raises InputError if two would have one file, and the error with the highest exit code in the end."""
    if output is None and models[-1].lower().endswith(".tflite"):
        raise InputError(f"{models[-1]} would be read as a model: name the file to write by -o {models[-1]}")
    folder = output or os.curdir
    if folder == STDOUT or not os.path.isdir(folder):
        gone = folder != STDOUT and not os.path.exists(folder)
        why = "there is no such directory: make it" if gone else "give a directory for several models"
        raise InputError(f"--output {folder}: {why}")
    if report_path or options.get("quantize_report"):
        raise InputError("--report and --quantize-report are of one model: convert that alone, or use --json")
    files = [os.path.join(folder, named_for(model)) for model in models]
    for file in files:
        if files.count(file) > 1:
            raise InputError(f"two of the models would be written to {file}: convert them one by one")
    quiet = replace(terminal, quiet=True)
    jobs = [_Job(model, file, quiet, verifying, options) for model, file in zip(models, files)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(jobs), processors()), context) as pool:
        running = [pool.submit(_run, job) for job in jobs]
        documents = [_document(job, future) for job, future in zip(jobs, running)]
    for job, document in zip(jobs, documents):
        for warning in document.get("warnings", ()):
            terminal.warn(f"{job.model}: {warning}")
    _tell(terminal, jobs, documents)


def _document(job: _Job, future: Future[dict[str, Any]]) -> dict[str, Any]:
    """Return what became of a conversion, also where its process was killed, or another whose end took it along."""
    try:
        return future.result()
    except BrokenProcessPool:
        why = InputError("a process that converts was killed, perhaps for want of memory: convert this model alone")
        return {"model": job.model, "error": error_entry(why)}


def _run(job: _Job) -> dict[str, Any]:
    """Convert one model in a process of its own; return its document, with the error if there was one."""
    with importing():
        from fuseconv.api import convert  # the process that waits for this one does without
        from fuseconv.cli.conversion import convert_to_file

    try:
        with native_logs_muted():
            written = convert_to_file(
                job.terminal, job.model, job.output, None, job.verifying, dict(job.options), convert
            )
    except Exception as error:  # the other models go on; the table tells of it
        return {"model": job.model, "error": error_entry(error)}
    return written.document | ({"error": error_entry(written.failure)} if written.failure else {})


class _SomeFailed(FuseconvError):
    """Some of several conversions failed; the exit code is that of the worst."""


def _tell(terminal: Terminal, jobs: Sequence[_Job], documents: Sequence[dict[str, Any]]) -> None:
    """Say what became of each model, a row each. Raises _SomeFailed, if any failed, with the worst of their exit codes:
    that of a defect (1), or else the highest."""
    rows = []
    for job, document in zip(jobs, documents):
        error = document.get("error")
        size = "" if error else f"{os.path.getsize(job.output) / 1000:.1f} kB"
        rows.append((job.model, "" if error else job.output, size, f"{error['exit_code']}: {error['message']}"
                     if error else "done"))  # fmt: skip
    errors = [document["error"] for document in documents if "error" in document]
    failure = _SomeFailed(f"{len(errors)} of {len(jobs)} models were not converted") if errors else None
    if failure:
        # A defect is worse than what anybody may meet.
        failure.exit_code = max((error["exit_code"] for error in errors), key=lambda code: (code == 1, code))

    def show(out: Any) -> None:
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row[:3], widths))
            out.print(f"{line}  {row[3]}", markup=False, highlight=False, soft_wrap=True)

    terminal.result({"conversions": list(documents)}, show, failure)
