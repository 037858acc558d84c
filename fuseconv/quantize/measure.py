"""Run a float file on samples, and measure the ranges of its tensors; apart from the pass that asks for it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fuseconv.child import survive
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Signature, Value
from fuseconv.ir.terms import operand_of
from fuseconv.quantize import lstm
from fuseconv.quantize.affine import Range
from fuseconv.quantize.calibrate import MINMAX, Calibration, parse_method
from fuseconv.quantize.channel_means import ChannelMeans, read_by_products
from fuseconv.quantize.error_feedback import Moments
from fuseconv.quantize.histogram import Histogram
from fuseconv.quantize.lstm import Recurrence
from fuseconv.quantize.multiplied import Multiplied
from fuseconv.quantize.reduced_ranges import ReducedRanges, threads
from fuseconv.quantize.sample_shapes import Sample, checked, names_of_arrays
from fuseconv.quantize.samples import of_signature
from fuseconv.report.records import Report
from fuseconv.write.flatbuffer_export import to_named_bytes

# With fewer, what a model meets later lies outside of what was measured, often by a tenth of the range.
_FEW = 100
# Samples that files are verified on.
_KEPT = 16


def measure(module: Module, report: Report, calibration: Calibration) -> None:
    """Do what the pass `calibrate` does."""
    keeps = calibration.method != MINMAX
    kind = _Multiplying if calibration.weights_alone else _Fastest
    runs = kind(module, keeps)
    if runs.needs_none:
        return
    measured: dict[Value, Range] = {}
    cells: dict[Value, Range] = {}
    histograms: dict[Value, Histogram] = {}
    inputs = [{name: _Input() for name in signature.inputs} for signature in module.signatures]
    counts = [0] * len(module.signatures)
    for number, sample in enumerate(calibration.samples or ()):
        place, arrays = of_signature(sample, module.signatures)
        arrays = checked(arrays, module.signatures[place], number, module.signatures)
        for name, array in arrays.items():
            inputs[place][name].see(array)
        if calibration.size and not counts[place]:
            _survive(kind(module, keeps), place, arrays, calibration.size)
        for value, found in runs.run(place, arrays).items():
            if np.isnan(found.least) or np.isnan(found.largest):
                raise InputError(f"sample {number} makes numbers in the tensor {value.name} that are none (NaN)")
            measured[value] = measured[value] | found if value in measured else found
        for value, array in runs.arrays(place):
            histograms.setdefault(value, Histogram()).add(array)
        for value, found in runs.cells(place):
            cells[value] = cells[value] | found if value in cells else found
        counts[place] += 1
        if not place and len(calibration.first) < _KEPT:
            calibration.first.append(arrays)
        if calibration.progress:
            calibration.progress(number + 1)
    _warn(report, module.signatures, inputs, counts, calibration.weights_alone)
    runs.warn(report)
    for value, found in runs.ranges().items():
        measured[value] = measured[value] | found if value in measured else found
    calibration.ranges.update(measured)
    calibration.means.update(runs.channel_means())
    for signature, seen, count in zip(module.signatures, inputs, counts):
        for name, value in zip(signature.inputs, signature.graph.inputs):
            if _is_float(value) and count:
                calibration.ranges[value] = seen[name].range
    _leave_extremes_out(calibration, histograms)
    calibration.ranges.update(cells)
    calibration.moments.update(runs.moments())


def _survive(runs: _Fastest, place: int, arrays: Sample, size: int) -> None:
    """Run a sample in a child process first. runs: such as have run nothing yet, for threads stay in this process.
    Raises RuntimeError if LiteRT ends that."""
    import ai_edge_litert.interpreter  # noqa: F401  (the child need not load it)

    survive(lambda: runs.run(place, arrays), size)


def _leave_extremes_out(calibration: Calibration, histograms: Mapping[Value, Histogram]) -> None:
    """Let ranges be the parts of what was measured that the method of calibration asks for."""
    percent = parse_method(calibration.method)
    for value, histogram in histograms.items():
        if value in calibration.ranges and histogram.measured is not None:
            part = histogram.least_squares(calibration.levels) if percent is None else histogram.percentile(percent)
            calibration.ranges[value] = part


class _Input:
    """What an input was fed."""

    def __init__(self) -> None:
        self.range: Range = Range(0.0, 0.0)
        self.first: np.ndarray | None = None
        self.differs = False
        self.constant = True

    def see(self, array: np.ndarray) -> None:
        if array.dtype.kind in "fiub":
            found = Range.of(array)
            self.range = found if self.first is None else self.range | found
            self.constant &= found.least == found.largest == self.range.least
        else:
            self.constant = False
        if self.first is None:
            self.first = array
        elif not self.differs:
            self.differs = not np.array_equal(array, self.first)


class _Fastest:
    """Run the signatures of a module on samples. Where the file can compute its ranges itself, it does."""

    def __init__(self, module: Module, keeps: bool) -> None:
        self.module, self.keeps = module, keeps
        self.means = ChannelMeans()

    @property
    def needs_none(self) -> bool:
        """Return whether samples tell nothing that is wanted."""
        return False

    @functools.cached_property
    def reduced(self) -> ReducedRanges | None:
        plain = not self.keeps and not any(op.kind == lstm.KIND for graph in self.module.graphs() for op in graph.ops)
        return ReducedRanges.of(self.module) if plain else None

    @functools.cached_property
    def runs(self) -> _Runs:
        return _Runs(self.module, self.keeps)

    def run(self, place: int, sample: Sample) -> dict[Value, Range]:
        """Take in a sample; return the range of each result of floats, of those that `ranges` does not tell."""
        if self.reduced is not None and self.reduced.run(sample):
            return {}
        found = self.runs.run(place, sample)
        for value, array in self.runs.arrays(place, self.runs.averaged[place]):
            if array.size:
                self.means.see(value, array.mean(axis=tuple(range(array.ndim - 1))))
        return found

    def warn(self, report: Report) -> None:
        """Tell what is not measured."""

    def ranges(self) -> dict[Value, Range]:
        """Return the ranges over the samples that `run` returned none of."""
        return {} if self.reduced is None else self.reduced.ranges()

    def channel_means(self) -> dict[Value, np.ndarray]:
        """Return the means of channels of what products read, over all samples."""
        if self.reduced is not None:
            self.reduced.tell_means(self.means)
        return self.means.means()

    def arrays(self, place: int) -> Iterator[tuple[Value, np.ndarray]]:
        return self.runs.arrays(place, self.runs.kept[place]) if self.keeps else iter(())

    def cells(self, place: int) -> Iterator[tuple[Value, Range]]:
        return self.runs.cells(place) if self.reduced is None else iter(())

    def moments(self) -> Iterator[tuple[Value, Moments]]:
        """Yield what the weights of each LSTM were multiplied by, as `Recurrence.measured` tells it."""
        for found in self.runs.recurrences if self.reduced is None else ():
            for each in found:
                yield from each.measured.items()


class _Multiplying(_Fastest):
    """Run the signatures of a module on samples, and tell what weights are multiplied by, no ranges."""

    reduced = None

    def __init__(self, module: Module, keeps: bool = False) -> None:
        super().__init__(module, keeps)
        self.multiplied = [Multiplied(signature.graph) for signature in module.signatures]

    @functools.cached_property
    def runs(self) -> _Runs:
        return _Runs(self.module, True, weights_alone=True)

    @property
    def needs_none(self) -> bool:
        return not any(each.found for each in self.multiplied)

    def run(self, place: int, sample: Sample) -> dict[Value, Range]:
        self.runs.feed(place, sample)
        self.runs.subgraphs.Invoke(place)
        self.multiplied[place].see(dict(self.runs.arrays(place, self.multiplied[place].needed)))
        return {}

    def warn(self, report: Report) -> None:
        count = sum(len(each.left_out) for each in self.multiplied)
        if count:
            report.warnings.append(f"weights of {count} ops have too many inputs to be rounded as samples tell")

    def moments(self) -> Iterator[tuple[Value, Moments]]:
        for each in self.multiplied:
            yield from each.moments()


class _Runs:
    """Run the signatures of a module on samples, by LiteRT's own kernels. Each is known by its place, which is that of
    its subgraph.

    keeps: `arrays` of all tensors are wanted after each run, not those of `averaged` alone. weights_alone: no cells."""

    def __init__(self, module: Module, keeps: bool, weights_alone: bool = False) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        data, tensors = to_named_bytes(module)
        signatures = module.signatures
        self.floats = {name: value for name, value in tensors.items() if _is_float(value)}
        self.measure = _measuring()
        self.recurrences = [
            [Recurrence(op) for op in signature.graph.ops if op.kind == lstm.KIND and not lstm.refusal(op)]
            if not weights_alone else []
            for signature in signatures
        ]
        self.averaged = [[*read_by_products(signature.graph)] for signature in signatures]
        preserves = keeps or self.measure is None or any(self.recurrences) or any(self.averaged)
        self.interpreter = Interpreter(
            model_content=data, num_threads=threads(module), experimental_preserve_all_tensors=preserves,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )  # fmt: skip
        # The public functions know the first subgraph alone, or run without measuring.
        self.subgraphs = self.interpreter._interpreter
        self.places = [_inputs(self.interpreter, signature) for signature in signatures]
        self.shapes: dict[int, dict[str, tuple[int, ...]]] = {}
        self.indices: list[dict[Value, int]] = []
        self.kept: list[list[Value]] = []
        for place, signature in enumerate(signatures):
            indices = {detail["name"]: detail["index"] for detail in self.interpreter.get_tensor_details(place)}
            self.indices.append({value: indices[name] for name, value in tensors.items() if name in indices})
            own = {*signature.graph.inputs, *(value for op in signature.graph.ops for value in op.results)}
            self.kept.append([value for value in self.indices[place] if value in own and _is_float(value)])

    def arrays(self, place: int, values: Sequence[Value]) -> Iterator[tuple[Value, np.ndarray]]:
        """Yield what the last run computed of tensors that no loop or branch holds: these keep their last iteration
        only."""
        for value in values:
            try:
                array = self.contents(place, value)
            except ValueError:
                continue  # the runtime has nothing there: a result of a loop that nothing reads, or an empty tensor
            yield value, array

    def cells(self, place: int) -> Iterator[tuple[Value, Range]]:
        """Yield the cell state of each recurrent op, with its range in the last run."""
        for recurrence in self.recurrences[place]:
            op = recurrence.op
            x, cell = op.operands[0], op.operands[lstm.CELL_STATE]
            assert x is not None and cell is not None
            written = [self._written(place, op.operands[index]) for index in (lstm.OUTPUT_STATE, lstm.CELL_STATE)]
            yield cell, recurrence.run(self.contents(place, x), *written)

    def _written(self, place: int, state: Value | None) -> np.ndarray | None:
        """Return what is written into a state before its op runs; None for zeros, or if nothing is."""
        given = operand_of(state, "tfl.TILE")
        return None if given is None else self.contents(place, given)

    def contents(self, place: int, value: Value) -> np.ndarray:
        """Return the numbers of a tensor in the last run."""
        return value.data if value.data is not None else self.interpreter.get_tensor(self.indices[place][value], place)

    def feed(self, place: int, sample: Sample) -> None:
        """Let the next run be on a sample."""
        shapes = {name: np.shape(sample[name]) for name in self.places[place]}
        if shapes != self.shapes.get(place):
            for name, index in self.places[place].items():
                self.subgraphs.ResizeInputTensor(index, np.array(shapes[name], np.int32), False, place)
            self.subgraphs.AllocateTensors(place)
            self.shapes[place] = shapes
        for name, index in self.places[place].items():
            self.subgraphs.SetTensor(index, sample[name], place)

    def run(self, place: int, sample: Sample) -> dict[Value, Range]:
        """Return the range of each result of floats."""
        self.feed(place, sample)
        if self.measure is None:
            return self._of_kept(place)
        found = self.measure(self.interpreter._native_handle(), place)
        return {self.floats[name]: Range(each.min, each.max) for name, each in found.items() if name in self.floats}

    def _of_kept(self, place: int) -> dict[Value, Range]:
        """Return ranges where the runtime does not measure them itself: not those of loops and branches."""
        self.subgraphs.Invoke(place)
        return {value: Range.of(array) for value, array in self.arrays(place, self.kept[place])}


def _inputs(interpreter: Any, signature: Signature) -> dict[str, int]:
    """Return the tensors of a signature's inputs. A file without names of signatures has one."""
    if not signature.names:
        found = [detail["index"] for detail in interpreter.get_input_details()]
        return dict(zip(signature.inputs, found, strict=True))
    details = interpreter.get_signature_runner(signature.names[0]).get_input_details()
    return {name: details[name]["index"] for name in signature.inputs}


