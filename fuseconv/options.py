"""The options of conversions and quantizations, checked: of values, and of which go together."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from fuseconv.errors import InputError
from fuseconv.fuse.body_check import MODES as CHECK_MODES
from fuseconv.load import KERAS_LOADERS
from fuseconv.quantize import MEASURED, QUANTIZATIONS, checked_block_size
from fuseconv.quantize.calibrate import MINMAX, Calibration, parse_method
from fuseconv.quantize.floats import Floats
from fuseconv.quantize.images import Pixels
from fuseconv.quantize.io_types import FLOAT, parse_io_types
from fuseconv.quantize.samples import Sample, Samples
from fuseconv.quantize.selection import Selection
from fuseconv.targets.target import Target
from fuseconv.transforms.loops.unroll_policy import MODES as RNN_MODES
from fuseconv.transforms.rnn.persist_states import MODES as STATE_MODES

_Self = TypeVar("_Self", bound="QuantizeOptions")


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of `quantize_file`, which describes them."""

    quantize: str | None
    calibration_data: str | os.PathLike | Iterable[Sample] | None
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
    max_constant_bytes: int | str | None
    verify_each: bool | None
    print_ir_before: Sequence[str]
    print_ir_after: Sequence[str]

    @classmethod
    def of(cls: type[_Self], given: Mapping[str, Any]) -> _Self:
        """Return the options among what a function was given."""
        return cls(**{field.name: given[field.name] for field in fields(cls)})

    def check(self) -> None:
        """Refuse one text in place of a list, which would be taken letter by letter, and values that are no choice."""
        for name in _LISTS:
            value = getattr(self, name, ())
            if isinstance(value, (str, bytes, os.PathLike)):
                raise InputError(f"{name} takes a list: write [{os.fspath(value)!r}]")
        for name, choices in _CHOICES.items():
            if getattr(self, name, choices[0]) not in choices:
                raise InputError(f"{name} is one of {', '.join(map(str, choices))}, not {getattr(self, name)!r}")

    @property
    def compares(self) -> bool:
        """Return whether quantized files are to be compared with that of floats."""
        return self.compare_quantized or self.keep_float_under is not None

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
    """The options of `convert`, which describes them."""

    signatures: Sequence[str]
    tags: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]
    rename: Mapping[str, str] | None
    input_shapes: Mapping[str, Sequence[int | None]] | None
    batch_size: int | None
    plugins: Sequence[str | os.PathLike]
    fuse: Sequence[str]
    no_fuse: Sequence[str]
    verify_fusions: str
    rnn: str
    rnn_state: str
    target: str | None
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
        """Refuse what is no choice, and new names that are none."""
        super().check()
        names = self.rename if self.rename is not None else {}
        if not isinstance(names, Mapping) or not all(isinstance(n, str) and n for n in (*names, *names.values())):
            raise InputError(f"rename takes a dict from names to names, not {names!r}")


    def aimed_at(self, target: Target) -> Options:
        """Return the options with what a target implies: sizes that are known, and so one row a batch."""
        return self if target.on_cpu or self.batch_size is not None else replace(self, batch_size=1)


_LISTS = (
    "signatures", "tags", "inputs", "outputs", "plugins", "fuse", "no_fuse", "custom_ops", "no_quantize",
    "quantize_only", "print_ir_before", "print_ir_after",
)  # fmt: skip
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
    if options.keep_float_under is not None and not 0 < options.keep_float_under < math.inf:
        raise InputError(f"--keep-float-under {options.keep_float_under}: give a part of the range, such as 0.01")
    data, needs = options.calibration_data, options.quantize in MEASURED
    if not needs and not options.compares and (data is not None or options.calibration_samples is not None):
        raise InputError(f"calibration data is for --quantize {' or '.join(MEASURED)}, and to compare with floats")
    parse_method(options.calibrate)
    if not needs and options.calibrate != MINMAX:
        raise InputError(f"--calibrate is for --quantize {' or '.join(MEASURED)}")
    levels = 255 if options.quantize == "int8" else 65535
    pixels = Pixels.of(options.image_mean, options.image_scale)
    if data is None and pixels.told:
        raise InputError("--image-mean and --image-scale are for --calibration-data that is a directory of images")
    samples = None if data is None else Samples(data, options.calibration_samples, pixels)
    return Calibration(samples, options.calibrate, levels)
