"""Models of every kind in every mode: `python -m tests.quantize.cells [MODEL...]` runs each cell and prints what fails.

A cell is converted with a fixed and a dynamic batch, and runs with default delegates and without: twice, then after
`reset_all_variables`, and where the batch is dynamic behind a resize after an invoke, to more rows and back.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import layers

from fuseconv import convert
from tests.random_weights import randomize

# By how much results may differ from those of floats, over their range: more than rounding does, less than a defect.
TOLERANCES = {"float16": 0.01, "dynamic": 0.08, "int4": 0.8, "int8": 0.25, "int16x8": 0.08}
_ROWS = 2
# States of so many rows are larger than what the runtime keeps for them at least.
_MORE_ROWS = 9


def _images(*made: Any) -> keras.Model:
    x = y = keras.Input((8, 8, 3), name="x")
    for layer in made:
        y = layer(y)
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(y)))


def _residual() -> keras.Model:
    x = keras.Input((8, 8, 3), name="x")
    y = layers.Conv2D(8, 3, padding="same")(x)
    y = layers.ReLU()(y + layers.Conv2D(8, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(y))))
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(y)))


def _mobile() -> keras.Model:
    return _images(
        layers.Conv2D(16, 1, activation="relu6"), layers.DepthwiseConv2D(3, padding="same"),
        layers.BatchNormalization(), layers.Activation("hard_swish"), layers.Conv2D(8, 1), layers.Activation("swish"),
    )  # fmt: skip


def _unet() -> keras.Model:
    x = keras.Input((8, 8, 3), name="x")
    y = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    z = layers.Conv2DTranspose(8, 2, strides=2)(layers.Conv2D(16, 3, padding="same")(layers.MaxPooling2D()(y)))
    return keras.Model(x, layers.Conv2D(1, 1, activation="sigmoid")(layers.Concatenate()([y, z])))


def _sequence(*made: Any, steps: int = 6, tokens: bool = False, batch: int | None = None) -> keras.Model:
    x = y = keras.Input((steps,) if tokens else (steps, 5), batch, "int32" if tokens else "float32", name="x")
    for layer in [layers.Embedding(30, 16), *made] if tokens else made:
        y = layer(y)
    return keras.Model(x, y)


def _attention(x: Any) -> Any:
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
    return layers.Dense(16)(layers.Dense(32, activation="gelu")(y))


def _seq2seq() -> keras.Model:
    x = keras.Input((6, 5), name="x")
    states, *last = layers.LSTM(8, return_sequences=True, return_state=True)(x)
    decoded = layers.LSTM(8, return_sequences=True)(x, initial_state=last)
    return keras.Model(x, layers.Dense(4)(layers.Concatenate()([decoded, layers.Attention()([decoded, states])])))


def _conv_lstm() -> keras.Model:
    x = keras.Input((3, 6, 6, 2), name="x")
    return keras.Model(x, layers.ConvLSTM2D(4, 3, padding="same")(x))


def _stateful() -> keras.Model:
    return _sequence(layers.LSTM(8, stateful=True), layers.Dense(3), batch=_ROWS)


MODELS: dict[str, Callable[[], keras.Model]] = {
    "conv1d": lambda: _sequence(layers.Conv1D(8, 3, activation="relu"), layers.GlobalAveragePooling1D()),
    "residual": _residual,
    "mobile": _mobile,
    "unet": _unet,
    "attention": lambda: _sequence(_attention, tokens=True),
    "embedding": lambda: _sequence(layers.GlobalAveragePooling1D(), layers.Dense(4), tokens=True),
    "lstm": lambda: _sequence(layers.LSTM(8), layers.Dense(3)),
    "stacked": lambda: _sequence(layers.LSTM(8, return_sequences=True), layers.LSTM(6, return_sequences=True)),
    "masked": lambda: _sequence(layers.Masking(), layers.LSTM(8)),
    "bidirectional": lambda: _sequence(layers.Bidirectional(layers.LSTM(8, return_sequences=True))),
    "simple_rnn": lambda: _sequence(layers.SimpleRNN(8), layers.Dense(3)),
    "gru": lambda: _sequence(layers.GRU(8), layers.Dense(3)),
    "conv_lstm": _conv_lstm,
    "stateful": _stateful,
    "embedding_lstm": lambda: _sequence(layers.LSTM(8), layers.Dense(3), tokens=True),
    "seq2seq": _seq2seq,
}
RECURRENT = tuple(MODELS)[6:]


class Cells:
    """One model, exported once. floats: its files of floats, fused and with `--rnn auto`, of a dynamic batch where the
    model has one."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.path = name, folder / name
        keras.utils.set_random_seed(1)
        model = MODELS[name]()
        randomize(model, 1)
        model.export(self.path, verbose=False)
        (x,) = model.inputs
        self.tokens, self.shape, self.batch = x.dtype == "int32", tuple(x.shape[1:]), x.shape[0]
        self.samples = [{"x": self.draw(_ROWS, seed)} for seed in range(40)]
        self.floats = {rnn: self._convert(rnn=rnn) for rnn in ("fused", "auto")}

    def draw(self, rows: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        if self.tokens:
            return rng.integers(0, 30, (rows, *self.shape)).astype(np.int32)
        x = rng.uniform(-2, 2, (rows, *self.shape)).astype(np.float32)
        if self.name == "masked":
            x[:, 4:] = 0
        return x

    def _convert(self, **options: Any) -> bytes:
        data = convert(self.path, **options).data
        assert data is not None
        return data

    def check(self, mode: str, rnn: str = "fused", static: bool = False) -> str:
        """Return what is wrong with a cell; empty if nothing is."""
        options: dict[str, Any] = {"quantize": mode, "rnn": rnn}
        if mode in ("int8", "int16x8"):
            options["calibration_data"] = self.samples
        if static and self.batch is None:
            options["batch_size"] = _ROWS
        data = self._convert(**options)
        sizes = (_ROWS,) if static or self.batch is not None else (_ROWS, _MORE_ROWS, 1, _ROWS)
        # A reset clears the states of fused ops; those of loops are variables that it leaves, in files of floats too.
        whole = self.floats["auto" if mode == "int16x8" else rnn]
        for delegates in (True, False):
            wanted, found = self._runs(whole, sizes, delegates), self._runs(data, sizes, delegates)
            for (run, expected), (_, actual) in zip(wanted, found, strict=True):
                error = np.abs(actual - expected).max() / max(np.ptp(expected), 1e-6)
                # Numbers that are none compare as neither.
                if not error <= TOLERANCES[mode]:
                    return f"{run}: error {error:.3f} of the range"
        return ""

    def _runs(self, data: bytes, sizes: tuple[int, ...], delegates: bool) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the results of an interpreter's runs, each with what it is."""
        kind = OpResolverType.AUTO if delegates else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = Interpreter(model_content=data, experimental_op_resolver_type=kind)
        index = interpreter.get_input_details()[0]["index"]
        for size in sizes:
            if interpreter.get_input_details()[0]["shape"][0] != size:
                interpreter.resize_tensor_input(index, (size, *self.shape))
            interpreter.allocate_tensors()
            for turn in ("first", "second", "third"):
                if turn == "third":
                    interpreter.reset_all_variables()
                interpreter.set_tensor(index, self.draw(size, 7))
                interpreter.invoke()
                run = f"{turn} run of {size} rows {'with' if delegates else 'without'} delegates"
                yield run, interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names or MODELS:
            cells = Cells(name, Path(folder))
            for mode in TOLERANCES:
                for rnn in ("fused", "auto") if name in RECURRENT else ("fused",):
                    for static in (False, True):
                        try:
                            why = cells.check(mode, rnn, static)
                        except Exception as error:
                            why = f"{type(error).__name__}: {str(error)[:200]}"
                        if why:
                            print(name, mode, rnn, "fixed batch" if static else "dynamic batch", why, flush=True)
            print(f"{name} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
