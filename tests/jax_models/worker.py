"""The steps of a kind, each in a process of its own: `python -m tests.jax_models.worker ACTION KIND FOLDER [FORM]`;
answers in JSON. Seconds are those of the processor, so that other processes do not count.

For a form (static, dynamic), a folder has `FORM.mlirbc` and the SavedModel `FORM` of JAX, `FORM.npz` with what JAX was
fed and gave, `FORM.twin`, the SavedModel of TensorFlow's twin, and `FORM.peer.tflite`.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.jax_models.kinds import BATCHES, FORMS, Input, inputs

_ROUNDS = 5


def make(kind: str, folder: Path) -> dict[str, Any]:
    """Export from JAX, by `jax.export` and as SavedModels."""
    import jax
    from jax.experimental import jax2tf

    specs = inputs(kind)
    rng = np.random.default_rng(1)
    feeds = [[spec.draw(batch, rng) for spec in specs] for batch in BATCHES]
    model, function = _jax_function(kind, feeds[0])
    jitted = jax.jit(lambda *x: jax.tree.leaves(function(*x)))
    scope = jax.export.SymbolicScope()
    for form in FORMS:
        fixed = form == "static"
        texts = [spec.sizes.replace("b", str(BATCHES[0])) if fixed else spec.sizes for spec in specs]
        sizes = [jax.export.symbolic_shape(text, scope=scope) for text in texts]
        shapes = [jax.ShapeDtypeStruct(shape, spec.dtype) for shape, spec in zip(sizes, specs)]
        exported = jax.export.export(jitted, platforms=["cpu"])(*shapes)
        (folder / f"{form}.mlirbc").write_bytes(exported.mlir_module_serialized)
        taken = [feed for feed, batch in zip(feeds, BATCHES) if not fixed or batch == BATCHES[0]]
        np.savez(folder / f"{form}.npz", **_runs(jitted, taken))
        if model is not None and not fixed:  # as a user of Keras does
            model.export(folder / form, format="tf_saved_model", verbose=False)
        else:
            polymorphic = None if fixed else [f"({spec.sizes})" for spec in specs]
            converted = jax2tf.convert(jitted, polymorphic_shapes=polymorphic, with_gradient=False)
            _save(converted, specs, fixed, folder / form)
    return {}


def _runs(function: Any, feeds: list[list[np.ndarray]]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for run, feed in enumerate(feeds):
        arrays |= {f"{run}|in|args_{at}": array for at, array in enumerate(feed)}
        arrays |= {f"{run}|out|output_{at}": np.asarray(made) for at, made in enumerate(function(*feed))}
    return arrays


def _jax_function(kind: str, feed: list[np.ndarray]) -> tuple[Any, Any]:
    """Return the model of a kind, if it is one of Keras, and its function."""
    if kind.startswith("keras_"):
        from tests.jax_models import keras_models

        model = keras_models.make(kind.removeprefix("keras_"))
        return model, lambda *x: model(list(x) if len(x) > 1 else x[0], training=False)
    from tests.jax_models.flax_models import MAKERS

    return None, MAKERS[kind](*feed)


def _save(function: Any, specs: tuple[Input, ...], fixed: bool, folder: Path, keep: Any = None) -> None:
    """Write a SavedModel of a function; keep: what its variables hang on."""
    import tensorflow as tf

    module = tf.Module()
    module.kept = keep
    taken = [
        tf.TensorSpec(spec.shape(BATCHES[0] if fixed else None), spec.dtype, name=f"args_{at}")
        for at, spec in enumerate(specs)
    ]
    made = tf.function(
        lambda *x: {f"output_{at}": value for at, value in enumerate(tf.nest.flatten(function(*x)))},
        autograph=False, input_signature=taken,
    )  # fmt: skip
    module.made = made
    tf.saved_model.save(module, str(folder), signatures=made)


def twin(kind: str, folder: Path) -> dict[str, Any]:
    """Write SavedModels of the same model of TensorFlow, if there is one."""
    from tests.jax_models import keras_models

    name = kind.partition("_")[2]
    if name not in keras_models.NAMES:
        return {}
    model = keras_models.make(name)
    for form in FORMS:
        call = model if name == "decoder" else lambda *x: model(list(x) if len(x) > 1 else x[0], training=False)
        _save(call, inputs(kind), form == "static", folder / f"{form}.twin", model)
    return {}


def peer(kind: str, folder: Path, form: str) -> dict[str, Any]:
    """Convert with TFLiteConverter, with builtin ops alone."""
    import tensorflow as tf

    from tests.bench.process import WorkerError
    from tests.bench.worker import TINY, convert
    from tests.keras_hub.worker import reason

    convert("peer", TINY, folder / "tiny.tflite")
    start = time.process_time()
    try:
        data = tf.lite.TFLiteConverter.from_saved_model(str(folder / form)).convert()
    except Exception as error:
        raise WorkerError(reason(str(error)) or type(error).__name__) from error
    seconds = time.process_time() - start
    (folder / f"{form}.peer.tflite").write_bytes(data)
    return {"seconds": seconds}


def ours(kind: str, folder: Path, form: str) -> dict[str, Any]:
    """Convert the module, the SavedModel and the twin, and hold the files to what JAX computed; the module and the twin
    again where there are ids, with their ranges."""
    from fuseconv.api import convert
    from fuseconv.load.stablehlo.bytecode import read_bytecode
    from tests.bench.worker import TINY, count_ops

    convert(TINY)
    module = folder / f"{form}.mlirbc"
    seconds, reading = [], []
    for _ in range(_ROUNDS):
        start = time.process_time()
        convert(module, folder / f"{form}.ours.tflite")
        seconds.append(time.process_time() - start)
        start = time.process_time()
        read_bytecode(module.read_bytes(), module.name)
        reading.append(time.process_time() - start)
    convert(folder / form, folder / f"{form}.saved.tflite")
    ranges = {f"args_{at}": (0, spec.high - 1) for at, spec in enumerate(inputs(kind)) if spec.high}
    sides = ("ours", "saved", "peer", "ranged", "twin", "twin_ranged")
    files = {side: folder / f"{form}.{side}.tflite" for side in sides}
    if ranges:
        convert(module, files["ranged"], input_ranges=ranges)
    if (folder / f"{form}.twin").exists():
        convert(folder / f"{form}.twin", files["twin"])
        if ranges:
            convert(folder / f"{form}.twin", files["twin_ranged"], input_ranges=ranges)
    found: dict[str, Any] = {side: {"ops": count_ops(file)} for side, file in files.items() if file.exists()}
    for side in found.keys() - {"twin", "twin_ranged"}:
        found[side] |= _checked(files[side], folder / f"{form}.npz")
    found["ours"] |= {"seconds": statistics.median(seconds), "reading": statistics.median(reading)}
    found["ours"]["types"] = types(files["ours"])
    return found


def types(file: Path) -> dict[str, int]:
    """Return how many ops of each type a file has."""
    from collections import Counter

    import fuseconv

    ops = [op["op"] for subgraph in fuseconv.inspect(file)["subgraphs"] for op in subgraph["ops"]]
    return dict(Counter(ops))


def _checked(file: Path, runs: Path) -> dict[str, Any]:
    """Return the largest error of a file over the range of an output, each run invoked twice; or what is wrong."""
    from fuseconv.runners import TFLiteFile

    errors = []
    try:
        loaded = TFLiteFile(file)
        with np.load(runs) as archive:
            arrays = {key: archive[key] for key in archive.files}
        for run in sorted({key.partition("|")[0] for key in arrays}):
            feed = {name: arrays[f"{run}|in|{name}"] for name in loaded.inputs("serving_default")}
            loaded.run("serving_default", feed)
            made = loaded.run("serving_default", feed)
            for name, actual in made.items():
                expected = arrays[f"{run}|out|{name}"]
                if actual.shape != expected.shape or actual.dtype != expected.dtype:
                    return {"wrong": f"{name} is {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}"}
                span = max(np.ptp(expected.astype(np.float64)), 1e-30)
                errors.append(float(np.abs(actual.astype(np.float64) - expected).max() / span))
    except Exception as error:
        return {"wrong": f"does not run: {error}"}
    return {"error": max(errors)}


def main(action: str, kind: str, folder: str, *form: str) -> None:
    steps: dict[str, Any] = {"make": make, "twin": twin, "peer": peer, "ours": ours}
    print(json.dumps(steps[action](kind, Path(folder), *form)))


if __name__ == "__main__":
    main(*sys.argv[1:])
