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
from fuseconv.ir.verifier import check
from fuseconv.testing import assert_close
from fuseconv.transforms.tf.functionalize_control_flow import functionalize_control_flow
from tests.tf.text_cases import kinds, module_of

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


# What goes round in a loop cannot be written down before it is made; the test closes the circles.
LOOP = """main {
    input %0 "x": float32[2]
    input %1 "n": int32[]
    const %2 "zero": int32[] = 0
    const %3 "one": int32[] = 1
    %4 "enter_i": int32[] = tf.Enter(%2) {'frame_name': 'f'}
    %5 "enter_x": float32[2] = tf.Enter(%0) {'frame_name': 'f'}
    %6 "enter_n": int32[] = tf.Enter(%1) {'frame_name': 'f', 'is_constant': True}
    %7 "i": int32[]; %8 "i:1": int32[] = tf.Merge(%4, _) {}
    %9 "y": float32[2]; %10 "y:1": int32[] = tf.Merge(%5, _) {}
    %11 "less": bool[] = tf.Less(%7, %6) {}
    %12 "go": bool[] = tf.LoopCond(%11) {}
    %13 "s": int32[]; %14 "s:1": int32[] = tf.Switch(%7, %12) {}
    %15 "t": float32[2]; %16 "t:1": float32[2] = tf.Switch(%9, %12) {}
    %17 "add": int32[] = tf.AddV2(%14, %3) {}
    %18 "exp": float32[2] = tf.Exp(%16) {}
    %19 "next_i": int32[] = tf.NextIteration(%17) {}
    %20 "next_y": float32[2] = tf.NextIteration(%18) {}
    %21 "out": float32[2] = tf.Exit(%15) {}
    return %21
}"""


def test_a_loop_in_ir() -> None:
    module, report = module_of(LOOP, inputs=2)
    graph = module.signatures[0].graph
    ops = {op.name: op for op in graph.ops}
    for merge, back in (("i", "next_i"), ("y", "next_y")):
        ops[merge].set_operand(1, ops[back].result)
    functionalize_control_flow(module, report)
    check(module)
    assert kinds(module) == ["While"]
    (made,) = graph.ops
    condition, body = (module.functions[made.attrs[name].name] for name in ("cond", "body"))
    assert [op.type for op in condition.ops] == ["Less"]
    assert sorted(op.type for op in body.ops) == ["AddV2", "Exp"]
    assert len(made.operands) == len(body.inputs) == len(body.outputs)
    assert graph.outputs[0].op is made


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


def test_checks_and_messages_in_branches_and_loops_go(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        def told() -> tf.Tensor:
            with tf.control_dependencies([v1.assert_greater(tf.reduce_max(x), -100.0), tf.print("x", x)]):
                return x * 2.0

        def body(i: tf.Tensor, y: tf.Tensor) -> Any:
            with tf.control_dependencies([v1.assert_less(i, 100)]):
                return i + 1, y + x

        return tf.while_loop(lambda i, y: i < 3, body, [0, tf.cond(tf.reduce_sum(x) > 0, told, lambda: -x)])[1]

    ops = _check(tmp_path, build, [X], [_x(2, 3)], [_x(2, 3, sign=-1.0)])
    assert ops.count("WHILE") == ops.count("IF") == 1 and "PRINT" not in " ".join(ops)


def _saved_with_variable(path: Path, build: Callable[..., Any], **inputs: Any) -> None:
    """A TF1 SavedModel of what `build` makes of its inputs and a variable of zeros [3]."""
    with tf.Graph().as_default(), v1.Session() as session:
        given = {name: v1.placeholder(*spec, name=name) for name, spec in inputs.items()}
        variable = v1.get_variable("seen", [3], initializer=v1.zeros_initializer(), use_resource=True)
        y = build(variable, **given)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(path), given, {"y": y})


