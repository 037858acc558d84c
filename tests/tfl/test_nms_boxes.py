"""Boxes that are moved out of the way of suppression."""

from __future__ import annotations

import pytest

from fuseconv.tfl.builder import Builder
from fuseconv.tfl.nms_boxes import separate_boxes
from tests.tf.text_cases import kinds, module_of


@pytest.mark.parametrize(("n", "counted"), [("3", False), ("n", True)])
def test_squares_in_places_of_their_own(n: str, counted: bool) -> None:
    module, _ = module_of(f"main {{\n input %boxes: float32[{n},4]\n input %which: bool[{n},1]\n return %boxes\n}}")
    graph = module.signatures[0].graph
    made = separate_boxes(Builder(graph.ops), *graph.inputs)
    assert made.shape == graph.inputs[0].shape and kinds(module)[-1] == "SELECT_V2"
    assert ("RANGE" in kinds(module)) is counted
    if not counted:
        (squares,) = [v.data for op in graph.ops for v in op.operands if v and v.data is not None and v.data.ndim == 2]
        assert (squares / 2**45).tolist() == [[2, 2, 3, 3], [4, 4, 5, 5], [6, 6, 7, 7]]