def _measuring() -> Any:
    """Return the function of LiteRT that runs and measures; None where the installed one has none."""
    try:
        from ai_edge_litert import _pywrap_tfl_calibration
    except ImportError:
        return None
    return getattr(_pywrap_tfl_calibration, "InvokeWithCalibration", None)


def _warn(
    report: Report, signatures: Sequence[Signature], inputs: Sequence[Mapping[str, _Input]], counts: Sequence[int],
    weights_alone: bool,
) -> None:  # fmt: skip
    """Tell of samples that are few or alike. Raises InputError if there are none."""
    if not any(counts):
        raise InputError("the calibration data holds no samples: give at least one, better a hundred")
    for signature, seen, count in zip(signatures, inputs, counts):
        of = f" of the signature {''.join(signature.names[:1])}" if len(signatures) > 1 else ""
        if not count:
            arrays = ", ".join(names_of_arrays(signature))
            report.warnings.append(f"there are no samples{of}: its ops stay float; its arrays are named {arrays}")
        elif count < _FEW and not weights_alone:
            samples = "1 sample" if count == 1 else f"{count} samples"
            report.warnings.append(f"calibrated on {samples}{of}: later inputs may lie outside; give {_FEW}")
        if count > 1 and not any(each.differs for each in seen.values()):
            report.warnings.append(f"all samples{of} are alike")
        for name, each in seen.items():
            if each.constant and count > 1:
                report.warnings.append(f"the input {name}{of} is {each.range.least:.6g} in all samples")


def _is_float(value: Value) -> bool:
    return value.dtype is types.FLOAT32
