"""What weights are multiplied by is taken in from the tensors of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir.graph import Graph, Value
from fuseconv.quantize import multiplied
from fuseconv.quantize.multiplied import Multiplied
from tests.tf.text_cases import module_of

_RNG = np.random.default_rng(0)


def _graph(text: str) -> Graph:
    return module_of(text)[0].signatures[0].graph


def _numbers(rows: int, columns: int) -> str:
    numbers = [f"{number:.3f}" for number in _RNG.uniform(-1, 1, rows * columns)]
    return f"float32[{rows},{columns}] [{', '.join(numbers)}]"


def _of_names(graph: Graph, **arrays: Any) -> dict[Value, np.ndarray]:
    values = [*graph.inputs, *(value for op in graph.ops for value in op.results)]
    return {value: arrays[value.name] for value in values if value.name in arrays}


def _rows(graph: Graph, *runs: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the rows that were taken in over runs, by the first result of ops."""
    found = Multiplied(graph)
    for arrays in runs:
        found.see(_of_names(graph, **arrays))
    return {value.name: np.concatenate(moments.pending) for value, moments in found.moments()}


def test_dense_layers_that_read_the_same_are_measured_once() -> None:
    graph = _graph(f"""
    main {{
      input %x: float32[n,2,3]
      %a: float32[n,2,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _) {{'keep_num_dims': True}}
      %b: float32[n,2,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _) {{'keep_num_dims': True}}
      return %a, %b
    }}
    """)
    x = _RNG.normal(size=(1, 2, 3))
    assert [[op.result.name for op in ops] for ops, _ in Multiplied(graph).found] == [["a", "b"]]
    assert {name: rows.tolist() for name, rows in _rows(graph, {"x": x}).items()} == dict.fromkeys("ab", x[0].tolist())


def test_weights_that_two_ops_read_take_in_both() -> None:
    graph = _graph(f"""
    main {{
      input %x: float32[1,3]
      input %z: float32[1,3]
      %a: float32[1,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _)
      %b: float32[1,2] = tfl.FULLY_CONNECTED(%z, float32[2,3] [1, 2, 3, 4, 5, 6], _)
      return %a, %b
    }}
    """)
    first, second = graph.ops
    second.set_operand(1, first.operands[1])
    rows = _rows(graph, {"x": np.zeros((1, 3)), "z": np.ones((1, 3))})
    assert {name: each.tolist() for name, each in rows.items()} == {key: [[0] * 3, [1] * 3] for key in "ab"}


def test_weights_that_others_read_are_not_measured() -> None:
    graph = _graph(f"""
    main {{
      input %x: float32[1,3]
      %a: float32[1,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _)
      %b: float32[2,3] = tfl.ABS(float32[2,3] [1, 2, 3, 4, 5, 6])
      return %a, %b
    }}
    """)
    graph.ops[1].set_operand(0, graph.ops[0].operands[1])
    assert not Multiplied(graph).found


def test_what_too_much_would_be_kept_of_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplied, "_MOST_BYTES", 8 * 3**2)
    graph = _graph(f"""
    main {{
      input %x: float32[1,3]
      input %z: float32[1,3]
      %a: float32[1,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _)
      %b: float32[1,2] = tfl.FULLY_CONNECTED(%z, {_numbers(2, 3)}, _)
      return %a, %b
    }}
    """)
    found = Multiplied(graph)
    assert len(found.found) == 1 and [op.result.name for op in found.left_out] == ["b"]


@pytest.mark.parametrize("state", ["zeros", "written", "kept"])
def test_a_recurrent_layer_reads_its_output_a_step_later(state: str) -> None:
    made = {
        "zeros": "%h: float32[1,1] {'variable': True} = tfl.FILL(int32[2] [1, 1], float32[] 0.0)",
        "written": "%h: float32[1,1] {'variable': True} = tfl.TILE(%s, int32[2] [1, 1])",
        "kept": "input %h: float32[1,1]",
    }[state]
    graph = _graph(f"""
    main {{
      input %x: float32[1,3,2]
      input %s: float32[1,1]
      {made}
      %y: float32[1,3,1] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, {_numbers(1, 2)}, {_numbers(1, 1)}, float32[1] [1], %h)
      return %y
    }}
    """)
    x = np.arange(6.0).reshape(1, 3, 2)
    run = {"x": x, "s": np.full((1, 1), 7.0), "y": np.array([[[10.0], [20.0], [30.0]]])}
    first, later = {"zeros": (0, 0), "written": (7, 7), "kept": (0, 30)}[state]
    wanted = [[*x[0, at], h] for start in (first, later) for at, h in enumerate((start, 10, 20))]
    assert _rows(graph, run, run)["y"].tolist() == wanted


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("time_major", [True, False])
def test_the_backward_direction_takes_the_last_step_first(merged: bool, time_major: bool) -> None:
    shape = "[3,1,{}]" if time_major else "[1,3,{}]"
    sizes = {"y": 3} if merged else {"y": 1, "b": 2}
    results = "; ".join(f"%{name}: float32{shape.format(size)}" for name, size in sizes.items())
    forward, backward = (f"{_numbers(n, 1)}, {_numbers(n, n)}, float32[{n}] {[*range(n)]}" for n in (1, 2))
    graph = _graph(f"""
    main {{
      input %x: float32{shape.format(1)}
      %h: float32[1,1] {{'variable': True}} = tfl.FILL(int32[2] [1, 1], float32[] 0.0)
      %g: float32[1,2] {{'variable': True}} = tfl.FILL(int32[2] [1, 2], float32[] 0.0)
      {results} = tfl.BIDIRECTIONAL_SEQUENCE_RNN(%x, {forward}, %h, {backward}, %g, _, _, _) \
{{'merge_outputs': {merged}, 'time_major': {time_major}}}
      return {"%y" if merged else "%y, %b"}
    }}
    """)
    ahead, back = np.array([[1.0], [2.0], [3.0]]), np.array([[10.0, 11], [20, 21], [30, 31]])
    parts = [np.concatenate([ahead, back], axis=1)] if merged else [ahead, back]
    arrays = {name: np.expand_dims(part, int(time_major)) for name, part in zip("yb", parts)}
    rows = _rows(graph, {"x": np.expand_dims(np.full((3, 1), -1.0), int(time_major)), **arrays})["y"]
    assert rows.tolist() == [[-1, 0, 20, 21], [-1, 1, 30, 31], [-1, 2, 0, 0]]


def test_rows_that_are_not_finite_are_left_out() -> None:
    graph = _graph(f"""
    main {{
      input %x: float32[1,3]
      %a: float32[1,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _)
      return %a
    }}
    """)
    runs = [{"x": np.full((1, 3), np.inf)}, {"x": np.ones((1, 3))}]
    assert _rows(graph, *runs)["a"].tolist() == [[1, 1, 1]] and not _rows(graph, runs[0])


def test_tensors_that_a_run_left_empty_tell_nothing() -> None:
    graph = _graph(f"""
    main {{
      input %x: float32[1,3]
      %a: float32[1,2] = tfl.FULLY_CONNECTED(%x, {_numbers(2, 3)}, _)
      return %a
    }}
    """)
    assert [value.name for value in Multiplied(graph).needed] == ["x"] and not _rows(graph, {})
