"""A model that trains on the device, as TFLite's guide builds one: train, infer, save and restore.

Numbers are compared for what builtins run; Save and Restore need the Flex delegate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import fuseconv
from fuseconv.errors import UnsupportedError
from fuseconv.inspecting import inspect
from fuseconv.testing import assert_close

_SIZE, _CLASSES = 5, 3


class Trained(tf.Module):
    """Two dense layers, which stochastic gradient descent trains."""

    def __init__(self) -> None:
        draw = np.random.default_rng(0).standard_normal
        shapes = {"w1": (_SIZE * _SIZE, 8), "b1": (8,), "w2": (8, _CLASSES), "b2": (_CLASSES,)}
        self.weights = [
            tf.Variable(draw(shape).astype(np.float32) / 3, name=name) for name, shape in shapes.items()
        ]

    def logits(self, x: tf.Tensor) -> tf.Tensor:
        w1, b1, w2, b2 = self.weights
        return tf.nn.relu(tf.reshape(x, [-1, _SIZE * _SIZE]) @ w1 + b1) @ w2 + b2

    @tf.function(input_signature=[tf.TensorSpec([None, _SIZE, _SIZE]), tf.TensorSpec([None, _CLASSES])])
    def train(self, x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, self.logits(x)))
        for weight, gradient in zip(self.weights, tape.gradient(loss, self.weights)):
            weight.assign_sub(0.5 * gradient)
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec([None, _SIZE, _SIZE])])
    def infer(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = self.logits(x)
        return {"output": tf.nn.softmax(logits), "logits": logits}

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def save(self, path: tf.Tensor) -> dict[str, tf.Tensor]:
        names = [weight.name for weight in self.weights]
        tf.raw_ops.Save(filename=path, tensor_names=names, data=[weight.read_value() for weight in self.weights])
        return {"path": path}

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def restore(self, path: tf.Tensor) -> dict[str, tf.Tensor]:
        restored = {}
        for weight in self.weights:
            restored[weight.name] = tf.raw_ops.Restore(file_pattern=path, tensor_name=weight.name, dt=weight.dtype)
            weight.assign(restored[weight.name])
        return restored


_SIGNATURES = ("train", "infer", "save", "restore")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "model"
    built = Trained()
    signatures = {name: getattr(built, name).get_concrete_function() for name in _SIGNATURES}
    tf.saved_model.save(built, str(path), signatures=signatures)
    return path


def batches(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(1)
    labels = np.eye(_CLASSES, dtype=np.float32)
    sizes = [2 + step % 3 for step in range(count)]
    return [
        (rng.standard_normal((size, _SIZE, _SIZE)).astype(np.float32), labels[rng.integers(0, _CLASSES, size)])
        for size in sizes
    ]


def step(interpreter: Interpreter, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return interpreter.get_signature_runner("train")(x=x, y=y)["loss"]


@pytest.mark.parametrize("resolver", [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_steps_of_training_and_what_is_inferred_then(model: Path, resolver: OpResolverType) -> None:
    converted = fuseconv.convert(model, signatures=["train", "infer"])
    interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
    original = Trained()
    for x, y in batches(6):
        assert_close(step(interpreter, x, y), original.train(x, y)["loss"].numpy())
        inferred = interpreter.get_signature_runner("infer")(x=x)
        for name, expected in original.infer(x).items():
            assert_close(inferred[name], expected.numpy(), atol=2e-5)


def graphs(path: Path) -> dict[str, list[str]]:
    """The ops of each subgraph, in their order."""
    return {graph["name"]: [op["op"] for op in graph["ops"]] for graph in inspect(path)["subgraphs"]}


def test_save_and_restore_are_in_the_file(model: Path, tmp_path: Path) -> None:
    """No interpreter of Python's packages has the Flex delegate, which would run them."""
    out = tmp_path / "trained.tflite"
    report = fuseconv.convert(model, out, select_tf_ops=True).report
    ops = graphs(out)
    assert [op for op in ops["save"] if op not in ("CALL_ONCE", "VAR_HANDLE", "RESHAPE")] == [
        *["READ_VARIABLE"] * 4, "FlexSave",
    ]  # fmt: skip
    acting = [op for op in ops["restore"] if op in ("FlexRestore", "ASSIGN_VARIABLE")]
    assert acting == ["FlexRestore", "ASSIGN_VARIABLE"] * 4
    assert ops["train"].count("ASSIGN_VARIABLE") == 4 and not any("Flex" in op for op in ops["train"] + ops["infer"])
    assert [op.type for op in report.emitted].count("FlexSave") == 1


def test_without_flex_they_are_refused_by_name(model: Path) -> None:
    with pytest.raises(UnsupportedError) as error:
        fuseconv.convert(model)
    assert [op for op, _, _ in error.value.ops] == ["Restore", "Save"]
    assert all("--select-tf-ops" in why for _, _, why in error.value.ops)
