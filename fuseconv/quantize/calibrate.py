"""Measure the ranges of tensors: the float file runs in LiteRT on samples of real data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module, Value
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report

if TYPE_CHECKING:
    from fuseconv.quantize.affine import Range
    from fuseconv.quantize.samples import Sample


@dataclass
class Calibration:
    """What is measured with, and what was.

    samples: an array for each input by its name in the signature, of the input's shape with the batch. most: how many
    of them are used; None for all. ranges: of each tensor of floats, once it was measured. progress: called with the
    number of samples that ran."""

    samples: Iterable[Sample] = ()
    most: int | None = None
    progress: Callable[[int], None] | None = None
    ranges: dict[Value, Range] = field(default_factory=dict)


@module_pass("calibrate", requires=(TFL_ONLY,))
def calibrate(module: Module, report: Report, calibration: Calibration) -> bool:
    """Measure the range of each tensor of the first signature over samples, in its loops and branches too. Changes
    nothing.

    Raises InputError for samples that are none, do not fit the inputs, or make NaN."""
    # It takes longer to import than many a model to convert.
    from fuseconv.quantize.measure import measure

    measure(module, report, calibration)
    return False
