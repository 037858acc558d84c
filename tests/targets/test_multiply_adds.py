"""Multiply-adds of products, counted by hand."""

from __future__ import annotations

import pytest

from fuseconv.targets.multiply_adds import multiply_adds
from fuseconv.targets.signature import OpSignature, TensorSpec


def _op(type: str, operands: str, result: str, **options: object) -> int:
    def spec(text: str) -> TensorSpec | None:
        return None if text == "-" else TensorSpec("float32", tuple(map(int, text.split(","))))

    return multiply_adds(OpSignature(type, 1, list(map(spec, operands.split())), [spec(result)], options))  # type: ignore[list-item]


@pytest.mark.parametrize("type, operands, result, options, count", [
    ("CONV_2D", "1,8,8,3 5,2,2,3 5", "1,4,4,5", {}, 4 * 4 * 5 * 2 * 2 * 3),
    ("CONV_2D", "1,9,9,6 8,3,3,3", "1,7,7,8", {}, 7 * 7 * 8 * 27),  # in two groups
    ("DEPTHWISE_CONV_2D", "1,8,8,3 1,3,3,6 6", "1,8,8,6", {}, 8 * 8 * 6 * 9),
    ("TRANSPOSE_CONV", "4 5,2,2,3 1,4,4,3", "1,8,8,5", {}, 4 * 4 * 5 * 2 * 2 * 3),
    ("CONV_3D", "1,4,4,4,2 2,2,2,2,7 7", "1,3,3,3,7", {}, 27 * 7 * 8 * 2),
    ("FULLY_CONNECTED", "3,6 4,6 -", "3,4", {}, 3 * 4 * 6),
    ("BATCH_MATMUL", "2,3,6 2,6,5", "2,3,5", {}, 2 * 3 * 5 * 6),
    ("BATCH_MATMUL", "2,6,3 2,6,5", "2,3,5", {"adj_x": True}, 2 * 3 * 5 * 6),
    ("UNIDIRECTIONAL_SEQUENCE_RNN", "2,7,3 4,3 4,4 4 2,4", "2,7,4", {}, 2 * 7 * (4 * 3 + 4 * 4)),
    ("ADD", "1,8 1,8", "1,8", {}, 0),
    ("FULLY_CONNECTED", "3,6", "3,4", {}, 0),
])  # fmt: skip
def test_a_count(type: str, operands: str, result: str, options: dict, count: int) -> None:
    assert _op(type, operands, result, **options) == count
