"""Variables that the model writes, and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv import convert
from fuseconv.errors import UnsupportedError
from fuseconv.testing import assert_close, check, check_refused

RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
WORDS = ["red", "green", "blue"]


def _convert(module: tf.Module, path: Path, **signatures: Any) -> bytes:
    tf.saved_model.save(module, str(path), signatures=signatures)
    data = convert(path).data
    assert data is not None
    return data


def _agree(path: Path, data: bytes, calls: list[tuple[str, dict[str, np.ndarray]]]) -> None:
    """A sequence of calls gives what it gives in TensorFlow, where they see what those before them wrote."""
    for resolver in RESOLVERS:
        loaded = tf.saved_model.load(str(path))
        interpreter = Interpreter(model_content=data, experimental_op_resolver_type=resolver)
        runners = {name: interpreter.get_signature_runner(name) for name in interpreter.get_signature_list()}
        for name, arguments in calls:
            expected = loaded.signatures[name](**{key: tf.constant(value) for key, value in arguments.items()})
            actual = runners[name](**arguments)
            for key, value in expected.items():
                assert_close(actual[key], value.numpy())


class _State(tf.Module):
    def __init__(self) -> None:
        self.rows = tf.Variable(ROWS, name="rows")
        self.count = tf.Variable(5, dtype=tf.int32, name="count")
        self.weight = tf.Variable(3 * np.eye(2, dtype=np.float32), name="weight")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def step(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        before = self.rows.read_value()
        self.rows.assign_add(tf.reduce_sum(x @ self.weight, 0, keepdims=True) * tf.ones([3, 1]))
        picked = tf.gather(self.rows, [2, 0])
        self.rows.scatter_update(tf.IndexedSlices(tf.ones([1, 2]), [1]))
        self.rows.scatter_add(tf.IndexedSlices(tf.ones([1, 2]), [0]))
        self.rows.scatter_nd_update([[2, 1]], [7.0])

        def body(i: tf.Tensor) -> tf.Tensor:
            self.rows.assign_sub(tf.ones([3, 2]))
            return i + 1

        tf.while_loop(lambda i: i < self.count // 3, body, [0])
        if tf.reduce_sum(x) > 0:
            self.count.assign_add(2)
        return {"before": before, "picked": picked, "after": self.rows.read_value(), "count": self.count.read_value()}

    @tf.function(input_signature=[])
    def reset(self) -> dict[str, tf.Tensor]:
        self.count.assign(6)
        return {"rows": self.rows.read_value(), "count": self.count.read_value()}


def test_signatures_share_what_they_write(tmp_path: Path) -> None:
    module = _State()
    data = _convert(module, tmp_path / "m", step=module.step, reset=module.reset)
    rng = np.random.default_rng(0)
    steps = [("step", {"x": rng.standard_normal((batch, 2)).astype(np.float32)}) for batch in (4, 4, 2)]
    _agree(tmp_path / "m", data, [("reset", {}), steps[0], steps[1], ("reset", {}), steps[2]])
    _agree(tmp_path / "m", data, [*steps, ("reset", {})])


def test_a_variable_that_is_only_read_is_a_constant(tmp_path: Path) -> None:
    module = _State()

    @tf.function(input_signature=[tf.TensorSpec([2, 2], tf.float32, "x")])
    def multiply(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x @ module.weight}

    tf.saved_model.save(module, str(tmp_path / "m"), signatures=multiply)
    assert [op.type for op in convert(tmp_path / "m").report.emitted] == ["FULLY_CONNECTED"]


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.bool, tf.float16, tf.int8])
def test_variables_of_other_types(tmp_path: Path, dtype: tf.DType) -> None:
    module = tf.Module()
    module.last = tf.Variable(tf.cast([1, 0, 1], dtype))

    @tf.function(input_signature=[tf.TensorSpec([3], dtype, "x")])
    def swap(x: tf.Tensor) -> dict[str, tf.Tensor]:
        last = module.last.read_value()
        module.last.assign(x)
        return {"y": last}

    data = _convert(module, tmp_path / "m", swap=swap)
    arrays = [np.array(row).astype(dtype.as_numpy_dtype) for row in ([0, 1, 1], [1, 1, 0], [0, 0, 0])]
    _agree(tmp_path / "m", data, [("swap", {"x": array}) for array in arrays])


def _refused(tmp_path: Path, module: tf.Module, function: Any) -> str:
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=function)
    with pytest.raises(UnsupportedError) as error:
        convert(tmp_path / "m")
    return str(error.value.ops)


def test_rows_and_slices_of_a_variable(tmp_path: Path) -> None:
    module = tf.Module()
    module.rows = tf.Variable(ROWS)

    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32, "i"), tf.TensorSpec([3], tf.float32, "x")])
    def write(i: tf.Tensor, x: tf.Tensor) -> dict[str, tf.Tensor]:
        picked = tf.gather(module.rows, i)
        module.rows.scatter_sub(tf.IndexedSlices(picked * 3.0, i))
        module.rows.scatter_max(tf.IndexedSlices(picked, i))
        tf.raw_ops.ResourceScatterAdd(resource=module.rows.handle, indices=i, updates=x[0])
        before = module.rows.read_value()
        module.rows[1:, 0].assign(x[:2])
        return {"before": before, "after": module.rows.read_value()}

    data = _convert(module, tmp_path / "m", write=write)
    rng = np.random.default_rng(0)
    indices = [np.array(pair, np.int32) for pair in ([0, 2], [1, 1], [2, 0])]
    calls = [("write", {"i": i, "x": rng.standard_normal(3).astype(np.float32)}) for i in indices]
    _agree(tmp_path / "m", data, calls)


def test_a_variable_without_a_fixed_shape_is_refused(tmp_path: Path) -> None:
    module = tf.Module()
    module.seen = tf.Variable(np.zeros([0], np.float32), shape=[None])

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, "x")])
    def collect(x: tf.Tensor) -> dict[str, tf.Tensor]:
        module.seen.assign(tf.concat([module.seen, x], 0))
        return {"y": tf.reduce_sum(module.seen)}

    assert "the variable's shape is not fixed" in _refused(tmp_path, module, collect)


def test_a_variable_of_strings_is_refused(tmp_path: Path) -> None:
    module = tf.Module()
    module.last = tf.Variable("none")

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, "x")])
    def swap(x: tf.Tensor) -> dict[str, tf.Tensor]:
        last = module.last.read_value()
        module.last.assign(x)
        return {"y": last}

    assert "TFLite's variables hold no strings" in _refused(tmp_path, module, swap)


def _table(keys: Any, values: Any, default: Any) -> tf.lookup.StaticHashTable:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default)


class _Lookup(tf.Module):
    def __init__(self, *tables: tf.lookup.StaticHashTable) -> None:
        self.tables = tables

    def lookup(self, x: tf.Tensor) -> list[tf.Tensor]:
        for table in self.tables:
            x = table.lookup(x)
        return [x, self.tables[0].size()]


def _draw_words(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.choice(np.array([b"red", b"green", b"other", b""], object), shape)


def test_words_to_numbers() -> None:
    numbers = _table(WORDS, np.array([4, 5, 6], np.int64), -1)
    spec = tf.TensorSpec([None, 2], tf.string)
    ops = ["CALL_ONCE", "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_SIZE", "RESHAPE", "HASHTABLE", "HASHTABLE_IMPORT"]
    check(_Lookup(numbers).lookup, spec, inputs=_draw_words, ops=ops)


def test_words_to_numbers_to_words() -> None:
    numbers = _table(WORDS, np.array([4, 5, 6], np.int64), -1)
    words = _table(np.array([4, 5, -1], np.int64), ["rouge", "vert", "?"], "!")
    check(_Lookup(numbers, words).lookup, tf.TensorSpec([None], tf.string), inputs=_draw_words)


def test_a_lookup_in_a_loop_and_a_branch() -> None:
    class Chase(_Lookup):
        def lookup(self, x: tf.Tensor) -> tf.Tensor:
            def follow(key: tf.Tensor, steps: tf.Tensor) -> Any:
                return self.tables[1].lookup(self.tables[0].lookup(key)), steps + 1

            key, steps = tf.while_loop(lambda key, steps: tf.reduce_any(key != "blue"), follow, [x, 0])
            return tf.cond(steps > 1, lambda: self.tables[0].lookup(key), lambda: tf.constant([-5], tf.int64))

    there = _table(WORDS, np.array([1, 2, 3], np.int64), 3)
    back = _table(np.array([1, 2, 3], np.int64), ["green", "blue", "blue"], "blue")
    check(Chase(there, back).lookup, tf.TensorSpec([1], tf.string), inputs=[np.array([b"red"], object)])
    check(Chase(there, back).lookup, tf.TensorSpec([1], tf.string), inputs=[np.array([b"green"], object)])


def _mutable() -> tf.Module:
    module = tf.Module()
    module.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    module.table.insert(WORDS, np.array([4, 5, 6], np.int64))
    return module


def test_a_mutable_table_that_nothing_writes(tmp_path: Path) -> None:
    module = _mutable()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
    def lookup(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": module.table.lookup(x)}

    data = _convert(module, tmp_path / "m", lookup=lookup)
    _agree(tmp_path / "m", data, [("lookup", {"x": np.array([b"blue", b"-", b"red"], object)})])


def test_a_table_that_the_model_writes_is_refused(tmp_path: Path) -> None:
    module = _mutable()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
    def count(x: tf.Tensor) -> dict[str, tf.Tensor]:
        seen = module.table.lookup(x)
        module.table.insert(x, seen + 1)
        return {"y": seen}

    assert "MutableHashTableV2" in _refused(tmp_path, module, count)


def test_other_types_are_refused() -> None:
    table = _table(WORDS, np.array([4, 5, 6], np.float64), -1.0)
    check_refused(_Lookup(table).lookup, tf.TensorSpec([None], tf.string), match="from string to float64")
