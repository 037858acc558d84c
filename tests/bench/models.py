"""The models of the benchmark, each made once as a SavedModel: `python -m tests.bench.models [--all | NAME...] DIR`.

Random weights alone make a deep network overflow, say the same for every input, or amplify a rounding error until it is
all there is to see. So batch norm takes the statistics of a batch, moved by a random amount, and feeds most channels to
the straight part of the activation behind it. The last kernel is scaled until its outputs have a deviation of one.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import keras

# Models that are also wanted as Keras files, here and by the tests.
KERAS_FILES = ("MobileNetV2", "EfficientNetB0", "UNet", "KeywordSpotter", "CausalConv1D", "Autoencoder")


@dataclass(frozen=True)
class Input:
    """An input of a model: its shape without the batch, and the range of its numbers.

    Images and sequences hold coarse and fine detail, as real ones do: rows of plain noise look alike to a network.
    Tokens are whole numbers, and each row ends in zeros, as padding does.
    """

    name: str
    shape: tuple[int, ...]
    low: float = -1.0
    high: float = 1.0
    tokens: bool = False

    def sample(self, batch: int, rng: np.random.Generator) -> np.ndarray:
        shape = (batch, *self.shape)
        if not self.tokens:
            noise = sum((_blocks(shape, count, rng) for count in (1, 3, 11, 40)), rng.normal(0.0, 0.5, shape))
            return (self.low + (self.high - self.low) * (0.5 + 0.5 * np.tanh(noise))).astype(np.float32)
        lengths = rng.integers(self.shape[0] // 2, self.shape[0], (batch, 1))
        numbers = rng.integers(int(self.low), int(self.high), shape)
        return np.where(np.arange(self.shape[0]) < lengths, numbers, 0).astype(np.int32)


def _blocks(shape: tuple[int, ...], count: int, rng: np.random.Generator) -> np.ndarray:
    """Noise that is constant on blocks, `count` of them along each axis between the batch and the channels."""
    batch, *sizes, channels = shape
    coarse = rng.normal(0.0, 0.5, (batch, *[count] * len(sizes), channels))
    return coarse[np.ix_(np.arange(batch), *(np.arange(size) * count // size for size in sizes), np.arange(channels))]


@dataclass(frozen=True)
class BenchModel:
    """How to build a model, and what to feed it."""

    name: str
    build: Callable[[], keras.Model]
    inputs: tuple[Input, ...]

    def sample(self, batch: int, seed: int = 0) -> dict[str, np.ndarray]:
        """Random inputs for `batch` rows."""
        rng = np.random.default_rng(seed)
        return {spec.name: spec.sample(batch, rng) for spec in self.inputs}


def image_model(name: str, size: int, low: float = -1.0, high: float = 1.0, title: str = "") -> BenchModel:
    """One of Keras' applications, on images of `size` squared."""

    def build() -> keras.Model:
        import keras

        make = getattr(keras.applications, name)
        image = keras.Input((size, size, 3), name="image")
        return make(input_tensor=image, weights=None)

    return BenchModel(title or name, build, (Input("image", (size, size, 3), low, high),))


def _unet() -> keras.Model:
    import keras
    from keras import layers

    def block(x: Any, filters: int) -> Any:
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        return x

    image = keras.Input((96, 96, 3), name="image")
    x, skips = image, []
    for filters in (16, 32, 64):
        x = block(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, 128)
    for filters in (64, 32, 16):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = block(layers.Concatenate()([x, skips.pop()]), filters)
    return keras.Model(image, layers.Conv2D(1, 1, activation="sigmoid", name="mask")(x))


