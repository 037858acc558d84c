"""The command line. Results go to standard output, progress, logs and errors to standard error.

Exit codes: 0 done; 1 a defect of fuseconv; 2 bad usage or unreadable input; 3 operations that cannot be converted;
4 the file differs from the model; 130, 143 or 129 ended by SIGINT, SIGTERM or SIGHUP. However a command ends, but by
SIGKILL, it leaves no file that is not whole.

Nothing but click is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import click

from fuseconv.cli import completion
from fuseconv.cli.measuring import compare, handed_over, handing_over, profile
from fuseconv.cli.terminal import Terminal
from fuseconv.cli.usage import DIFFERENT, REFUSED, UNSUPPORTED, GroupedCommand, Usage
from fuseconv.cli.values import given, named_for, read_metadata, read_options, with_suffix
from fuseconv.collector import collector_paused, importing
from fuseconv.errors import InputError

_VERIFYING = ("data", "atol", "rtol", "seed")
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group("fuseconv", cls=Usage, context_settings=_SETTINGS)
@click.version_option(None, "-V", "--version", package_name="fuseconv", prog_name="fuseconv")
def main() -> None:
    """Convert TensorFlow models to TensorFlow Lite, and fuse compositions of operations on the way."""


main.add_command(profile)
main.add_command(compare)


def _together(*options: Callable) -> Callable[[Callable], Callable]:
    """Return a decorator that adds these options to a command, in this order."""

    def add(command: Callable) -> Callable:
        for option in reversed(options):
            command = option(command)
        return command

    return add


# What can be read is found out by reading it.
_PATH = click.Path(readable=False)
_model = click.argument("model", type=_PATH)
_shape = click.option("--input-shape", "input_shape", metavar="NAME=1,28,28", multiple=True,
                      help="The shape of an input; ? for a dimension that stays dynamic. Repeatable.")  # fmt: skip
_range = click.option("--input-range", "input_range", metavar="NAME=LOW:HIGH", multiple=True,
                      help="The least and largest whole number that an input gets, such as ids=0:29999: guards against "
                      "others are left out. Repeatable.")  # fmt: skip
_inputs = click.option("--inputs", metavar="NAME,...", multiple=True,
                       help="Tensors to feed: the model is cut there. Names of nodes (call/node, node:1) or layers.")
_outputs = click.option("--outputs", metavar="NAME,...", multiple=True,
                        help="Tensors to return in place of the signature's outputs. Names as for --inputs.")
_rename = click.option("--rename", metavar="OLD=NEW", multiple=True,
                       help="A new name for an input or output, by which other options know it. Repeatable.")
_batch_size = click.option("--batch-size", type=click.IntRange(min=1),
                           help="The size of every unknown first dimension.")  # fmt: skip
_signature = click.option("--signature", "signatures", metavar="NAME", multiple=True,
                          help="A signature to take; all of them by default. Repeatable.")  # fmt: skip
_tags = click.option("--tags", metavar="TAG,...", multiple=True, help="The tags of a SavedModel's meta graph.")
_plugin = click.option("--plugin", "plugins", metavar="FILE.py", multiple=True,
                       help="A module with fusions, rules or custom Keras objects. Repeatable.")  # fmt: skip
_trust = click.option("--trust-model", is_flag=True, help="Load Lambda layers, which run code from the model.")
_links = click.option("--follow-links", is_flag=True, help="Read a SavedModel's files that are links out of it.")
# How a model is read, and which part of it: `_reading` has them all, and `read_options` what they say.
_reading = _together(
    _signature, _tags, _inputs, _outputs, _rename, _shape, _batch_size, _range, _plugin, _trust, _links
)
_comparing = _together(
    click.option("--data", type=_PATH, metavar="FILE.npz",
                 help="Arrays by input name to verify with: whole batches, or the samples that calibrate."),
    click.option("--atol", type=click.FloatRange(min=0), help="A difference that is tolerated; by default 1e-6."),
    click.option("--rtol", type=click.FloatRange(min=0),
                 help="Tolerated on top, as a part of the largest expected value; by default 1e-4, and more of a "
                      "quantized file, or of a model in 16 bits."),
)  # fmt: skip


_FORMS = click.Choice(["float16", "dynamic", "int4", "int8", "int16x8"])
_FORMS_HELP = "Store weights in 16 bits, or in 8 (or 4) where kernels take them beside floats; or compute in integers."


class _Numbers(click.ParamType):
    """Numbers with commas between them: "0.5,1" -> [0.5, 1.0]."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        try:
            return [float(number) for number in str(value).split(",")]  # a configuration file has numbers
        except ValueError:
            self.fail(f"{value} is no list of numbers: write 127.5, or one for each channel", param, ctx)


