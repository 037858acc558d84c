"""The files that `convert` and `quantize` write: the model, verified if asked for, and the report, both or neither."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuseconv.cli.target import refusal
from fuseconv.cli.terminal import Terminal, error_entry
from fuseconv.errors import FuseconvError, InputError, UnsupportedError, VerificationError
from fuseconv.report.json import dumps, to_json
from fuseconv.report.micro import head
from fuseconv.report.quantization import check_suffix, quantization_report
from fuseconv.report.records import Report
from fuseconv.write.c_array import become_c_array, is_c_array
from fuseconv.write.output_file import atomic_write, resolve, resolve_model, temporary_path

if TYPE_CHECKING:
    from rich.console import Console

    from fuseconv.api import Conversion
    from fuseconv.verifying import Verification


_REPORTS = (".json", ".html")


@dataclass
class Written:
    """A conversion that came to its end: the report, the document of both, and why the file was not kept, if so."""

    report: Report
    document: dict[str, Any]
    failure: FuseconvError | None = None

    def show(self, out: Console, verbose: bool) -> None:
        from fuseconv.report.tables import show_conversion, show_verification  # with --json, nothing is shown

        show_conversion(out, self.report, verbose)
        if "verification" in self.document:
            out.print()
            show_verification(out, self.document["verification"])

    def tell(self, terminal: Terminal) -> None:
        """Print the warnings and the result. Raises the failure, if there is one."""
        for warning in self.report.warnings:
            terminal.warn(warning)
        terminal.result(self.document, lambda out: self.show(out, terminal.verbose), self.failure)


def convert_to_file(
    terminal: Terminal,
    model: str,
    output: str,
    report_path: str | None,
    verifying: dict[str, Any] | None,
    options: dict[str, Any],
    convert: Callable[..., Conversion],
) -> Written:
    """Convert or quantize, verify if `verifying` (the options of that) is given, and put the file and the report in
    their places. convert: the function of `fuseconv.api` that does so.

    Raises InputError, before anything is done if a file cannot be written, and UnsupportedError, once the report tells
    why."""
    file = resolve_model(output, model)
    page, strict = options.pop("quantize_report", None), options.pop("strict", False)
    if strict and options.get("target") is None:
        raise InputError("--strict is for a --target: add it")
    _check_pages(report_path, page)
    options |= {"plan_arena": True, "strip_names": True} if is_c_array(file) else {}
    options |= {} if page is None else {"compare_quantized": True}
    with (
        _report_file(report_path, model, (file,), "--report") as save,
        _report_file(page, model, (file, report_path), "--quantize-report") as save_page, terminal.progress() as update,
    ):  # fmt: skip
        written = None
        try:
            # Until it is verified, and the report is written, the file has another name.
            waits = verifying is not None or report_path or strict
            with temporary_path(file) if waits else contextlib.nullcontext(file) as path:
                conversion = convert(model, path, progress=update, **options)
                conversion.report.output = output
                written = _judged(conversion, model, path, verifying, strict, options, update)
                save(_report(report_path, written.document, None if written.failure else path))
                if path != file and is_c_array(file):
                    written.report.bytes_of_c = become_c_array(path, file.name, head(written.report))
                if page is not None:
                    save_page(quantization_report(written.report, page))
                if written.failure:
                    raise written.failure  # the file goes away
                return written
        except UnsupportedError as error:
            if error.report is None:
                raise
            # Why a conversion failed is what a report is for.
            save(_report(report_path, to_json(error.report) | {"error": error_entry(error)}, None))
            unsupported = error
        except VerificationError as error:
            if written is None or error is not written.failure:
                raise
            return written
    raise unsupported


def _judged(
    conversion: Conversion, model: str, path: Path, verifying: dict[str, Any] | None, strict: bool,
    options: dict[str, Any], update: Callable[[str], None],
) -> Written:  # fmt: skip
    """Verify the file that stands at `path`, if that is asked for, and hold it to its target, if that is `strict`."""
    report = conversion.report
    written, verified = Written(report, {}), {}
    if verifying is not None:
        update("verify")
        with report.stage("verify"):
            verifying |= {"progress": update, "samples": conversion.samples}
            verification = _verify(model, path, options, verifying)
        verification.file, written.failure = report.output, verification.failure
        verified = {"verification": verification.to_json()}
    if strict and report.target and written.failure is None:
        written.failure = refusal(report.target, model)
    if written.failure:
        report.output, report.output_bytes = "", 0
    written.document = to_json(report) | verified
    return written


def _check_pages(report_path: str | None, quantize_report: str | None) -> None:
    """Refuse pages that could not be written: without what makes them, nothing needs to be done."""
    if quantize_report is not None:
        check_suffix(quantize_report)
    if _is_page(report_path):
        from fuseconv.report.page import page_template

        page_template()


def _is_page(report_path: str | None) -> bool:
    return report_path is not None and Path(report_path).suffix.lower() == ".html"


def _report(report_path: str | None, document: dict[str, Any], file: Path | None) -> bytes:
    """Encode the report in the form that the end of its path says. file: that it tells of, if there is one."""
    if report_path is None:
        return b""
    if not _is_page(report_path):
        return dumps(document).encode()
    from fuseconv.inspecting import inspect
    from fuseconv.report.page import to_page

    return to_page(document, None if file is None else inspect(file)).encode()


def _verify(model: str, path: Path, options: dict[str, Any], verifying: dict[str, Any]) -> Verification:
    """Compare a file that was written with the model, which is read with the options of the conversion."""
    from fuseconv.verifying import verify

    shared = ("tags", "plugins", "trust_model", "follow_links", "inputs", "outputs", "rename",
              "input_shapes", "batch_size", "input_ranges")  # fmt: skip
    return verify(model, path, **{name: options[name] for name in shared if name in options}, **verifying)


@contextlib.contextmanager
def _report_file(
    path: str | None, model: str, others: tuple[str | Path | None, ...], option: str
) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes a report, if there is to be one. It is put in its place when the block ends well.

    That it can be written is found out before anything else is done. others: files that are written as well. Raises
    InputError, which names `path`."""
    if path is None:
        yield lambda contents: None
        return
    file = resolve(path, model, option)
    if file in [Path(other).resolve() for other in others if other is not None]:
        raise InputError(f"{option} {path} would overwrite the {'--output' if file == others[0] else '--report'}")
    if file.suffix.lower() not in _REPORTS:
        raise InputError(f"{option} {path}: end its name with {' or '.join(_REPORTS)}")
    with contextlib.ExitStack() as stack:
        with _telling(option, path):
            stream = stack.enter_context(atomic_write(file))

        def save(contents: bytes) -> None:
            with _telling(option, path):
                stream.write(contents)
                stream.flush()

        yield save


@contextlib.contextmanager
def _telling(option: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{option} {path} cannot be written: {error.strerror}") from error
