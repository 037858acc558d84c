"""TensorFlow 1's cells and loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.core.framework.attr_value_pb2 import AttrValue
from tensorflow.python.ops import rnn as tf1_rnn
from tf_keras.src.layers.rnn import legacy_cells as cells

import fuseconv
from fuseconv.testing import check
from tests.transforms.rnn.expected import CELL, LAST, LSTM, RNN, SIZE, lstm, of_known_length, rnn
from tests.transforms.rnn.tf1 import frozen_graph, function_of, function_of_graph, v1

SHAPE = (None, 7, 3)
SPEC = tf.TensorSpec(SHAPE)
UNITS = 5

CELLS: dict[str, tuple[Callable[[], Any], str]] = {
    "BasicLSTMCell": (lambda: cells.BasicLSTMCell(UNITS), LSTM),
    "BasicLSTMCell without forget bias": (lambda: cells.BasicLSTMCell(UNITS, forget_bias=0.0), LSTM),
    "LSTMCell": (lambda: cells.LSTMCell(UNITS), LSTM),
    "peepholes": (lambda: cells.LSTMCell(UNITS, use_peepholes=True), LSTM),
    "projection": (lambda: cells.LSTMCell(UNITS, num_proj=4), LSTM),
    "cell clip": (lambda: cells.LSTMCell(UNITS, cell_clip=0.5), LSTM),
    "all at once": (
        lambda: cells.LSTMCell(UNITS, use_peepholes=True, num_proj=4, cell_clip=0.5, proj_clip=0.3),
        LSTM,
    ),
    "relu": (lambda: cells.LSTMCell(UNITS, activation=tf.nn.relu), LSTM),
    "BasicRNNCell": (lambda: cells.BasicRNNCell(UNITS), RNN),
    "relu BasicRNNCell": (lambda: cells.BasicRNNCell(UNITS, activation=tf.nn.relu), RNN),
}


def _dynamic(cell: Callable[[], Any], **options: Any) -> Callable[[Any], Any]:
    return lambda x: tf1_rnn.dynamic_rnn(cell(), x, dtype=tf.float32, **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_dynamic_rnn(name: str) -> None:
    cell, op = CELLS[name]
    counts = Counter(check(function_of(_dynamic(cell), SHAPE), SPEC, static=False).ops)
    assert (counts[op], counts["WHILE"], counts["TRANSPOSE"]) == (1, 0, 0)
    fixed = (2, *SHAPE[1:])
    ops = of_known_length(lstm(LAST, CELL) if op == LSTM else rnn(LAST), known_batch=True)
    check(function_of(_dynamic(cell), fixed), tf.TensorSpec(fixed), ops=ops[len(SIZE) :])


@pytest.mark.filterwarnings("ignore")
def test_dynamic_time() -> None:
    shape = (None, None, 3)
    function = function_of(_dynamic(lambda: cells.BasicLSTMCell(UNITS)), shape)
    converted = check(function, tf.TensorSpec(shape), static=False)
    assert Counter(converted.ops)[LSTM] == 1


@pytest.mark.filterwarnings("ignore")
def test_time_major() -> None:
    build = _dynamic(lambda: cells.BasicLSTMCell(UNITS), time_major=True)
    converted = check(function_of(build, SHAPE), SPEC, static=False)
    assert Counter(converted.ops)[LSTM] == 1
    assert "TRANSPOSE" not in converted.ops


@pytest.mark.filterwarnings("ignore")
def test_bidirectional_dynamic_rnn() -> None:
    def build(x: Any) -> Any:
        return tf1_rnn.bidirectional_dynamic_rnn(
            cells.BasicLSTMCell(UNITS), cells.LSTMCell(4), x, dtype=tf.float32
        )  # fmt: skip

    converted = check(function_of(build, SHAPE), SPEC, static=False)
    assert Counter(converted.ops)[LSTM] == 2
    assert "WHILE" not in converted.ops


@pytest.mark.filterwarnings("ignore")
def test_a_gru_is_left_with_a_reason() -> None:
    converted = check(function_of(_dynamic(lambda: cells.GRUCell(UNITS)), SHAPE), SPEC, static=False)
    reasons = [record.why for record in converted.report.records if record.rule == "raise-rnn-loops"]
    assert reasons == ["TFLite has no fused op for a GRU, or for gates that mix states as a GRU's do"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "time"), [*((name, None) for name in [*CELLS, "stack"]), ("all at once", 7), ("BasicRNNCell", 7)]
)
def test_loops_of_enter_and_exit(name: str, time: int | None, tmp_path: Path) -> None:
    stack = lambda: cells.MultiRNNCell([cells.LSTMCell(UNITS), cells.LSTMCell(4)])  # noqa: E731
    cell, op = CELLS.get(name, (stack, LSTM))
    shape = (None, time, 3)
    graph, names = frozen_graph(_dynamic(cell), shape, functional=False)
    (tmp_path / "frozen.pb").write_bytes(graph.SerializeToString())
    conversion = fuseconv.convert(tmp_path / "frozen.pb", outputs=names)
    assert Counter(emitted.type for emitted in conversion.report.emitted)[op] == (2 if name == "stack" else 1)
    assert conversion.data is not None
    reference, interpreter = function_of_graph(graph, names, shape), Interpreter(model_content=conversion.data)
    outputs = interpreter.get_signature_runner().get_output_details()
    places = {name: detail["index"] for name, detail in outputs.items()}
    rng = np.random.default_rng(0)
    for batch in (2, 3):
        (given,) = interpreter.get_input_details()
        interpreter.resize_tensor_input(given["index"], (batch, 7, 3))
        interpreter.allocate_tensors()
        for _ in range(2):
            x = rng.standard_normal((batch, 7, 3)).astype(np.float32)
            interpreter.set_tensor(given["index"], x)
            interpreter.invoke()
            for output, expected in zip(names, reference(x)):
                np.testing.assert_allclose(interpreter.get_tensor(places[output]), expected.numpy(), atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("times", [1, 2])
def test_loops_of_enter_and_exit_in_functions(times: int) -> None:
    """A function that is called twice has its loop twice."""
    function = function_of(_dynamic(lambda: cells.BasicLSTMCell(UNITS)), SHAPE, functional=False)

    def run(x: tf.Tensor) -> list[tf.Tensor]:
        return [result for time in range(times) for result in function((1.0 + time) * x)]

    assert Counter(check(run, SPEC).ops)[LSTM] == times


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lengths", [True, False])
def test_arrays_that_do_not_tell_the_shape_of_their_elements(lengths: bool) -> None:
    """As TensorFlow wrote them before 1.5."""

    def build(x: Any) -> Any:
        ends = tf.reduce_sum(tf.cast(x[:, :, 0] > -0.5, tf.int32), 1) if lengths else None
        return tf1_rnn.dynamic_rnn(cells.BasicLSTMCell(UNITS), x, dtype=tf.float32, sequence_length=ends)

    shape = (None, None, 3)
    graph, names = frozen_graph(build, shape, functional=False)
    for node in graph.node:
        if node.op == "TensorArrayV3":
            node.attr["element_shape"].CopyFrom(AttrValue(shape={"unknown_rank": True}))
    converted = check(function_of_graph(graph, names, shape), tf.TensorSpec(shape), static=False)
    assert (Counter(converted.ops)[LSTM], converted.ops.count("WHILE")) == (1, 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rnn", ["fused", "loop"])
def test_raw_rnn(rnn: str) -> None:
    def build(x: Any) -> Any:
        batch, time = tf.shape(x)[0], tf.shape(x)[1]
        rows = v1.TensorArray(tf.float32, size=time).unstack(tf.transpose(x, [1, 0, 2]))
        cell = cells.GRUCell(UNITS)

        def step(number: Any, output: Any, state: Any, _: Any) -> tuple:
            ended = number >= tf.fill([batch], time)
            state = cell.zero_state(batch, tf.float32) if output is None else state
            row = tf.cond(tf.reduce_all(ended), lambda: tf.zeros([batch, 3]), lambda: rows.read(number))
            row.set_shape([None, 3])
            return ended, row, state, output, None

        outputs, state, _ = tf1_rnn.raw_rnn(cell, step)
        return outputs.stack(), state

    for functional in (True, False):
        assert "WHILE" in check(function_of(build, SHAPE, functional), SPEC, static=False, rnn=rnn).ops


@pytest.mark.filterwarnings("ignore")
def test_a_loop_of_enter_and_exit_in_another() -> None:
    def build(x: Any) -> Any:
        def step(number: Any, x: Any) -> Any:
            outputs, _ = tf1_rnn.dynamic_rnn(cells.BasicRNNCell(3, name="cell"), x, dtype=tf.float32)
            return number + 1, 0.5 * x + outputs

        return v1.while_loop(lambda number, _: number < 3, step, (0, x))[1]

    assert Counter(check(function_of(build, SHAPE, functional=False), SPEC).ops)["WHILE"] == 1
