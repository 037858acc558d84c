"""The models whose quantized files are measured: some of the benchmark's, some smaller, and recurrent ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench import models
from tests.bench.models import BenchModel, Input, image_model

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class Sequences(BenchModel):
    """A model that is built for any batch, or for one of a fixed size."""

    build_for: Callable[[int | None], keras.Model] = lambda batch: None


def _resnet() -> keras.Model:
    import keras
    from keras import layers

    image = x = keras.Input((64, 64, 3), name="image")
    for filters in (16, 32, 64, 96):
        y = x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        for _ in range(2):
            y = layers.ReLU()(layers.BatchNormalization()(y))
            y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        x = layers.Add()([x, y])
    x = layers.ReLU()(layers.BatchNormalization()(x))
    return keras.Model(image, layers.Dense(20, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


def _layers(name: str, spec: Input, *made: Callable[[Any], Any]) -> Sequences:
    """Return a model of layers, each made by a call with `keras.layers`. Tokens are embedded in front."""

    def build(batch: int | None) -> keras.Model:
        import keras

        x = y = keras.Input(spec.shape, batch, "int32" if spec.tokens else "float32", name=spec.name)
        if spec.tokens:
            y = keras.layers.Embedding(int(spec.high), 64)(y)
        for make_layer in made:
            y = make_layer(keras.layers)(y)
        return keras.Model(x, y)

    return Sequences(name, lambda: build(None), (spec,), build)


def _seq2seq(batch: int | None) -> keras.Model:
    import keras
    from keras import layers

    source, target = (keras.Input((steps, 32), batch, name=name) for name, steps in (("source", 24), ("target", 12)))
    states, *last = layers.LSTM(48, return_sequences=True, return_state=True)(source)
    decoded = layers.LSTM(48, return_sequences=True)(target, initial_state=last)
    attended = layers.Attention()([decoded, states])
    return keras.Model([source, target], layers.Dense(40)(layers.Concatenate()([decoded, attended])))


def _dense(units: int) -> Callable[[Any], Any]:
    return lambda layers: layers.Dense(units)


def _rnn(kind: str, units: int, **options: Any) -> Callable[[Any], Any]:
    return lambda layers: getattr(layers, kind)(units, **options)


def _x(*shape: int) -> Input:
    return Input("x", shape)


def _tokens(steps: int) -> Input:
    return Input("tokens", (steps,), 1, 5000, tokens=True)


PLAIN = {
    model.name: model
    for model in (
        models.MODELS["KeywordSpotter"],
        BenchModel("ResNetSmall", _resnet, (Input("image", (64, 64, 3)),)),
        image_model("MobileNetV2", 96, title="MobileNetV2-96"),
        image_model("MobileNetV3Small", 96, 0.0, 255.0, title="MobileNetV3-96"),
        image_model("EfficientNetB0", 96, 0.0, 255.0, title="EfficientNetB0-96"),
        models.MODELS["UNet"], models.MODELS["BERT"], models.MODELS["ViT"], models.MODELS["Autoencoder"],
    )
}  # fmt: skip
SEQUENCES = {
    model.name: model
    for model in (
        _layers("EmbeddingDense", _tokens(20), lambda layers: layers.GlobalAveragePooling1D(), _dense(16)),
        _layers("LSTM", _x(28, 28), _rnn("LSTM", 32), _dense(10)),
        _layers("LSTM256", _x(100, 128), _rnn("LSTM", 256)),
        _layers("StackedLSTM", _x(50, 32), _rnn("LSTM", 64, return_sequences=True), _rnn("LSTM", 64), _dense(10)),
        _layers("BiLSTM", _x(28, 28), lambda layers: layers.Bidirectional(layers.LSTM(32, return_sequences=True))),
        _layers("SimpleRNN", _x(28, 28), _rnn("SimpleRNN", 32), _dense(10)),
        _layers("GRU", _x(28, 28), _rnn("GRU", 32), _dense(10)),
        _layers("GRU128", _x(50, 64), _rnn("GRU", 128)),
        _layers("EmbeddingLSTM", _tokens(40), _rnn("LSTM", 48), _dense(4)),
        _layers("ConvLSTM", _x(6, 16, 16, 3), lambda layers: layers.ConvLSTM2D(8, 3, padding="same")),
        Sequences("Seq2Seq", lambda: _seq2seq(None), (Input("source", (24, 32)), Input("target", (12, 32))), _seq2seq),
    )
}
RECURRENT = [name for name in SEQUENCES if name != "EmbeddingDense"]
MODELS: dict[str, BenchModel] = {**PLAIN, **SEQUENCES}


def make(name: str, directory: Path) -> Path:
    """Return the SavedModel `directory/name`, which is made if it is not there."""
    if name in PLAIN:
        return models.write(PLAIN[name], directory)
    path = directory / name
    if not (path / "saved_model.pb").exists():
        partial = directory / f".{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        built(name, None).export(partial, verbose=False)
        partial.rename(path)
    return path


def built(name: str, batch: int | None) -> keras.Model:
    """Return a model of sequences with its weights."""
    from tests.random_weights import randomize

    model = SEQUENCES[name].build_for(batch)
    randomize(model, 1)
    return model
