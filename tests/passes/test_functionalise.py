"""Loops, branches and arrays of TF1's frozen graphs compute what they compute in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv import convert
from fuseconv.errors import UnsupportedError
from fuseconv.testing import assert_close

v1 = tf.compat.v1
X = tf.TensorSpec([None, 3])
TIME = tf.TensorSpec([4, None, 3])
N = tf.TensorSpec([], tf.int32)
RNG = np.random.default_rng(0)
KERNEL = RNG.standard_normal((8, 20)).astype(np.float32)


@pytest.fixture(autouse=True)
def _first_control_flow() -> Iterator[None]:
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def _save(path: Path, build: Callable[..., Any], specs: list[tf.TensorSpec]) -> tuple[tf.Graph, list[tf.Tensor]]:
    graph = tf.Graph()
    with graph.as_default():
        inputs = [v1.placeholder(spec.dtype, spec.shape, f"x{index}") for index, spec in enumerate(specs)]
        results = [tf.identity(y, f"y{index}") for index, y in enumerate(tf.nest.flatten(build(*inputs)))]
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return graph, results


def _check(tmp_path: Path, build: Callable[..., Any], specs: list[tf.TensorSpec], *runs: list[Any]) -> list[str]:
    """Converts what `build` builds and compares each run, twice in a row; returns the types of the file's ops."""
    path = tmp_path / "frozen.pb"
    graph, results = _save(path, build, specs)
    converted = convert(path, outputs=[result.op.name for result in results])
    runner = Interpreter(model_content=converted.data).get_signature_runner()
    for run in (*runs, *runs):
        feeds = {f"x{index}": np.asarray(value, specs[index].dtype.as_numpy_dtype) for index, value in enumerate(run)}
        with v1.Session(graph=graph) as session:
            expected = session.run(results, {f"{name}:0": value for name, value in feeds.items()})
        actual = runner(**feeds)
        for result, value in zip(results, expected):
            assert_close(actual[result.op.name], np.asarray(value))
    return [op.type for op in converted.report.emitted]


def _x(*shape: int, sign: float = 1.0) -> np.ndarray:
    return (sign * np.abs(RNG.standard_normal(shape))).astype(np.float32)


def test_a_loop(tmp_path: Path) -> None:
    def build(x: tf.Tensor, n: tf.Tensor) -> Any:
        return tf.while_loop(lambda i, y, z: i < n, lambda i, y, z: (i + 1, z, y * 2.0 + x), [0, x, -x])

    ops = _check(tmp_path, build, [X, N], [_x(2, 3), 3], [_x(4, 3), 0])
    assert ops.count("WHILE") == 1


def test_a_branch(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        yes = lambda: (x * 2.0, tf.constant(1), tf.constant([1.0]))  # noqa: E731
        return tf.cond(tf.reduce_sum(x) > 0, yes, lambda: (tf.tanh(x), tf.constant(2), x[0, :1]))

    ops = _check(tmp_path, build, [X], [_x(2, 3)], [_x(4, 3, sign=-1.0)])
    assert ops.count("IF") == 1


def test_branches_and_loops_in_loops(tmp_path: Path) -> None:
    def body(i: tf.Tensor, y: tf.Tensor) -> Any:
        inner = lambda: tf.cond(i > 0, lambda: y - 1.0, lambda: y * 0.5)  # noqa: E731
        z = tf.cond(tf.reduce_sum(y) > 0, inner, lambda: y + 1.0)
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * 0.5), [0, z])
        return i + 1, z

    def build(x: tf.Tensor, n: tf.Tensor) -> Any:
        return tf.while_loop(lambda i, y: i < n, body, [0, x])

    ops = _check(tmp_path, build, [X, N], [_x(2, 3), 3], [_x(3, 3, sign=-1.0), 4])
    assert ops.count("WHILE") == 2 and ops.count("IF") == 2


def test_a_loop_in_a_branch(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        loop = lambda: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.5), [0, x])[1]  # noqa: E731
        return tf.cond(tf.reduce_sum(x) > 0, loop, lambda: x - 1.0)

    _check(tmp_path, build, [X], [_x(2, 3)], [_x(2, 3, sign=-1.0)])


def test_a_branch_that_depends_on_another_of_the_same_condition(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        condition = tf.reduce_sum(x) > 0
        y = tf.cond(condition, lambda: x * 2.0, lambda: x - 1.0)
        return tf.cond(condition, lambda: tf.sin(y), lambda: tf.cos(y) + x), y

    _check(tmp_path, build, [X], [_x(2, 3)], [_x(2, 3, sign=-1.0)])


def test_which_side_a_merge_took(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        low, high = tf.raw_ops.Switch(data=x, pred=tf.reduce_sum(x) > 0)
        merged = tf.raw_ops.Merge(inputs=[tf.sin(low), high * 2.0])
        other = tf.raw_ops.Merge(inputs=[high, low])
        return merged.output, merged.value_index, other.value_index

    _check(tmp_path, build, [X], [_x(2, 3)], [_x(2, 3, sign=-1.0)])


def _lstm(x: tf.Tensor) -> Any:
    steps = tf.shape(x)[0]
    array = tf.TensorArray(tf.float32, steps, element_shape=[None, 3]).unstack(x)
    out = tf.TensorArray(tf.float32, steps)
    zeros = tf.zeros([tf.shape(x)[1], 5])

    def body(t: tf.Tensor, out: tf.TensorArray, h: tf.Tensor, c: tf.Tensor) -> Any:
        i, j, f, o = tf.split(tf.concat([array.read(t), h], 1) @ KERNEL, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return t + 1, out.write(t, h), h, c

    _, out, h, c = tf.while_loop(lambda t, *_: t < steps, body, [0, out, zeros, zeros])
    return out.stack(), h, c, out.size()


def test_arrays_in_a_loop(tmp_path: Path) -> None:
    _check(tmp_path, _lstm, [TIME], [_x(4, 2, 3)], [_x(4, 5, 3, sign=-1.0)])


def test_arrays_with_a_dynamic_time(tmp_path: Path) -> None:
    _check(tmp_path, _lstm, [tf.TensorSpec([None, None, 3])], [_x(4, 2, 3)], [_x(1, 3, 3)])


def test_arrays_that_grow(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False).unstack([x, -x])
        array = array.write(4, x * 3.0)
        return array.stack(), array.gather([4, 1]), array.read(0), array.size()

    _check(tmp_path, build, [X], [_x(2, 3)], [_x(4, 3)])


def test_arrays_joined_and_split(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        array = tf.TensorArray(tf.float32, 2, clear_after_read=False).split(x, [2, 2])
        more = tf.TensorArray(tf.float32, 3).scatter([2, 0, 1], tf.stack([x, -x, 2.0 * x]))
        return array.read(1), array.concat(), more.stack()

    _check(tmp_path, build, [tf.TensorSpec([4, 3])], [_x(4, 3)])


def _refused(tmp_path: Path, build: Callable[..., Any]) -> str:
    path = tmp_path / "frozen.pb"
    _, results = _save(path, build, [X])
    with pytest.raises(UnsupportedError) as error:
        convert(path, outputs=[result.op.name for result in results])
    return str(error.value.ops)


def test_random_numbers_that_a_loop_may_repeat_are_refused(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + v1.random_uniform([3])), [0, x])[1]

    assert "control edges only" in _refused(tmp_path, build)


def test_switches_that_never_merge_are_refused(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        return tf.raw_ops.Switch(data=x, pred=tf.reduce_sum(x) > 0)[1]

    assert "no part of a loop or branch" in _refused(tmp_path, build)
