"""Judges the cases of testdata/museum: what fuseconv or TFLiteConverter makes of each, and runtimes of that.

`make museum` asks TFLiteConverter again, in worker processes, since it crashes on some, and writes the table into
testdata/museum/README.md. `python -m tests.museum --side ours --only NAME,...` tells what fuseconv makes of some cases.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.bench.table import aligned, insert
from tests.opcases import Worker

if TYPE_CHECKING:
    from testdata.museum.case import Case

PAGE = Path(__file__).parents[1] / "testdata" / "museum" / "README.md"
# wrong: other numbers, types or shapes, or another state after them. fails: the runtime refuses the file, or its run.
STATES = ("right", "refused", "wrong", "fails", "crashes", "hangs")
_TRACKERS = {
    "tensorflow": "tensorflow/tensorflow",
    "LiteRT": "google-ai-edge/LiteRT",
    "XNNPACK": "google/XNNPACK",
    "keras-hub": "keras-team/keras-hub",
    "keras": "keras-team/keras",
    "tflite-micro": "tensorflow/tflite-micro",
    "tensorflow-onnx": "onnx/tensorflow-onnx",
    "addons": "tensorflow/addons",
}
_SECONDS, _SECONDS_TO_START = 120.0, 600.0
_LONGEST_REASON = 160
_BATCHES = (1, 3)
# What is fed, and what TensorFlow makes of it.
Run = tuple[list[np.ndarray], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Outcome:
    """What became of a case: one of `STATES`; where, if not in all runtimes; and why."""

    case: str
    state: str
    where: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        return f"{self.state} ({', '.join(self.where)})" if self.where else self.state


def ours(case: Case) -> Outcome:
    """Return what fuseconv makes of a case."""
    import fuseconv
    from fuseconv.errors import UnsupportedError

    def convert(folder: Path) -> bytes | str:
        try:
            return fuseconv.convert(folder).data or b""
        except UnsupportedError as error:
            return "; ".join(f"{op}: {why}" for op, _, why in error.ops) or str(error)

    return judge(case, convert)


def peers(case: Case) -> Outcome:
    """Return what TFLiteConverter makes of a case, with its defaults. May end the process."""
    import tensorflow as tf

    def convert(folder: Path) -> bytes | str:
        try:
            return tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert()
        except Exception as error:  # whatever it raises is a refusal
            return str(error).strip() or type(error).__name__

    return judge(case, convert)


def judge(case: Case, convert: Callable[[Path], bytes | str]) -> Outcome:
    """Convert a case by `convert`, from a SavedModel to a file or the reason of a refusal; run and compare the file.

    It runs in TF's interpreter and in LiteRT's, with the default delegates and without any, twice for each size of what
    is unknown; each time it must compute what TensorFlow does.
    """
    from fuseconv.testing import _as_traced

    with tempfile.TemporaryDirectory() as folder:
        module = _save(case, Path(folder))
        data = convert(Path(folder))
    if isinstance(data, str):
        return Outcome(case.name, "refused", why=_short(data))
    # Each runtime starts where TensorFlow did: once computed, what it should give holds for all of them.
    with _as_traced():
        runs = [(arrays, _wanted(case, module.run, arrays)) for arrays in _feeds(case)]
    troubles: dict[str, tuple[str, str]] = {}
    runtimes = dict(_runtimes(data))
    for name, start in runtimes.items():
        if trouble := _trouble(runs, start):
            troubles[name] = trouble
    if not troubles:
        return Outcome(case.name, "right")
    state, why = max(troubles.values())
    where = tuple(troubles) if len(troubles) < len(runtimes) else ()
    return Outcome(case.name, state, where, _short(why))


def _save(case: Case, folder: Path) -> Any:
    """Save a case's function; return the module of what was saved: `run`, from x0, ... to y0, ..."""
    import tensorflow as tf

    function = case.build()
    named = [tf.TensorSpec(spec.shape, spec.dtype, f"x{index}") for index, spec in enumerate(case.specs)]

    def run(*args: Any) -> dict[str, Any]:
        return {f"y{index}": result for index, result in enumerate(tf.nest.flatten(function(*args)))}

    module = tf.Module()
    module.run = tf.function(run, autograph=False).get_concrete_function(*named)
    variables = {id(variable.handle) for variable in module.run.graph.variables}
    if any(tensor.dtype == tf.resource and id(tensor) not in variables for tensor in module.run.captured_inputs):
        # An owner of tables; of a layer of Keras 2, saving would trace each method.
        module.function = function
    module.captured = list(module.run.graph.variables)
    tf.saved_model.save(module, str(folder), signatures=module.run)
    return module


