"""SavedModels without signatures are converted by their functions, and verified by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.api import convert
from fuseconv.errors import InputError
from fuseconv.load import concrete_functions, load, protos
from fuseconv.verifying import verify

Spec = tf.TensorSpec
W = np.random.default_rng(0).standard_normal((4, 3), np.float32)


def _saved(module: tf.Module, path: Path) -> Path:
    tf.saved_model.save(module, str(path), signatures={})
    return path


def _ends(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    return {signature.names[0]: (signature.inputs, signature.outputs) for signature in load(path).signatures}


def _check(path: Path, **data: np.ndarray) -> None:
    verify(path, convert(path).data or b"", data=data or None).check()


class Callable(tf.Module):
    """Weights as a variable and as a constant; a function beside the one that counts."""

    def __init__(self) -> None:
        self.w = tf.Variable(W)
        self.b = tf.constant(W[0])

    @tf.function
    def __call__(self, x: tf.Tensor, training: bool = False) -> Any:
        return tf.nn.relu(x) if training else {"sum": tf.matmul(x, self.w) + self.b, "rest": (x, 2.0 * x)}

    @tf.function(input_signature=[Spec([2])])
    def other(self, x: tf.Tensor) -> tf.Tensor:
        return x


def test_the_trace_that_is_not_for_training_and_most_open(tmp_path: Path) -> None:
    module = Callable()
    module(tf.zeros([2, 4]))
    module.__call__.get_concrete_function(Spec([None, 4], name="x"))
    module.__call__.get_concrete_function(Spec([None, 4], name="x"), training=True)
    path = _saved(module, tmp_path / "model")
    assert _ends(path) == {"serving_default": (["x"], ["rest_0", "rest_1", "sum"])}
    _check(path)


def test_every_function_of_a_root_that_is_not_callable(tmp_path: Path) -> None:
    class Functions(tf.Module):
        def __init__(self) -> None:
            keys, values = tf.constant(["a", "b"]), tf.constant([5, 6], tf.int64)
            self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
            self.scale = tf.Variable(3.0)

        @tf.function(input_signature=[Spec([None], tf.string, "word")])
        def look_up(self, word: tf.Tensor) -> tf.Tensor:
            return self.table.lookup(word)

        @tf.function(input_signature=[{"b": Spec([None]), "a": (Spec([], tf.int32), Spec([None]))}])
        def nested(self, d: Any) -> tuple[tf.Tensor, tf.Tensor]:
            return d["b"] * self.scale - d["a"][1], d["a"][0]

        @tf.function(input_signature=[Spec([None])])
        def _private(self, x: tf.Tensor) -> tf.Tensor:
            return x

    path = _saved(Functions(), tmp_path / "model")
    ends = _ends(path)
    assert sorted(ends) == ["look_up", "nested"]
    assert ends["look_up"] == (["word"], ["output_0"])
    assert (len(ends["nested"][0]), ends["nested"][1]) == (3, ["output_0", "output_1"])
    _check(path)
    _check(path, word=np.array([b"b", b"c", b"a"], object))


def test_assets(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("red\ngreen\n")

    class Words(tf.Module):
        def __init__(self) -> None:
            initializer = tf.lookup.TextFileInitializer(
                str(tmp_path / "words.txt"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, -1
            )
            self.table = tf.lookup.StaticHashTable(initializer, -1)

        @tf.function(input_signature=[Spec([None], tf.string, "word")])
        def __call__(self, word: tf.Tensor) -> tf.Tensor:
            return self.table.lookup(word)

    path = _saved(Words(), tmp_path / "model")
    _check(path, word=np.array([b"green", b"blue"], object))


def test_a_model_without_functions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no signatures: export it with one"):
        load(_saved(tf.Module(), tmp_path / "model"))


@pytest.mark.parametrize("number", [10**6, -1])
def test_damaged_objects(tmp_path: Path, number: int) -> None:
    module = Callable()
    module(tf.zeros([2, 4]))
    path = _saved(module, tmp_path / "model")
    model = protos.classes["SavedModel"].FromString((path / "saved_model.pb").read_bytes())
    for child in model.meta_graphs[0].object_graph_def.nodes[0].children:
        child.node_id = number
    (path / "saved_model.pb").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="graph of objects is damaged"):
        load(path)


def test_what_functions_capture_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many functions on the root may be one, which captures one variable any number of times."""
    module = Callable()
    module.__call__.get_concrete_function(Spec([2, 4]))
    path = _saved(module, tmp_path / "model")
    monkeypatch.setattr(concrete_functions, "_MOST_CAPTURED", 2)
    load(path)
    monkeypatch.setattr(concrete_functions, "_MOST_CAPTURED", 1)
    with pytest.raises(InputError, match="its functions capture more than a model of its size"):
        load(path)
