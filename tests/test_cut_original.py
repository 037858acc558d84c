"""Files of a part of a model are verified against that part in TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import fuseconv
from fuseconv import cli
from fuseconv.errors import InputError
from fuseconv.verifying import verify


class Model(tf.Module):
    """A counter, a layer that is called twice, a loop, and a table of rows."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.w = tf.Variable(random.standard_normal((4, 4), np.float32))
        self.table = tf.Variable(random.standard_normal((40, 4), np.float32))
        self.count = tf.Variable(0.0)

    @tf.function
    def layer(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(tf.matmul(x, self.w), name="act")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "ids"), tf.TensorSpec([], tf.float32, "k")])
    def serve(self, ids: tf.Tensor, k: tf.Tensor) -> dict[str, tf.Tensor]:
        self.count.assign_add(k)
        rows = tf.gather(self.table, tf.cast(ids, tf.int32), name="rows")
        with tf.name_scope("first"):
            h = self.layer(rows)
        with tf.name_scope("second"):
            h = self.layer(h * self.count)
        _, h = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.nn.softmax(x)), (0, h))
        return {"y": h, "count": self.count + 0.0}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, path = Model(), tmp_path_factory.mktemp("part") / "model"
    tf.saved_model.save(model, str(path), {"serving_default": model.serve})
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"outputs": ["first"]},
        {"inputs": ["rows", "k"]},
        {"inputs": ["first", "k"], "outputs": ["y", "second", "count"]},
        {"inputs": ["k", "rows"], "rename": {"rows": "r", "y": "out"}, "batch_size": 2},
    ],
    ids=str,
)
def test_a_part_of_a_saved_model(saved: Path, options: dict[str, Any]) -> None:
    conversion = fuseconv.convert(saved, **options)
    result = verify(saved, conversion.data or b"", **options)
    assert result.passed and result.outputs, [row.why for row in result.outputs]
    names = {row.output for row in result.outputs}
    assert names == set(options.get("outputs", {"out", "count"} if "rename" in options else {"y", "count"}))


def test_another_part_differs(saved: Path) -> None:
    conversion = fuseconv.convert(saved, inputs=["first", "k"], outputs=["y"])
    other = verify(saved, conversion.data or b"", inputs=["rows", "k"], outputs=["y"], rename={"rows": "first"})
    assert not other.passed
    with pytest.raises(InputError, match="the model has no tensor or layer"):
        verify(saved, conversion.data or b"", inputs=["nothing"])


def test_indices_are_drawn_by_the_size_of_their_table(saved: Path) -> None:
    result = verify(saved, fuseconv.convert(saved).data or b"")
    assert result.passed
    assert dict(row[1:] for row in result.drawn) == {
        "ids": "whole numbers below 40, as GATHER looks them up", "k": "normal distribution"
    }  # fmt: skip
    assert result.to_json()["drawn"][0]["signature"] == "serving_default"


def test_a_part_of_a_keras_file(tmp_path: Path) -> None:
    x = keras.Input((6,), name="ids")
    h = keras.layers.Embedding(50, 4, name="rows")(x)
    h = keras.layers.GRU(3, name="memory")(h)
    path = tmp_path / "model.keras"
    keras.Model(x, keras.layers.Dense(2, name="class")(h)).save(path)
    parts: list[dict[str, Any]] = [{"outputs": ["memory"]}, {"inputs": ["rows"]}]
    for options in parts:
        conversion = fuseconv.convert(path, **options)
        result = verify(path, conversion.data or b"", **options)
        assert result.passed and result.outputs, [row.why for row in result.outputs]


def test_the_command_line_verifies_a_part(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    part = ["--inputs", "rows,k", "--outputs", "second", "--rename", "rows=r"]
    done = CliRunner().invoke(
        cli.main, ["convert", str(saved), "-o", str(out), *part, "--verify", "--seed", "3", "--json"]
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["verification"]["passed"] and document["renamed"] == {"rows": "r"}
    assert [row["input"] for row in document["verification"]["drawn"]] == ["r", "k"]
    done = CliRunner().invoke(cli.main, ["verify", str(saved), str(out), *part, "--batch-size", "2"])
    assert done.exit_code == 0, done.output
    assert "Drawn     serving_default r: normal distribution" in done.stdout
    assert "r[2,4]" in done.stdout and "r[1,4]" not in done.stdout
    done = CliRunner().invoke(cli.main, ["convert", str(saved), "-o", str(out), "--seed", "3"])
    assert done.exit_code == 2 and "--seed say how to verify: add --verify" in done.stderr