def _runtimes(data: bytes) -> Iterator[tuple[str, Callable[[], Any]]]:
    import tensorflow as tf
    from ai_edge_litert import interpreter as litert

    for name, module, kinds in (
        ("TF", tf.lite, tf.lite.experimental.OpResolverType),
        ("LiteRT", litert, litert.OpResolverType),
    ):
        for delegates, resolver in (("+XNNPACK", kinds.AUTO), ("", kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES)):

            def start(module: Any = module, resolver: Any = resolver) -> Any:
                return module.Interpreter(model_content=data, experimental_op_resolver_type=resolver)

            yield name + delegates, start


def _wanted(case: Case, concrete: Any, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.asarray(tensor.numpy()) for name, tensor in concrete(*_tensors(case, arrays)).items()}


def _trouble(runs: Sequence[Run], start: Callable[[], Any]) -> tuple[str, str] | None:
    """Run a case's file in one runtime; return the state and why it is not right, or None."""
    from fuseconv.testing import assert_close

    try:
        interpreter = start()
        runner = interpreter.get_signature_runner()
        ends = runner.get_input_details(), runner.get_output_details()
        del runner  # the interpreter takes no new shape while it is held
    except Exception as error:  # whatever a runtime raises is what it says of the file
        return "fails", str(error)
    shapes: list[tuple[int, ...]] = []
    for arrays, wanted in runs:
        before, shapes = shapes, [array.shape for array in arrays]
        try:
            # Tensors are only allocated where the shapes are new, so that state which leaks is seen.
            given = _invoke(interpreter, *ends, arrays, allocate=shapes != before)
        except Exception as error:
            return "fails", str(error)
        for name, array in wanted.items():
            try:
                assert_close(given[name], array)
            except (AssertionError, KeyError) as error:
                return "wrong", f"{name}: {' '.join(str(error).split())}"
    return None


def _feeds(case: Case) -> Iterator[list[np.ndarray]]:
    """The arrays of each run, two runs of each size."""
    if case.inputs is not None:
        yield from [list(case.inputs)] * 2
        return
    rng = np.random.default_rng(11)
    for batch in _BATCHES if any(None in spec.shape.as_list() for spec in case.specs) else _BATCHES[:1]:
        for _ in range(2):
            yield [_draw(rng, spec, batch) for spec in case.specs]


def _draw(rng: np.random.Generator, spec: Any, batch: int) -> np.ndarray:
    """Normally distributed floats, whole numbers of 0 to 9; unknown sizes but the first are 5 larger than the batch."""
    shape = [size or (batch if axis == 0 else batch + 5) for axis, size in enumerate(spec.shape.as_list())]
    if spec.dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if spec.dtype.is_integer:
        return rng.integers(0, 10, shape).astype(spec.dtype.as_numpy_dtype)
    real = rng.standard_normal(shape)
    return np.asarray(real + 1j * rng.standard_normal(shape) if spec.dtype.is_complex else real).astype(
        spec.dtype.as_numpy_dtype
    )


def _tensors(case: Case, arrays: Sequence[np.ndarray]) -> list[Any]:
    import tensorflow as tf

    return [tf.constant(array, spec.dtype) for array, spec in zip(arrays, case.specs, strict=True)]


def _invoke(
    interpreter: Any, inputs: dict, outputs: dict, arrays: Sequence[np.ndarray], allocate: bool
) -> dict[str, np.ndarray]:
    # What a graph does not need, TFLiteConverter leaves out of the inputs.
    feed = {inputs[f"x{n}"]["index"]: array for n, array in enumerate(arrays) if f"x{n}" in inputs}
    if allocate:
        for index, array in feed.items():
            interpreter.resize_tensor_input(index, array.shape)
        interpreter.allocate_tensors()
    for index, array in feed.items():
        interpreter.set_tensor(index, array)
    interpreter.invoke()
    details = {detail["index"]: detail for detail in interpreter.get_output_details()}
    return {name: _result(interpreter, details[end["index"]]) for name, end in outputs.items()}


def _result(interpreter: Any, detail: dict[str, Any]) -> np.ndarray:
    if 0 in detail["shape"]:  # the interpreter has no buffer to give
        return np.empty(detail["shape"], detail["dtype"])
    return interpreter.get_tensor(detail["index"])


