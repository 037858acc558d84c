"""Slices by SLICE and GATHER are TensorFlow's, of every type, in signatures and in bodies."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from fuseconv.testing import check

SLICES = {
    "middle": lambda x: x[:, 1:3],
    "from the end": lambda x: x[:, -3:-1, 1:],
    "beyond the end": lambda x: x[:, 2:99, ..., :2],
    "nothing": lambda x: x[:, 3:1],
    "one": lambda x: x[:, 3],
    "last": lambda x: x[..., -1],
}
TYPES = [tf.int32, tf.int64, tf.int8, tf.int16, tf.uint8, tf.bool, tf.float32]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", SLICES)
def test_types(name: str, kind: tf.DType) -> None:
    converted = check(SLICES[name], tf.TensorSpec([2, 5, 3], kind))
    assert name == "nothing" or converted.ops in (["SLICE"], ["GATHER"])
    check(SLICES[name], tf.TensorSpec([None, 5, 3], kind))


@pytest.mark.parametrize("batch", [None, 3])
def test_a_body(batch: int | None) -> None:
    def turned(x: tf.Tensor) -> Any:
        return tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, tf.concat([x[:, 1:], x[:, :1]], 1)), [0, x])[1]

    converted = check(turned, tf.TensorSpec([batch, 5], tf.float32))
    assert ("SLICE" in converted.ops) is (batch is not None)
