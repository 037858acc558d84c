"""What the benchmark runs in processes of their own: `python -m tests.bench.worker ACTION ARGUMENTS`, answers in JSON.

Importing this imports neither TensorFlow nor fuseconv, so that a cold conversion pays for what it needs itself.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

SIDES = ("ours", "peer")
# A model to convert first, so that a warm conversion finds every module imported and every kernel registered.
TINY = Path("testdata/conv_bn")
BATCHES = (1, 3)
# Warm conversions, and rounds of invokes, are repeated as often, or as long (in seconds).
_CONVERSIONS, _CONVERSION_SECONDS = 5, 20.0
_ROUNDS, _ROUND_SECONDS, _FEWEST_ROUNDS = 40, 4.0, 5
_WARM_UP_ROUNDS = 3
# A round is at least this long, in invokes: what takes microseconds is not timed one by one.
_ROUND_LENGTH = 5e-3


def convert(side: str, model: Path, out: Path) -> None:
    """Converts with fuseconv ("ours") or with TFLiteConverter ("peer")."""
    if side == "ours":
        import fuseconv

        fuseconv.convert(model, out=out)
    else:
        import tensorflow as tf

        if model.is_dir():
            converter = tf.lite.TFLiteConverter.from_saved_model(str(model))
        else:
            converter = tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(model, compile=False))
        out.write_bytes(converter.convert())


def warm(sides: list[str], model: Path, directory: Path) -> dict[str, float]:
    """Median seconds of a conversion with TensorFlow imported, the sides taking turns."""
    import tensorflow  # noqa: F401

    directory.mkdir(parents=True, exist_ok=True)
    for side in sides:
        convert(side, TINY, directory / f"{side}.tflite")
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    begin = time.perf_counter()
    for _ in range(_CONVERSIONS):
        for side in sides:
            os.sync()  # else the clock also counts the writing of what went before to the disk
            start = time.perf_counter()
            convert(side, model, directory / f"{side}.tflite")
            seconds[side].append(time.perf_counter() - start)
        if time.perf_counter() - begin > _CONVERSION_SECONDS:
            break
    return {side: statistics.median(values) for side, values in seconds.items()}


def times(model: Path, out: Path) -> dict[str, list[float]]:
    """The processor's seconds for a first conversion, imports included, and for more; ops and bytes of the file."""
    convert("ours", model, out)
    cold = time.process_time()
    convert("ours", TINY, out.with_suffix(".tiny"))
    # Else the imports' garbage is collected in one of the conversions, by the number of modules in another one each.
    gc.collect()
    warm = []
    for _ in range(_CONVERSIONS):
        start = time.process_time()
        convert("ours", model, out)
        warm.append(time.process_time() - start)
    return {"cold": [cold], "warm": warm, "ops": [count_ops(out)], "bytes": [out.stat().st_size]}


def expected(name: str, model: Path) -> None:
    """Leaves the outputs of TensorFlow beside the model, for each batch size."""
    import numpy as np
    import tensorflow as tf

    from tests.bench.models import MODELS

    function = tf.saved_model.load(str(model)).signatures["serving_default"]
    arrays: dict[str, Any] = {}
    for batch in BATCHES:
        feed = {key: tf.constant(array) for key, array in MODELS[name].sample(batch).items()}
        arrays |= {f"{batch}/{key}": tensor.numpy() for key, tensor in function(**feed).items()}
    np.savez(model / "expected.npz", **arrays)


def run(name: str, model: Path, directory: Path) -> dict[str, dict[str, Any]]:
    """Size, ops, latency and errors of the files `ours.tflite` and `peer.tflite` in the directory, those that exist."""
    files = {side: path for side in SIDES if (path := directory / f"{side}.tflite").exists()}
    results: dict[str, dict[str, Any]] = {}
    for side, path in files.items():
        results[side] = {"bytes": path.stat().st_size, "ops": count_ops(path), "errors": _errors(name, model, path)}
    for side, milliseconds in _latencies(name, files).items():
        results[side]["milliseconds"] = milliseconds
    return results


