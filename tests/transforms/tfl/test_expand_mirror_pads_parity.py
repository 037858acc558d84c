"""Mirrors that are made of rows are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import _invoke, check, convert_function


@pytest.mark.parametrize("shape", [(None, 9, 8, 3), (None, None, None, 3), (2, 9, 8, 3)], ids=["batch", "all", "none"])
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_images(shape: tuple[int | None, ...], mode: str) -> None:
    paddings = [[0, 0], [3, 2], [1, 1], [0, 0]]
    w = np.random.default_rng(0).standard_normal((3, 3, 3, 4)).astype(np.float32)
    converted = check(lambda x: tf.nn.conv2d(tf.pad(x, paddings, mode), w, 1, "VALID"), tf.TensorSpec(shape))
    joined = 2 if shape[1] is None else 0
    assert "MIRROR_PAD" not in converted.ops and converted.ops.count("CONCATENATION") == joined


def test_signals() -> None:
    converted = check(lambda x: tf.pad(x, [[0, 0], [200, 7]], "REFLECT"), tf.TensorSpec((None, 1000)))
    assert sorted(converted.ops) == ["CONCATENATION", "GATHER", "GATHER"]


def test_integers() -> None:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-2, 2, shape).astype(dtype)

    rng = np.random.default_rng(0)
    w = rng.standard_normal((3, 3, 3, 4)).astype(np.float32)
    samples = [{"x0": draw(rng, (2, 9, 8, 3), np.dtype(np.float32))} for _ in range(40)]
    converted = check(
        lambda x: tf.nn.conv2d(tf.pad(x, [[0, 0], [3, 2], [1, 1], [0, 0]], "REFLECT"), w, 1, "VALID"),
        tf.TensorSpec((None, 9, 8, 3)), atol=0.05, inputs=draw, static=False, quantize="int8", calibration_data=samples,
    )  # fmt: skip
    assert converted.ops.count("QUANTIZE") == 1 and converted.ops.count("GATHER") == 2


def test_rows_that_are_too_few_are_told() -> None:
    converted = convert_function(lambda x: tf.pad(x, [[3, 3], [0, 0]], "SYMMETRIC"), tf.TensorSpec((None, 64)))
    (y,) = _invoke(Interpreter(model_content=converted.data), [np.ones((3, 64), np.float32)], allocate=True)
    assert y.shape == (9, 64)
    with pytest.raises(RuntimeError, match="index out of bounds"):
        _invoke(Interpreter(model_content=converted.data), [np.ones((2, 64), np.float32)], allocate=True)
