"""What moves out of loops: invariants, and what a step computes of one row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check as check_ir
from fuseconv.testing import check
from fuseconv.transforms.loops.hoist_loop_invariants import hoist
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.inline import inline
from fuseconv.transforms.tf.simplify_control_flow import simplify_control_flow
from tests.tf.text_cases import kinds, module_of

COND = """cond {
    input %0 "t": int32[]
    input %1 "h": float32[2,4]
    input %2 "x": float32[5,2,3]
    input %3 "w": float32[4,3]
    const %4 "n": int32[] = 5
    %5 "less": bool[] = tf.Less(%0, %4) {}
    return %5
}"""
MAIN = """main {
    input %0 "x": float32[5,2,3]
    input %1 "w": float32[4,3]
    const %2 "zero": int32[] = 0
    const %3 "h0": float32[2,4] = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    %4 "loop": int32[]; %5 "loop:1": float32[2,4]; %6 "loop:2": float32[5,2,3]; %7 "loop:3": float32[4,3] = \
tf.While(%2, %3, %0, %1) {'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
    return %5
}"""


def body(lines: str, result: int) -> str:
    return f"""body {{
    input %0 "t": int32[]
    input %1 "h": float32[2,4]
    input %2 "x": float32[5,2,3]
    input %3 "w": float32[4,3]
    const %4 "axis": int32[] = 0
    const %5 "one": int32[] = 1
    const %6 "perm": int32[2] = [1, 0]
    %7 "row": float32[2,3] = tf.GatherV2(%2, %0, %4) {{}}
    %8 "next": int32[] = tf.AddV2(%0, %5) {{}}
    {lines}
    return %8, %{result}, %2, %3
}}"""


def hoisted(lines: str, result: int) -> Module:
    module, report = module_of(MAIN, COND, body(lines, result), inputs=2)
    inline(module, report)
    canonicalize(module, report)
    hoist(module)
    check_ir(module)
    canonicalize(module, report)
    simplify_control_flow(module, report)
    canonicalize(module, report)
    check_ir(module)
    return module


def test_rows_and_invariants() -> None:
    module = hoisted(
        """%9 "turned": float32[3,4] = tf.Transpose(%3, %6) {}
        %10 "product": float32[2,4] = tf.MatMul(%7, %9) {}
        %11 "sum": float32[2,4] = tf.AddV2(%10, %1) {}""",
        11,
    )
    assert kinds(module) == ["Transpose", "BatchMatMulV2", "While"]
    inner = next(graph for graph in module.graphs() if graph.name.startswith("body"))
    assert [op.type for op in inner.ops] == ["AddV2", "GatherV2", "AddV2"]
    # The sequence itself and the weights are no longer carried.
    loop = module.signatures[0].graph.ops[-1]
    assert [value.shape for value in loop.operands if value] == [(), (2, 4), (5, 2, 4)]


def test_a_bias_that_stands_behind_the_state_moves_with_the_row() -> None:
    module = hoisted(
        """const %9 "bias": float32[4] = [1.0, 2.0, 3.0, 4.0]
        %10 "product": float32[2,4] = tf.MatMul(%7, %3) {'transpose_b': True}
        %11 "sum": float32[2,4] = tf.AddV2(%10, %1) {}
        %12 "biased": float32[2,4] = tf.BiasAdd(%11, %9) {}""",
        12,
    )
    assert kinds(module) == ["BatchMatMulV2", "BiasAdd", "While"]


def test_what_depends_on_the_state_stays() -> None:
    module = hoisted(
        """%9 "back": float32[2,3] = tf.MatMul(%1, %3) {}
        %10 "sum": float32[2,3] = tf.AddV2(%7, %9) {}
        %11 "product": float32[2,4] = tf.MatMul(%10, %3) {'transpose_b': True}""",
        11,
    )
    assert kinds(module) == ["While"]


def test_moves_stay_where_a_read_more_costs_as_much() -> None:
    module = hoisted(
        """const %9 "axis1": int32[] = -1
        %10 "product": float32[2,4] = tf.MatMul(%7, %3) {'transpose_b': True}
        %11 "a": float32[2,2]; %12 "b": float32[2,2] = tf.Split(%9, %10) {}
        %13 "c": float32[2,2]; %14 "d": float32[2,2] = tf.Split(%9, %1) {}
        %15 "e": float32[2,2] = tf.Mul(%11, %14) {}
        %16 "f": float32[2,2] = tf.Mul(%12, %13) {}
        %17 "g": float32[2,4] = tf.ConcatV2(%15, %16, %9) {}""",
        17,
    )
    inner = next(graph for graph in module.graphs() if graph.name.startswith("body"))
    assert [op.type for op in inner.ops].count("GatherV2") == 1


W = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
FILTER = np.random.default_rng(1).standard_normal((3, 3, 2, 3)).astype(np.float32)
DENSE = tf.TensorSpec([None, 5, 4])
IMAGES = tf.TensorSpec([3, 2, 5, 6, 2])
# What a step computes of a row [5, 4] of x [time, 5, 4].
ROWS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "matmul": lambda x: x @ W,
    "matmul_transposed": lambda x: tf.matmul(x, W.T.copy(), transpose_b=True),
    "broadcast": lambda x: x * tf.constant([1.0, 2.0, 3.0, 4.0]) + 1.0,
    "broadcast_rank": lambda x: x[0] * tf.ones([2, 5, 4]) * x,
    "softmax": lambda x: tf.nn.softmax(x),
    "reduce": lambda x: tf.reduce_mean(x, 0) * tf.reduce_max(x, -1, keepdims=True),
    "split": lambda x: tf.multiply(*tf.split(x, 2, 1)),
    "split_uneven": lambda x: tf.split(x, [1, 3], -1)[1] * 2.0,
    "concat": lambda x: tf.concat([x, x * 2.0], 0) + 1.0,
    "stack": lambda x: tf.stack([x, x * 2.0], 1) + 1.0,
    "unstack": lambda x: tf.unstack(x, axis=0)[1] + tf.unstack(x, axis=1)[2][0],
    "transpose": lambda x: tf.transpose(x) * 2.0,
    "reshape": lambda x: tf.reshape(x, [2, 10]) * 2.0,
    "expand": lambda x: tf.squeeze(tf.expand_dims(x, 1), [1]) * 2.0,
    "slice": lambda x: x[1:3, ::2] * tf.slice(x, [0, 1], [2, 2]),
    "tile": lambda x: tf.tile(x, [2, 1]) * 2.0,
    "select": lambda x: tf.where(x > 0.0, x, x * 0.1),
    "einsum": lambda x: tf.einsum("ab,bc->ca", x, W),
    "cast": lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
}


def summed(fn: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor], tf.Tensor]:
    """The sum of what `fn` makes of each row, halved at each step."""

    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        total = tf.zeros_like(fn(x[0]))
        for t in tf.range(tf.shape(x)[0]):
            total = total * 0.5 + fn(x[t])
        return total

    return run


@pytest.mark.parametrize("name", ROWS)
def test_batched_ops(name: str) -> None:
    converted = check(summed(ROWS[name]), DENSE, rnn="loop")
    inside = {op.type for op in converted.report.emitted if op.subgraph}
    assert inside <= {"LESS", "ADD", "GATHER", "MUL"}


def test_batched_convolutions() -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.conv2d(x, FILTER, 1, "SAME")
        return tf.nn.max_pool2d(y, 2, 2, "VALID")

    converted = check(summed(fn), IMAGES, rnn="loop")
    assert {op.type for op in converted.report.emitted if op.subgraph} == {"LESS", "ADD", "GATHER", "MUL"}


def test_a_division_of_integers_stays() -> None:
    # A zero in a row that the loop never reaches must not stop the model.
    @tf.function
    def run(x: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
        total = tf.zeros_like(x[0])
        for t in tf.range(steps):
            total += 100 // x[t]
        return total

    x = np.array([[1, 2], [3, 4], [0, 0]], np.int32)
    check(run, tf.TensorSpec([3, 2], tf.int32), tf.TensorSpec([], tf.int32), inputs=[x, np.int32(2)])


def test_rows_that_keep_their_axis() -> None:
    def total(x: tf.Tensor) -> tf.Tensor:
        made = tf.zeros([1, 3])
        for step in tf.range(tf.shape(x)[0]):
            made = tf.tanh(made + tf.ensure_shape(x[step : step + 1], [1, 3]))
        return made

    check(total, tf.TensorSpec([None, 3]))


KERNEL = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize("rows", [0, 1], ids=["all rows", "as many as another dimension"])
def test_rows_that_vectorized_map_reads_one_by_one(rows):
    """Of the first and of as many rows as the sequence has, which is what Keras' TimeDistributed reads."""

    def fn(x):
        return tf.vectorized_map(lambda i: tf.nn.relu(tf.matmul(x[i], KERNEL)), tf.range(tf.shape(x)[rows]))

    def longer_than_wide(rng, shape, dtype):
        return rng.standard_normal((max(shape) + 1, min(shape), 3)).astype(dtype)

    made = check(fn, tf.TensorSpec([None, None, 3]), inputs=longer_than_wide, static=False)
    assert "WHILE" not in made.ops and made.ops.count("FULLY_CONNECTED") == 1


def test_a_layer_distributed_over_an_unknown_number_of_steps():
    import keras

    inner = keras.Sequential([keras.layers.Conv2D(2, 3, activation="relu"), keras.layers.Flatten()])
    model = keras.Sequential([keras.Input((None, 5, 6, 2)), keras.layers.TimeDistributed(inner)])
    made = check(model, tf.TensorSpec([None, None, 5, 6, 2]))
    assert "WHILE" not in made.ops and made.ops.count("CONV_2D") == 1


def test_rows_in_another_order_stay_rows():
    def fn(x):
        n = tf.shape(x)[0]
        return tf.vectorized_map(lambda i: tf.matmul(x[n - 1 - i], KERNEL), tf.range(n))

    check(fn, tf.TensorSpec([None, 2, 3]))


def test_tables_of_several_lengths():
    """Where the loop's length is one of theirs, the others are cut to it; else they are read row by row."""

    def fn(x, y, count):
        a = b = c = tf.zeros([tf.shape(x)[0], 3])
        longer = tf.concat([x[:, :1], x], 1)
        for step in tf.range(tf.shape(x)[1]):
            a = tf.tanh(a + x[:, step] * longer[:, step])
        for step in tf.range(tf.shape(x)[1]):
            b = tf.tanh(b - x[:, step] * y[:, step])
        for step in tf.range(count):
            c = tf.tanh(c + 2 * x[:, step] * longer[:, step + 1])
        return a, b, c

    rng = np.random.default_rng(0)
    specs = [tf.TensorSpec([None, None, 3])] * 2 + [tf.TensorSpec([], tf.int32)]
    for other in (5, 8):
        x, y = (rng.standard_normal((2, length, 3)).astype(np.float32) for length in (5, other))
        check(fn, *specs, inputs=[x, y, np.int32(4)], batches=(2,), static=False)
    check(lambda x: fn(x, tf.ones([1, 9, 3]), 2), tf.TensorSpec([None, 6, 3]))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("shape", [[None, 7, 3], [None, None, 3], [2, 7, 3]])
def test_rows_that_are_sliced_keep_their_axis(first: int, backwards: bool, shape: list[int | None]) -> None:
    def run(x, w):
        steps = tf.shape(x)[1] - first
        mask = tf.reduce_sum(x, -1) > 0

        def step(i, h):
            at = steps - 1 - i if backwards else i + first
            h = tf.tanh(h * 0.5 + x[:, at] @ w) * w[0, 0]
            return i + 1, tf.where(mask[:, at : at + 1], h + tf.reduce_sum(x[..., at : at + 1, :], 1), h)

        return tf.while_loop(lambda i, h: i < steps, step, [0, x[:, 0]])[1]

    converted = check(run, tf.TensorSpec(shape), tf.TensorSpec([3, 3]))
    assert converted.ops.count("WHILE") == 1
    loop = converted.ops[converted.ops.index("WHILE") :]
    assert "SLICE" not in loop and "STRIDED_SLICE" not in loop, loop


def test_slices_that_may_take_nothing_stay() -> None:
    """Behind the last row, and before the first, there is nothing to add."""

    def run(x):
        def step(i, h):
            behind, before = x[:, i + 1 : i + 2], x[:, i - 1 : i]
            return i + 1, tf.tanh(h * 0.5) + tf.reduce_sum(behind, 1) - tf.reduce_sum(before, 1) * 0.3

        return tf.while_loop(lambda i, h: i < tf.shape(x)[1], step, [0, x[:, 0]])[1]

    check(run, tf.TensorSpec([None, 7, 3]))
    check(run, tf.TensorSpec([2, None, 3]))


def test_slices_of_several_rows_stay() -> None:
    def run(x):
        def step(i, h):
            return i + 1, tf.tanh(h * 0.5) + tf.reduce_max(x[:, i : i + 2], 1)

        return tf.while_loop(lambda i, h: i < tf.shape(x)[1], step, [0, x[:, 0]])[1]

    check(run, tf.TensorSpec([None, 7, 3]))
