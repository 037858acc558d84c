"""Time a .tflite file in LiteRT: the whole, and each op of its first subgraph.

LiteRT's Python interface tells no time of an op. So each op is cut out into a file of its own, with its constants and
with the operands that a run of the whole file gives it. That file is timed; ops of the same type, options and shapes
are timed once. The sum is not exact: an op alone finds its weights in the processor's cache if they fit there, and a
delegate hands no tensor on to the next op. Ops that read variables or tables cannot run alone. `accounted` says how
much of the whole the ops add up to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from fuseconv.child import survive
from fuseconv.errors import InputError, VerificationError
from fuseconv.files import read_file
from fuseconv.input_shapes import given_to
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value
from fuseconv.ir.types import FLOAT32
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.report.layers import layer_of
from fuseconv.runners import Arrays, Spec, TFLiteFile, first_line, scalar_string
from fuseconv.single_ops import NotAlone, single_op
from fuseconv.verification_inputs import Draws, feeds_of, load_data
from fuseconv.write.flatbuffer_export import to_bytes, to_named_bytes

DELEGATES = ("xnnpack", "none")
RUNS = 20
_MOST_THREADS = 1024  # LiteRT makes as many as it is told
_WARMUP = 3
# An op alone is not run for longer than this, however many runs are asked for.
_SECONDS = 0.3
_SIZES = (7, 32, 64, 224)  # of dimensions behind the batch that are not fixed


@dataclass
class OpTime:
    """The median seconds of an op of the first subgraph; None if it cannot run alone, and why. tensor: its result."""

    index: int
    type: str
    tensor: str
    layer: str
    seconds: float | None = None
    why: str = ""


@dataclass
class Profile:
    """Times of a file. seconds: of each run of the whole, in order. shapes: of the inputs that it ran on. overhead:
    the seconds of an invoke that computes one number, which the times of ops leave out."""

    file: str
    delegate: str
    threads: int
    shapes: dict[str, tuple[int, ...]]
    seconds: list[float]
    ops: list[OpTime] = field(default_factory=list)
    overhead: float = 0.0

    @property
    def accounted(self) -> float | None:
        """Return what the ops and the overhead add up to as a part of the whole; None if they were not timed."""
        total = sum((op.seconds or 0.0 for op in self.ops), self.overhead)
        return total / median(self.seconds) if self.ops else None

    def to_json(self) -> dict[str, Any]:
        """Return a document of JSON's own types: `file`, `delegate`, `threads`, `shapes` of the inputs, `runs`,
        `seconds` `{"median", "least", "most"}` of the whole, `overhead`, `accounted`, `ops` `{"subgraph", "index",
        "type", "tensor", "layer", "seconds", "why"}`, and `types` and `layers`, each with sums of its ops, the slowest
        first."""
        return {
            "file": self.file, "delegate": self.delegate, "threads": self.threads, "runs": len(self.seconds),
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "seconds": {"median": median(self.seconds), "least": min(self.seconds), "most": max(self.seconds)},
            "overhead": self.overhead, "accounted": self.accounted,
            "ops": [{"subgraph": 0, **vars(op)} for op in self.ops],
            "types": self._sums("type"), "layers": self._sums("layer"),
        }  # fmt: skip

    def _sums(self, key: str) -> list[dict[str, Any]]:
        rows: dict[str, dict[str, Any]] = {}
        for op in self.ops:
            row = rows.setdefault(getattr(op, key), {key: getattr(op, key), "ops": 0, "seconds": 0.0})
            row["ops"] += 1
            row["seconds"] += op.seconds or 0.0
        return sorted(rows.values(), key=lambda row: -row["seconds"])


def profile(
    tflite: str | os.PathLike,
    *,
    runs: int = RUNS,
    threads: int = 1,
    delegate: str = "xnnpack",
    data: str | os.PathLike | Arrays | None = None,
    batch_size: int | None = None,
    report: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Profile:
    """Return the times of a file.

    runs: of the whole; an op alone runs as often, but no longer than 0.3 s. threads: of the runtime. delegate:
    "xnnpack", LiteRT's default, or "none". data: its inputs, an .npz file or arrays by their names; without, random
    ones with this batch_size (1) where first dimensions are not fixed. report: the JSON of the file's conversion,
    which tells layers better than names of tensors do.

    Raises InputError for a file that cannot be read, VerificationError for one that LiteRT does not run."""
    check_timing(runs, threads, delegate, least=1)
    if data is not None and batch_size is not None:
        raise InputError("--batch-size is of random inputs: leave it out, or --data")
    feed = inputs_of(TFLiteFile(tflite), load_data(data), batch_size or 1)
    contents = read_file(tflite)
    shapes = {name: array.shape for name, array in feed.items()}
    timer = Timer(contents, list(feed.values()), threads, delegate)
    if progress:
        progress("profile: the whole")
    found = Profile(os.fspath(tflite), delegate, threads, shapes, [timer.run() for _ in range(runs)])
    module = module_of_bytes(contents, os.fspath(tflite))
    found.overhead = _overhead(threads)
    found.ops = list(_op_times(module, list(feed.values()), found, report, progress))
    return found


def check_timing(runs: int, threads: int, delegate: str, least: int) -> None:
    """Raise InputError for what no file can be timed with. least: how many runs there must be."""
    if delegate not in DELEGATES or runs < least or not 1 <= threads <= _MOST_THREADS:
        choices = " or ".join(DELEGATES)
        raise InputError(f"delegate is {choices}, runs at least {least} and threads 1 to {_MOST_THREADS}")


def inputs_of(file: TFLiteFile, data: Arrays | None = None, batch_size: int = 1) -> Arrays:
    """Return inputs of a file's first signature that it runs on: those of `data`, or random ones.

    Raises InputError for data that does not fit, VerificationError if it does not run on any."""
    name, (_, inputs, _) = next(iter(file.signatures.items()))
    specs = {
        name: Spec(spec.dtype, spec.shape or ()) for name, spec in sorted(
            file.inputs(name).items(), key=lambda item: inputs[item[0]])
    }  # fmt: skip
    if data is not None:
        return feeds_of(given_to([name], specs, data), specs, name)[0]
    draws = Draws(specs, file.index_bounds(name), np.random.default_rng(0))
    failure: VerificationError | None = None
    for size in _SIZES:
        for limits in draws.ranges():
            feed = draws.feed(batch_size, size, limits)
            try:
                file.run(name, feed)
                return feed
            except VerificationError as error:
                failure = failure or error
    assert failure is not None
    raise failure


class Timer:
    """A file in an interpreter, ready to be run on these arrays again and again; it is tried in a child process."""

    def __init__(self, data: bytes, feed: list[np.ndarray], threads: int, delegate: str, keeps: bool = False) -> None:
        import ai_edge_litert.interpreter  # noqa: F401  (the child need not load it)

        survive(lambda: self._prepare(data, feed, threads, delegate, keeps), len(data))
        self._prepare(data, feed, threads, delegate, keeps)

    def _prepare(self, data: bytes, feed: list[np.ndarray], threads: int, delegate: str, keeps: bool) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if delegate == "none" else OpResolverType.AUTO
        try:
            self.interpreter = Interpreter(
                model_content=data, num_threads=threads, experimental_op_resolver_type=resolver,
                experimental_preserve_all_tensors=keeps,
            )  # fmt: skip
            details = self.interpreter.get_input_details()
            for detail, array in zip(details, feed, strict=True):
                if tuple(detail["shape"]) != array.shape:
                    self.interpreter.resize_tensor_input(detail["index"], array.shape)
            self.interpreter.allocate_tensors()
            for detail, array in zip(details, feed):
                if array.size:
                    self.interpreter.set_tensor(detail["index"], scalar_string(_stored(detail, array)))
            for _ in range(_WARMUP):
                self.interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise VerificationError(f"LiteRT cannot run the file: {first_line(error)}") from error

    def run(self) -> float:
        """Return the seconds of one invoke."""
        start = time.perf_counter()
        self.interpreter.invoke()
        return time.perf_counter() - start

    def median(self, runs: int) -> float:
        """Return the median seconds of so many invokes, of fewer if they take long."""
        seconds: list[float] = []
        while len(seconds) < runs and sum(seconds) < _SECONDS:
            seconds.append(self.run())
        return median(seconds)


def _stored(detail: Mapping[str, Any], array: np.ndarray) -> np.ndarray:
    """Return what a quantized input takes for floats; other arrays as they are."""
    scale, zero_point = detail["quantization"]
    if array.dtype.kind != "f" or np.dtype(detail["dtype"]).kind not in "iu" or not scale:
        return array
    ends = np.iinfo(detail["dtype"])
    return np.clip(np.rint(array / scale) + zero_point, ends.min, ends.max).astype(detail["dtype"])


def _op_times(
    module: Module,
    feed: list[np.ndarray],
    whole: Profile,
    report: Mapping[str, Any] | None,
    progress: Callable[[str], None] | None,
) -> Iterator[OpTime]:
    """Yield the time of each op of the first subgraph, in order."""
    arrays = _arrays(module, feed)
    layers = {(op["subgraph"], op["index"]): op["layer"] for op in (report or {}).get("ops", ())}
    known: dict[tuple, float] = {}
    graph = module.signatures[0].graph
    for index, op in enumerate(graph.ops):
        if progress:
            progress(f"profile: op {index + 1} of {len(graph.ops)}")
        name = op.results[0].name if op.results else ""
        row = OpTime(index, op.attrs.get("custom_code", op.type), name, layers.get((0, index), layer_of([name])))
        try:
            alone = single_op(op, module, arrays)
            if alone.key not in known:
                timer = Timer(alone.data, alone.feed, whole.threads, whole.delegate)
                known[alone.key] = max(timer.median(len(whole.seconds)) - whole.overhead, 0.0)
            row.seconds = known[alone.key]
        except (NotAlone, VerificationError) as error:
            row.why = str(error)
        yield row


def _arrays(module: Module, feed: list[np.ndarray]) -> dict[Value, np.ndarray]:
    """Return what a run of the file makes of each value of the first subgraph, but constants."""
    data, names = to_named_bytes(module)
    timer = Timer(data, feed, 1, "none", keeps=True)
    arrays = {}
    for detail in timer.interpreter.get_tensor_details():
        value = names.get(detail["name"])
        # What a handle holds is no array: reading it ends the process, now and then.
        if value is None or value.is_const or value.dtype.is_handle:
            continue
        try:
            arrays[value] = timer.interpreter.get_tensor(detail["index"])
        except ValueError:  # nothing made it, or it is empty
            if 0 in detail["shape"]:
                arrays[value] = np.empty(detail["shape"], detail["dtype"])
    return arrays


def _overhead(threads: int) -> float:
    """Return the seconds of an invoke that computes one number: each op alone takes so much longer than in the file."""
    graph = Graph("main")
    negation = Op("tfl.NEG", [graph.add_input(FLOAT32, (1,), "x")])
    graph.ops, graph.outputs = [negation], [negation.add_result(FLOAT32, (1,), "y")]
    data = to_bytes(Module([Signature(["serve"], graph, ["x"], ["y"])]))
    return Timer(data, [np.ones(1, np.float32)], threads, "none").median(100)
