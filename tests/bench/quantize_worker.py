"""What the measurement of quantized files runs in processes of their own: `python -m tests.bench.quantize_worker ACTION
ARGUMENTS`, answers in JSON.

Importing this imports neither TensorFlow nor fuseconv. A process that crashes, as the peer does on some models, takes
nothing else with it.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.quantize_models import MODELS, SEQUENCES, built, make
from tests.bench.worker import TINY, take_turns

if TYPE_CHECKING:
    import numpy as np

MEASURED = ("int8", "int16x8")
# Those that are converted without samples, and with them.
ROUNDED = ("dynamic", "int4")
# Conversions are timed with as many samples. Ranges are measured over more, so that later ones are hardly clipped: the
# state of a recurrent layer is a sum over steps, and its extremes are rare.
TIMED, SAMPLES, SAMPLES_OF_SEQUENCES = 32, 100, 400
FRESH = 24
# Seeds of samples: no sample is both measured and judged.
_FIRST_SAMPLE, _FIRST_FRESH = 1_000, 100_000


def samples(name: str, count: int, first: int = _FIRST_SAMPLE) -> list[dict[str, np.ndarray]]:
    """Return samples of a batch of one."""
    return [MODELS[name].sample(1, seed) for seed in range(first, first + count)]


def convert(side: str, name: str, model: Path, mode: str, out: Path) -> dict[str, float]:
    """Convert with fuseconv ("ours", "samples" where none are needed, "auto" with `--rnn auto`) or with TFLiteConverter
    ("peer"); return the processor's seconds of a conversion with 32 samples, once all is imported. The file is of
    more."""
    few, count = samples(name, TIMED), SAMPLES_OF_SEQUENCES if name in SEQUENCES else SAMPLES
    if side == "peer":
        converter = _peer(name, model, mode)
    else:
        rnn = "auto" if side == "auto" else "fused"
        takes = mode in MEASURED or side == "samples"
        converter = lambda data: _ours(model, mode, data if takes else None, rnn)  # noqa: E731
        _ours(TINY, "float", None, rnn)
        # TFLiteConverter imports its calibration with itself.
        found = pkgutil.iter_modules(["fuseconv/quantize"], "fuseconv.quantize.")
        for module in ("ai_edge_litert.interpreter", *(each.name for each in found)):
            importlib.import_module(module)
    start = time.process_time()
    data = converter(few)
    seconds = time.process_time() - start
    if mode in MEASURED or side == "samples":
        data = converter(samples(name, count))
    out.write_bytes(data)
    return {"seconds": seconds, "bytes": len(data)}


def _ours(model: Path, mode: str, data: list[dict[str, Any]] | None, rnn: str) -> bytes:
    import fuseconv

    how: dict[str, Any] = {} if mode == "float" else {"quantize": mode}
    if data is not None:
        how["calibration_data"] = data
    made = fuseconv.convert(model, rnn=rnn, **how).data
    assert made is not None
    return made


def _peer(name: str, model: Path, mode: str) -> Callable[[list[dict[str, Any]]], bytes]:
    """Return what converts with samples. The peer takes recurrent layers with a fixed batch only."""
    import tensorflow as tf

    whole = built(name, 1) if name in SEQUENCES else None

    def run(data: list[dict[str, Any]]) -> bytes:
        make_one = tf.lite.TFLiteConverter
        converter = make_one.from_keras_model(whole) if whole else make_one.from_saved_model(str(model))
        if mode != "float":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if mode == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if mode in MEASURED:
            converter.representative_dataset = lambda: iter(data)
        if mode == "int16x8":
            int16 = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
            converter.target_spec.supported_ops = [int16, tf.lite.OpsSet.TFLITE_BUILTINS]
        return converter.convert()

    return run


def judge(name: str, folder: Path, mode: str) -> dict[str, dict[str, Any]]:
    """Return errors and latency of the files `mode.SIDE.tflite` against `float.ours.tflite`; why one does not run.

    error: the largest difference on fresh samples, over the range of the output that it is in. spread: the root of the
    mean square of differences, of that output where it is largest, which chance moves less. clipped: how far these
    outputs lie beyond those of the samples that ranges were measured on; no file of integers holds them."""
    import numpy as np

    files = {path.name.split(".")[1]: path for path in sorted(folder.glob(f"{mode}.*.tflite"))}
    fresh = samples(name, FRESH, _FIRST_FRESH)
    wanted = _outputs(folder / "float.ours.tflite", fresh)
    ranges = {key: float(np.ptp(array)) for key, array in wanted.items()}
    clipped = 0.0
    if mode in MEASURED:
        count = SAMPLES_OF_SEQUENCES if name in SEQUENCES else SAMPLES
        known = _outputs(folder / "float.ours.tflite", samples(name, count))
        clipped = max(
            float(np.abs(array - np.clip(array, known[key].min(), known[key].max())).max()) / ranges[key]
            for key, array in wanted.items()
        )
    results: dict[str, dict[str, Any]] = {}
    for side, path in tuple(files.items()):
        try:
            found = _outputs(path, fresh)
        except (RuntimeError, ValueError) as error:
            results[side] = {"failed": str(error).splitlines()[0]}
            del files[side]
            continue
        differences = {key: (found[key] - wanted[key]) / ranges[key] for key in wanted}
        results[side] = {
            "error": max(float(np.abs(each).max()) for each in differences.values()), "clipped": clipped,
            "spread": max(float(np.sqrt(np.square(each).mean())) for each in differences.values()),
        }  # fmt: skip
    if name in SEQUENCES:
        files["float"] = folder / "float.ours.tflite"
    for side, seconds in take_turns(dict(_invokes(name, files)), time.process_time).items():
        results.setdefault(side, {})["milliseconds"] = 1e3 * min(seconds)
    return results


def _outputs(path: Path, fed: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return each output for all samples, by its place in the order of the outputs' names."""
    import numpy as np

    runner = _interpreter(path).get_signature_runner("serving_default")
    rows: list[dict[str, np.ndarray]] = [runner(**sample) for sample in fed]
    return {str(at): np.stack([row[key] for row in rows]) for at, key in enumerate(sorted(rows[0]))}


def _invokes(name: str, files: dict[str, Path]) -> Iterator[tuple[str, Any]]:
    for side, path in files.items():
        interpreter = _interpreter(path)
        interpreter.allocate_tensors()
        inputs = interpreter.get_signature_runner("serving_default").get_input_details()
        for key, array in MODELS[name].sample(1).items():
            interpreter.set_tensor(inputs[key]["index"], array)
        yield side, interpreter.invoke


def _interpreter(path: Path) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(str(path), num_threads=1)


def main(action: str, *arguments: str) -> None:
    match action, arguments:
        case "make", (name, directory):
            make(name, Path(directory))
        case "convert", (side, name, model, mode, out):
            print(json.dumps(convert(side, name, Path(model), mode, Path(out))))
        case "judge", (name, folder, mode):
            print(json.dumps(judge(name, Path(folder), mode)))


if __name__ == "__main__":
    main(*sys.argv[1:])
