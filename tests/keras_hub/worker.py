"""The steps of one kind, each in a process of its own (see server.py).

A kind has a folder: `model` is the SavedModel, `runs.npz` what it was fed and gave, `ours.tflite` and `peer.tflite` the
files. What a step tells can be written as JSON.
"""

from __future__ import annotations

import functools
import re
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.process import WorkerError

if TYPE_CHECKING:
    import numpy as np

# A run is a signature and a number; its arrays are inputs ("in"), outputs ("out") and the noise of outputs ("noise") by
# name.
Runs = dict[tuple[str, str], dict[str, dict[str, "np.ndarray"]]]


def make(kind: str, folder: Path) -> dict[str, Any]:
    """Leaves the SavedModel of a kind and what it computes."""
    import numpy as np
    import tensorflow as tf

    from tests.keras_hub.kinds import make as make_model
    from tests.keras_hub.signatures import NotTriedError

    try:
        _, signatures = make_model(kind)
        traced = {name: signature.trace() for name, signature in signatures.items()}
    except NotTriedError as error:
        return {"not_tried": str(error)}
    module = tf.Module()
    module.captured = [variable for function in traced.values() for variable in function.graph.variables]
    tf.saved_model.save(module, str(folder / "model"), signatures=traced)
    arrays: dict[str, Any] = {}
    for name, function in traced.items():
        arrays |= _runs(name, function)
    np.savez(folder / "runs.npz", **arrays)
    return {}


def _runs(signature: str, function: Any) -> dict[str, np.ndarray]:
    """Return what a function gives on two draws, the second larger where sizes are open if the model takes that."""
    import numpy as np
    import tensorflow as tf

    from tests.keras_hub.inputs import draw, sized

    rng = np.random.default_rng(1)
    specs = {spec.name: spec for spec in tf.nest.flatten(function.structured_input_signature)}
    arrays: dict[str, np.ndarray] = {}
    for run in range(2):
        feed = {
            name: draw(name, sized(name, spec.shape.as_list(), run), np.dtype(spec.dtype.as_numpy_dtype), rng)
            for name, spec in specs.items()
        }
        try:
            results = function(**{name: tf.constant(array) for name, array in feed.items()})
        except tf.errors.InvalidArgumentError:
            if run == 0:
                raise
            break  # the model takes no other size
        arrays |= {f"{signature}|{run}|in|{name}": array for name, array in feed.items()}
        arrays |= {f"{signature}|{run}|out|{name}": result.numpy() for name, result in results.items()}
        found = _noise(function, feed, results)
        arrays |= {f"{signature}|{run}|noise|{name}": np.array(noise) for name, noise in found.items()}
    return arrays


def _noise(function: Any, feed: dict[str, np.ndarray], results: dict[str, Any]) -> dict[str, float]:
    """Return by how much each output of floats changes, over its largest number, where every weight is rounded anew:
    the most of three draws. What rounds otherwise than TensorFlow, as any other runtime does, may differ as much."""
    import numpy as np
    import tensorflow as tf
    from ml_dtypes import finfo  # numpy's knows no bfloat16

    weights = [variable for variable in function.graph.variables if variable.dtype.is_floating]
    before = [weight.numpy() for weight in weights]
    exact = {name: result.numpy().astype(np.float64) for name, result in results.items() if result.dtype.is_floating}
    noise = dict.fromkeys(exact, 0.0)
    rng = np.random.default_rng(2)
    for _ in range(3):
        for weight, array in zip(weights, before):
            half_steps = float(finfo(array.dtype).eps) / 2 * rng.choice([-1, 1], array.shape)
            weight.assign((array.astype(np.float64) * (1 + half_steps)).astype(array.dtype))
        moved = function(**{name: tf.constant(array) for name, array in feed.items()})
        for name, array in exact.items():
            largest = np.abs(array).max(initial=0.0)
            change = np.abs(moved[name].numpy() - array).max(initial=0.0)
            noise[name] = max(noise[name], float(change / largest) if largest else 0.0)
    for weight, array in zip(weights, before):
        weight.assign(array)
    return noise


def peer(folder: Path) -> dict[str, Any]:
    """Converts with TFLiteConverter, builtin ops only."""
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / "model"))
    try:
        (folder / "peer.tflite").write_bytes(converter.convert())
    except Exception as error:
        raise WorkerError(reason(str(error)) or type(error).__name__) from error
    return {}


def reason(text: str) -> str:
    """Return what an error of TFLiteConverter's says, without the place, which is long: the first line that tells an
    error. The last one is a note."""
    lines = text.splitlines() or [""]
    line = next((line for line in lines if "error:" in line), lines[0])
    return re.sub(r"^.*?error: (loc\(.*\): )?", "", line).strip()


def check(file: Path, tolerance: float) -> dict[str, Any]:
    """Tells a file's ops and bytes, its largest error over that of each output's numbers, and what is wrong: more than
    the tolerance, or than twice what the model's own rounding amounts to where that is more.

    Each run is invoked twice, and the second is judged."""
    from fuseconv.output_comparison import compare
    from fuseconv.runners import TFLiteFile
    from tests.bench.worker import count_ops

    loaded = TFLiteFile(file)
    errors, wrong = [], []
    for (signature, run), arrays in runs(file.parent).items():
        loaded.run(signature, arrays["in"])
        actual = loaded.run(signature, arrays["in"])
        for name, expected in arrays["out"].items():
            noise = float(arrays["noise"].get(name, 0.0))
            _, relative, why = compare(expected, actual[name], rtol=max(tolerance, 2 * noise))
            errors += [] if relative is None else [relative]
            wrong += [f"{signature}, run {run}, {name}: {why}"] if why else []
    result: dict[str, Any] = {"ops": count_ops(file), "bytes": file.stat().st_size, "error": max(errors, default=None)}
    return result | ({"wrong": wrong[0]} if wrong else {})


def runs(folder: Path) -> Runs:
    """Return what the model of a folder was fed and gave."""
    import numpy as np

    found: Runs = {}
    with np.load(folder / "runs.npz") as archive:
        for key in archive.files:
            signature, run, side, name = key.split("|", 3)
            found.setdefault((signature, run), {"in": {}, "out": {}, "noise": {}})[side][name] = archive[key]
    return found


def latency(folder: Path, sides: list[str]) -> dict[str, float]:
    """Return the median milliseconds of the first run, of both files in turns: those of the processor, so that other
    processes do not count. Every operation runs on one thread."""
    from fuseconv.runners import TFLiteFile
    from tests.bench.worker import take_turns

    (signature, _), arrays = next(iter(runs(folder).items()))
    files = {side: TFLiteFile(folder / f"{side}.tflite") for side in sides}
    invokes = {side: functools.partial(file.run, signature, arrays["in"]) for side, file in files.items()}
    turns = take_turns(invokes, clock=time.process_time)
    return {side: 1e3 * statistics.median(seconds) for side, seconds in turns.items()}


def step(action: str, *arguments: str) -> Any:
    """Run a step by its name."""
    match action, arguments:
        case "kinds", ():
            from tests.keras_hub.kinds import kinds

            return kinds()
        case "make", (kind, folder):
            return make(kind, Path(folder))
        case "peer", (folder,):
            return peer(Path(folder))
        case "check", (file, tolerance):
            return check(Path(file), float(tolerance))
        case "latency", (folder, sides):
            return latency(Path(folder), sides.split(","))
    raise ValueError(f"no step {action} takes {len(arguments)} arguments")
