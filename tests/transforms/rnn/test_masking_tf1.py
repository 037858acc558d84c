"""TensorFlow 1's loops over rows that have lengths of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.python.ops import rnn as tf1_rnn
from tf_keras.src.layers.rnn import legacy_cells as cells

import fuseconv
from tests.transforms.rnn.masked import check_fused, check_loop, draw
from tests.transforms.rnn.test_raise_rnn_loops_tf1 import CELLS, UNITS
from tests.transforms.rnn.tf1 import v1

TIME = 7
pytestmark = pytest.mark.filterwarnings("ignore")
SPECS = tf.TensorSpec([None, TIME, 3]), tf.TensorSpec([None], tf.int32)


def _function(build: Callable[[Any, Any], Any], *specs: tf.TensorSpec) -> Callable[..., Any]:
    """The function of x and lengths that a TF1 graph with random weights computes."""
    return _run(*_frozen(build, specs), specs)


def _frozen(
    build: Callable[[Any, Any], Any], specs: tuple[tf.TensorSpec, ...], functional: bool = True
) -> tuple[Any, list[str]]:
    graph = tf.Graph()
    (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()
    try:
        with graph.as_default(), v1.Session(graph=graph) as session:
            ends = [v1.placeholder(spec.dtype, spec.shape, name) for spec, name in zip(specs, ("x", "lengths"))]
            names = [tf.identity(result).op.name for result in tf.nest.flatten(build(*ends))]
            rng = np.random.default_rng(3)
            for variable in v1.global_variables():
                variable.load(rng.normal(0, 0.4, variable.shape).astype(np.float32), session)
            return v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), names), names
    finally:
        v1.enable_control_flow_v2()


def _run(graph: Any, names: list[str], specs: tuple[tf.TensorSpec, ...]) -> Callable[..., Any]:
    def run(x: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        return tf.import_graph_def(graph, {"x:0": x, "lengths:0": lengths}, [f"{name}:0" for name in names])

    wrapped = v1.wrap_function(run, list(specs))
    return lambda *ends: wrapped(*ends)


def _dynamic(cell: Callable[[], Any], **options: Any) -> Callable[[Any, Any], Any]:
    return lambda x, lengths: tf1_rnn.dynamic_rnn(cell(), x, lengths, dtype=tf.float32, **options)


@pytest.mark.parametrize("name", CELLS)
def test_dynamic_rnn(name: str) -> None:
    cell, _ = CELLS[name]
    assert "TOPK_V2" not in check_fused(_function(_dynamic(cell), *SPECS), *SPECS).ops


@pytest.mark.parametrize("integer", [tf.int32, tf.int64])
def test_dynamic_time(integer: tf.DType) -> None:
    specs = tf.TensorSpec([None, None, 3]), tf.TensorSpec([None], integer)
    check_fused(_function(_dynamic(lambda: cells.BasicLSTMCell(UNITS)), *specs), *specs)


@pytest.mark.parametrize("cell", [cells.BasicLSTMCell, cells.BasicRNNCell])
def test_time_major(cell: Any) -> None:
    # The batch is the second dimension of both.
    run = _function(
        _dynamic(lambda: cell(UNITS), time_major=True), tf.TensorSpec([TIME, None, 3]), tf.TensorSpec([None], tf.int32)
    )
    specs = tf.TensorSpec([TIME, None, 3]), tf.TensorSpec([1, None], tf.int32)
    check_fused(lambda x, lengths: run(x, lengths[0]), *specs)


def test_the_outputs_alone() -> None:
    build = _dynamic(lambda: cells.BasicRNNCell(UNITS))
    check_fused(_function(lambda x, lengths: build(x, lengths)[0], *SPECS), *SPECS)


def test_the_states_alone() -> None:
    build = _dynamic(lambda: cells.LSTMCell(UNITS))
    check_fused(_function(lambda x, lengths: build(x, lengths)[1], *SPECS), *SPECS)


def test_an_initial_state_that_is_computed() -> None:
    def build(x: Any, lengths: Any) -> Any:
        start = tf.tanh(x[:, 0, :1] * tf.ones([1, UNITS]))
        return tf1_rnn.dynamic_rnn(cells.BasicRNNCell(UNITS), x, lengths, initial_state=start)

    check_fused(_function(build, *SPECS), *SPECS)


def test_bidirectional_dynamic_rnn() -> None:
    def build(x: Any, lengths: Any) -> Any:
        both = cells.BasicLSTMCell(UNITS), cells.LSTMCell(4)
        return tf1_rnn.bidirectional_dynamic_rnn(*both, x, sequence_length=lengths, dtype=tf.float32)

    def within(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        # ReverseSequence allows for no length beyond the time.
        return np.minimum(draw(rng, shape, dtype), TIME)

    converted = check_fused(_function(build, *SPECS), *SPECS, count=2, inputs=within)
    assert Counter(converted.ops)["REVERSE_SEQUENCE"] == 2


@pytest.mark.parametrize("time", [TIME, None])
def test_cells_in_one_loop(time: int | None) -> None:
    specs = tf.TensorSpec([None, time, 3]), SPECS[1]
    stack = lambda: cells.MultiRNNCell([cells.BasicLSTMCell(UNITS), cells.LSTMCell(4, num_proj=3)])  # noqa: E731
    check_fused(_function(_dynamic(stack), *specs), *specs, count=2)


def test_a_gru_stays_a_loop() -> None:
    reasons = check_loop(_function(_dynamic(lambda: cells.GRUCell(UNITS)), *SPECS), *SPECS)
    assert reasons == ["TFLite has no fused op for a GRU, or for gates that mix states as a GRU's do"]


@pytest.mark.parametrize("name", ["BasicLSTMCell", "BasicRNNCell", "all at once"])
def test_loops_of_enter_and_exit(name: str, tmp_path: Path) -> None:
    graph, names = _frozen(_dynamic(CELLS[name][0]), SPECS, functional=False)
    (tmp_path / "frozen.pb").write_bytes(graph.SerializeToString())
    conversion = fuseconv.convert(tmp_path / "frozen.pb", outputs=names)
    emitted = [op.type for op in conversion.report.emitted]
    assert CELLS[name][1] in emitted
    assert "WHILE" not in emitted
    assert conversion.data is not None
    interpreter, reference = Interpreter(model_content=conversion.data), _run(graph, names, SPECS)
    runner = interpreter.get_signature_runner()
    rng = np.random.default_rng(0)
    for lengths in ([7, 3], [0, 9], [1, 2]):
        x = rng.standard_normal((2, TIME, 3)).astype(np.float32)
        made = runner(x=x, lengths=np.array(lengths, np.int32))
        for output, expected in zip(names, reference(tf.constant(x), tf.constant(lengths))):
            np.testing.assert_allclose(made[output], expected.numpy(), atol=1e-5)
