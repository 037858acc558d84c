"""How the commands are called: help in groups with examples, common options in any place, one style of errors."""

from __future__ import annotations

from typing import Any

import click
from click import types

from fuseconv.cli.config import PYPROJECT, defaults_of
from fuseconv.cli.terminal import Command, Program, failure_document, print_document, say, usage_sentence
from fuseconv.errors import InputError

# Options that all commands have, which may stand before the command as well.
_COMMON = frozenset({"--json", "-q", "--quiet", "-v", "--verbose", "--debug"})
# Of every command; a command says what else it may end with.
_EXIT_CODES = ("0 done", "1 a defect of fuseconv", "2 bad usage, or what cannot be read")
UNSUPPORTED = "3 operations that cannot be converted"
DIFFERENT = "4 the file and the model differ"
REFUSED = "--strict found what the target refuses"
# The headings of a command's help, with the parameters below each; others stand below "Options".
_GROUPS = {
    "The model": ("signatures", "tags", "inputs", "outputs", "rename", "input_shape", "batch_size", "input_range",
                  "keras_loader", "trust_model", "follow_links", "max_constant_bytes"),
    "The file": ("output", "target", "strict", "composites", "allow_custom_ops", "custom_ops", "select_tf_ops",
                 "downcast_float64", "metadata", "strip_names", "report_path"),
    "Fusions and recurrent layers": ("fuse", "no_fuse", "verify_fusions", "plugins", "rnn", "rnn_state"),
    "Quantization": ("quantize", "calibration_data", "calibration_samples", "image_mean", "image_scale", "calibrate",
                     "block_size", "io_types", "no_quantize", "quantize_only", "keep_float_under", "quantize_report"),
    "Running and comparing": ("verifies", "data", "atol", "rtol", "seed", "layers", "runs", "threads", "delegate"),
    "For developers of fuseconv": ("print_ir_before", "print_ir_after", "verify_each"),
    "Of every command": ("config", "json", "quiet", "verbose", "debug", "help"),
}  # fmt: skip


class Usage(Program):
    """The commands, with the options that all have before or after them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        count = next((number for number, arg in enumerate(args) if arg not in _COMMON), len(args))
        with _one_style(ctx, args):
            if args and count == len(args):
                raise click.UsageError("Missing command", ctx)
            if args and not args[count].startswith("-"):
                args = [args[count], *args[:count], *args[count + 1 :]]
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        with _one_style(ctx, args):
            return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click cuts the sentences at the width of the terminal.
        rows = [(name, (command.help or "").partition("\n\n")[0].replace("\n", " ").strip())
                for name, command in sorted(self.commands.items())]  # fmt: skip
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class GroupedCommand(Command):
    """A command whose options are shown in groups, and have defaults in a configuration file.

    examples: lines for the end of its help. exit_codes: those that not every command has, with what they mean."""

    def __init__(
        self, *args: Any, examples: tuple[str, ...] = (), exit_codes: tuple[str, ...] = (), **kwargs: Any
    ) -> None:
        lines = "".join(f"\n  {line}" for line in examples)
        codes = f"Exit codes: {'; '.join((*_EXIT_CODES, *exit_codes))}."
        kwargs["epilog"] = (f"\b\nExamples:{lines}\n\n" if lines else "") + codes
        super().__init__(*args, **kwargs)
        self.params.append(click.Option(
            ["--config"], metavar="FILE.toml", is_eager=True, expose_value=False, callback=_configure,
            help="Defaults of options, in a table with the name of the command; else [tool.fuseconv.COMMAND] of a "
            "pyproject.toml here.",
        ))  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _one_style(ctx, list(args)):  # click takes them out as it reads them
            _refuse_empty(ctx, args)
            return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options below their headings."""
        group_of = {name: heading for heading, names in _GROUPS.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                name = "help" if "--help" in parameter.opts else str(parameter.name)
                rows.setdefault(group_of.get(name, "Options"), []).append(record)
        for heading in ("Options", *_GROUPS):
            if heading in rows:
                with formatter.section(heading):
                    formatter.write_dl(rows[heading])


def _refuse_empty(ctx: click.Context, args: list[str]) -> None:
    """Raise UsageError for what is "", as of a variable of the shell that is not set; a path would be the working
    directory."""
    for before, arg in zip(["", *args], args):
        option, equals, value = arg.partition("=")
        if not arg or (option.startswith("--") and equals and not value):
            name = next((each for each in (option, before) if each.startswith("-")), "an argument")
            raise click.UsageError(f"{name} is empty", ctx)


class _one_style:
    """Let an error of usage be told as all others are: "fuseconv: error: ...", where there is help, and as JSON if
    `args` ask for that."""

    def __init__(self, ctx: click.Context, args: list[str]) -> None:
        self.asked_for_json = "--json" in args
        self.help = f"see `{ctx.command_path} --help`"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, click.UsageError) and not isinstance(error, click.exceptions.NoArgsIsHelpError):
            told = usage_sentence(error)
            message = f"{told}{'' if told.endswith('?') else ';'} {self.help}"
            error.show = lambda file=None: say("error", message)  # type: ignore[method-assign]
            if self.asked_for_json:
                print_document(failure_document(error))


def _configure(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Take the defaults of the command's options from a file."""
    options = {
        option.removeprefix("--"): item for item in ctx.command.params if isinstance(item, click.Option)
        for option in item.opts
    }  # fmt: skip
    names = [name for name, item in options.items() if item.name != "config"]
    try:
        group = ctx.parent.command if ctx.parent is not None else None
        commands = group.commands if isinstance(group, click.Group) else ()
        given = defaults_of(ctx.info_name or "", path, names, commands)
        found = {str(options[name].name): _converted(options[name], value, path) for name, value in given.items()}
    except InputError as error:
        raise click.UsageError(str(error), ctx) from error
    ctx.default_map = {**(ctx.default_map or {}), **found}


def _converted(option: click.Option, value: Any, path: str | None) -> Any:
    """Convert a value of a file of options for click: to a list, of an option that may be repeated. Raises InputError
    for a value of another type than it takes."""
    name = f"{path or PYPROJECT}: {option.opts[-1].removeprefix('--')}"
    if option.is_flag != isinstance(value, bool):
        raise InputError(f"{name} is {'true or false' if option.is_flag else 'no flag'}: not {value!r}")
    if isinstance(value, list):
        if not option.multiple:
            raise InputError(f"{name} takes one value, not a list")
        return value
    if isinstance(option.type, (types.IntParamType, types.FloatParamType)) and isinstance(value, str):
        raise InputError(f"{name} is a number, not {value!r}")
    if isinstance(option.type, types.IntParamType) and isinstance(value, float):
        raise InputError(f"{name} is a whole number, not {value!r}")
    return [value] if option.multiple else value