def _short(why: str) -> str:
    """The line of a message that tells most, without places in files."""
    lines = [line for line in why.strip().splitlines() if line.strip()] or [""]
    telling = next((line for line in lines if "error: " in line and "failed while converting" not in line), lines[0])
    return re.sub(r"^loc\(.*\): ", "", telling.rpartition("error: ")[2])[:_LONGEST_REASON]


def ask(names: Sequence[str], side: str, seconds: float) -> Iterator[Outcome]:
    """Judge cases in worker processes: one that dies, or takes longer than `seconds` a case, costs one case."""
    command = (sys.executable, "-m", "tests.museum", "--worker", "--side", side)
    worker = Worker(command)
    worker.ask("", _SECONDS_TO_START)  # what it takes to import TensorFlow is not the first case's
    for name in names:
        begin = time.perf_counter()
        answer = worker.ask(name, seconds)
        if answer is not None:
            told = json.loads(answer)
            yield Outcome(**{**told, "where": tuple(told["where"])})
            continue
        said = worker.end()
        state = "hangs" if time.perf_counter() - begin >= seconds else "crashes"
        yield Outcome(name, state, why=_short(said))
        worker = Worker(command)
        worker.ask("", _SECONDS_TO_START)
    worker.end()


def _work(side: str) -> None:
    from testdata.museum.case import load

    answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)  # what the runtimes print is no answer
    cases = load()
    for line in sys.stdin:
        name = line.rstrip("\n")
        outcome = {"ours": ours, "peer": peers}[side](cases[name]) if name else Outcome("", "right")
        answers.write(json.dumps(asdict(outcome)) + "\n")
        answers.flush()


def table(cases: Mapping[str, Case], peer: Mapping[str, str]) -> str:
    """Return the table of the cases in Markdown, with TFLiteConverter's states as given, and their numbers above."""
    rows = [["case", "told in", "what went wrong", "TFLiteConverter", "fuseconv"]]
    for case in cases.values():
        told = " ".join(_link(source) for source in case.sources)
        rows.append([case.name, told, case.wrong, peer.get(case.name, "not run"), expected(case)])
    counts = Counter(peer.get(name, "not run").partition(" (")[0] for name in cases)
    mine = Counter(re.split(r"\W", expected(case))[0] for case in cases.values())
    sums = [", ".join(f"{count} {state}" for state, count in kind.most_common()) for kind in (counts, mine)]
    return "\n".join([f"{len(cases)} cases. TFLiteConverter: {sums[0]}. fuseconv: {sums[1]}.", "", *aligned(rows)])


def page(asked: Mapping[str, str] | None = None) -> str:
    """Return the museum's page with its table written anew, TFLiteConverter's states as told, or else as there."""
    from testdata.museum.case import load

    text = PAGE.read_text()
    return insert(text, table(load(), {**recorded(text), **(asked or {})}), "museum")


def expected(case: Case) -> str:
    """Return what is expected of fuseconv, in words of the table."""
    if case.pending:
        return f"pending: {case.pending}"
    if case.refused:
        return "refused"
    if case.processor:
        return f"right, but {case.processor}"
    return f"kernel: {case.kernel}" if case.kernel else "right"


def _link(source: str) -> str:
    tracker, _, number = source.partition("#")
    return f"[{source}](https://github.com/{_TRACKERS[tracker]}/issues/{number})" if number else source


def recorded(text: str) -> dict[str, str]:
    """Return TFLiteConverter's state of each case that the table in a page tells."""
    rows = (re.split(r" *\| *", line.strip("| ")) for line in text.splitlines() if line.startswith("| "))
    return {row[0]: row[3] for row in rows if len(row) == 5 and row[3].partition(" (")[0] in STATES}


def main() -> None:
    from testdata.museum.case import load

    parser = argparse.ArgumentParser(description="Judges the cases of testdata/museum.")
    parser.add_argument("--only", default="", help="names of cases, with commas between them")
    parser.add_argument("--side", choices=("ours", "peer"), default="peer")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="the longest that a case may take")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work(options.side)
        return
    cases = load()
    names = [name for name in cases if not options.only or name in options.only.split(",")]
    outcomes = []
    for outcome in ask(names, options.side, options.seconds):
        outcomes.append(outcome)
        print(f"{outcome.case}: {outcome}{outcome.why and ': '}{outcome.why}", flush=True)
    if options.side == "peer":
        PAGE.write_text(page({outcome.case: str(outcome) for outcome in outcomes}))


if __name__ == "__main__":
    main()
