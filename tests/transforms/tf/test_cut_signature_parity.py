"""Models cut at inner tensors, from file to file, against what TensorFlow computes between the same tensors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import fuseconv
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.runners import TFLiteFile

Part = Callable[[dict[str, np.ndarray]], dict[str, Any]]


def check_cut(
    model: Path, part: Part, shapes: dict[str, tuple[int, ...]], **options: Any
) -> fuseconv.report.records.Report:
    """Converts a cut model and compares it with `part`: for two sizes of the batch (-1), twice in a row each."""
    conversion = fuseconv.convert(model, **options)
    assert conversion.data is not None and all(conversion.report.account().values())
    file = TFLiteFile(conversion.data)
    random = np.random.default_rng(1)
    for batch in (2, 5):
        for _ in range(2):
            feed = {
                name: random.standard_normal([batch if n < 0 else n for n in shape]).astype(np.float32)
                for name, shape in shapes.items()
            }
            actual = file.run(next(iter(file.signatures)), feed)
            expected = part(feed)
            assert actual.keys() == expected.keys()
            for name, tensor in expected.items():
                np.testing.assert_allclose(actual[name], np.asarray(tensor), atol=1e-5, rtol=1e-5)
    return conversion.report


class Model(tf.Module):
    """Features out of records; two layers, of which one function is called twice; several signatures."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.unused = tf.Variable(random.standard_normal((3000, 1), np.float32), name="unused")
        self.w = tf.Variable(random.standard_normal((5, 5), np.float32))
        self.b = tf.Variable(random.standard_normal(5, np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def records(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        features = {"a": tf.io.FixedLenFeature([5], tf.float32), "b": tf.io.FixedLenFeature([], tf.float32)}
        parsed = tf.io.parse_example(examples, features)
        scale = tf.reduce_sum(self.unused) * tf.reduce_mean(parsed["a"])
        return self.head(parsed["a"] + 0 * scale, parsed["b"])

    @tf.function
    def head(self, a: tf.Tensor, b: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.name_scope("first"):
            h = self.layer(a)
        with tf.name_scope("second"):
            h = self.layer(h)
        return {"y": tf.nn.softmax(h) + b[:, None], "z": tf.nn.gelu(h)}

    @tf.function
    def layer(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, self.w), self.b), name="act")

    @tf.function(input_signature=[tf.TensorSpec([None, 5], tf.float32, name="x")])
    def plain(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"plain": tf.tanh(self.layer(x), name="squashed")}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Path]:
    model, path = Model(), tmp_path_factory.mktemp("cut") / "model"
    tf.saved_model.save(model, str(path), {"serving_default": model.records, "plain": model.plain})
    return model, path


def test_features_are_fed_behind_the_parsing_of_examples(saved: tuple[Model, Path]) -> None:
    model, path = saved
    with pytest.raises(UnsupportedError) as error:
        fuseconv.convert(path, signatures=["serving_default"])
    ((op, _, why),) = error.value.ops
    assert op == "ParseExampleV2"
    inputs = why.partition("--inputs ")[2].partition(" cuts")[0].split(",")
    features = [name.removesuffix(":0") for name in inputs]
    report = check_cut(
        path, lambda feed: model.head(feed["a"], feed["b"]), {"a": (-1, 5), "b": (-1,)},
        signatures=["serving_default"], inputs=inputs, rename=dict(zip(features, ["a", "b"])),
    )  # fmt: skip
    assert "GELU" in [op.type for op in report.emitted]
    assert report.output_bytes < 3000 * 4
    assert list(report.cut.inputs) == features and report.renamed == dict(zip(features, ["a", "b"]))


def test_a_function_that_is_called_twice(saved: tuple[Model, Path]) -> None:
    model, path = saved
    second: dict[str, Any] = {"signatures": ["serving_default"], "outputs": ["z"]}
    with pytest.raises(InputError, match="--inputs act: several tensors go by that name"):
        fuseconv.convert(path, inputs=["act"], **second)
    report = check_cut(
        path, lambda feed: {"z": tf.nn.gelu(model.layer(feed["first"]))}, {"first": (-1, 5)}, inputs=["first"], **second
    )
    assert [op.type for op in report.emitted] == ["FULLY_CONNECTED", "GELU"]
    check_cut(
        path, lambda feed: {"second": model.layer(feed["first"])}, {"first": (-1, 5)}, inputs=["first"],
        outputs=["second"], signatures=["serving_default"],
    )  # fmt: skip


def test_names_are_those_of_the_chosen_signature(saved: tuple[Model, Path]) -> None:
    path = saved[1]
    with pytest.raises(InputError, match="choose it with --signature; there are serving_default, plain"):
        fuseconv.convert(path, inputs=["act"])
    with pytest.raises(InputError, match="--outputs second: the model has no tensor"):
        fuseconv.convert(path, signatures=["plain"], outputs=["second"])
    report = check_cut(
        path, lambda feed: {"plain": tf.tanh(feed["act"]), "act": feed["act"]}, {"act": (-1, 5)},
        signatures=["plain"], inputs=["act"], outputs=["plain", "act"],
    )  # fmt: skip
    assert "TANH" in [op.type for op in report.emitted] and "FULLY_CONNECTED" not in [op.type for op in report.emitted]


def test_a_pruned_function(tmp_path: Path) -> None:
    """The concrete function, pruned by TensorFlow, computes what the file does."""
    w = np.random.default_rng(2).standard_normal((4, 4), np.float32)

    def compute(x: tf.Tensor) -> tf.Tensor:
        a, b = tf.split(tf.matmul(x, w, name="product"), 2, axis=1, name="halves")
        return tf.concat([tf.exp(b, name="grown"), tf.tanh(a)], 1, name="joined")

    spec = tf.TensorSpec([None, 4], name="x")
    module = tf.Module()
    module.f = tf.function(compute, input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path / "model"), module.f)
    concrete = tf.compat.v1.wrap_function(compute, [spec])
    graph = concrete.graph
    for inputs, outputs in (
        (["halves:1", "halves:0"], ["joined"]), (["product"], ["grown", "halves"]), (["x"], ["product"]),
    ):  # fmt: skip
        feeds = [graph.get_tensor_by_name(name if ":" in name else f"{name}:0") for name in inputs]
        fetches = {name: graph.get_tensor_by_name(f"{name}:0") for name in outputs}
        pruned = concrete.prune(feeds, fetches)

        def part(feed: dict[str, np.ndarray], inputs: list[str] = inputs, pruned: Any = pruned) -> dict[str, Any]:
            return pruned(*[tf.constant(feed[name.removesuffix(":0")]) for name in inputs])

        names = [name.removesuffix(":0") for name in inputs]
        shapes: dict[str, tuple[int, ...]] = {name: (-1, feed.shape[1]) for name, feed in zip(names, feeds)}
        check_cut(tmp_path / "model", part, shapes, inputs=inputs, outputs=outputs)


