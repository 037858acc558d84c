"""Rules of GPUs: what is refused, and that the form beside it is taken."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_SLICE = "int32[2] [0, 0], int32[2] [1, 2], int32[2] [1, 1]"
_PLANES = "int32[4] [0, 0, 0, 0], int32[4] [1, 1, 1, 1], int32[4] [1, 1, 1, 1]"


_K3 = "float32[1,3,3,1] [1, 2, 3, 4, 5, 6, 7, 8, 9]"
_TWICE = "{'padding': 'SAME', 'stride_h': 2, 'stride_w': 2}"
_THREE = "int32[3] [0, 1, 0], int32[3] [2, 5, 3]"


@pytest.mark.parametrize("operands, op", [
    ("float32[2,4]", "float32[2,4] = tfl.RELU(%0)"),
    ("float32[1,4] int32[3]", "float32[1,3] = tfl.GATHER(%0, %1) {'axis': 1}"),
    ("float32[1,2,2,4]", f"float32[1,1,1,1] = tfl.STRIDED_SLICE(%0, {_PLANES})"),
    ("float32[1,4,4,4]", "float32[1,4] = tfl.MEAN(%0, int32[2] [1, 2])"),
    ("bool[1,2,3] float32[1,2,3]", "float32[1,2,3] = tfl.SELECT_V2(%0, %1, float32[] 0.0)"),
    ("int32[4]", "float32[4] = tfl.CAST(%0)"),
    ("float32[2,3]", "float32[2,3] = tfl.CUMSUM(%0, int32[] 1)"),
    ("float32[2,3,4] float32[2,4,5]", "float32[2,3,5] = tfl.BATCH_MATMUL(%0, %1)"),
    ("float32[1,1,3]", "float32[1,4,3] = tfl.ADD(%0, float32[1,4,1] [1.0, 2.0, 3.0, 4.0])"),
    ("float32[4,3]", "float32[4,3] = tfl.ADD(%0, float32[3] [1.0, 2.0, 3.0])"),
    ("float32[2,2,2]", "float32[2,2,2] = tfl.ADD(%0, float32[2,2] [1.0, 2.0, 3.0, 4.0])"),
    ("float32[2,5,3]", f"float32[2,2,3] = tfl.STRIDED_SLICE(%0, {_THREE}, int32[3] [1, 2, 1]) {{'end_mask': 1}}"),
    ("float32[2,3] float32[1,3]", "float32[2,3] = tfl.MUL(%0, %1)"),
    ("float32[2,2,3]", "float32[2,2,3] = tfl.PRELU(%0, float32[1,3] [1.0, 2.0, 3.0])"),
    ("float32[1,5,2]", "float32[1,7,2] = tfl.PAD(%0, int32[3,2] [0, 0, 1, 1, 0, 0])"),
    ("float32[1,4,4,1]", f"float32[1,8,8,1] = tfl.TRANSPOSE_CONV(int32[4] [1, 8, 8, 1], {_K3}, %0) {_TWICE}"),
    ("int32[4]", "float32[4,3] = tfl.ONE_HOT(%0, int32[] 3, float32[] 1.0, float32[] 0.0) {'axis': -1}"),
])  # fmt: skip
def test_it_takes(operands: str, op: str) -> None:
    assert why("gpu", operands, op) is None


@pytest.mark.parametrize("operands, op, reason", [
    ("float32[4]", "int32[] = tfl.ARG_MAX(%0, int32[] 0)", "it has no ARG_MAX"),
    ("float32[1,4] int32[2,3]", "float32[1,2,3] = tfl.GATHER(%0, %1) {'axis': 1}", "its operand 1 has 2 dimensions"),
    ("float32[2,4]", f"float32[1,2] = tfl.STRIDED_SLICE(%0, {_SLICE})", "its operand 0 has 2 dimensions"),
    ("float32[1,2,2,4]", f"float32[1,1,1] = tfl.STRIDED_SLICE(%0, {_PLANES}) {{'shrink_axis_mask': 8}}",
     "shrink_axis_mask is 8, and not 0"),
    ("int32[4]", "bool[4] = tfl.CAST(%0)", "it casts int32 to bool"),
    ("int64[4]", "int32[4] = tfl.CAST(%0)", "a tensor is of int64"),
    ("float32[2,4]", "float32[2,4] = tfl.SOFTMAX(%0) {'beta': 2.0}", "beta is 2.0, and not 1.0"),
    ("float32[1,2,2,2,2]", "float32[1,2,2,2,2] = tfl.RELU(%0)", "a tensor has 5 dimensions"),
    ("bool[2,3] float32[2,3]", "float32[2,3] = tfl.SELECT_V2(%0, %1, float32[] 0.0)", "a branch that is computed"),
    ("bool[1,2,3] float32[3]", "float32[1,2,3] = tfl.SELECT_V2(%0, %1, float32[] 0.0)", "a branch is neither"),
    ("bool[2,3] float32[1,2,3]", "float32[1,2,3] = tfl.SELECT_V2(%0, %1, float32[] 0.0)", "the condition of 2"),
    ("bool[1,2,2]", "float32[1,2,2] = tfl.SELECT_V2(%0, float32[1,2,2] [1, 2, 3, 4], float32[] 0.0)", "a constant"),
    ("float32[4] int32[2]", "float32[2,2] = tfl.RESHAPE(%0, %1)", "2 of its operands are computed, and not 1"),
    ("float32[2,4]", "float32[2,6] = tfl.PAD(%0, int32[2,2] [0, 0, 1, 1])", "the paddings must be of the shape"),
    ("float32[1,4,4]", "float32[1,6,4] = tfl.MIRROR_PAD(%0, int32[3,2] [0, 0, 1, 1, 0, 0]) {'mode': 'SYMMETRIC'}",
     "mode is SYMMETRIC, and not REFLECT"),
    ("int32[2,4]", "float32[2,4,3] = tfl.ONE_HOT(%0, int32[] 3, float32[] 1.0, float32[] 0.0) {'axis': -1}",
     "a dimension of"),
    ("float32[1,2,2,4] float32[3,16]", "float32[1,3] = tfl.FULLY_CONNECTED(%0, %1, _)", "the data's last dimension"),
    ("float32[1,2,2,4] float32[3,4]", "float32[4,3] = tfl.FULLY_CONNECTED(%0, %1, _)", "the dimensions of the result"),
    ("float32[2,3,2]", "float32[2,3,2] = tfl.BATCH_MATMUL(%0, float32[1,2,2] [1, 2, 3, 4])", "a constant is no matrix"),
    ("float32[2,3]", "float32[2,3] = tfl.CUMSUM(%0, int32[] 1) {'reverse': True}", "reverse is True, and not False"),
    ("float32[2,3]", "float32[2,3] = tfl.CUMSUM(%0, int32[] -1)", "the axis is counted from the end"),
    ("float32[2,3]", "float32[2,3] = tfl.CUMSUM(%0, int32[] 0)", "the axis is counted from the end, or is the first"),
    ("float32[2,3] int32[2]", "float32[2] = tfl.GATHER(%0, %1) {'axis': 1, 'batch_dims': 1}", "batch_dims is 1, and"),
    ("float32[2,3] float32[4,3]", "float32[2,4] = tfl.BATCH_MATMUL(%0, %1) {'adj_y': True}", "adj_y is True, and not"),
    ("float32[4,3]", "float32[4,3] = tfl.ADD(%0, float32[4,1] [1.0, 2.0, 3.0, 4.0])", "its operand of 2 dimensions is"),
    ("float32[2]", "float32[2] = tfl.MUL(%0, float32[2] [1.0, 2.0])", "its operand of 1 dimensions is read as one of"),
    ("float32[2,2,2] float32[2]", "float32[2,2,2] = tfl.MAXIMUM(%0, %1)", "its operand of 1 dimensions is read as one"),
    ("float32[2,1,1,1]", "float32[2,1,1,1] = tfl.SUB(%0, float32[2,1,1,1] [1.0, 2.0])", "its operand of 4 dimensions"),
    ("float32[2,2,3]", "float32[2,2,3] = tfl.PRELU(%0, float32[1] [2.0])", "its slopes are neither of the channels"),
    ("float32[2,3] float32[3]", "float32[2,3] = tfl.PRELU(%0, %1)", "its slopes are computed"),
    ("float32[2,1]", "float32[2,2] = tfl.CONCATENATION(%0, float32[2,1] [1.0, 2.0]) {'axis': 1}", "a constant that is"),
    ("float32[2,5,2]", "float32[2,7,2] = tfl.PAD(%0, int32[3,2] [0, 0, 1, 1, 0, 0])", "the data has 3 dimensions, and"),
    ("float32[2,5,3]", f"float32[2,2,3] = tfl.STRIDED_SLICE(%0, {_THREE}, int32[3] [1, 2, 1])", "the data has 3"),
    ("float32[1,5,3]", f"float32[1,4,3] = tfl.STRIDED_SLICE(%0, {_THREE}, int32[3] [1, 1, 1])", "a bound is beyond"),
    ("float32[1,2,2,4]", "float32[1,2,2,4] = tfl.STRIDED_SLICE(%0, int32[4] [0, 0, 0, 3], int32[4] [1, 2, 2, -5], "
     "int32[4] [1, 1, 1, -1])", "it takes a dimension in reverse"),
    ("float32[4]", "float32[4] = tfl.SOFTMAX(%0) {'beta': 1.0}", "its operand 0 has 1 dimensions"),
    ("float32[1,3,3,1]", f"float32[1,6,6,1] = tfl.TRANSPOSE_CONV(int32[4] [1, 6, 6, 1], {_K3}, %0) {_TWICE}",
     "it is padded by 2, where 1 are meant"),
    ("float32[2,2]", "float32[2,2] = tfl.BATCH_MATMUL(float32[2,2] [1, 2, 3, 4], %0)", "a constant is no matrix"),
    ("float32[2,4]", "float32[2] = tfl.FULLY_CONNECTED(float32[1,4] [1, 2, 3, 4], %0, _)", "the data is constant"),
    ("float32[1,4,4,1]", "float32[1,8,8,1] = tfl.RESIZE_BILINEAR(%0, int32[2] [8, 8]) {'align_corners': True, "
     "'half_pixel_centers': True}", "align_corners is set with"),
])  # fmt: skip
def test_it_refuses(operands: str, op: str, reason: str) -> None:
    assert (why("gpu", operands, op) or "").startswith(reason)
