"""The commands that measure files, `profile` and `compare`, and the options that hand over what is known of one."""

from __future__ import annotations

from collections.abc import Callable

import click

from fuseconv.cli.terminal import Terminal
from fuseconv.cli.usage import GroupedCommand
from fuseconv.errors import InputError

_PATH = click.Path(readable=False)
_runs = click.option("--runs", type=click.IntRange(min=0), default=20, show_default=True,
                     help="How often each file runs; 0: never.")  # fmt: skip
_data = click.option("--data", type=_PATH, metavar="FILE.npz",
                     help="The inputs, arrays by the names of inputs: whole batches, or the samples that calibrate; "
                     "random ones without.")  # fmt: skip
_threads = click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True,
                        help="Threads of the runtime.")  # fmt: skip
_delegate = click.option("--delegate", type=click.Choice(["xnnpack", "none"]), default="xnnpack", show_default=True,
                         help="What computes: LiteRT's default, or its own kernels alone.")  # fmt: skip


def handing_over(command: Callable) -> Callable:
    """Add the options of `inspect` that write files for Model Explorer."""
    for name, key, metavar, text in (
        ("--quantize-report", "quantization", "Q.json", "With the errors that --quantize-report Q.json told."),
        ("--profile", "profile", "P.json", "With the times that `profile FILE --json` printed."),
        ("--model-explorer", "model_explorer", "DIR",
         "Write node data for Model Explorer, and with --report the model's graph."),
    ):
        command = click.option(name, key, type=_PATH, metavar=metavar, help=text)(command)
    return command


def handed_over(
    file: str, folder: str | None, report: str | None, documents: dict[str, str | None]
) -> dict[str, list[str]]:
    """Write what `handing_over` asks for; return `{"model_explorer": paths}`, nothing if there is no folder."""
    if folder is None:
        if any(documents.values()):
            raise InputError("--profile and --quantize-report are for --model-explorer: add it")
        return {}
    from fuseconv.model_explorer.hand_over import hand_over

    return {"model_explorer": [str(path) for path in hand_over(file, folder, report=report, **documents)]}


@click.command(cls=GroupedCommand, examples=(
    "fuseconv profile model.tflite --threads 4",
    "fuseconv profile model.tflite --data inputs.npz --report report.json",
))  # fmt: skip
@click.argument("file", type=_PATH)
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True,
              help="How often the whole file runs.")
@_data
@_threads
@_delegate
@click.option("--batch-size", type=click.IntRange(min=1),
              help="The size of first dimensions that are not fixed; 1 by default, or what --data has.")
@click.option("--report", "report_path", type=_PATH, metavar="FILE.json",
              help="The report of FILE's conversion, which tells the layers of ops.")
@click.pass_obj
def profile(
    terminal: Terminal, file: str, runs: int, data: str | None, threads: int, delegate: str, batch_size: int | None,
    report_path: str | None,
) -> None:
    """Time FILE in LiteRT, on random inputs or --data: the whole, each op alone, and the sums of types and layers.

    An op is timed in a file of its own, so that the sum of all is not quite the time of the whole: the last line tells
    how near it is. This runs the file.
    """
    from fuseconv.profiling import profile as measure
    from fuseconv.report.json import read_report
    from fuseconv.report.timings import show_profile

    report = None if report_path is None else read_report(report_path)
    with terminal.progress() as update:
        found = measure(file, runs=runs, threads=threads, delegate=delegate, data=data, batch_size=batch_size,
                        report=report, progress=update)  # fmt: skip
    document = found.to_json()
    terminal.result(document, lambda out: show_profile(out, document, terminal.verbose))


@click.command(cls=GroupedCommand, examples=("fuseconv compare float.tflite int8.tflite --data inputs.npz",))
@click.argument("one", metavar="A", type=_PATH)
@click.argument("other", metavar="B", type=_PATH)
@_runs
@_data
@_threads
@_delegate
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seeds the random inputs.")
@click.pass_obj
def compare(
    terminal: Terminal, one: str, other: str, runs: int, data: str | None, threads: int, delegate: str, seed: int
) -> None:
    """Show two .tflite files side by side: bytes, ops, latency, and their outputs on the same inputs.

    Differences are told and fail nothing: verify does. This runs the files.
    """
    from fuseconv.comparing import compare_files
    from fuseconv.report.timings import show_comparison

    with terminal.progress() as update:
        found = compare_files(
            one, other, runs=runs, threads=threads, delegate=delegate, data=data, seed=seed, progress=update
        )
    document = found.to_json()
    terminal.result(document, lambda out: show_comparison(out, document))