def test_the_layers_of_a_keras_file(tmp_path: Path) -> None:
    keras.utils.set_random_seed(3)
    x = keras.Input((7, 3), name="series")
    h = keras.layers.Dense(6, "gelu", name="embed")(x)
    h = keras.layers.LSTM(4, return_sequences=True, name="memory")(h)
    h = keras.layers.LayerNormalization(name="norm")(h)
    model = keras.Model(x, keras.layers.Dense(2, name="class")(keras.layers.Flatten(name="flat")(h)))
    model.save(tmp_path / "model.keras")
    layers = {layer.name: layer for layer in model.layers}

    def behind(feed: dict[str, np.ndarray]) -> dict[str, Any]:
        return {"norm": layers["norm"](layers["memory"](feed["embed"]))}

    report = check_cut(tmp_path / "model.keras", behind, {"embed": (-1, 7, 6)}, inputs=["embed"], outputs=["norm"])
    fused = {record.rule for record in report.records if record.kind == "fused"}
    assert "keras_lstm" in fused
    report = check_cut(
        tmp_path / "model.keras", lambda feed: {"memory": layers["memory"](layers["embed"](feed["series"]))},
        {"series": (-1, 7, 3)}, outputs=["memory"],
    )  # fmt: skip
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in [op.type for op in report.emitted]


def test_inside_a_composite_and_behind_one() -> None:
    path = Path(__file__).parents[3] / "testdata" / "keras2_lstm"
    loaded = tf.saved_model.load(str(path))
    whole = loaded.signatures["serving_default"]
    (name,) = whole.structured_input_signature[1]
    (key,) = whole.structured_outputs
    shape = [-1, *whole.structured_input_signature[1][name].shape[1:]]
    last = fuseconv.convert(path, outputs=["lstm"]).report
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in [op.type for op in last.emitted]
    assert "FULLY_CONNECTED" not in [op.type for op in last.emitted]
    file = TFLiteFile(fuseconv.convert(path, outputs=["lstm"]).data or b"")
    units = fuseconv.convert(path, inputs=["lstm"])
    rest = TFLiteFile(units.data or b"")
    random = np.random.default_rng(4)
    for batch in (1, 3):
        x = random.standard_normal([batch, *shape[1:]]).astype(np.float32)
        state = file.run("serving_default", {name: x})["lstm"]
        np.testing.assert_allclose(
            rest.run("serving_default", {"lstm": state})[key], whole(**{name: tf.constant(x)})[key], atol=1e-5
        )
