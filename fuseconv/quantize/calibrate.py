"""Measure the ranges of tensors: the float file runs in LiteRT on samples of real data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuseconv.errors import InputError
from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module, Value
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report

if TYPE_CHECKING:
    import numpy as np

    from fuseconv.quantize.affine import Range
    from fuseconv.quantize.error_feedback import Moments
    from fuseconv.quantize.samples import Sample


MINMAX, MSE, PERCENTILE = "minmax", "mse", "percentile"


def parse_method(text: str) -> float | None:
    """Return the percentage of "percentile:99.99"; None for "minmax" and "mse". Raises InputError for others."""
    if text in (MINMAX, MSE):
        return None
    kind, _, number = text.partition(":")
    try:
        percent = float(number)
    except ValueError:
        percent = 0.0
    if kind != PERCENTILE or not 50 <= percent <= 100:
        raise InputError(f"--calibrate {text} is none of minmax, mse and percentile:P with P from 50 to 100")
    return percent


@dataclass
class Calibration:
    """What is measured with, and what was.

    samples: an array for each input by its name in the signature, of the input's shape with the batch; None if there
    are none, for the model tells ranges. method: which part of what was measured a range is, as `parse_method` takes
    it. levels: steps of the integers that are to hold it. weights_alone: no ranges are wanted, but moments of all that
    `Multiplied` tells of, by the first results of ops. progress: called with the number of samples that ran. ranges:
    of each tensor of floats, once it was measured. moments: of what the weights of each LSTM are multiplied by, by its
    result; of what is projected, by the projection. means: of the channels of what products with weights read, where it
    was measured. first: some of the samples, those of the first signature. size: of a file in bytes that others made,
    which is run in a child process first; 0 for a model that is converted."""

    samples: Iterable[Sample] | None = None
    method: str = MINMAX
    levels: int = 255
    weights_alone: bool = False
    progress: Callable[[int], None] | None = None
    ranges: dict[Value, Range] = field(default_factory=dict)
    moments: dict[Value, Moments] = field(default_factory=dict)
    means: dict[Value, np.ndarray] = field(default_factory=dict)
    even: set[Value] = field(default_factory=set)
    first: list[Sample] = field(default_factory=list)
    size: int = 0


@module_pass("calibrate", requires=(TFL_ONLY,))
def calibrate(module: Module, report: Report, calibration: Calibration) -> bool:
    """Measure the range of each tensor of the first signature over samples, in its loops and branches too.

    Where weights alone get fewer bits, measure what they are multiplied by. Changes nothing.

    Raises InputError for samples that are none, do not fit the inputs, or make NaN."""
    # It takes longer to import than many a model to convert.
    from fuseconv.quantize.measure import measure

    try:
        measure(module, report, calibration)
    except (RuntimeError, ValueError) as error:  # of LiteRT, which lacks an op or refuses an operand
        why = " ".join(str(error).split())[:200]
        custom = {op.attrs["custom_code"] for graph in module.graphs() for op in graph.ops if op.type == "CUSTOM"}
        if custom:
            why += f" (its custom ops: {', '.join(sorted(custom))}); --quantize dynamic and float16 need no samples"
        raise InputError(f"LiteRT cannot run the file on samples: {why}") from error
    return False
