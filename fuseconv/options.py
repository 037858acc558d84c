"""The options of conversions and quantizations, checked: of values, and of which go together."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from fuseconv.errors import InputError
from fuseconv.fuse.numeric_check import MODES as CHECK_MODES
from fuseconv.input_ranges import read_ranges
from fuseconv.input_shapes import read_shapes
from fuseconv.ir.budget import Budget, parse_size
from fuseconv.load import KERAS_LOADERS
from fuseconv.quantize import MEASURED, QUANTIZATIONS, ROUNDED, checked_block_size
from fuseconv.quantize.calibrate import MINMAX, Calibration, parse_method
from fuseconv.quantize.floats import Floats
from fuseconv.quantize.io_types import FLOAT, parse_io_types
from fuseconv.quantize.selection import Selection
from fuseconv.targets.target import Target
from fuseconv.transforms.loops.unroll_policy import MODES as RNN_MODES
from fuseconv.transforms.rnn.persist_states import MODES as STATE_MODES

if TYPE_CHECKING:
    from fuseconv.quantize.samples import Sample, Samples

_Self = TypeVar("_Self", bound="QuantizeOptions")


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of `quantize_file`, and of `convert` as far as it quantizes.

    quantize: "float16" stores weights in 16 bits, "dynamic" in 8 where a kernel takes them so beside floats, "int4"
        those of dense layers in 4; "int8" computes in integers of 8 bits, "int16x8" in such of 16 with weights of 8.
    calibration_data: what ranges are measured on: a file or directory (`quantize/samples.py`), or dicts of an array for
        each input, with its batch. "int8" and "int16x8" need it; "dynamic" and "int4" round weights by
        it; all take it to compare on.
    calibration_samples: how many of them, the first ones; None for all.
    image_mean, image_scale: images of a directory are fed as (number - mean) / scale, with one of each or one for each
        channel.
    calibrate: "minmax" for ranges of all that is measured, "mse" for the parts with the least squared error,
        "percentile:99.99" for those with as many of the numbers.
    block_size: of how many inputs "int4" has a scale each: 32, 64, 128, or None for one a row.
    io_types: "float", "int8", "uint8" or "int16" for inputs and outputs of floats, and NAME=TYPE for others, with
        commas.
    no_quantize, quantize_only: globs of types of ops, tensors or layers that stay float, or that alone do not.
    compare_quantized: run the quantized file beside that of floats, on samples behind the first `calibration_samples`
        if there are any, and tell in `report.compared` the error of each op.
    keep_float_under: leave the ops float that cost most, until no output differs by more than this part of its range on
        those samples.
    plan_arena: tell TFLite Micro in the file where tensors are to be in its arena, if that takes less than its own plan
        and all sizes are known. Always so for the target "micro", and in a C array, which is written if the file's name
        ends in .cc, .cpp, .c, .h or .hpp.
    strip_names: leave out the names of tensors between inputs and outputs, which TFLite Micro does not read. Always so
        in a C array.
    max_constant_bytes: what all constants may take, in bytes or as "2G"; by default 16 times the model's size, at least
        256 MB.
    verify_each: verify the IR after each pass.
    print_ir_before, print_ir_after: passes around which the IR is printed to stderr, or "all".

    `progress`, which is no field, is called with the name of each stage as it starts.
    """

    quantize: str | None
    calibration_data: str | os.PathLike | Iterable[Sample] | Mapping[str, Any] | None
    calibration_samples: int | None
    image_mean: float | Sequence[float] | None
    image_scale: float | Sequence[float] | None
    calibrate: str
    block_size: int | None
    io_types: str
    no_quantize: Sequence[str]
    quantize_only: Sequence[str]
    compare_quantized: bool
    keep_float_under: float | None
    plan_arena: bool
    strip_names: bool
    max_constant_bytes: int | str | None
    verify_each: bool | None
    print_ir_before: Sequence[str]
    print_ir_after: Sequence[str]

    @classmethod
    def of(cls: type[_Self], given: Mapping[str, Any]) -> _Self:
        """Return the options among what a function was given."""
        return cls(**{name: given[name] for name in _names(cls)})  # type: ignore[arg-type]

    def check(self) -> None:
        """Refuse values that are no choice, and numbers that are too small."""
        if self.calibration_samples is not None and self.calibration_samples < 1:
            raise InputError(f"calibration_samples is 1 or more, not {self.calibration_samples}")
        for name, choices in _CHOICES.items():
            value = getattr(self, name, choices[0])
            if not isinstance(value, (str, type(None))) or value not in choices:
                raise InputError(f"{name} is one of {', '.join(map(str, choices))}, not {value!r}")

    @property
    def compares(self) -> bool:
        """Return whether quantized files are to be compared with that of floats."""
        return self.compare_quantized or self.keep_float_under is not None

    def budget(self, measure: Callable[[], int]) -> Budget:
        """Return what a model may take, whose bytes `measure` counts."""
        most = self.max_constant_bytes
        return Budget(measure, None if most is None else parse_size(most))

    def pass_options(self) -> dict[str, Any]:
        """Return what the passes of quantization may name as parameters."""
        return {
            "quantize": self.quantize, "calibration": _calibration(self),
            "block_size": checked_block_size(self.block_size, self.quantize),
            "io_types": self.io_types,
            "selection": Selection(tuple(self.quantize_only), tuple(self.no_quantize)),
            "floats": Floats(self.compares, self.compare_quantized), "keep_float_under": self.keep_float_under,
        }  # fmt: skip


