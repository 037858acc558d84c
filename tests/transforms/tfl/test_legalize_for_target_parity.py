"""Functions converted for targets: nothing is refused, and the files compute what TensorFlow does, in LiteRT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, convert_function

F = tf.float32


def rows(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Slices of two dimensions, rows apart, a mask of integers and the place of the largest."""
    kept = tf.where(tf.cast(mask, tf.bool), x, -x)
    first, *others = tf.unstack(kept[:, 1:], axis=1)
    return first + tf.add_n(others) + tf.cast(tf.argmax(x, 1, tf.int32), tf.float32)


def embed(table: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    return tf.squeeze(tf.expand_dims(tf.gather(table, places), 1) * 2.0, 1)


def norms(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.log_softmax(x) + tf.math.l2_normalize(x, -1) + tf.clip_by_value(x, 0.0, 1.0)


def gates(x: tf.Tensor) -> tf.Tensor:
    return tf.sign(x) * tf.nn.gelu(x) + tf.nn.gelu(x, approximate=True) + tf.pow(tf.tile(x[:1], [3, 1]), 3.0)


@pytest.mark.parametrize("target, fn, specs", [
    ("gpu", rows, [((3, 5), F), ((3, 5), tf.int32)]), ("gpu", embed, [((7, 4), F), ((2, 3), tf.int32)]),
    ("gpu", norms, [((3, 5), F)]), ("micro", gates, [((3, 5), F)]),
    ("micro", norms, [((3, 5), F)]),
])  # fmt: skip
def test_nothing_is_refused(target: str, fn: Callable[..., Any], specs: list) -> None:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (rng.integers(0, 3, shape) if dtype == np.int32 else rng.normal(size=shape)).astype(dtype)

    converted = check(fn, *(tf.TensorSpec(*spec) for spec in specs), inputs=draw, target=target)
    found = converted.report.target
    assert found is not None and found["name"] == target and found["refused"] == [] and found["partitions"] == 1
    plain = convert_function(fn, *(tf.TensorSpec(*spec) for spec in specs))
    assert plain.report.target is None and plain.ops != converted.ops


def test_the_batch_is_one_and_told() -> None:
    converted = convert_function(lambda x: tf.nn.relu(x), tf.TensorSpec([None, 3]), target="gpu")
    assert converted.report.warnings == ["gpu wants known sizes: the batch is 1, or that of --batch-size"]
    assert not convert_function(tf.nn.relu, tf.TensorSpec([None, 3]), target="gpu", batch_size=2).report.warnings
    assert not convert_function(tf.nn.relu, tf.TensorSpec([None, 3]), target="xnnpack").report.warnings


def test_what_is_refused_is_named() -> None:
    converted = convert_function(lambda x: tf.sort(x), tf.TensorSpec([1, 3]), target="coreml")
    (warning,) = converted.report.warnings
    assert "coreml refuses" in warning and "TOPK_V2: it has no TOPK_V2" in warning


@pytest.mark.parametrize("target, loops", [("gpu", 0), ("xnnpack", 1)])
def test_there_are_no_loops_where_the_target_has_none(target: str, loops: int) -> None:
    weights = tf.constant(np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32) / 10)

    def steps(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, x: i < 20, lambda i, x: (i + 1, tf.tanh(x @ weights)), (0, x))[1]

    converted = check(steps, tf.TensorSpec([1, 40]), target=target, rnn="fused")
    assert converted.ops.count("WHILE") == loops


def test_copies_of_outputs_take_forms_too() -> None:
    def twice(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = tf.tanh(x)
        return y, y

    found = check(twice, tf.TensorSpec((3, 5)), target="gpu")
    assert found.report.target is not None and found.report.target["refused"] == []
    assert found.ops == ["TANH", "RESHAPE", "SLICE", "RESHAPE"]