def count_ops(path: Path) -> int:
    from ai_edge_litert import schema_py_generated as schema

    model = schema.Model.GetRootAs(path.read_bytes())
    return sum(model.Subgraphs(index).OperatorsLength() for index in range(model.SubgraphsLength()))


def _errors(name: str, model: Path, path: Path) -> dict[int, float]:
    """The largest error for each batch size, over the range of the output that it is in.

    The first size is run twice, and the second run is judged; the next one means a resize."""
    import numpy as np

    from tests.bench.models import MODELS

    reference = np.load(model / "expected.npz")
    runner = _interpreter(path).get_signature_runner("serving_default")
    errors = {}
    for batch in BATCHES:
        feed = MODELS[name].sample(batch)
        runner(**feed)
        outputs = runner(**feed)
        wanted = {key.partition("/")[2]: reference[key] for key in reference if key.startswith(f"{batch}/")}
        if wanted.keys() != outputs.keys():
            raise SystemExit(f"the outputs are {sorted(outputs)} instead of {sorted(wanted)}")
        errors[batch] = max(_error(outputs[key], wanted[key]) for key in wanted)
    return errors


def _error(actual: np.ndarray, wanted: np.ndarray) -> float:
    if actual.shape != wanted.shape:
        raise SystemExit(f"an output has the shape {actual.shape} instead of {wanted.shape}")
    return float(abs(actual - wanted).max() / (wanted.max() - wanted.min()))


def _latencies(name: str, files: dict[str, Path]) -> dict[str, float]:
    """Median milliseconds of an invoke on one thread, batch 1, the files taking turns.

    Half of the rounds run in interpreters that were made in the other order: which comes first to the memory makes a
    difference of up to 3%."""
    halves = [_timed(name, dict(pairs)) for pairs in (files.items(), reversed(files.items()))]
    return {side: 1e3 * statistics.median([*halves[0][side], *halves[1][side]]) for side in files}


def _timed(name: str, files: dict[str, Path]) -> dict[str, list[float]]:
    """Seconds of an invoke, one number a round."""
    from tests.bench.models import MODELS

    invokes = {}
    for side, path in files.items():
        interpreter = _interpreter(path)
        interpreter.allocate_tensors()
        inputs = interpreter.get_signature_runner("serving_default").get_input_details()
        for key, array in MODELS[name].sample(1).items():
            interpreter.set_tensor(inputs[key]["index"], array)
        invokes[side] = interpreter.invoke
    return take_turns(invokes)


def take_turns(
    invokes: Mapping[str, Callable[[], Any]], clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of a call by side, one number a round, by a clock."""
    repeats = 1
    seconds: dict[str, list[float]] = {side: [] for side in invokes}
    begin = time.perf_counter()
    for turn in range(_WARM_UP_ROUNDS + _ROUNDS):
        # Each side goes first as often as the other.
        for side in sorted(invokes, reverse=bool(turn % 2)):
            start = clock()
            for _ in range(repeats):
                invokes[side]()
            seconds[side].append((clock() - start) / repeats)
        if turn == _WARM_UP_ROUNDS - 1:
            repeats = max(1, round(_ROUND_LENGTH / min(min(values) for values in seconds.values())))
        if turn >= _WARM_UP_ROUNDS + _FEWEST_ROUNDS and time.perf_counter() - begin > _ROUND_SECONDS:
            break
    return {side: values[_WARM_UP_ROUNDS:] for side, values in seconds.items()}


def _interpreter(path: Path) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(str(path), num_threads=1)


def main(action: str, *arguments: str) -> None:
    match action, arguments:
        case "make", (name, directory):
            from tests.bench.models import make

            make(name, Path(directory))
        case "expected", (name, model):
            expected(name, Path(model))
        case "convert", (side, model, out):
            convert(side, Path(model), Path(out))
        case "warm", (sides, model, directory):
            print(json.dumps(warm(sides.split(","), Path(model), Path(directory))))
        case "times", (model, out):
            print(json.dumps(times(Path(model), Path(out))))
        case "run", (name, model, directory):
            print(json.dumps(run(name, Path(model), Path(directory))))


if __name__ == "__main__":
    main(*sys.argv[1:])