@dataclass(frozen=True)
class Options(QuantizeOptions):
    """The options of `convert`, besides those of `QuantizeOptions`.

    signatures: those to convert, each to a subgraph; by default every distinct one. tags: those of the meta graph.
    inputs, outputs: tensors that become the ends of the signature, by names of nodes ("call/node", "node:1") or layers;
        by default its own.
    rename: new names of inputs and outputs by the old ones.
    input_shapes: shapes of inputs by their (new) names, or "signature/name", None for a dimension that stays dynamic;
        or as the command line takes them, "x=1,?,3"; or the shape of the only input.
    batch_size: the size of every unknown first dimension.
    input_ranges: the least and the largest number that inputs of whole numbers get, by their (new) names, such as
        {"ids": (0, 29999)}, or as the command line takes them, "ids=0:29999". Guards against others are left out, and
        what the file computes of others is not defined.
    plugins: converter modules (files or module names) besides the built-in ones.
    fuse, no_fuse: globs of the fusions to make, and not to make.
    metadata: what readers of tflite-support are told: name, description, version, author and license; labels, a file of
        labels of the last axis of an output, or value_labels, of its numbers; mean and std of an input. labels:NAME and
        the like say of which tensor, if there are several.
    verify_fusions: "always" runs the body of each annotated function that is fused, or the ops that a pattern matches,
        and the fused op on random operands, and refuses fusions that compute something else; "auto" does so for up to a
        second, and leaves out patterns of fuseconv's own; "never" trusts annotations and patterns.
    rnn: "fused" makes fused ops of recurrent layers that have a kernel, and loops of others, unrolled where that is
        faster; "loop", "unroll" and "auto" (the faster one) make no fused ones.
    rnn_state: "written" lets the file write the first states of recurrent ops on every invoke; "variable" leaves states
        of zeros to the runtime, which clears them in reset_all_variables only.
    target: "gpu", "micro", ... or a plug-in's. Ops are written in forms that it takes, where these compute the same,
        and `report.target` tells which ops it refuses still. The batch is 1, and recurrent layers become what the
        target has, unless `batch_size` and `rnn` say otherwise.
    composites: globs of the composites that are written, such as "odml.*", with the ops that they stand for as their
        functions; by default those that the target takes.
    trust_model: load code that a Keras file names.
    keras_loader: "data" reads a Keras file without Keras, "keras" has Keras load it, "auto" does so where a layer is
        not known.
    follow_links: read files of a SavedModel that are links out of its directory.
    allow_custom_ops: write every op that has no rule as a custom one. custom_ops: only these.
    select_tf_ops: let the Flex delegate run those that it knows.
    downcast_float64: compute float64 in float32.
    explain: record what matches a fusion's pattern but for one thing.
    source_graph: record which nodes of the model read which.
    """

    signatures: Sequence[str]
    tags: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]
    rename: Mapping[str, str] | None
    input_shapes: Mapping[str, Sequence[int | None]] | str | Sequence[str | int | None] | None
    batch_size: int | None
    input_ranges: Mapping[str, Sequence[int]] | str | Sequence[str] | None
    plugins: Sequence[str | os.PathLike]
    fuse: Sequence[str]
    no_fuse: Sequence[str]
    metadata: Mapping[str, Any] | None
    verify_fusions: str
    rnn: str
    rnn_state: str
    target: str | None
    composites: Sequence[str]
    trust_model: bool
    keras_loader: str
    follow_links: bool
    allow_custom_ops: bool
    custom_ops: Sequence[str]
    select_tf_ops: bool
    downcast_float64: bool
    explain: bool
    source_graph: bool

    def check(self) -> None:
        """Refuse what is no choice, new names that are none, and texts that the file cannot hold."""
        super().check()
        if self.composites and self.quantize in MEASURED:
            raise InputError(f"--composites are of floats, and not for --quantize {' or '.join(MEASURED)}")
        names = self.rename if self.rename is not None else {}
        if not isinstance(names, Mapping) or not all(isinstance(n, str) and n for n in (*names, *names.values())):
            raise InputError(f"rename takes a dict from names to names, not {names!r}")
        for text in (*names.values(), *(self.metadata or {}).values()):
            if isinstance(text, str) and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise InputError(f"the file cannot hold {text!r}: give a text in UTF-8")

    def pass_options(self) -> dict[str, Any]:
        """Return what the passes of a conversion may name as parameters."""
        return super().pass_options() | {
            "inputs": self.inputs, "outputs": self.outputs, "rename": self.rename or {},
            "input_shapes": read_shapes(self.input_shapes), "batch_size": self.batch_size,
            "input_ranges": read_ranges(self.input_ranges), "downcasts": self.downcast_float64,
            "explain": self.explain, "rnn": self.rnn, "rnn_state": self.rnn_state,
        }  # fmt: skip

    def aimed_at(self, target: Target) -> Options:
        """Return the options with what a target implies: sizes that are known, and so one row a batch."""
        return self if target.on_cpu or self.batch_size is not None else replace(self, batch_size=1)