def _transformer_block(x: Any, heads: int, dim: int, pre_norm: bool, mask: Any = None) -> Any:
    from keras import layers

    attend = layers.MultiHeadAttention(heads, dim // heads)
    y = layers.LayerNormalization(epsilon=1e-6)(x) if pre_norm else x
    x = x + attend(y, y, attention_mask=mask)
    x = y = layers.LayerNormalization(epsilon=1e-6)(x) if not pre_norm else x
    if pre_norm:
        y = layers.LayerNormalization(epsilon=1e-6)(x)
    x = x + layers.Dense(dim)(layers.Dense(2 * dim, activation="gelu")(y))
    return x if pre_norm else layers.LayerNormalization(epsilon=1e-6)(x)


def _vit() -> keras.Model:
    import keras
    from keras import layers, ops

    class ClassToken(layers.Layer):
        """[batch, n, dim] -> [batch, n + 1, dim]: a learned token in front, learned positions added."""

        def build(self, shape: tuple) -> None:
            self.token = self.add_weight(shape=(1, 1, shape[-1]), name="token")
            self.positions = self.add_weight(shape=(1, shape[1] + 1, shape[-1]), name="embeddings")

        def call(self, x: Any) -> Any:
            token = ops.broadcast_to(self.token, (ops.shape(x)[0], 1, x.shape[-1]))
            return ops.concatenate([token, x], axis=1) + self.positions

    image = keras.Input((48, 48, 3), name="image")
    x = layers.Reshape((64, 128))(layers.Conv2D(128, 6, strides=6)(image))
    x = ClassToken()(x)
    for _ in range(6):
        x = _transformer_block(x, 4, 128, pre_norm=True)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(image, layers.Dense(100, activation="softmax")(x[:, 0]))


def _bert() -> keras.Model:
    import keras
    from keras import layers, ops

    class Positions(layers.Layer):
        """Adds learned positions, and keeps the mask."""

        supports_masking = True

        def build(self, shape: tuple) -> None:
            self.positions = self.add_weight(shape=shape[1:], name="embeddings")

        def call(self, x: Any) -> Any:
            return x + self.positions

    tokens = keras.Input((64,), dtype="int32", name="tokens")
    segments = keras.Input((64,), dtype="int32", name="segments")
    x = layers.Embedding(2000, 128, mask_zero=True)(tokens) + layers.Embedding(2, 128)(segments)
    x = layers.LayerNormalization(epsilon=1e-6)(Positions()(x))
    visible = ops.cast(ops.not_equal(tokens, 0), "int32")[:, None, :]
    for _ in range(4):
        x = _transformer_block(x, 4, 128, pre_norm=False, mask=visible)
    pooled = layers.Dense(128, activation="tanh")(x[:, 0])
    return keras.Model({"tokens": tokens, "segments": segments}, layers.Dense(8, name="logits")(pooled))


def _keyword_spotter() -> keras.Model:
    import keras
    from keras import layers

    frames = keras.Input((98, 40), name="frames")
    x = layers.Conv1D(64, 5, strides=2, padding="same", use_bias=False)(frames)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for filters in (64, 96, 128):
        x = layers.SeparableConv1D(filters, 9, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.MaxPooling1D(2)(x)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling1D()(x))
    return keras.Model(frames, layers.Dense(12, activation="softmax")(x))


def _causal_stack() -> keras.Model:
    import keras
    from keras import layers

    wave = keras.Input((256, 8), name="wave")
    x = layers.Conv1D(32, 2, padding="causal")(wave)
    for dilation in (1, 2, 4, 8, 16, 32):
        tanh = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        gate = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="sigmoid")(x)
        x = layers.Add()([x, layers.Conv1D(32, 1)(layers.Multiply()([tanh, gate]))])
    x = layers.Conv1D(32, 1, activation="relu")(layers.ReLU()(x))
    return keras.Model(wave, layers.Conv1D(16, 1, name="next")(x))


def _autoencoder() -> keras.Model:
    import keras
    from keras import layers

    pixels = x = keras.Input((784,), name="pixels")
    for units in (256, 64, 16, 64, 256):
        x = layers.BatchNormalization()(layers.Dense(units)(x))
        x = layers.LeakyReLU(0.1)(x)
    return keras.Model(pixels, layers.Dense(784, activation="sigmoid")(x))


