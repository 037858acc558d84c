"""Rules of the plug-in: lists of ops, what it leaves unread, and the composites that it reads."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.targets.signature import OpSignature, TensorSpec
from tests.targets.refusals import why

_NORM = "float32[2,4] = tfl.STABLEHLO_COMPOSITE(%0) {'name': 'NAME', 'decomposition_subgraph_index': 0}"
_TELLS = _NORM.replace("}", ", 'composite_attributes': {'epsilon': EPSILON}}")
_RMS = _TELLS.replace("NAME", "odml.rms_norm")
_LARGER = "it computes with an epsilon of 1.2e-07, where the composite has 1e-06"


@pytest.mark.parametrize("op, reason", [
    ("float32[2,4] = tfl.ABS(%0)", None),
    (_NORM.replace("NAME", "odml.l2_norm"), None),
    (_NORM.replace("NAME", "odml.group_norm"), "it has no composite odml.group_norm"),
    (_RMS.replace("EPSILON", "1.1920929e-07"), None),
    (_RMS.replace("EPSILON", "1e-06"), _LARGER),
    ("float32[2,4] = tfl.SQUARE(%0)", "it has no SQUARE"),
])  # fmt: skip
def test_what_it_takes(op: str, reason: str | None) -> None:
    assert why("mediatek", "float32[2,4]", op) == reason


def test_types_without_a_counterpart_are_refused() -> None:
    why_not = why("mediatek", "uint64[2]", "uint64[2] = tfl.RESHAPE(%0, int32[1] [2])")
    assert (why_not or "").startswith("a tensor is of uint64, and not float32")


_K1 = "float32[1,1,1,2] [1, 2]"
_ONCE = "{'padding': 'VALID', 'stride_h': 1, 'stride_w': 1}"
_UP = "tfl.TRANSPOSE_CONV(int32[4] [1, 4, 4, 1], float32[1,2,2,1] [1, 2, 3, 4], %0)"


@pytest.mark.parametrize("operands, op, reason", [
    ("float32[1,4,4,2]", f"float32[1,4,4,1] = tfl.CONV_2D(%0, {_K1}, float32[1] [1]) {_ONCE}", None),
    ("float32[1,4,4,2]", f"float32[1,4,4,1] = tfl.CONV_2D(%0, {_K1}) {_ONCE}", "it has no bias"),
    ("float32[2,4]", "float32[2,4] = tfl.ADD(%0, %0) {'fused_activation_function': 'TANH'}", "fused_activation"),
    ("float32[1,2,2,1]", f"float32[1,4,4,1] = {_UP} {{'padding': 'SAME', 'stride_h': 2, 'stride_w': 2, "
     "'fused_activation_function': 'RELU'}", "fused_activation_function is RELU, and not NONE"),
    ("float32[1,2,2,1]", "float32[1,4,4,1] = tfl.RESIZE_BILINEAR(%0, int32[2] [4, 4])", None),
    ("float32[1,2,2,1]", "float32[1,4,6,1] = tfl.RESIZE_BILINEAR(%0, int32[2] [4, 6])", "height and width of the"),
    ("float32[1,2,2,1] int32[2]", "float32[1,4,6,1] = tfl.RESIZE_NEAREST_NEIGHBOR(%0, %1)", "its operand 1 is not"),
    ("float32[4]", "float32[1,4] = tfl.STRIDED_SLICE(%0, int32[2] [0, 0], int32[2] [1, 4], int32[2] [1, 1]) "
     "{'new_axis_mask': 1}", "new_axis_mask is 1, and not 0"),
    ("int64[2]", "int64[2,1] = tfl.RESHAPE(%0, int32[2] [2, 1])", "a tensor of int64 is computed"),
    ("int8[2]", "int8[2,1] = tfl.RESHAPE(%0, int32[2] [2, 1])", "a tensor is of int8 without a scale"),
])  # fmt: skip
def test_what_it_leaves_unread(operands: str, op: str, reason: str | None) -> None:
    found = why("mediatek", operands, op)
    assert found is None if reason is None else (found or "").startswith(reason)


def test_it_tells_that_gelu_is_another() -> None:
    x = TensorSpec("float32", (4,))
    (remark,) = Registry().target("mediatek").remarks
    assert remark(OpSignature("GELU", 1, [x], [x], {"approximate": False})) == "it is computed by TANH, and not by erf"
    assert remark(OpSignature("GELU", 1, [x], [x], {"approximate": True})) is None
