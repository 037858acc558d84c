"""Leave float what costs most, until the outputs of the quantized file differ by no more than was asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from typing import Any

from fuseconv.errors import InputError
from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.floats import Floats, constants_of
from fuseconv.quantize.samples import Sample, Samples
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.to_integers import KERNELS, to_integers
from fuseconv.quantize.weights_to_float16 import weights_to_float16
from fuseconv.quantize.weights_to_int4 import weights_to_int4
from fuseconv.quantize.weights_to_int8 import weights_to_int8
from fuseconv.report.records import Report
from fuseconv.targets.target import Target
from fuseconv.tfl.linear import LAYOUTS


@module_pass("keep-sensitive-ops", requires=(TFL_ONLY,))
def keep_sensitive_ops(
    module: Module, report: Report, floats: Floats, calibration: Calibration, quantize: str, selection: Selection,
    keep_float_under: float, block_size: int | None, io_types: str, target: Target | None,
) -> bool:  # fmt: skip
    """Choose the ops that stay float, so that the outputs differ by at most `keep_float_under` of their range.

    Each op is quantized alone; those that cost most are kept float, as few as suffice. Changes nothing but `selection`.
    Raises InputError where there are no samples to tell."""
    chosen = calibration.samples.to_compare()[0] if isinstance(calibration.samples, Samples) else []
    if not chosen:
        raise InputError("--keep-float-under needs samples of real inputs to measure errors on: --calibration-data")
    how = {"io_types": io_types, "target": target}
    trials = _Trials(floats, calibration, quantize, selection, chosen, block_size, how, report.plans_arena)
    kept = trials.kept(keep_float_under)
    for graph in module.graphs():
        for op in graph.ops:
            name = floats.names.get(op.results[0]) if op.results else None
            if name in kept:
                selection.kept[op] = f"--keep-float-under: alone it costs {kept[name]:.2g} of the range"
    if kept:
        report.warnings.append(f"{len(kept)} ops stay float for --keep-float-under {keep_float_under:g}")
    return False


class _Trials:
    """Quantize copies of a file of floats, and measure how their outputs differ. Ops are known by the names of their
    first results in that file. how: what `to_integers` asks for besides."""

    def __init__(
        self, floats: Floats, calibration: Calibration, quantize: str, selection: Selection, samples: list[Sample],
        block_size: int | None, how: Mapping[str, Any], plans_arena: bool,
    ) -> None:  # fmt: skip
        self.floats, self.quantize, self.selection, self.samples = floats, quantize, selection, samples
        self.block_size, self.how, self.plans_arena = block_size, how, plans_arena
        names = floats.names
        self.ranges = {names[value]: found for value, found in calibration.ranges.items() if value in names}
        self.moments = {names[value]: found for value, found in calibration.moments.items() if value in names}

    def kept(self, limit: float) -> dict[str, float]:
        """Return as few ops as suffice to be left float, with what each costs alone."""
        quantized, moves = self._quantized_ops()
        if self._error(()) <= limit:
            return {}
        # With an op, what hands on numbers to it or from it becomes integers, too.
        costs = [(self._error({*quantized}.difference(ops)), ops) for ops in self._together(quantized)]
        costs += [(0.0, [name]) for name in moves]
        order = sorted(costs, key=lambda each: -each[0])

        def first(count: int) -> dict[str, float]:
            return {name: cost for cost, ops in order[:count] for name in ops}

        # More ops that stay float seldom make an error larger: halves lead to a count that was tried, or to all.
        least, most = 1, len(order)
        while least < most:
            middle = (least + most) // 2
            if self._error(first(middle)) <= limit:
                most = middle
            else:
                least = middle + 1
        return first(least)

    def _together(self, names: Collection[str]) -> list[list[str]]:
        """Return the ops in lists of those that read the same weights, as the steps of a loop do: if some of them
        stayed float, these would be stored twice."""
        found: dict[Hashable, list[str]] = {name: [] for name in names}
        for op in (op for graph in self._copy().graphs() for op in graph.ops if op.results):
            layout = LAYOUTS.get(op.type)
            weights = None if layout is None else op.operands[layout.weights]
            key: Hashable = op.result.name
            if weights is not None and weights.data is not None:
                key = op.type, weights.shape, hashlib.sha256(weights.data.tobytes()).digest()
            if op.result.name in names:
                found.setdefault(key, []).append(op.result.name)
        return [ops for ops in found.values() if ops]

    def _copy(self) -> Module:
        from fuseconv.load.tflite.reader import module_of_bytes

        return module_of_bytes(self.floats.data, "the file of floats")

    def _quantized(self, kept: Collection[str]) -> tuple[Module, list[Op]]:
        """Return a copy in which all but some ops are quantized, and the ops that it had before."""
        module = self._copy()
        ops = [op for graph in module.graphs() for op in graph.ops if op.results]
        chosen = replace(self.selection, kept={op: "it is kept" for op in ops if op.result.name in kept})
        values = {value.name: value for graph in module.graphs() for value in (*graph.inputs, *_results(graph.ops))}
        known = Calibration(
            ranges={values[name]: found for name, found in self.ranges.items() if name in values},
            moments={values[name]: found for name, found in self.moments.items() if name in values},
        )
        if self.quantize in KERNELS:
            to_integers(module, Report(plans_arena=self.plans_arena), known, self.quantize, chosen, **self.how)
        else:
            if self.quantize == "int4":
                weights_to_int4(module, Report(), chosen, self.block_size, known)
            if self.quantize == "float16":
                weights_to_float16(module, Report(), chosen)
            else:
                weights_to_int8(module, Report(), chosen, known)
        return module, ops

    def _quantized_ops(self) -> tuple[list[str], list[str]]:
        """Return the ops that are quantized if none is kept float; apart, those that hand on numbers as they are."""
        _, ops = self._quantized(())
        kernels = KERNELS.get(self.quantize)
        names: tuple[list[str], list[str]] = [], []
        for op in ops:
            if _is_quantized(op):
                names[kernels is not None and kernels.moves(op)].append(op.result.name)
        return names

    def _error(self, kept: Collection[str]) -> float:
        """Return the largest error of an output, as a part of its range."""
        from fuseconv.quantize.tensor_errors import compare_tensors
        from fuseconv.write.flatbuffer_export import to_named_bytes

        module, _ = self._quantized(kept)
        data, names = to_named_bytes(module)
        now = {value: name for name, value in names.items()}
        first = module.signatures[0]
        before = self._copy().signatures[0].graph.outputs
        pairs = {old.name: now[new] for old, new in zip(before, first.graph.outputs, strict=True)}
        try:
            errors = compare_tensors(self.floats.data, data, pairs, self.samples, first.inputs, tries=not kept)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"LiteRT cannot run the quantized file: {' '.join(str(error).split())[:200]}") from error
        return max((error.relative for error in errors.values()), default=0.0)


def _results(ops: list[Op]) -> list:
    values = [value for op in ops for value in (*op.results, *op.operands)]
    return [value for value in values if value is not None and not value.is_const]


def _is_quantized(op: Op) -> bool:
    stored = [value.dtype for value in constants_of(op)]
    narrow = not {types.INT4, types.INT8, types.FLOAT16}.isdisjoint(stored)
    return op.result.quantization is not None or narrow
