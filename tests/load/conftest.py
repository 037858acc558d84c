"""Small models, made by TensorFlow as the tests begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = ["first", "second", "third"]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def keras3(tf: Any, models: Path) -> tuple[Path, Any]:
    """A convolutional net, as Keras 3 exports it, and the net."""
    import keras

    keras.utils.set_random_seed(1)
    x = keras.Input((8, 8, 3), name="image")
    y = keras.layers.Conv2D(4, 3)(x)
    y = keras.layers.BatchNormalization()(y)
    y = keras.layers.GlobalAveragePooling2D()(y)
    model = keras.Model(x, keras.layers.Dense(5)(y))
    model.export(models / "keras3", verbose=False)
    return models / "keras3", model


@pytest.fixture(scope="session")
def tf2(tf: Any, models: Path) -> Path:
    """Two signatures over variables, a constant, tables, an asset, an annotated function and a loop."""
    vocabulary = models / "words.txt"
    vocabulary.write_text("\n".join(WORDS))
    text_file = tf.lookup.TextFileInitializer(
        str(vocabulary), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    pairs = tf.lookup.KeyValueTensorInitializer(tf.constant([7, 8], tf.int64), tf.constant(["seven", "eight"]))

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="same_name")
            self.b = tf.Variable([[5.0, 6.0], [7.0, 8.0]], name="same_name")
            self.unused = tf.Variable(9.0)
            self.captured = tf.constant([10.0, 11.0])
            self.words = tf.lookup.StaticHashTable(text_file, -1)
            self.numbers = tf.lookup.StaticHashTable(pairs, "?")
            self.mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)
            self.mutable.insert(["k", "l"], [1.5, 2.5])

        @tf.function(experimental_implements='name: "my_op" attr { key: "width" value { i: 3 } }')
        def annotated(self, x: Any, matrix: Any) -> Any:
            return x @ matrix

        @tf.function(
            input_signature=[tf.TensorSpec([None, 2], name="z"), tf.TensorSpec([None, None], tf.string, name="a")]
        )
        def serve(self, z: Any, a: Any) -> dict[str, Any]:
            top, where = tf.math.top_k(self.annotated(z, self.a.read_value()) @ self.b + self.captured, 1)
            left, right = tf.split(z, 2, axis=1)
            looped = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, left))[1]
            return {
                "top": top, "where": where, "right": right, "looped": looped, "ids": self.words.lookup(a),
                "names": self.numbers.lookup(self.words.lookup(a)), "floats": self.mutable.lookup(a),
            }  # fmt: skip

        @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, name="x")])
        def other(self, x: Any) -> dict[str, Any]:
            return {"y": x * self.b[0, 0]}

    model = Model()
    tf.saved_model.save(model, str(models / "tf2"), {"serving_default": model.serve, "another": model.other})
    return models / "tf2"


@pytest.fixture(scope="session")
def tf1(tf: Any, models: Path) -> Path:
    """Reference and resource variables, a partitioned one, an Identity of a cast, tables, an asset and a V1 loop."""
    v1 = tf.compat.v1
    vocabulary = models / "words1.txt"
    vocabulary.write_text("\n".join(WORDS))
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3], "x")
            s = v1.placeholder(tf.string, [2], "s")
            ref = v1.get_variable("ref", initializer=np.array([1, 2, 3], np.float32), use_resource=False)
            resource = v1.get_variable("scope/resource", initializer=np.array([4, 5, 6], np.float32), use_resource=True)
            parts = v1.get_variable(
                "parts", [200, 3], initializer=v1.random_normal_initializer(seed=1),
                partitioner=v1.fixed_size_partitioner(3), use_resource=False,
            )  # fmt: skip
            listed = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(["p", "q"], tf.cast(tf.range(tf.size(["p", "q"])), tf.int64)), -1
            )
            words = tf.lookup.StaticHashTable(
                tf.lookup.TextFileInitializer(
                    str(vocabulary), tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER,
                    tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
                ), "?",
            )  # fmt: skip
            _, looped = v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + resource), (0, x))
            y = tf.identity(looped * ref + tf.reduce_sum(tf.concat(list(parts), 0), 0), name="y")
            ids = listed.lookup(s)
            session.run(v1.global_variables_initializer())
            np.save(models / "parts.npy", session.run(tf.concat(list(parts), 0)))
            builder = v1.saved_model.Builder(str(models / "tf1"))
            info = v1.saved_model.build_tensor_info
            predict = v1.saved_model.signature_def_utils.build_signature_def(
                {"s": info(s), "x": info(x)}, {"y": info(y), "ids": info(ids), "words": info(words.lookup(ids))}
            )
            builder.add_meta_graph_and_variables(
                session, ["serve"], {"serving_default": predict}, main_op=v1.tables_initializer(),
                assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS), strip_default_attrs=True,
            )  # fmt: skip
            builder.save()
    finally:
        v1.enable_control_flow_v2()
    return models / "tf1"
