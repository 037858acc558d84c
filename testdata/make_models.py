"""Makes the models of this directory again: `python -m testdata.make_models [NAME...]` from the project's root.

| name                | made by    | what it holds                                                                     |
|---------------------|------------|-----------------------------------------------------------------------------------|
| keras2_lstm/        | tf-keras   | LSTM (annotated `api_implements`) and Dense, dynamic batch; the model of the demo |
| keras2_lstm_static/ | tf-keras   | the same with batch 1                                                             |
| keras2.h5           | tf-keras   | a `time_major` LSTM, which Keras 3 refuses                                        |
| keras2_lambda.h5    | tf-keras   | a Lambda layer with marshalled bytecode in an HDF5 file                           |
| keras3.h5           | Keras 3    | convolutions, two branches that are added                                         |
| keras3.keras        | Keras 3    | two named inputs and two named outputs                                            |
| lambda.keras        | Keras 3    | a Lambda layer with marshalled bytecode                                           |
| custom.keras        | Keras 3    | a layer of a class that only its author has                                       |
| weights_only.h5     | Keras 3    | weights without an architecture                                                   |
| tf1/                | TF1        | reference and resource variables, a SignatureDef built by hand                    |
| tf1_table/          | TF1        | a hash table filled from a vocabulary file among the assets                       |
| frozen.pb           | TF1        | a frozen graph: convolution, FusedBatchNorm, Relu6, pooling                       |
| conv_bn/            | Keras 3    | convolutions with batch norm, exported with a dynamic batch                       |
| two_signatures/     | tf.Module  | `encode` and `decode` over the same weights                                       |
| attention/          | Keras 3    | embedding with a mask, attention, layer norm, gelu                                |

Weights are seeded and none is trivial. A second run gives the same numbers, though not the same bytes: savers write
time stamps and counters.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
import tf_keras

from tests.random_weights import randomize

HERE = Path(__file__).parent
v1 = tf.compat.v1


def _keras2_lstm(path: Path, batch: int | None) -> None:
    layers = tf_keras.layers
    model = tf_keras.Sequential([
        layers.InputLayer(input_shape=(10, 6), batch_size=batch, name="sequence"),
        layers.LSTM(8, name="lstm"),
        layers.Dense(4, activation="softmax", name="class"),
    ])  # fmt: skip
    randomize(model, 1)

    @tf.function(input_signature=[tf.TensorSpec((batch, 10, 6), tf.float32, name="sequence")])
    def serve(sequence: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"class": model(sequence, training=False)}

    # Not model.save(): its traces for training are a hundred times the size of the weights.
    module = tf.Module()
    module.variables_of_model = model.variables
    tf.saved_model.save(module, str(path), {"serving_default": serve})


def keras2_lstm(path: Path) -> None:
    _keras2_lstm(path, None)


def keras2_lstm_static(path: Path) -> None:
    _keras2_lstm(path, 1)


def keras2_h5(path: Path) -> None:
    layers = tf_keras.layers
    sequence = layers.Input(batch_shape=(7, None, 5), name="steps")
    hidden = layers.LSTM(6, time_major=True, return_sequences=True, name="lstm")(sequence)
    model = tf_keras.Model(sequence, layers.Dense(3, name="score")(hidden))
    randomize(model, 2)
    model.save(path, include_optimizer=False)


def _anonymous(function: Callable) -> Callable:
    """The function without the path of this file, which savers marshal with its bytecode."""
    function.__code__ = function.__code__.replace(co_filename=Path(__file__).name)
    return function


def keras2_lambda_h5(path: Path) -> None:
    layers = tf_keras.layers
    x = layers.Input((4,), name="x")
    model = tf_keras.Model(x, layers.Lambda(_anonymous(lambda t: t * 2.0 + 1.0), name="twice")(layers.Dense(3)(x)))
    randomize(model, 3)
    model.save(path, include_optimizer=False)


def keras3_h5(path: Path) -> None:
    layers = keras.layers
    image = keras.Input((12, 12, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(image)
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    y = layers.BatchNormalization()(y)
    x = layers.ReLU(6.0)(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(image, layers.Dense(5, activation="softmax", name="class")(x))
    randomize(model, 4)
    model.save(path)


def keras3_keras(path: Path) -> None:
    layers = keras.layers
    image = keras.Input((8, 8, 2), name="image")
    extra = keras.Input((3,), name="extra")
    x = layers.Flatten()(layers.Conv2D(4, 3, activation="relu")(image))
    x = layers.Concatenate()([x, layers.Dense(6, activation="tanh")(extra)])
    label = layers.Dense(4, activation="softmax", name="label")(x)
    value = layers.Dense(1, name="value")(x)
    model = keras.Model({"image": image, "extra": extra}, {"label": label, "value": value})
    randomize(model, 5)
    model.save(path)


def lambda_keras(path: Path) -> None:
    x = keras.Input((4,), name="x")
    twice = keras.layers.Lambda(_anonymous(lambda t: t * 2.0 + 1.0), output_shape=(3,), name="twice")
    model = keras.Model(x, twice(keras.layers.Dense(3)(x)))
    randomize(model, 6)
    model.save(path)


@keras.saving.register_keras_serializable(package="testdata")
class Scale(keras.layers.Layer):
    """Multiplies by a learnt number for each channel."""

    def build(self, input_shape: tuple) -> None:
        self.factor = self.add_weight(shape=(input_shape[-1],), name="factor")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.factor


def custom_keras(path: Path) -> None:
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2)(Scale()(x)))
    randomize(model, 7)
    model.save(path)


def weights_only_h5(path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    randomize(model, 8)
    written = path.with_suffix(".weights.h5")
    model.save_weights(written)
    written.rename(path)


def _numbers(seed: int, *shape: int, scale: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, scale, shape).astype(np.float32)


def tf1(path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, (None, 6), "x")
        kernel = v1.get_variable("hidden/kernel", initializer=_numbers(9, 6, 8), use_resource=False)
        bias = v1.get_variable("hidden/bias", initializer=_numbers(10, 8), use_resource=False)
        hidden = tf.nn.relu(v1.nn.xw_plus_b(x, kernel, bias))
        out_kernel = v1.get_variable("out/kernel", initializer=_numbers(11, 2, 16), use_resource=True)
        # The reshape by the dynamic batch size is how TF1 code flattens.
        rows = tf.reshape(hidden, [tf.shape(hidden)[0], 4, 2])
        logits = tf.reduce_sum(tf.reshape(tf.matmul(tf.reshape(rows, [-1, 2]), out_kernel), [-1, 4, 16]), axis=1)
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.build_signature_def(
            {"features": v1.saved_model.build_tensor_info(x)},
            {"logits": v1.saved_model.build_tensor_info(logits)},
            v1.saved_model.signature_constants.PREDICT_METHOD_NAME,
        )
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()


def tf1_table(path: Path) -> None:
    # The graph holds the path of the file it was made from, so that one is relative.
    vocabulary = Path("vocabulary.txt")
    vocabulary.write_text("red\ngreen\nblue\n")
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, (None,), "words")
        asset = tf.constant(str(vocabulary), name="vocabulary")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        initializer = tf.lookup.TextFileInitializer(
            asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        table = tf.lookup.StaticHashTable(initializer, default_value=3)
        embeddings = v1.get_variable("embeddings", initializer=_numbers(12, 4, 5), use_resource=True)
        vectors = tf.nn.embedding_lookup(embeddings, table.lookup(words))
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        signature = v1.saved_model.predict_signature_def({"words": words}, {"vectors": vectors})
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=v1.tables_initializer(),
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
        )  # fmt: skip
        builder.save()
    vocabulary.unlink()


def frozen_pb(path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        image = v1.placeholder(tf.float32, (None, 10, 10, 3), "image")
        x = tf.nn.conv2d(image, _variable("kernel", 13, 3, 3, 3, 8), 1, "SAME")
        x, _, _ = v1.nn.fused_batch_norm(
            x, _variable("gamma", 14, 8), _variable("beta", 15, 8), _variable("mean", 16, 8),
            v1.get_variable("variance", initializer=np.linspace(0.5, 1.5, 8, dtype=np.float32)), is_training=False,
        )  # fmt: skip
        x = tf.nn.max_pool2d(tf.nn.relu6(x), 2, 2, "VALID")
        tf.nn.softmax(tf.matmul(tf.reshape(x, [-1, 200]), _variable("weights", 17, 200, 4)), name="probabilities")
        session.run(v1.global_variables_initializer())
        graph = v1.graph_util.convert_variables_to_constants(session, session.graph_def, ["probabilities"])
    path.write_bytes(graph.SerializeToString(deterministic=True))


def _variable(name: str, seed: int, *shape: int) -> tf.Variable:
    return v1.get_variable(name, initializer=_numbers(seed, *shape), use_resource=False)


def conv_bn(path: Path) -> None:
    layers = keras.layers
    image = keras.Input((16, 16, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(layers.Rescaling(1 / 127.5, -1)(image))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = layers.DepthwiseConv2D(3, strides=2, padding="valid", use_bias=False)(x)
    x = layers.Activation("swish")(layers.BatchNormalization()(x))
    x = layers.BatchNormalization()(layers.Conv2D(8, 1)(x))
    x = layers.GlobalAveragePooling2D(keepdims=True)(x)
    model = keras.Model(image, layers.Dense(5, activation="softmax", name="class")(layers.Flatten()(x)))
    randomize(model, 18)
    model.export(path, verbose=False)


class _AutoEncoder(tf.Module):
    def __init__(self) -> None:
        self.kernel = tf.Variable(_numbers(19, 6, 3), name="kernel")
        self.bias = tf.Variable(_numbers(20, 3), name="bias")
        self.out_bias = tf.Variable(_numbers(21, 6), name="out_bias")

    @tf.function(input_signature=[tf.TensorSpec((None, 6), name="x")])
    def encode(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"code": tf.tanh(tf.matmul(x, self.kernel) + self.bias)}

    @tf.function(input_signature=[tf.TensorSpec((None, 3), name="code")])
    def decode(self, code: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"x": tf.matmul(code, self.kernel, transpose_b=True) + self.out_bias}


def two_signatures(path: Path) -> None:
    module = _AutoEncoder()
    tf.saved_model.save(module, str(path), {"encode": module.encode, "decode": module.decode})


def attention(path: Path) -> None:
    layers = keras.layers
    tokens = keras.Input((9,), dtype="int32", name="tokens")
    x = layers.Embedding(20, 8, mask_zero=True)(tokens)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    x = layers.Dense(8, activation="gelu")(x)
    model = keras.Model(tokens, layers.Dense(3, name="tag")(x))
    randomize(model, 22)
    model.export(path, verbose=False)


MAKERS: dict[str, Callable[[Path], None]] = {
    "keras2_lstm": keras2_lstm,
    "keras2_lstm_static": keras2_lstm_static,
    "keras2.h5": keras2_h5,
    "keras2_lambda.h5": keras2_lambda_h5,
    "keras3.h5": keras3_h5,
    "keras3.keras": keras3_keras,
    "lambda.keras": lambda_keras,
    "custom.keras": custom_keras,
    "weights_only.h5": weights_only_h5,
    "tf1": tf1,
    "tf1_table": tf1_table,
    "frozen.pb": frozen_pb,
    "conv_bn": conv_bn,
    "two_signatures": two_signatures,
    "attention": attention,
}


def main(names: list[str]) -> None:
    for name in names or MAKERS:
        path = HERE / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        MAKERS[name](path)


if __name__ == "__main__":
    main(sys.argv[1:])
