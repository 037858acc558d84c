"""Tables that TFLite has not are found by rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.api import convert
from fuseconv.errors import UnsupportedError
from fuseconv.testing import check

WORDS = ["red", "green", "blue"]
NUMBERS = [7, -2, 1 << 40]
KEYS: dict[tf.DType, list[Any]] = {tf.string: WORDS, tf.int64: NUMBERS, tf.int32: [7, -2, 40]}
VALUES: dict[tf.DType, list[Any]] = {
    tf.string: ["a", "", "c"], tf.int64: NUMBERS, tf.int32: [3, 2, 1], tf.float32: [0.5, 2.0, -1.0],
    tf.bool: [True, False, True],
}  # fmt: skip
DEFAULTS = {tf.string: "?", tf.int64: -9, tf.int32: -9, tf.float32: 9.5, tf.bool: False}
PAIRS = [(key, value) for key in KEYS for value in VALUES]
# Those that TensorFlow has no kernels for.
for _none in ((tf.int64, tf.bool), (tf.int32, tf.int64), (tf.int32, tf.bool)):
    PAIRS.remove(_none)
NATIVE = [(tf.string, tf.int64), (tf.int64, tf.string)]


class _Owner(tf.Module):
    def __init__(self, key: tf.DType, value: tf.DType) -> None:
        made = tf.lookup.KeyValueTensorInitializer(tf.constant(KEYS[key], key), tf.constant(VALUES[value], value))
        self.table = tf.lookup.StaticHashTable(made, tf.constant(DEFAULTS[value], value))

    def lookup(self, x: tf.Tensor) -> list[tf.Tensor]:
        return [self.table.lookup(x), self.table.size()]

    def twice(self, x: tf.Tensor) -> tf.Tensor:
        return self.table.lookup(self.table.lookup(x))


def _keys(dtype: tf.DType) -> np.ndarray:
    known = np.array([[*KEYS[dtype][::-1]], [*KEYS[dtype]]], object if dtype == tf.string else dtype.as_numpy_dtype)
    known[0, 0] = b"other" if dtype == tf.string else 5
    return np.array([[str(k).encode() if isinstance(k, str) else k for k in row] for row in known], known.dtype)


@pytest.mark.parametrize("key, value", PAIRS, ids=lambda dtype: dtype.name)
def test_lookup(key: tf.DType, value: tf.DType) -> None:
    converted = check(_Owner(key, value).lookup, tf.TensorSpec([None, 3], key), inputs=[_keys(key)])
    assert converted.ops.count("HASHTABLE_FIND") == (1 if key == tf.string or (key, value) in NATIVE else 2)


def test_several_lookups_in_one_table() -> None:
    spec = tf.TensorSpec([None, 3], tf.int64)
    check(_Owner(tf.int64, tf.int64).twice, spec, inputs=[_keys(tf.int64)])


class _Empty(tf.Module):
    def __init__(self, key: tf.DType, value: tf.DType) -> None:
        self.table = tf.lookup.experimental.MutableHashTable(key, value, tf.constant(DEFAULTS[value], value))

    def lookup(self, x: tf.Tensor) -> list[tf.Tensor]:
        return [self.table.lookup(x), self.table.size()]


@pytest.mark.parametrize("key, value", [*NATIVE, (tf.string, tf.float32)], ids=lambda dtype: dtype.name)
def test_a_table_of_nothing_finds_the_default(key: tf.DType, value: tf.DType) -> None:
    converted = check(_Empty(key, value).lookup, tf.TensorSpec([2, 3], key), inputs=[_keys(key)])
    assert not [op for op in converted.ops if op.startswith("HASHTABLE")]


def test_a_table_that_a_frozen_graph_does_not_fill_is_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        keys = tf.compat.v1.placeholder(tf.string, [None], "keys")
        found = _Owner(tf.string, tf.int64).table.lookup(keys)
        whole = graph.as_graph_def()
        part = tf.compat.v1.graph_util.extract_sub_graph(whole, [found.op.name])
    file = tmp_path / "model.pb"
    file.write_bytes(whole.SerializeToString())
    assert convert(file, outputs=[found.op.name]).data
    file.write_bytes(part.SerializeToString())
    with pytest.raises(UnsupportedError) as error:
        convert(file)
    ((_, _, why),) = error.value.ops
    assert "nothing in the model fills this table" in why
