"""How a command talks to its user: results, progress, warnings, and errors as a sentence with an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fuseconv.collector import importing
from fuseconv.errors import DefectError, FuseconvError, InputError, UnsupportedError
from fuseconv.process import INTERRUPTED, exit_code, keep_streams, native_logs_muted, stopping

if TYPE_CHECKING:
    from rich.console import Console

EXIT_DEFECT = 1
_LONGEST_SENTENCE = 1000


@dataclass
class Terminal:
    """How a command talks to its user: the options that every command has, and whether JSON was printed already."""

    json: bool
    quiet: bool
    verbose: bool
    debug: bool
    answered: bool = False

    def result(
        self, document: dict[str, Any], show: Callable[[Console], None], failure: FuseconvError | None = None
    ) -> None:
        """Print the result of a command: the document with --json, else what `show` prints, nothing with --quiet.

        Raises `failure` afterward; its sentence is in the document."""
        if self.json:
            self.answer(document | ({"error": error_entry(failure)} if failure else {}))
        elif not self.quiet and sys.stdout is not None:
            with importing():
                from fuseconv.report.tables import text

            click.echo(text(show, sys.stdout), nl=False)
        if failure:
            raise failure

    def answer(self, document: dict[str, Any]) -> None:
        # Also if it fails: a full disk takes no second document either.
        self.answered = True
        print_document(document)

    def warn(self, sentence: str) -> None:
        if not self.quiet:
            say("warning", sentence)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Return a function to call with the name of each stage as it starts, which shows it if somebody is looking."""
        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            yield lambda stage: None
            return
        from fuseconv.report.tables import progress

        with progress(sys.stderr) as update:
            yield update

    def fail(self, error: Exception) -> int:
        """Print why a command ended, and return its exit code."""
        entry = error_entry(error)
        if self.debug:
            import traceback

            traceback.print_exception(error)
        if self.json and not self.answered:
            self.answer(failure_document(error))
        say("error", entry["message"])
        if isinstance(error, UnsupportedError) and sys.stderr is not None:
            from fuseconv.report.tables import show_unsupported, text

            click.echo(text(lambda out: show_unsupported(out, error.ops, self.verbose), sys.stderr), err=True, nl=False)
        return entry["exit_code"]


def error_entry(error: Exception) -> dict[str, Any]:
    """Return `{"message", "exit_code"}` for an error; and the `"ops"` that cannot be converted, with what would
    help."""
    if isinstance(error, FuseconvError):
        entry: dict[str, Any] = {"message": error.sentence, "exit_code": error.exit_code}
        if isinstance(error, UnsupportedError):
            keys = ("op", "count", "nodes", "why")
            entry["ops"] = [dict(zip(keys, (op, len(nodes), list(nodes), why))) for op, nodes, why in error.ops]
        return entry
    if isinstance(error, click.ClickException):
        return {"message": usage_sentence(error), "exit_code": error.exit_code}
    if isinstance(error, MemoryError):
        message = f"this machine's memory does not suffice for the model: {error}".rstrip(": ")
        return {"message": message, "exit_code": InputError.exit_code}
    if isinstance(error, OSError) and error.strerror:
        # The machine's answer, such as a full disk or a file that may not be read.
        if isinstance(error, FileNotFoundError) and not error.filename:
            return {"message": "the working directory no longer exists", "exit_code": InputError.exit_code}
        message = ": ".join(filter(None, (str(error.filename or ""), error.strerror)))
        return {"message": message, "exit_code": InputError.exit_code}
    return {"message": str(DefectError(f"{type(error).__name__}: {error}")), "exit_code": EXIT_DEFECT}


def usage_sentence(error: click.ClickException) -> str:
    """Return what click says of an error on one line, without its full stop."""
    return " ".join(error.format_message().split()).rstrip(".")


def failure_document(error: Exception) -> dict[str, Any]:
    """Return what is known after a failure: the report of a conversion that came to its operations, and the error."""
    from fuseconv.report.json import to_json

    known = error.report if isinstance(error, UnsupportedError) else None
    return ({} if known is None else to_json(known)) | {"error": error_entry(error)}


def print_document(document: dict[str, Any]) -> None:
    """Print a document, with the version of its schema and who speaks."""
    from fuseconv.report.json import SCHEMA_VERSION, dumps, generator

    click.echo(dumps({"schema_version": SCHEMA_VERSION, "generator": generator()} | document), nl=False)


def say(what: str, sentence: str) -> None:
    # A sentence may quote the model: nothing in it may reach the terminal as a command, or fill it.
    if len(sentence) > _LONGEST_SENTENCE:
        sentence = f"{sentence[:_LONGEST_SENTENCE]}... (--json has all of it)"
    color = {"error": "red", "warning": "yellow"}.get(what)
    if color and sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        what = click.style(what, color, bold=True)
    click.echo(f"fuseconv: {what}: {''.join(c if c.isprintable() else ' ' for c in sentence)}", err=True)


class Command(click.Command):
    """A command with the options that all have; turns errors into a sentence and an exit code."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(["--json"], is_flag=True, help="Print one JSON document instead of tables."),
            click.Option(["-q", "--quiet"], is_flag=True, help="Print nothing but errors (and JSON)."),
            click.Option(["-v", "--verbose"], is_flag=True, help="Print every detail, and what the runtimes log."),
            click.Option(["--debug"], is_flag=True, help="Print a traceback with an error."),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        common = {name: ctx.params.pop(name) for name in ("json", "quiet", "verbose", "debug")}
        ctx.obj = terminal = Terminal(**common)
        logs = terminal.verbose or terminal.debug
        try:
            with stopping(), contextlib.nullcontext() if logs else native_logs_muted():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as interrupt:
            click.echo(INTERRUPTED, err=True)
            ctx.exit(exit_code(interrupt))
        except Exception as error:  # the one place where a defect of ours becomes a sentence
            ctx.exit(terminal.fail(error))


class Program(click.Group):
    """The commands, in a process whose streams do not fail it."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        keep_streams()
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # of printing the help
            say("error", error_entry(error)["message"])
            sys.exit(InputError.exit_code)