@functools.cache
def _names(kind: type[QuantizeOptions]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


_CHOICES: dict[str, tuple] = {
    "verify_fusions": CHECK_MODES, "rnn": RNN_MODES, "rnn_state": STATE_MODES, "quantize": (None, *QUANTIZATIONS),
    "keras_loader": KERAS_LOADERS,
}  # fmt: skip


def _calibration(options: QuantizeOptions) -> Calibration:
    """Return what ranges are measured with. Raises InputError where quantization needs it and has none, or has it and
    needs none."""
    if parse_io_types(options.io_types) != (FLOAT, {}) and options.quantize not in MEASURED:
        raise InputError(f"--io-types is for --quantize {' or '.join(MEASURED)}: other files compute in floats")
    if options.compares and options.quantize is None:
        raise InputError("--quantize-report and --keep-float-under are for --quantize: add it")
    if (options.no_quantize or options.quantize_only) and options.quantize is None:
        raise InputError("--no-quantize and --quantize-only choose what --quantize does: add that")
    if options.keep_float_under is not None and not 0 < options.keep_float_under < math.inf:
        raise InputError(f"--keep-float-under {options.keep_float_under}: give a part of the range, such as 0.01")
    data, needs = options.calibration_data, options.quantize in MEASURED
    takes = needs or options.compares or options.quantize in ROUNDED
    if not takes and (data is not None or options.calibration_samples is not None):
        raise InputError(
            f"--calibration-data is for --quantize {', '.join((*ROUNDED, *MEASURED))}, --quantize-report and "
            "--keep-float-under"
        )
    parse_method(options.calibrate)
    if not needs and options.calibrate != MINMAX:
        raise InputError(f"--calibrate is for --quantize {' or '.join(MEASURED)}")
    levels = 255 if options.quantize == "int8" else 65535
    return Calibration(_samples(options), options.calibrate, levels, weights_alone=options.quantize in ROUNDED)


def _samples(options: QuantizeOptions) -> Samples | None:
    """Return what calibration data holds; None if there is none. Raises InputError for what is no such data."""
    data, mean, scale = options.calibration_data, options.image_mean, options.image_scale
    if data is None and mean is None and scale is None:
        return None
    from fuseconv.quantize.images import Pixels  # most conversions read neither samples nor images
    from fuseconv.quantize.samples import Samples

    pixels = Pixels.of(mean, scale)
    if data is None:
        raise InputError("--image-mean and --image-scale are for --calibration-data that is a directory of images")
    return Samples(data, options.calibration_samples, pixels)