MODELS = {
    model.name: model
    for model in (
        image_model("MobileNetV2", 224),
        image_model("MobileNetV3Small", 224, 0.0, 255.0),
        image_model("ResNet50", 128),
        image_model("EfficientNetB0", 224, 0.0, 255.0),
        image_model("EfficientNetV2B0", 160, 0.0, 255.0),
        image_model("DenseNet121", 128),
        image_model("NASNetMobile", 224),
        image_model("InceptionV3", 160),
        image_model("Xception", 160),
        image_model("ConvNeXtTiny", 128, 0.0, 255.0),
        image_model("VGG16", 128),
        BenchModel("UNet", _unet, (Input("image", (96, 96, 3)),)),
        BenchModel("ViT", _vit, (Input("image", (48, 48, 3)),)),
        BenchModel(
            "BERT", _bert, (Input("tokens", (64,), 1, 2000, tokens=True), Input("segments", (64,), 0, 2, tokens=True))
        ),
        BenchModel("KeywordSpotter", _keyword_spotter, (Input("frames", (98, 40)),)),
        BenchModel("CausalConv1D", _causal_stack, (Input("wave", (256, 8)),)),
        BenchModel("Autoencoder", _autoencoder, (Input("pixels", (784,), 0.0),)),
    )
}


def settle(model: keras.Model, sample: dict[str, np.ndarray], seed: int) -> None:
    """Draws weights with which activations neither vanish nor explode on inputs such as `sample`."""
    import keras

    from tests.random_weights import randomize

    fed = keras.tree.map_structure(lambda tensor: sample[tensor.name], model.input)
    randomize(model, seed)
    for layer in model.layers:
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()
    rng = np.random.default_rng(seed)
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
        norm.beta.assign(rng.normal(1.0 if norm.scale else 2.0, 0.3, norm.beta.shape))
        if norm.scale:
            wide = rng.random(norm.gamma.shape) < 0.05
            norm.gamma.assign(np.where(wide, 2.5, rng.uniform(0.3, 0.7, norm.gamma.shape)))
    model(fed, training=True)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
        variance = norm.moving_variance.numpy()
        norm.moving_mean.assign_add(np.float32(rng.normal(0.0, 0.1, variance.shape) * np.sqrt(variance)))
        norm.moving_variance.assign(variance * rng.uniform(0.5, 1.5, variance.shape))
    last = next(layer for layer in reversed(model.layers) if hasattr(layer, "kernel"))
    activation, last.activation = last.activation, keras.activations.linear
    logits = keras.Model(model.input, last.output)(fed, training=False)
    last.activation = activation
    last.kernel.assign(last.kernel * (1.0 / np.std(logits.numpy())))


def make(name: str, directory: Path) -> Path:
    """The SavedModel `directory/name`, made if it is not there; with Keras files beside it for some."""
    return write(MODELS[name], directory)


def write(bench_model: BenchModel, directory: Path) -> Path:
    """The SavedModel of a model, as `make` makes it."""
    name = bench_model.name
    path = directory / name
    files = [directory / f"{name}.{suffix}" for suffix in ("h5", "keras") if name in KERAS_FILES]
    if (path / "saved_model.pb").exists() and all(file.exists() for file in files):
        return path
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    model = bench_model.build()
    # Statistics need more rows where a row has few elements; 8 images of 224 take a gigabyte in the larger models.
    elements = sum(int(np.prod(spec.shape)) for spec in bench_model.inputs)
    settle(model, bench_model.sample(max(8, 200_000 // elements), seed=1), seed=1)
    directory.mkdir(parents=True, exist_ok=True)
    for file in files:
        model.save(file)
    partial = directory / f".{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    model.export(partial, verbose=False)
    shutil.rmtree(path, ignore_errors=True)
    partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="make every model")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MODELS)}")
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in MODELS if options.all else options.names:
        print(make(name, options.directory), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()


def chosen(only: str) -> list[str]:
    """The names that --only gives, with commas between them; without, all. Ends the process at a name of no model."""
    names = only.split(",") if only else list(MODELS)
    if unknown := [name for name in names if name not in MODELS]:
        raise SystemExit(f"no model is called {', '.join(unknown)}; there are {', '.join(MODELS)}")
    return names
