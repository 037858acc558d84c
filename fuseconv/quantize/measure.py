"""Run a float file on samples, and measure the ranges of its tensors; apart from the pass that asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Signature, Value
from fuseconv.quantize import lstm
from fuseconv.quantize.affine import Range
from fuseconv.quantize.calibrate import MINMAX, Calibration, parse_method
from fuseconv.quantize.histogram import Histogram
from fuseconv.quantize.lstm import Recurrence
from fuseconv.quantize.samples import Sample
from fuseconv.report.records import Report
from fuseconv.write.flatbuffer_export import to_named_bytes

# With fewer, what a model meets later lies outside of what was measured, often by a tenth of the range.
_FEW = 100


def measure(module: Module, report: Report, calibration: Calibration) -> None:
    """Do what the pass `calibrate` does."""
    signature = module.signatures[0]
    if len(module.signatures) > 1:
        first = "".join(signature.names[:1])
        report.warnings.append(f"samples are of the signature {first}: the ops of others stay float")
    data, tensors = to_named_bytes(module)
    percent = parse_method(calibration.method)
    runs = _Runs(data, signature, tensors, keeps=calibration.method != MINMAX)
    measured: dict[str, Range] = {}
    cells: dict[Value, Range] = {}
    histograms: dict[Value, Histogram] = {}
    inputs = {name: _Input() for name in signature.inputs}
    count = 0
    for sample in calibration.samples or ():
        for name, array in _checked(sample, signature, count).items():
            inputs[name].see(array)
        for name, found in runs.run(sample).items():
            if np.isnan(found.least) or np.isnan(found.largest):
                raise InputError(f"sample {count} makes numbers in the tensor {name} that are none (NaN)")
            measured[name] = measured[name] | found if name in measured else found
        for value, array in runs.arrays():
            histograms.setdefault(value, Histogram()).add(array)
        for value, found in runs.cells():
            cells[value] = cells[value] | found if value in cells else found
        count += 1
        if calibration.progress:
            calibration.progress(count)
    if not count:
        raise InputError("the calibration data holds no samples: give at least one, better a hundred")
    _warn(report, inputs, count)
    calibration.ranges.update(
        (value, measured[name]) for name, value in tensors.items() if name in measured and _is_float(value)
    )
    for name, value in zip(signature.inputs, signature.graph.inputs):
        if _is_float(value):
            calibration.ranges[value] = inputs[name].range
    for value, histogram in histograms.items():
        if value in calibration.ranges and histogram.measured is not None:
            part = histogram.least_squares(calibration.levels) if percent is None else histogram.percentile(percent)
            calibration.ranges[value] = part
    calibration.ranges.update(cells)


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


class _Runs:
    """Run a file on samples. The first signature's subgraph is the one that an interpreter runs.

    keeps: `arrays` are wanted after each run."""

    def __init__(self, data: bytes, signature: Signature, tensors: Mapping[str, Value], keeps: bool) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self.measure = _measuring()
        self.recurrences = [
            Recurrence(op) for op in signature.graph.ops if op.kind == lstm.KIND and not lstm.refusal(op)
        ]
        self.interpreter = Interpreter(
            model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=keeps or self.measure is None or bool(self.recurrences),
        )  # fmt: skip
        places = [detail["index"] for detail in self.interpreter.get_input_details()]
        self.places = dict(zip(signature.inputs, places, strict=True))
        self.shapes: dict[str, tuple[int, ...]] = {}
        indices = {detail["name"]: detail["index"] for detail in self.interpreter.get_tensor_details()}
        self.indices = {value: indices[name] for name, value in tensors.items() if name in indices}
        own = {*signature.graph.inputs, *(value for op in signature.graph.ops for value in op.results)}
        self.kept = [value for value in self.indices if value in own and _is_float(value)] if keeps else []

    def arrays(self) -> Iterator[tuple[Value, np.ndarray]]:
        """Yield what the last run computed, but in loops and branches: they keep their last iteration only."""
        for value in self.kept:
            try:
                array = self.interpreter.get_tensor(self.indices[value])
            except ValueError:
                continue  # the runtime has nothing there: a result of a loop that nothing reads, or an empty tensor
            yield value, array

    def cells(self) -> Iterator[tuple[Value, Range]]:
        """Yield the cell state of each recurrent op, with its range in the last run."""
        for recurrence in self.recurrences:
            op = recurrence.op
            x, cell = op.operands[0], op.operands[lstm.CELL_STATE]
            assert x is not None and cell is not None
            written = [self._written(op.operands[index]) for index in (lstm.OUTPUT_STATE, lstm.CELL_STATE)]
            yield cell, recurrence.run(self._contents(x), *written)

    def _written(self, state: Value | None) -> np.ndarray | None:
        """Return what is written into a state before its op runs; None for zeros, or if nothing is."""
        writer = state.op if state is not None else None
        given = writer.operands[0] if writer is not None and writer.kind == "tfl.TILE" else None
        return None if given is None else self._contents(given)

    def _contents(self, value: Value) -> np.ndarray:
        return value.data if value.data is not None else self.interpreter.get_tensor(self.indices[value])

    def run(self, sample: Sample) -> dict[str, Range]:
        """Return the range of each result of floats, by its tensor's name."""
        shapes = {name: np.shape(sample[name]) for name in self.places}
        if shapes != self.shapes:
            for name, place in self.places.items():
                self.interpreter.resize_tensor_input(place, shapes[name])
            self.interpreter.allocate_tensors()
            self.shapes = shapes
        for name, place in self.places.items():
            self.interpreter.set_tensor(place, sample[name])
        if self.measure is None:
            return self._of_kept()
        found = self.measure(self.interpreter._native_handle(), 0)
        return {name: Range(each.min, each.max) for name, each in found.items()}

    def _of_kept(self) -> dict[str, Range]:
        """Return ranges where the runtime does not measure them itself: not those of loops and branches."""
        self.interpreter.invoke()
        ranges = {}
        for detail in self.interpreter.get_tensor_details():
            if detail["dtype"] is np.float32:
                ranges[detail["name"]] = Range.of(self.interpreter.get_tensor(detail["index"]))
        return ranges


