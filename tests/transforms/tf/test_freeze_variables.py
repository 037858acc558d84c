"""Variables that nothing writes become constants; those that something writes do not."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Variable
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from fuseconv.tf.annotated_functions import implements
from fuseconv.transforms.tf.freeze_variables import freeze_variables
from fuseconv.transforms.tf.inline import inline
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

VALUE = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
HANDLE = "%1 \"v\": resource[] = tf.VarHandleOp() {'shared_name': 'v'}"


def _frozen(body: str, *functions: str, data: np.ndarray | None = VALUE) -> tuple[Module, Report]:
    module, report = module_of(f'main {{\n input %0 "x": int32[3]\n {HANDLE}\n{body}\n}}', *functions)
    module.variables["v"] = Variable("v", types.FLOAT32, (2, 2), data)
    inline(module, report, keep=implements)
    freeze_variables(module, report)
    check(module)
    return module, report


def test_a_read_becomes_the_value() -> None:
    module, report = _frozen('%2 "read": float32[2,2] = tf.ReadVariableOp(%1) {}\n return %2')
    assert module.signatures[0].graph.outputs[0].data is VALUE
    assert report.account()["read"] == "folded"


def test_a_gather_takes_the_value() -> None:
    module, _ = _frozen('%2 "rows": float32[3,2] = tf.ResourceGather(%1, %0) {}\n return %2')
    gather = module.signatures[0].graph.ops[-1]
    assert gather.type == "GatherV2"
    table, _, batch_dims = gather.operands
    assert table is not None and table.data is VALUE
    assert batch_dims is not None and batch_dims.data == 0


@pytest.mark.parametrize("write", ["AssignVariableOp", "AssignAddVariableOp", "ResourceScatterUpdate"])
def test_a_written_variable_stays(write: str) -> None:
    module, _ = _frozen(
        f"""%2 "read": float32[2,2] = tf.ReadVariableOp(%1) {{}}
        %3 "write": float32[] = tf.{write}(%1, %2) {{}}
        return %2"""
    )
    assert kinds(module)[:2] == ["VarHandleOp", "ReadVariableOp"]


FUNCTION = """f {
    attrs {'_implements': {'function': 'x'}}
    input %0 "h": resource[]
    %1 "read": float32[2,2] = tf.ReadVariableOp(%0) {}
    WRITE
    return %1
}"""
CALL = "%2 \"call\": float32[2,2] = tf.PartitionedCall(%1) {'f': {'function': 'f'}}\n return %2"


def test_a_handle_is_followed_into_functions() -> None:
    module, _ = _frozen(CALL, FUNCTION.replace("WRITE", ""))
    (function,) = module.functions.values()
    assert function.outputs[0].data is VALUE


def test_a_write_in_a_function_counts() -> None:
    write = '%2 "write": float32[] = tf.AssignVariableOp(%0, %1) {}'
    module, _ = _frozen(CALL, FUNCTION.replace("WRITE", write))
    (function,) = module.functions.values()
    assert [op.type for op in function.ops] == ["ReadVariableOp", "AssignVariableOp"]


def test_a_handle_that_a_function_returns_is_followed() -> None:
    function = "f {\n attrs {'_implements': {'function': 'x'}}\n input %0 \"h\": resource[]\n return %0\n}"
    body = """%2 "call": resource[] = tf.PartitionedCall(%1) {'f': {'function': 'f'}}
        %3 "read": float32[2,2] = tf.ReadVariableOp(%2) {}
        return %3"""
    module, _ = _frozen(body, function)
    assert module.signatures[0].graph.outputs[0].data is VALUE


def test_a_variable_without_value_is_named() -> None:
    with pytest.raises(InputError, match="the variable v has no value in the checkpoint"):
        _frozen('%2 "read": float32[2,2] = tf.ReadVariableOp(%1) {}\n return %2', data=None)


def test_what_is_read_is_a_constant() -> None:
    check_pass("freeze-variables", """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'w'}
      %w: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Mul(%x, %w)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'w'}
      %y: float32[2] = tf.Mul(%x, float32[2] [1.0, 2.0])
      return %y
    }
    """, variables={"w": np.array([1, 2], np.float32)})


def test_a_variable_that_is_written_stays() -> None:
    check_pass("freeze-variables", """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'w'}
      %w: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Mul(%x, %w)
      tf.AssignVariableOp(%h, %y)
      return %y
    }
    """, variables={"w": np.array([1, 2], np.float32)})
