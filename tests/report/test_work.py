"""Multiply-adds of ops by the shapes of their tensors; each is counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.report.work import multiply_adds


@pytest.mark.parametrize(
    ("op", "shapes", "result", "count"),
    [
        ("CONV_2D", [[1, 9, 9, 3], [8, 3, 3, 3]], [1, 7, 7, 8], 7 * 7 * 8 * 27),
        ("CONV_2D", [[1, 9, 9, 6], [8, 3, 3, 3]], [1, 7, 7, 8], 7 * 7 * 8 * 27),  # in two groups
        ("DEPTHWISE_CONV_2D", [[1, 9, 9, 3], [1, 3, 3, 6]], [1, 7, 7, 6], 7 * 7 * 6 * 9),
        ("CONV_3D", [[1, 4, 4, 4, 2], [3, 3, 3, 2, 5]], [1, 2, 2, 2, 5], 8 * 27 * 2 * 5),
        ("TRANSPOSE_CONV", [[4], [8, 2, 2, 3], [1, 5, 5, 3]], [1, 10, 10, 8], 25 * 8 * 4 * 3),
        ("FULLY_CONNECTED", [[6, 10], [4, 10]], [6, 4], 240),
        ("BATCH_MATMUL", [[2, 3, 4], [2, 4, 5]], [2, 3, 5], 120),
        ("UNIDIRECTIONAL_SEQUENCE_RNN", [[2, 7, 3], [5, 3], [5, 5], [5], [2, 5]], [2, 7, 5], 14 * (15 + 25 + 10)),
        ("CONV_2D", [[], []], [], 0),
        ("ADD", [[5], [5]], [5], 0),
    ],
)
def test_multiply_adds(op: str, shapes: list[list[int]], result: list[int], count: int) -> None:
    tensors = [{"shape": shape} for shape in (*shapes, result)]
    operands = [*range(len(shapes)), -1]
    row: dict[str, Any] = {"op": op, "operands": operands, "results": [len(shapes)], "options": {}}
    assert multiply_adds(row, tensors) == count


def test_the_first_matrix_may_be_transposed() -> None:
    tensors = [{"shape": shape} for shape in ([4, 3], [4, 5], [3, 5])]
    row: dict[str, Any] = {"op": "BATCH_MATMUL", "operands": [0, 1], "results": [2], "options": {"adj_x": True}}
    assert multiply_adds(row, tensors) == 60
