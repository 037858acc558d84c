"""The command line. Results go to standard output, progress, logs and errors to standard error.

Exit codes: 0 done; 1 a defect of fuseconv; 2 bad usage or unreadable input; 3 operations that cannot be converted;
4 the file differs from the model; 130, 143 or 129 ended by SIGINT, SIGTERM or SIGHUP. However a command ends, but by
SIGKILL, it leaves no file that is not whole.

Nothing but click is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fuseconv.errors import DefectError, FuseconvError, InputError, UnsupportedError, VerificationError
from fuseconv.process import exit_code, keep_streams, native_logs_muted, stopping

if TYPE_CHECKING:
    from rich.console import Console

    from fuseconv.verify import Verification

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
        """Prints the result of a command: the document with --json, else what `show` prints, nothing with --quiet.

        Raises `failure` afterwards; its sentence is in the document."""
        if self.json:
            self.answer(document | ({"error": _error_entry(failure)} if failure else {}))
        elif not self.quiet and sys.stdout is not None:
            from fuseconv.report.terminal import text

            click.echo(text(show, sys.stdout), nl=False)
        if failure:
            raise failure

    def answer(self, document: dict[str, Any]) -> None:
        # Also if it fails: a full disk takes no second document either.
        self.answered = True
        _answer(document)

    def warn(self, sentence: str) -> None:
        if not self.quiet:
            _say("warning", sentence)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """A function to call with the name of each stage as it starts. Shows it if somebody is looking."""
        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            yield lambda stage: None
            return
        from fuseconv.report.terminal import progress

        with progress(sys.stderr) as update:
            yield update

    def fail(self, error: Exception) -> int:
        """Prints why a command ended, and returns its exit code."""
        entry = _error_entry(error)
        if self.debug:
            import traceback

            traceback.print_exception(error)
        if self.json and not self.answered:
            self.answer(_failure_document(error))
        _say("error", entry["message"])
        if isinstance(error, UnsupportedError) and sys.stderr is not None:
            from fuseconv.report.terminal import show_unsupported, text

            click.echo(text(lambda out: show_unsupported(out, error.ops, self.verbose), sys.stderr), err=True, nl=False)
        return entry["exit_code"]


def _error_entry(error: Exception) -> dict[str, Any]:
    """`{"message", "exit_code"}` for an error; and the `"ops"` that cannot be converted, with what would help."""
    if isinstance(error, FuseconvError):
        entry: dict[str, Any] = {"message": str(error), "exit_code": error.exit_code}
        if isinstance(error, UnsupportedError):
            keys = ("op", "count", "nodes", "why")
            entry["ops"] = [dict(zip(keys, (op, len(nodes), list(nodes), why))) for op, nodes, why in error.ops]
        return entry
    if isinstance(error, click.ClickException):
        return {"message": error.format_message(), "exit_code": error.exit_code}
    if isinstance(error, MemoryError):
        message = f"this machine's memory does not suffice for the model: {error}".rstrip(": ")
        return {"message": message, "exit_code": InputError.exit_code}
    if isinstance(error, OSError) and error.strerror:
        # The machine's answer, such as a full disk or a file that may not be read.
        message = ": ".join(filter(None, (str(error.filename or ""), error.strerror)))
        return {"message": message, "exit_code": InputError.exit_code}
    return {"message": str(DefectError(f"{type(error).__name__}: {error}")), "exit_code": EXIT_DEFECT}


def _failure_document(error: Exception) -> dict[str, Any]:
    """What is known after a failure: the report of a conversion that came to its operations, and the error."""
    from fuseconv.report.json import to_json

    known = error.report if isinstance(error, UnsupportedError) else None
    return ({} if known is None else to_json(known)) | {"error": _error_entry(error)}


def _answer(document: dict[str, Any]) -> None:
    """Prints a document, with the version of its schema and who speaks."""
    from fuseconv.report.json import SCHEMA_VERSION, dumps, generator

    click.echo(dumps({"schema_version": SCHEMA_VERSION, "generator": generator()} | document), nl=False)


def _say(what: str, sentence: str) -> None:
    # A sentence may quote the model: nothing in it may reach the terminal as a command, or fill it.
    if len(sentence) > _LONGEST_SENTENCE:
        sentence = f"{sentence[:_LONGEST_SENTENCE]}... (--json has all of it)"
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asked_for_json = "--json" in args
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if asked_for_json:
                _answer(_failure_document(error))
            raise

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
            click.echo("fuseconv: interrupted", err=True)
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
            _say("error", _error_entry(error)["message"])
            sys.exit(InputError.exit_code)


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group("fuseconv", cls=Program, context_settings=_SETTINGS)
@click.version_option(package_name="fuseconv", prog_name="fuseconv")
def main() -> None:
    """Converts TensorFlow models to TensorFlow Lite, and fuses compositions of operations on the way."""


# What can be read is found out by reading it.
_PATH = click.Path(readable=False)
_model = click.argument("model", type=_PATH)
_shape = click.option("--input-shape", "input_shape", metavar="NAME=1,28,28", multiple=True,
                      help="The shape of an input; ? for a dimension that stays dynamic. Repeatable.")  # fmt: skip
_signature = click.option("--signature", "signatures", metavar="NAME", multiple=True,
                          help="A signature to take; all of them by default. Repeatable.")  # fmt: skip
_tags = click.option("--tags", metavar="TAG,...", multiple=True, help="The tags of a SavedModel's meta graph.")
_plugin = click.option("--plugin", "plugins", metavar="FILE.py", multiple=True,
                       help="A module with fusions, rules or custom Keras objects. Repeatable.")  # fmt: skip
_trust = click.option("--trust-model", is_flag=True, help="Load Lambda layers, which run code from the model.")
_links = click.option("--follow-links", is_flag=True, help="Read a SavedModel's files that are links out of it.")
_data = click.option("--data", type=_PATH, metavar="FILE.npz", help="Arrays by input name to verify with.")


_atol = click.option("--atol", type=click.FloatRange(min=0), help="A difference that is tolerated; by default 1e-6.")
_rtol = click.option("--rtol", type=click.FloatRange(min=0),
                     help="Tolerated on top, as a part of the largest expected value; by default 1e-4.")  # fmt: skip


@main.command(cls=Command)
@_model
@click.option("-o", "--output", type=_PATH, required=True, help="The .tflite file to write.")
@_signature
@_tags
@click.option("--inputs", metavar="NAME,...", multiple=True, help="The input tensors of a frozen graph.")
@click.option("--outputs", metavar="NAME,...", multiple=True, help="The output tensors of a frozen graph.")
@_shape
@click.option("--batch-size", type=click.IntRange(min=1), help="The size of every unknown first dimension.")
@_plugin
@click.option("--fuse", metavar="GLOB", multiple=True, help="Only fusions of this name. Repeatable.")
@click.option("--no-fuse", metavar="GLOB", multiple=True, help="No fusions of this name. Repeatable.")
@click.option("--verify-fusions", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Run what annotated functions hold against what they are fused to; auto: for up to a second.")
@click.option("--rnn", type=click.Choice(["fused", "loop", "unroll", "auto"]), default="fused", show_default=True,
              help="Recurrent layers: fused ops (loops without a kernel), loops, no loops, or the faster of the two.")
@click.option("--rnn-state", type=click.Choice(["written", "variable"]), default="written", show_default=True,
              help="Write the first states of recurrent ops on every invoke, or leave them to reset_all_variables.")
@_trust
@_links
@click.option("--allow-custom-ops", is_flag=True, help="Write operations that TFLite does not know as custom ones.")
@click.option("--custom-op", "custom_ops", metavar="NAME", multiple=True, help="Write this one as custom. Repeatable.")
@click.option("--select-tf-ops", is_flag=True, help="Let TensorFlow's own kernels run what TFLite has no op for.")
@click.option("--downcast-float64", is_flag=True, help="Compute in float32 what the model computes in float64.")
@click.option("--max-constant-bytes", metavar="N", help="What all constants may take, such as 500M or 2G; by default "
              "16 times the model's size, at least 256M.")
@click.option("--print-ir-before", metavar="PASS", multiple=True, help="Print the IR before this pass, or all.")
@click.option("--print-ir-after", metavar="PASS", multiple=True, help="Print the IR after this pass, or all.")
@click.option("--verify-each", is_flag=True, default=None, help="Verify the IR after each pass.")
@click.option("--report", "report_path", type=_PATH, metavar="FILE.json", help="Write the full report.")
@click.option("--verify", "verifies", is_flag=True, help="Write the file only if it computes what the model does.")
@_data
@_atol
@_rtol
@click.pass_obj
def convert(
    terminal: Terminal,
    model: str,
    output: str,
    input_shape: tuple[str, ...],
    report_path: str | None,
    verifies: bool,
    data: str | None,
    atol: float | None,
    rtol: float | None,
    **options: Any,
) -> None:
    """Convert MODEL to a .tflite file.

    MODEL is a SavedModel directory, a Keras file (.h5, .hdf5, .keras) or a frozen graph (.pb).
    """
    if not verifies and (data, atol, rtol) != (None, None, None):
        raise InputError("--data, --atol and --rtol say how to verify: add --verify")
    from fuseconv.api import convert as run
    from fuseconv.report.json import to_json
    from fuseconv.report.terminal import show_conversion, show_verification
    from fuseconv.write.output_file import resolve, temporary_path

    file = resolve(output, model, "--output")
    for several in ("tags", "inputs", "outputs"):
        options[several] = _split(options[several])
    options["input_shapes"] = shapes = _shapes(input_shape)
    verification: Verification | None = None
    failure: FuseconvError | None = None
    with _report_file(report_path, model, file) as save, terminal.progress() as update:
        try:
            # Until it is verified, and the report is written, the file has another name.
            with temporary_path(file) if verifies or report_path else contextlib.nullcontext(file) as written:
                report = run(model, written, explain=terminal.verbose, progress=update, **options).report
                report.output = output
                if verifies:
                    update("verify")
                    with report.stage("verify"):
                        verification = _verified(
                            model, written, options, data=data, input_shapes=shapes, **_given(atol=atol, rtol=rtol)
                        )
                    verification.file, failure = output, verification.failure
                    if failure:
                        report.output, report.output_bytes = "", 0
                document = to_json(report) | ({"verification": verification.to_json()} if verification else {})
                save(document)
                if failure:
                    raise failure
        except UnsupportedError as error:
            if not report_path or error.report is None:
                raise
            # Why a conversion failed is what a report is for.
            save(to_json(error.report) | {"error": _error_entry(error)})
            failure = error
        except VerificationError as error:
            if error is not failure:
                raise
    if isinstance(failure, UnsupportedError):
        raise failure
    for warning in report.warnings:
        terminal.warn(warning)

    def show(out: Console) -> None:
        show_conversion(out, report, terminal.verbose)
        if verification:
            out.print()
            show_verification(out, document["verification"])

    terminal.result(document, show, failure)


def _verified(model: str, written: Path, options: dict[str, Any], **others: Any) -> Verification:
    """The comparison of what was written with the model, which is read with the options of the conversion."""
    from fuseconv.verify import verify as compare

    shared = ("tags", "plugins", "trust_model", "follow_links")
    return compare(model, written, **{name: options[name] for name in shared}, **others)


@main.command(cls=Command)
@click.argument("file", type=_PATH)
@click.pass_obj
def inspect(terminal: Terminal, file: str) -> None:
    """Show what is in a .tflite FILE: signatures, operations, tensors, sizes."""
    from fuseconv.inspect import inspect as look
    from fuseconv.report.inspection import show_inspection

    document = look(file)
    terminal.result(document, lambda out: show_inspection(out, document, terminal.verbose))


@main.command(cls=Command)
@_model
@click.argument("file", type=_PATH)
@_data
@_atol
@_rtol
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seeds the random inputs.")
@_signature
@_tags
@_shape
@_plugin
@_trust
@_links
@click.pass_obj
def verify(
    terminal: Terminal,
    model: str,
    file: str,
    tags: tuple[str, ...],
    input_shape: tuple[str, ...],
    atol: float | None,
    rtol: float | None,
    **options: Any,
) -> None:
    """Run MODEL in TensorFlow and FILE in LiteRT on the same inputs, and compare the outputs.

    Every signature runs twice in a row, and where the batch is dynamic twice more with another batch. The inputs are
    random unless --data gives them. This runs the model: verify only models that you would run.
    """
    shapes = _shapes(input_shape)

    from fuseconv.report.terminal import show_verification
    from fuseconv.verify import verify as compare

    with terminal.progress() as update:
        update("verify")
        verification = compare(
            model, file, tags=_split(tags), input_shapes=shapes, **_given(atol=atol, rtol=rtol), **options
        )
    document = verification.to_json()
    terminal.result(document, lambda out: show_verification(out, document), verification.failure)


@main.command(cls=Command)
@_plugin
@click.pass_obj
def fusions(terminal: Terminal, plugins: tuple[str, ...]) -> None:
    """List the fusions that are loaded, and where they come from."""
    from fuseconv.fuse.plugins import load_registry
    from fuseconv.report.listing import fusion_rows
    from fuseconv.report.terminal import show_fusions

    rows = fusion_rows(load_registry(plugins))
    terminal.result({"fusions": rows}, lambda out: show_fusions(out, rows))


@main.command(cls=Command)
@_plugin
@click.pass_obj
def passes(terminal: Terminal, plugins: tuple[str, ...]) -> None:
    """List the passes of a conversion, in order: what each does, requires and ensures."""
    from functools import reduce

    from fuseconv.fuse.plugins import load_registry
    from fuseconv.pass_manager import insert, pass_rows
    from fuseconv.pipeline import CONVERT
    from fuseconv.report.terminal import show_passes

    rows = pass_rows(reduce(insert, load_registry(plugins).passes, CONVERT))
    terminal.result({"passes": rows}, lambda out: show_passes(out, rows))


@main.command(cls=Command)
@click.argument("names", metavar="[OP]...", nargs=-1)
@_plugin
@click.pass_obj
def ops(terminal: Terminal, names: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    """List the TensorFlow operations that are known, and what they become; or only those of these names.

    A name may hold wildcards. Flex says which ones TensorFlow's own kernels can run (--select-tf-ops).
    """
    from fnmatch import fnmatchcase

    from fuseconv.fuse.plugins import load_registry
    from fuseconv.lower.engine.coverage import known_ops
    from fuseconv.report.listing import rule_rows
    from fuseconv.report.terminal import show_rules

    rows = known_ops(rule_rows(load_registry(plugins)))
    unknown = [name for name in names if not any(fnmatchcase(row["op"], name) for row in rows)]
    if unknown:
        raise InputError(f"no operation is known by the name {', '.join(unknown)}: it has no rule")
    if names:
        rows = [row for row in rows if any(fnmatchcase(row["op"], name) for name in names)]
    terminal.result({"ops": rows}, lambda out: show_rules(out, rows))


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others keep the default of the function that takes them."""
    return {name: value for name, value in options.items() if value is not None}


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    """("a,b", "c") -> ("a", "b", "c")"""
    return tuple(name for value in values for name in value.split(",") if name)


