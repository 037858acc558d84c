"""Boxes that are moved out of the way of suppression."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.nms_boxes import falling_numbers, separate_boxes
from tests.tf.text_cases import kinds, module_of


def _separated(count: str) -> tuple[list[str], list[np.ndarray]]:
    """The ops of boxes that are moved, and the constants of two dimensions."""
    inputs = [f"input %boxes: float32[2,{count},4]", f"input %kept: bool[2,{count},1]", "input %n: int32[]"]
    module, _ = module_of("\n".join(["main {", *inputs, "return %boxes", "}"]))
    graph = module.signatures[0].graph
    tfl = Builder(graph.ops)
    boxes, kept, size = graph.inputs
    numbers = falling_numbers(tfl, tfl.const(int(count), types.INT32) if count.isdigit() else size)
    assert separate_boxes(tfl, boxes, kept, numbers).shape == boxes.shape
    constants = [v.data for op in graph.ops for v in op.operands if v and v.data is not None and v.data.ndim == 2]
    return kinds(module), constants


def test_few_squares_are_kept_and_touch_no_other() -> None:
    ops, (squares,) = _separated("64")
    assert ops == ["SELECT_V2"]
    low, high = squares[::-1, 0], squares[::-1, 2]
    assert (low < high).all() and (high[:-1] < low[1:]).all() and low[0] == 2**45
    np.testing.assert_array_equal(squares[:, :2], squares[:, [1, 0]])


def test_numbers_of_many_squares_are_computed_when_the_runtime_allocates() -> None:
    assert _separated("65") == (["RANGE", "EXPAND_DIMS", "MUL", "SELECT_V2"], [])


def test_numbers_are_computed_where_it_is_not_known_how_many_there_are() -> None:
    assert _separated("n") == (["RANGE", "CAST", "EXPAND_DIMS", "MUL", "SELECT_V2"], [])