def test_variables_that_branches_write(tmp_path: Path) -> None:
    def build(variable: Any, x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        def seen() -> tf.Tensor:
            before = variable.read_value()
            with tf.control_dependencies([before]), tf.control_dependencies([variable.assign_add(x)]):
                return tf.cond(n > 1, doubled, lambda: variable.read_value()) + before

        def doubled() -> tf.Tensor:
            with tf.control_dependencies([variable.assign(variable * 2.0)]):
                return variable.read_value()

        return tf.cond(n > 0, seen, lambda: -x)

    _saved_with_variable(tmp_path / "model", build, x=(tf.float32, [3]), n=(tf.int32, []))
    data = convert(tmp_path / "model").data
    assert data is not None
    runner = Interpreter(model_content=data).get_signature_runner()
    state = np.zeros(3, np.float32)
    for n in (1, 0, 2, 1, 0, 2):
        x = np.array([n + 1, -2, 0.5], np.float32)
        before, state = state, state + x * (n > 0)
        state = state * 2 if n == 2 else state
        np.testing.assert_allclose(runner(x=x, n=np.int32(n))["y"], state + before if n else -x)


def _written_in_passing(variable: Any, x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    done = tf.cond(n > 0, lambda: tf.group(variable.assign_add(x)), tf.no_op)
    with tf.control_dependencies([done]):
        return variable.read_value() + x


def _written_before(variable: Any, x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([variable.assign_add(x)]):
        return tf.cond(n > 0, lambda: variable.read_value() * 2.0, lambda: x)


def _written_on_both_sides(variable: Any, x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    return tf.cond(n > 0, lambda: variable.assign_add(x), lambda: variable.assign(x)) * 2.0


def _written_in_a_loop(variable: Any, x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    def written(y: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([variable.assign_add(y)]):
            return variable.read_value()

    def body(i: tf.Tensor, y: tf.Tensor) -> Any:
        return i + 1, tf.cond(i > 1, lambda: written(y), lambda: y + 1.0)

    return tf.while_loop(lambda i, y: i < n + 3, body, [0, x])[1]


@pytest.mark.parametrize(
    "build", [_written_in_passing, _written_before, _written_on_both_sides, _written_in_a_loop]
)
def test_where_variables_are_written(tmp_path: Path, build: Callable[..., Any]) -> None:
    _saved_with_variable(tmp_path / "model", build, x=(tf.float32, [3]), n=(tf.int32, []))
    feeds = [{"x": np.array([n + 1, -2, 0.5], np.float32), "n": np.int32(n)} for n in (1, 0, 2, 1)]
    with tf.Graph().as_default(), v1.Session() as session:
        loaded = v1.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        y = loaded.signature_def["serving_default"].outputs["y"].name
        expected = [session.run(y, {f"{name}:0": value for name, value in feed.items()}) for feed in feeds]
    data = convert(tmp_path / "model").data
    assert data is not None
    runner = Interpreter(model_content=data).get_signature_runner()
    for feed, result in zip(feeds, expected):
        np.testing.assert_allclose(runner(**feed)["y"], result)


def test_switches_that_never_merge_are_refused(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> Any:
        return tf.raw_ops.Switch(data=x, pred=tf.reduce_sum(x) > 0)[1]

    assert "no part of a loop or branch" in _refused(tmp_path, build)


def test_scalars_of_no_declared_rank(tmp_path: Path) -> None:
    """As frozen graphs of MTCNN have them: the least size of a face, the factor of scales, and thresholds."""

    def build(x: tf.Tensor, least: tf.Tensor, factor: tf.Tensor, thresholds: tf.Tensor) -> Any:
        def step(index: tf.Tensor, size: tf.Tensor, scores: tf.TensorArray) -> Any:
            rows = tf.where(x[:, 0] * size > thresholds[0])
            return index + 1, size * factor, scores.write(index, tf.gather_nd(x, rows) * size)

        scores = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        *_, scores = v1.while_loop(lambda index, size, _: size >= 1.0, step, (0, 12.0 / least, scores))
        rows = scores.concat()
        return rows, tf.clip_by_value(rows[:, 1], thresholds[1], 1.0)

    x = RNG.standard_normal((6, 3))
    specs = [X, *[tf.TensorSpec(None)] * 3]
    _check(tmp_path, build, specs, [x, 2.0, 0.5, [0.3, 0.1]], [x[::-1], 3.0, 0.6, [-0.3, 0.2, 1.0]])