def _shapes(values: tuple[str, ...]) -> dict[str, tuple[int | None, ...]]:
    """("x=1,?,3",) -> {"x": (1, None, 3)}. A name may hold an equals sign; a scalar's shape is empty."""
    shapes: dict[str, tuple[int | None, ...]] = {}
    for value in values:
        name, equals, dims = value.rpartition("=")
        try:
            shape = tuple(None if dim.strip() in ("?", "-1") else int(dim) for dim in dims.split(",") if dims.strip())
        except ValueError:
            shape = (-1,)
        if not equals or not name or any(dim is not None and dim < 0 for dim in shape):
            raise InputError(f"--input-shape {value} is no shape: write NAME=1,28,28, with ? where it stays dynamic")
        if name in shapes:
            raise InputError(f"--input-shape gives {name} twice")
        shapes[name] = shape
    return shapes


@contextlib.contextmanager
def _report_file(path: str | None, model: str, output: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that writes the report, if there is to be one. It is put in its place when the block ends well.

    That it can be written is found out before anything else is done. Raises InputError, which names `path`."""
    if path is None:
        yield lambda document: None
        return
    from fuseconv.report.json import dumps
    from fuseconv.write.output_file import atomic_write, resolve

    file = resolve(path, model, "--report")
    if file == output:
        raise InputError(f"--report {path} would overwrite the --output")
    with contextlib.ExitStack() as stack:
        with _telling(path):
            stream = stack.enter_context(atomic_write(file))

        def save(document: dict[str, Any]) -> None:
            with _telling(path):
                stream.write(dumps(document).encode())
                stream.flush()

        yield save


@contextlib.contextmanager
def _telling(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"--report {path} cannot be written: {error.strerror}") from error