def _measuring() -> Any:
    """Return the function of LiteRT that runs and measures; None where the installed one has none."""
    try:
        from ai_edge_litert import _pywrap_tfl_calibration
    except ImportError:
        return None
    return getattr(_pywrap_tfl_calibration, "InvokeWithCalibration", None)


def _checked(sample: Sample, signature: Signature, number: int) -> dict[str, np.ndarray]:
    """Return the arrays of a sample. Raises InputError if they are not those that the inputs take."""
    if not isinstance(sample, Mapping) or sample.keys() != set(signature.inputs):
        given = ", ".join(map(str, sample)) if isinstance(sample, Mapping) else repr(type(sample).__name__)
        raise InputError(
            f"a sample holds an array for each input, {', '.join(signature.inputs)}; sample {number} holds {given}"
        )
    arrays = {}
    for name, value in zip(signature.inputs, signature.graph.inputs):
        array = np.asarray(sample[name])
        wanted = None if value.shape is None else [dim if isinstance(dim, int) else None for dim in value.shape]
        if array.dtype != value.dtype.numpy or not _fits(wanted, array.shape):
            shape = "any shape" if wanted is None else str(wanted).replace("None", "?")
            takes = f"the input {name} takes {value.dtype} {shape}, with the batch"
            raise InputError(f"{takes}; sample {number} holds {array.dtype} {list(array.shape)}")
        if value.dtype.is_float and not np.isfinite(array).all():
            raise InputError(f"sample {number} of the input {name} holds numbers that are not finite")
        arrays[name] = array
    return arrays


def _fits(wanted: list[int | None] | None, shape: tuple[int, ...]) -> bool:
    if wanted is None:
        return True
    return len(wanted) == len(shape) and all(dim in (None, size) for dim, size in zip(wanted, shape))


def _warn(report: Report, inputs: Mapping[str, _Input], count: int) -> None:
    if count < _FEW:
        report.warnings.append(f"calibrated on {count} samples: later inputs may lie outside; give {_FEW}")
    if count > 1 and not any(each.differs for each in inputs.values()):
        report.warnings.append("all samples are alike")
    for name, each in inputs.items():
        if each.constant and count > 1:
            report.warnings.append(f"the input {name} is {each.range.least:.6g} in all samples")


def _is_float(value: Value) -> bool:
    return value.dtype is types.FLOAT32
