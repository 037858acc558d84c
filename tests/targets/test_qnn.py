"""Rules of the plug-in: lists of ops, what their builders leave unread, and the composites that it reads."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.targets.signature import OpSignature, TensorSpec
from tests.targets.refusals import why

_NORM = "float32[2,4] = tfl.STABLEHLO_COMPOSITE(%0) {'name': 'NAME', 'decomposition_subgraph_index': 0}"


@pytest.mark.parametrize("op, reason", [
    ("float32[2,4] = tfl.ROUND(%0)", None),
    (_NORM.replace("NAME", "odml.group_norm"), None),
    (_NORM.replace("NAME", "acme.norm"), "it has no composite acme.norm"),
    ("int32[2] = tfl.SHAPE(%0)", "it has no SHAPE"),
    ("float32[1,2,4] = tfl.EXPAND_DIMS(%0, int32[] 0)", "it has no EXPAND_DIMS"),
])  # fmt: skip
def test_what_it_takes(op: str, reason: str | None) -> None:
    assert why("qnn", "float32[2,4]", op) == reason


_TELLS = _NORM.replace("}", ", 'composite_attributes': {ATTRIBUTES}}")
_CACHE = "float32[1,8,2,4] = tfl.DYNAMIC_UPDATE_SLICE(%0, %1, %2)"
_ROW = "int32[2] [0, 2], int32[2] [2, 3], int32[2] [1, 1]"
_K3 = "float32[1,3,3,1] [1, 2, 3, 4, 5, 6, 7, 8, 9]"
_TWICE = "{'padding': 'SAME', 'stride_h': 2, 'stride_w': 2}"
_SPACE = "'padding': 'VALID', 'stride_d': 1, 'stride_h': 1, 'stride_w': 1"


@pytest.mark.parametrize("operands, op, reason", [
    ("float32[1,8,2,4] float32[1,1,2,4] int32[4]", _CACHE, None),
    ("float32[1,8,2,4] float32[1,2,2,4] int32[4]", _CACHE, "it writes something else than one place along the second"),
    ("float32[1,8,2,4] float32[1,1,2,4]", _CACHE.replace("%2", "int32[4] [0, 3, 1, 0]"), "it starts elsewhere than"),
    ("float32[2,4] int32[2,1]", "float32[2,1] = tfl.GATHER(%0, %1) {'axis': 1, 'batch_dims': 1}", "batch_dims is 1"),
    ("bool[2] float32[2,4] float32[2,4]", "float32[2,4] = tfl.SELECT(%0, %1, %2)", "its condition is one of rows"),
    ("int32[2,4]", "int32[4,4] = tfl.PAD(%0, int32[2,2] [1, 1, 0, 0])", "a tensor is of int32, and not float32"),
    ("float32[2,4] float32[]", "float32[4,4] = tfl.PADV2(%0, int32[2,2] [1, 1, 0, 0], %1)", "its operand 2 is not"),
    ("float32[2,4] int32[1]", "float32[4] = tfl.SUM(%0, %1)", "its operand 1 is not constant"),
    ("float32[2,4]", f"float32[2,1] = tfl.STRIDED_SLICE(%0, {_ROW})", None),
    ("float32[2,4]", f"float32[2] = tfl.STRIDED_SLICE(%0, {_ROW}) {{'shrink_axis_mask': 2}}", None),
    ("float32[2,2]", f"float32[1,2] = tfl.STRIDED_SLICE(%0, {_ROW}) {{'new_axis_mask': 1}}", "new_axis_mask is 1"),
    ("float32[2,4] int32[2]", "float32[1,4] = tfl.SLICE(%0, %1, int32[2] [1, 4])", "its operand 1 is not constant"),
    ("float32[2,4]", "float32[2,4] = tfl.SPLIT(int32[] 1, %0) {'num_splits': 1}", "it splits into one"),
    ("float32[2,4]", "float32[2,4] = tfl.REVERSE_V2(%0, int32[2] [0, 1])", "it reverses several dimensions"),
    ("float32[1,4,4,1]", f"float32[1,8,8,1] = tfl.TRANSPOSE_CONV(int32[4] [1, 8, 8, 1], {_K3}, %0) {_TWICE}", None),
    ("float32[1,3,4,1]", f"float32[1,6,8,1] = tfl.TRANSPOSE_CONV(int32[4] [1, 6, 8, 1], {_K3}, %0) {_TWICE}",
     "it is padded by 2, where 1 are meant"),
    ("float32[1,4,4,1]", f"float32[1,7,8,1] = tfl.TRANSPOSE_CONV(int32[4] [1, 7, 8, 1], {_K3}, %0) {_TWICE}",
     "it is padded by 1, where 2 are meant"),
    ("float32[1,2,2,2,1] float32[1,1,1,1,1] float32[1]", f"float32[1,2,2,2,1] = tfl.CONV_3D(%0, %1, %2) {{{_SPACE}, "
     "'fused_activation_function': 'RELU'}", "fused_activation_function is RELU, and not NONE"),
    ("float32[2,4] float32[4]", _NORM.replace("NAME", "odml.rms_norm").replace("%0", "%0, %1"), None),
    ("float32[2,4]", _NORM.replace("NAME", "odml.rms_norm"), "it has 1 operands, and not 2"),
    ("float32[2,4]", _TELLS.replace("NAME", "odml.group_norm").replace("ATTRIBUTES", "'num_groups': 1"), "a group"),
    ("float32[2,4]", _TELLS.replace("NAME", "odml.l2_norm").replace("ATTRIBUTES", "'axis': 0"), "it norms another"),
])  # fmt: skip
def test_what_builders_leave_unread(operands: str, op: str, reason: str | None) -> None:
    found = why("qnn", operands, op)
    assert found is None if reason is None else (found or "").startswith(reason)


def test_integers_have_slopes_above_zero() -> None:
    scaled = TensorSpec("int8", (4,), scales=1)
    op = OpSignature("LEAKY_RELU", 2, [scaled], [scaled], {"alpha": -0.5})
    rules = Registry().target("qnn")
    assert rules.refusal(op) == "a slope of integers is not above 0"
    assert rules.refusal(op._replace(options={"alpha": 0.5})) is None


def test_it_tells_that_gelu_is_another() -> None:
    x = TensorSpec("float32", (4,))
    (remark,) = Registry().target("qnn").remarks
    assert remark(OpSignature("GELU", 1, [x], [x], {"approximate": True})) == "it is computed by erf, and not by TANH"
    assert remark(OpSignature("GELU", 1, [x], [x], {"approximate": False})) is None
