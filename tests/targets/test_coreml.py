"""Rules of the Core ML delegate."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_UP = "int32[4] [1, 4, 4, 1], float32[1,2,2,1] [1, 2, 3, 4], %0"
_WIDE = "int32[4] [1, 4, 4, 2], float32[2,1,1,2] [1, 2, 3, 4], %0"
_CONV = "float32[1,2,2,1] [1, 2, 3, 4]"


@pytest.mark.parametrize("operands, op", [
    ("float32[1,4,4,3]", "float32[1,1,1,3] = tfl.MEAN(%0, int32[2] [1, -2]) {'keep_dims': True}"),
    ("float32[1,4]", "float32[1,2] = tfl.FULLY_CONNECTED(%0, float32[2,4] [1, 2, 3, 4, 5, 6, 7, 8], _)"),
    ("float32[1,2,2,1]", f"float32[1,4,4,1] = tfl.TRANSPOSE_CONV({_UP}) {{'padding': 'SAME'}}"),
    ("float32[1,4,4,3] float32[1,1,1,3]", "float32[1,4,4,3] = tfl.MUL(%0, %1)"),
    ("float32[1,2,2,1]", "float32[1,4,2,1] = tfl.PAD(%0, int32[4,2] [0, 0, 1, 1, 0, 0, 0, 0])"),
    ("float32[1,2,2,1] float32[1,2,2,3]", "float32[1,2,2,4] = tfl.CONCATENATION(%0, %1) {'axis': 3}"),
])  # fmt: skip
def test_it_takes(operands: str, op: str) -> None:
    assert why("coreml", operands, op) is None


@pytest.mark.parametrize("operands, op, reason", [
    ("float32[1,4]", "float32[2,2] = tfl.RESHAPE(%0, int32[2] [2, 2])", "it has no RESHAPE"),
    ("float32[1,4,4,3]", "float32[1,3] = tfl.MEAN(%0, int32[2] [1, 2])", "keep_dims is False, and not True"),
    ("float32[1,4,4,3]", "float32[1,4,4,1] = tfl.MEAN(%0, int32[1] [3]) {'keep_dims': True}", "it must reduce rows"),
    ("float32[2,4]", "float32[2,1] = tfl.FULLY_CONNECTED(%0, float32[1,4] [1, 2, 3, 4], _)", "the data has more"),
    ("float32[1,2,2,1]", f"float32[1,4,4,1] = tfl.TRANSPOSE_CONV({_UP}, float32[1] [0.0]) {{'padding': 'SAME'}}",
     "it is of version 3, and not up to 1"),
    ("float32[1,2,2,1]", f"float32[1,2,2,1] = tfl.CONV_2D(%0, {_CONV}, _) {{'padding': 'SAME'}}", "it has no bias"),
    ("float32[1,2,2,2]", f"float32[1,4,4,2] = tfl.TRANSPOSE_CONV({_WIDE}) {{'padding': 'SAME'}}", "its weights are of"),
    ("float32[2,4,3] float32[2,1,3]", "float32[2,4,3] = tfl.ADD(%0, %1)", "rows and columns of its operands differ"),
    ("float32[2,1,1,4] float32[1,1,1,4]", "float32[2,1,1,4] = tfl.ADD(%0, %1)", "the batches of its operands differ"),
    ("float32[1,2,2,1]", "float32[1,2,2,3] = tfl.PAD(%0, int32[4,2] [0, 0, 0, 0, 0, 0, 1, 1])", "it pads the batch"),
    ("float32[1,2,2,1] float32[1,2,2,1]", "float32[1,4,2,1] = tfl.CONCATENATION(%0, %1) {'axis': 1}", "it must join"),
    ("int32[4]", "int32[4] = tfl.ADD(%0, int32[] 1)", "a tensor is of int32, and not float32"),
])  # fmt: skip
def test_it_refuses(operands: str, op: str, reason: str) -> None:
    assert (why("coreml", operands, op) or "").startswith(reason)
