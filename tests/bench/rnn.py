"""Measures recurrent layers against TFLiteConverter: `make bench`, or `python -m tests.bench.rnn [--seconds 3]`.

Each layer is converted by both from one model with random weights and a batch of 1, and both files run in turns in this
process, on 1 thread; ours also with `--rnn auto`, which fuses nothing. The table tells the median latency, how often
faster ours is than the peer's, and the largest difference of the results; then what the conversion of three
bidirectional LSTMs takes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.bench.table import PAGE, insert
from tests.random_weights import randomize

SIZES = ((28, 28, 32), (100, 128, 256))
LAYERS = ("LSTM", "SimpleRNN", "GRU")
_ROUND_SECONDS = 0.01


@dataclass(frozen=True)
class Case:
    """A Keras 3 layer on a sequence [1, steps, inputs]."""

    layer: str
    steps: int
    inputs: int
    units: int
    sequences: bool

    def model(self) -> Any:
        import keras

        layer = getattr(keras.layers, self.layer)(self.units, return_sequences=self.sequences)
        model = keras.Sequential([keras.Input((self.steps, self.inputs), batch_size=1), layer])
        randomize(model, 1)
        return model

    @property
    def title(self) -> str:
        outputs = "all" if self.sequences else "last"
        return f"{self.layer} | {self.steps} x {self.inputs} -> {self.units} | {outputs}"


def cases() -> Iterator[Case]:
    """Each layer in both sizes, with the last output and with all."""
    for layer in LAYERS:
        for size in SIZES:
            for sequences in (False, True):
                yield Case(layer, *size, sequences)


def export(model: Any, path: str) -> None:
    """Writes a SavedModel, and what Keras says about that to stderr."""
    with contextlib.redirect_stdout(sys.stderr):
        model.export(path, verbose=False)


def ours(model: Any, rnn: str) -> bytes:
    from fuseconv import convert

    with tempfile.TemporaryDirectory() as folder:
        export(model, f"{folder}/model")
        data = convert(f"{folder}/model", rnn=rnn).data
    assert data is not None
    return data


def peers(model: Any) -> bytes:
    import tensorflow as tf

    with contextlib.redirect_stdout(sys.stderr):
        return tf.lite.TFLiteConverter.from_keras_model(model).convert()


class Runner:
    """A file in an interpreter with its default delegates and 1 thread; `times` of its invokes, in seconds."""

    def __init__(self, data: bytes, x: np.ndarray) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(model_content=data, num_threads=1)
        self.interpreter.allocate_tensors()
        self.interpreter.set_tensor(self.interpreter.get_input_details()[0]["index"], x)
        self.interpreter.invoke()
        self.result = self.interpreter.get_tensor(self.interpreter.get_output_details()[0]["index"])
        self.times: list[float] = []

    def run(self) -> None:
        end = time.perf_counter() + _ROUND_SECONDS
        while (start := time.perf_counter()) < end:
            self.interpreter.invoke()
            self.times.append(time.perf_counter() - start)


def measure(case: Case, seconds: float) -> tuple[list[float], float]:
    """The medians of the latencies in seconds - ours, ours with `--rnn auto`, the peer's - and the largest difference
    of our results from the peer's."""
    model = case.model()
    x = np.random.default_rng(0).standard_normal((1, case.steps, case.inputs)).astype(np.float32)
    runners = [Runner(data, x) for data in (ours(model, "fused"), ours(model, "auto"), peers(model))]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for runner in runners:
            runner.run()
    errors = [np.abs(runner.result - runners[-1].result).max() for runner in runners]
    return [statistics.median(runner.times) for runner in runners], float(max(errors))


def conversion_seconds(repeats: int = 3) -> tuple[float, float]:
    """The shortest conversion of three bidirectional LSTMs: ours from a SavedModel, and the peer's, which refuses that,
    from the model in memory."""
    import keras

    from fuseconv import convert

    def layer() -> Any:
        return keras.layers.Bidirectional(keras.layers.LSTM(64, return_sequences=True))

    model = keras.Sequential([keras.Input((50, 32), batch_size=1), layer(), layer(), layer()])
    mine: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        export(model, f"{folder}/model")
        for _ in range(repeats):
            for times, run in ((mine, lambda: convert(f"{folder}/model")), (theirs, lambda: peers(model))):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
    return min(mine), min(theirs)


def table(seconds: float) -> str:
    lines = ["| layer | steps x inputs -> units | outputs | µs | `--rnn auto`, µs | TFLiteConverter, µs | difference |"]
    lines.append("|---|---|---|---|---|---|---|")
    for case in cases():
        (*mine, theirs), error = measure(case, seconds)
        cells = " | ".join(f"{latency * 1e6:.0f} ({theirs / latency:.1f}x)" for latency in mine)
        lines.append(f"| {case.title} | {cells} | {theirs * 1e6:.0f} | {error:.1e} |")
        print(lines[-1], file=sys.stderr, flush=True)
    seconds, peers_seconds = conversion_seconds()
    lines.append(f"\nConversion of three bidirectional LSTMs: {seconds:.3f} s, TFLiteConverter {peers_seconds:.2f} s.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of running both files, for each layer")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    options = parser.parse_args()
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    text = table(options.seconds)
    print(text)
    if options.write:
        PAGE.write_text(insert(PAGE.read_text(), text, "bench-rnn"))


if __name__ == "__main__":
    main()
