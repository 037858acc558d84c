"""Rules of XNNPACK."""

from __future__ import annotations

import pytest
from ai_edge_litert.interpreter import Interpreter

from fuseconv.fuse.registry import Registry
from fuseconv.inspecting import check_contents
from fuseconv.write.flatbuffer_export import to_bytes
from tests.targets.refusals import why
from tests.tf.text_cases import module_of

_SLICE = "int32[2] [0, 0], int32[2] [1, 2], int32[2] [1, {step}]"
_POOL = "{{'filter_height': 2, 'filter_width': 2, 'stride_h': {step}, 'stride_w': {step}, 'padding': 'VALID'}}"


@pytest.mark.parametrize("operands, op", [
    ("float32[2,4]", f"float32[1,2] = tfl.STRIDED_SLICE(%0, {_SLICE.format(step=1)})"),
    ("float32[1,4,4,1]", f"float32[1,2,2,1] = tfl.MAX_POOL_2D(%0) {_POOL.format(step=2)}"),
    ("float32[2,4] float32[4]", "float32[2,4] = tfl.PRELU(%0, %1)"),
    ("float32[2,4]", "float32[2] = tfl.MEAN(%0, int32[1] [1])"),
])  # fmt: skip
def test_it_takes(operands: str, op: str) -> None:
    assert why("xnnpack", operands, op) is None


@pytest.mark.parametrize("operands, op, reason", [
    ("float32[2,4]", f"float32[1,1] = tfl.STRIDED_SLICE(%0, {_SLICE.format(step=2)})", "its strides are not all 1"),
    ("float32[1,4,4,1]", f"float32[1,1,1,1] = tfl.MAX_POOL_2D(%0) {_POOL.format(step=3)}", "its windows are further"),
    ("int32[4]", "int32[4] = tfl.ADD(%0, int32[] 1)", "a tensor is of int32 without a scale"),
    ("float32[2,4] int32[1]", "float32[2] = tfl.MEAN(%0, %1)", "its operand 1 is not constant"),
    ("float32[4]", "float32[1,4] = tfl.EXPAND_DIMS(%0, int32[] 0)", "it has no EXPAND_DIMS"),
    ("int32[4]", "int32[4] = tfl.ABS(%0)", "a tensor is of int32, and not float32"),
    ("float32[4]", "float32[] = tfl.MEAN(%0, int32[0] [])", "its operand 1 is not constant"),
    ("float32[4]", "float32[] = tfl.BATCH_MATMUL(%0, %0)", "an operand has less than 2 dimensions"),
])  # fmt: skip
def test_it_refuses(operands: str, op: str, reason: str) -> None:
    assert (why("xnnpack", operands, op) or "").startswith(reason)


def test_the_delegate_makes_as_many_partitions() -> None:
    text = """
    main {
      input %x: float32[1,8]
      %a: float32[1,8] = tfl.TANH(%x)
      %b: float32[1,8] = tfl.SIGN(%a)
      %c: float32[1,2,4] = tfl.RESHAPE(%a, int32[3] [1, 2, 4])
      %d: float32[1,1,8] = tfl.EXPAND_DIMS(%b, int32[] 0)
      %e: float32[1,1,8] = tfl.EXP(%d)
      %f: float32[1,4,2] = tfl.TRANSPOSE(%c, int32[3] [0, 2, 1])
      return %e, %f
    }
    """
    data = to_bytes(module_of(text)[0])
    found = check_contents(data, "file", Registry().target("xnnpack"))
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    names = [op["op_name"] for op in interpreter._get_ops_details()]
    assert found["partitions"] == names.count("DELEGATE") == 2
    assert [entry["type"] for entry in found["refused"]] == ["SIGN", "EXPAND_DIMS"]