# Of every command that writes a file: how it is quantized, but for the form itself, and how it is told of and checked.
_writing = _together(
    click.option("--calibration-data", type=_PATH, metavar="FILE.npz|DIR|FILE.py",
                 help="Samples of real inputs, for int8 and int16x8; dynamic and int4 are more exact with some: "
                 "a file with an array for each input, of samples or of rows of a batch; a directory of such files, or "
                 "of JPEG or PNG images; or a script, which runs, whose samples() yields dicts of arrays."),
    click.option("--calibration-samples", type=click.IntRange(min=1), help="Use the first so many samples."),
    click.option("--image-mean", type=_Numbers(), metavar="M[,M,M]",
                 help="Of images: what is subtracted from the numbers 0 to 255, for all channels or for each."),
    click.option("--image-scale", type=_Numbers(), metavar="S[,S,S]",
                 help="Of images: what they are divided by then."),
    click.option("--calibrate", default="minmax", show_default=True, metavar="minmax|mse|percentile:P",
                 help="Ranges hold all that samples give, the part with the least squared error, or P of 100 numbers."),
    click.option("--block-size", type=int, metavar="32|64|128",
                 help="Of int4: a scale for each so many inputs, for XNNPACK; else one for each output."),
    click.option("--io-types", default="float", show_default=True, metavar="TYPE[,NAME=TYPE]",
                 help="float, int8, uint8 or int16 for inputs and outputs of files in integers."),
    click.option("--no-quantize", metavar="GLOB", multiple=True,
                 help="Ops, tensors or layers that stay float. Repeatable."),
    click.option("--quantize-only", metavar="GLOB", multiple=True,
                 help="Only these ops, tensors or layers. Repeatable."),
    click.option("--keep-float-under", type=click.FloatRange(min=0, min_open=True), metavar="PART",
                 help="Leave the ops float that cost most, until no output differs by more than this part of its "
                 "range, such as 0.01. Each op is tried alone, which takes time."),
    click.option("--quantize-report", type=_PATH, metavar="FILE.json|FILE.html",
                 help="Write the error of each op against floats, its type, bytes and why it stayed float, measured on "
                 "the samples behind the first --calibration-samples, if there are more."),
    click.option("--strip-names", is_flag=True,
                 help="Leave out the names of tensors between inputs and outputs, which TFLite Micro does not read; a "
                 "C array has none."),
    click.option("--max-constant-bytes", metavar="N",
                 help="What all constants may take, such as 500M or 2G; by default 16 times the model's size, at least "
                 "256M."),
    click.option("--print-ir-before", metavar="PASS", multiple=True, shell_complete=completion.passes_or_all,
                 help="Print the IR before this pass, or all."),
    click.option("--print-ir-after", metavar="PASS", multiple=True, shell_complete=completion.passes_or_all,
                 help="Print the IR after this pass, or all."),
    click.option("--verify-each", is_flag=True, default=None, help="Verify the IR after each pass."),
    click.option("--report", "report_path", type=_PATH, metavar="FILE.json|FILE.html",
                 help="Write the full report, for programs or as a page for a browser."),
    click.option("--verify", "verifies", is_flag=True, help="Write the file only if it computes what the model does."),
    _comparing,
    click.option("--seed", type=click.IntRange(min=0), help="Seeds the random inputs of --verify."),
)  # fmt: skip


@main.command(cls=GroupedCommand, examples=(
    "fuseconv convert saved_model_dir --verify",
    "fuseconv convert model.keras -o out.tflite --batch-size 1 --report out.html",
    "fuseconv convert model.h5 --quantize int8 --calibration-data samples.npz",
    "fuseconv convert frozen.pb --outputs probabilities -o - > out.tflite",
    "fuseconv convert a.keras b.keras c.keras -o files/",
), exit_codes=(UNSUPPORTED, f"{DIFFERENT}, or {REFUSED}"))  # fmt: skip
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=_PATH)
@click.option("-o", "--output", type=_PATH,
              help="The .tflite file to write, - for stdout, or a directory for files of the models' names; by default "
              "MODEL.tflite in the working directory. With .cc, .cpp, .c, .h or .hpp, a C array.")
@_reading
@click.option("--fuse", metavar="GLOB", multiple=True, shell_complete=completion.fusions,
              help="Only fusions of this name. Repeatable.")
@click.option("--no-fuse", metavar="GLOB", multiple=True, shell_complete=completion.fusions,
              help="No fusions of this name. Repeatable.")
@click.option("--verify-fusions", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Run annotated functions, and patterns of plug-ins, against fused ops; auto: for up to a second.")
@click.option("--rnn", type=click.Choice(["fused", "loop", "unroll", "auto"]), default="fused", show_default=True,
              help="Recurrent layers become fused ops (loops where there is no kernel), loops, steps without a loop, "
              "or the faster of these two.")
@click.option("--rnn-state", type=click.Choice(["written", "variable"]), default="written", show_default=True,
              help="Write the first states of recurrent ops on every invoke, or leave them to reset_all_variables.")
@click.option("--target", metavar="NAME", shell_complete=completion.targets,
              help="Write ops in forms that gpu, coreml, xnnpack, micro, qnn, mediatek, openvino, google-tensor or a "
              "plug-in's target takes, and tell which ops it refuses.")
@click.option("--strict", is_flag=True, help="End with exit code 4, without a file, if the target refuses an op.")
@click.option("--composites", metavar="GLOB", multiple=True,
              help="Write these composites, such as odml.*, which NPUs know by name; by default those that the target "
              "takes. Repeatable.")
@click.option("--keras-loader", type=click.Choice(["auto", "data", "keras"]), default="auto", show_default=True,
              help="Read Keras files as data, or through Keras; auto: through Keras where a layer is not known.")
@click.option("--allow-custom-ops", is_flag=True, help="Write operations that TFLite does not know as custom ones.")
@click.option("--custom-op", "custom_ops", metavar="NAME", multiple=True,
              help="Write ops of this type as custom ones. Repeatable.")
@click.option("--select-tf-ops", is_flag=True, help="Let TensorFlow's own kernels run what TFLite has no op for.")
@click.option("--downcast-float64", is_flag=True, help="Compute in float32 what the model computes in float64.")
@click.option("--metadata", metavar="KEY=VALUE,...", multiple=True,
              help="What the file tells readers of tflite-support: name, description, version, author, license, labels "
              "or value_labels (a file), mean, std. labels:OUTPUT=FILE says of which output. Repeatable.")
@click.option("--quantize", type=_FORMS, help=_FORMS_HELP)
@_writing
@click.pass_obj
def convert(
    terminal: Terminal, models: tuple[str, ...], output: str | None, report_path: str | None, **options: Any
) -> None:
    """Convert MODEL to a .tflite file.

    MODEL is a SavedModel directory, a Keras file (.h5, .hdf5, .keras), a frozen graph (.pb) or a StableHLO module
    (.mlirbc). Several models become a file each, by a process for each core; the exit code is that of the worst.
    """
    verifying = _verifying(options)
    options["metadata"] = read_metadata(options["metadata"])
    options = read_options(options) | {"explain": terminal.verbose, "source_graph": report_path is not None}
    if len(models) == 1:
        with importing():
            from fuseconv import api
            from fuseconv.cli.outputs import convert_one

        # What a conversion leaves behind goes with the process. TensorFlow, which verifies, leaves more.
        with collector_paused() if verifying is None else nullcontext():
            convert_one(terminal, models[0], output, report_path, verifying, options, api.convert, named_for)
    else:
        from fuseconv.cli.several_models import convert_each

        convert_each(terminal, models, output, report_path, verifying, options)


@main.command(cls=GroupedCommand, examples=(
    "fuseconv quantize float.tflite -o small.tflite --quantize dynamic",
    "fuseconv quantize float.tflite -o small.tflite --quantize int8 --calibration-data samples.npz --verify",
), exit_codes=(UNSUPPORTED, DIFFERENT))  # fmt: skip
@click.argument("file", type=_PATH)
@click.option("-o", "--output", type=_PATH, required=True,
              help="The .tflite file to write, - for stdout, or a directory for a file of the same name. With .cc, "
              ".cpp, .c, .h or .hpp, a C array.")
@click.option("--quantize", type=_FORMS, required=True, help=_FORMS_HELP)
@_writing
@click.pass_obj
def quantize(terminal: Terminal, file: str, output: str, report_path: str | None, **options: Any) -> None:
    """Quantize FILE, a .tflite file of floats, whoever made it.

    The options are those of convert. For int8 and int16x8, and with --verify, FILE runs in LiteRT.
    """
    with importing():
        from fuseconv.api import quantize_file
        from fuseconv.cli.outputs import convert_one

    verifying = _verifying(options)
    convert_one(terminal, file, output, report_path, verifying, options, quantize_file, with_suffix)


@main.command(cls=GroupedCommand, examples=(
    "fuseconv inspect model.tflite",
    "fuseconv inspect model.tflite --target gpu --strict",
    "fuseconv inspect model.tflite --micro-resolver > resolver.inc",
), exit_codes=(f"4 {REFUSED}",))  # fmt: skip
@click.argument("file", type=_PATH)
@click.option("--target", metavar="NAME", shell_complete=completion.targets,
              help="Check it by the rules of this target, and tell what it refuses.")
@click.option("--report", "report_path", type=_PATH, metavar="FILE.json",
              help="The report of the conversion, which tells the layers of the ops that are refused, and fusions.")
@click.option("--strict", is_flag=True, help="End with exit code 4 if the target refuses an op.")
@click.option("--micro-resolver", "resolves", is_flag=True,
              help="Only the C++ that registers the ops with TFLite Micro's interpreter, to be pasted.")
@_plugin
@handing_over
@click.pass_obj
def inspect(
    terminal: Terminal, file: str, target: str | None, report_path: str | None, strict: bool, plugins: tuple[str, ...],
    resolves: bool, model_explorer: str | None, **documents: str | None,
) -> None:
    """Show what is in a .tflite FILE, whoever made it: signatures, operations, tensors, sizes.

    With a target, such as gpu, coreml, xnnpack, micro, qnn, mediatek, openvino or google-tensor: which operations it
    does not take, by which rule.
    """
    from fuseconv.inspecting import inspect as look
    from fuseconv.report.inspection import show_inspection, show_resolver

    failure = None
    if target is None:
        if (report_path is not None and model_explorer is None) or strict or plugins:
            raise InputError("--report, --strict and --plugin are for a --target: add it")
        document = look(file)
    else:
        from fuseconv.cli.target import check_target, refusal

        document = check_target(file, target, report_path, plugins)
        failure = refusal(document["target"], file) if strict else None
    document |= handed_over(file, model_explorer, report_path, documents)
    show = show_resolver if resolves else show_inspection
    terminal.result(document, lambda out: show(out, document, terminal.verbose), failure)


@main.command(cls=GroupedCommand, examples=(
    "fuseconv verify saved_model_dir model.tflite",
    "fuseconv verify model.keras model.tflite --data inputs.npz --layers",
), exit_codes=(UNSUPPORTED, DIFFERENT))  # fmt: skip
@_model
@click.argument("file", type=_PATH)
@_comparing
@click.option("--layers", is_flag=True,
              help="Compare each op, too, with that of the model as a file of floats, and name where errors grow.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seeds the random inputs.")
@_reading
@click.pass_obj
def verify(
    terminal: Terminal,
    model: str,
    file: str,
    atol: float | None,
    rtol: float | None,
    **options: Any,
) -> None:
    """Run MODEL in TensorFlow and FILE in LiteRT on the same inputs, and compare the outputs.

    Every signature runs twice in a row, and where the batch is dynamic twice more with another batch. The inputs are
    random unless --data gives them. Of a file of a part of the model, give the --inputs, --outputs and --rename that it
    was converted with. This runs the model: verify only models that you would run.
    """
    options = read_options(options)

    from fuseconv.report.tables import show_verification
    from fuseconv.verifying import verify as compare

    with terminal.progress() as update:
        update("verify")
        verification = compare(model, file, progress=update, **given(atol=atol, rtol=rtol), **options)
    document = verification.to_json()
    terminal.result(document, lambda out: show_verification(out, document), verification.failure)


@main.command(cls=GroupedCommand, examples=("fuseconv fusions '*lstm*'", "fuseconv fusions --plugin acme_fusions.py"))
@click.argument("names", metavar="[FUSION]...", nargs=-1, shell_complete=completion.fusions)
@_plugin
@click.pass_obj
def fusions(terminal: Terminal, names: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    """List the fusions that are loaded, and where they come from; or only those of these names.

    A name may hold wildcards.
    """
    from fuseconv.fuse.plugins import load_registry
    from fuseconv.report.listing import fusion_rows
    from fuseconv.report.tables import show_fusions

    registry = load_registry(plugins)
    for warning in registry.warnings:
        terminal.warn(warning)
    rows = _named(fusion_rows(registry), "name", names, "fusion")
    terminal.result({"fusions": rows}, lambda out: show_fusions(out, rows))


@main.command(cls=GroupedCommand, examples=("fuseconv passes 'fuse-*'",))
@click.argument("names", metavar="[PASS]...", nargs=-1, shell_complete=completion.passes)
@_plugin
@click.pass_obj
def passes(terminal: Terminal, names: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    """List the passes of a conversion, in order: what each does, requires and ensures; or only those of these names.

    A name may hold wildcards.
    """
    from functools import reduce

    from fuseconv.fuse.plugins import load_registry
    from fuseconv.pass_manager import insert, pass_rows
    from fuseconv.pipeline import CONVERT
    from fuseconv.report.tables import show_passes

    rows = _named(pass_rows(reduce(insert, load_registry(plugins).passes, CONVERT)), "name", names, "pass")
    terminal.result({"passes": rows}, lambda out: show_passes(out, rows))


@main.command(cls=GroupedCommand, examples=("fuseconv ops Conv3D 'Sparse*'",))
@click.argument("names", metavar="[OP]...", nargs=-1)
@_plugin
@click.pass_obj
def ops(terminal: Terminal, names: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    """List the TensorFlow operations that are known, and what they become; or only those of these names.

    A name may hold wildcards. Flex says which ones TensorFlow's own kernels can run (--select-tf-ops).
    """
    from fuseconv.fuse.plugins import load_registry
    from fuseconv.lower.engine.coverage import known_ops
    from fuseconv.report.listing import rule_rows
    from fuseconv.report.tables import show_rules

    rows = known_ops(rule_rows(load_registry(plugins)))
    rows = _named(rows, "op", names, "operation")
    terminal.result({"ops": rows}, lambda out: show_rules(out, rows))


@main.command("new-plugin", cls=GroupedCommand, examples=("fuseconv new-plugin acme && cd acme && python -m pytest",))
@click.argument("name")
@click.pass_obj
def new_plugin(terminal: Terminal, name: str) -> None:
    """Write a package with a fusion, a rule, their tests and an entry point into a new directory NAME."""
    from pathlib import Path

    from fuseconv.cli.new_plugin import write_plugin

    files = [str(path) for path in write_plugin(name, Path(name))]
    terminal.result({"files": files}, lambda out: out.print("\n".join(files), markup=False, highlight=False))


def _named(rows: list[dict[str, Any]], key: str, names: tuple[str, ...], what: str) -> list[dict[str, Any]]:
    """Return the rows of these names, which may hold wildcards; without names all. Raises InputError for a name that
    fits none."""
    from fnmatch import fnmatchcase

    known = [row[key] for row in rows]
    for name in names:
        if not any(fnmatchcase(each, name) for each in known):
            raise InputError(f"no {what} is known by the name {name}{_meant(name, known)}")
    return [row for row in rows if not names or any(fnmatchcase(row[key], name) for name in names)]


def _meant(name: str, known: list[str]) -> str:
    """Return what may be meant by a name that is none: names that hold it, or the one that is most like it."""
    from fuseconv.errors import suggestion

    within = [each for each in known if name.lower() in each.lower()]
    if len(within) < 2 or name.lower() in map(str.lower, within):
        return suggestion(name, known)
    start = within[0].lower().index(name.lower())
    part = within[0][start : start + len(name)]
    return f"; did you mean \"*{part}*\" ({', '.join(within[:3])}{', ...' if within[3:] else ''})?"


def _verifying(options: dict[str, Any]) -> dict[str, Any] | None:
    """Take the options of a verification out of those of a command, and return them; None if there is to be none."""
    verifies, told = options.pop("verifies"), given(**{name: options.pop(name) for name in _VERIFYING})
    if told and not verifies:
        raise InputError("--data, --atol, --rtol and --seed say how to verify: add --verify")
    return told if verifies else None
