"""Reads and assignments of whole variables, on handles of their own graph; what runs before the first invoke."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Table, Variable
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from fuseconv.transforms.tf.inline import inline
from fuseconv.transforms.tf.legalize_variables import legalize_variables
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

HANDLE = "%1 \"v\": resource[] = tf.VarHandleOp() {'shared_name': 'v'}"
TABLE = """%1 "t": resource[] = tf.HashTableV2() \
{'shared_name': 't', 'key_dtype': {'dtype': 'string'}, 'value_dtype': {'dtype': 'int64'}}"""


def _module(body: str, *functions: str, data: np.ndarray | None = None) -> tuple[Module, Report]:
    module, report = module_of(f'main {{\n input %0 "x": float32[2,2]\n{body}\n}}', *functions)
    module.variables["v"] = Variable("v", types.FLOAT32, (2, 2), data)
    keys, values = np.array([b"a", b"b"], object), np.array([1, 2], np.int64)
    module.tables["t"] = Table("t", types.STRING, types.INT64, keys, values)
    inline(module, report)
    legalize_variables(module, report)
    check(module)
    return module, report


@pytest.mark.parametrize(("op", "arithmetic"), [("AssignAddVariableOp", "AddV2"), ("AssignSubVariableOp", "Sub")])
def test_an_update_is_a_read_the_arithmetic_and_an_assignment(op: str, arithmetic: str) -> None:
    module, _ = _module(f'{HANDLE}\n tf.{op}(%1, %0) {{}} "add" from ["add"]\n return %0')
    handle, read, add, assign = module.signatures[0].graph.ops
    assert [o.type for o in (read, add, assign)] == ["ReadVariableOp", arithmetic, "AssignVariableOp"]
    assert read.result.shape == (2, 2)
    assert add.operands == [read.result, module.signatures[0].graph.inputs[0]]
    assert assign.operands == [handle.result, add.result]
    assert {o.name for o in (read, add, assign)} == {"add"}


def test_rows_are_scattered_by_columns_of_indices() -> None:
    module, _ = _module(
        f'{HANDLE}\n const %2 "i": int32[2] = [1, 0]\n'
        ' tf.ResourceScatterUpdate(%1, %2, %0) {} "set" from ["set"]\n return %0'
    )
    expected = ["VarHandleOp", "ReadVariableOp", "ExpandDims", "TensorScatterUpdate", "AssignVariableOp"]
    assert kinds(module) == expected


def test_a_loop_makes_its_own_handle() -> None:
    module, _ = _module(
        HANDLE
        + """
        const %2 "zero": int32[] = 0
        %3 "loop": int32[]; %4 "loop:1": resource[] = tf.While(%2, %1) \
{'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
        return %0""",
        """cond {
        input %0 "i": int32[]
        input %1 "h": resource[]
        %2 "less": bool[] = tf.Less(%0, %0) {}
        return %2
        }""",
        """body {
        input %0 "i": int32[]
        input %1 "h": resource[]
        %2 "read": float32[*] = tf.ReadVariableOp(%1) {}
        tf.AssignVariableOp(%1, %2) {} "assign" from ["assign"]
        return %0, %1
        }""",
    )
    body = list(module.graphs())[2]
    handle, read, assign = body.ops
    assert (handle.type, handle.attrs["shared_name"]) == ("VarHandleOp", "v")
    assert read.operands[0] is assign.operands[0] is handle.result
    # The loop still hands its own on, so that it is known not to change.
    assert body.outputs[1] is body.inputs[1]


def test_filling_a_table_with_what_it_holds_is_left_out() -> None:
    module, report = _module(
        TABLE
        + """
        const %2 "k": string[1] = strings:[b'a']
        const %3 "n": int64[1] = [1]
        tf.LookupTableImportV2(%1, %2, %3) {} "import" from ["import"]
        return %0"""
    )
    assert kinds(module) == ["HashTableV2"]
    assert any(record.kind == "removed" and record.sources == ("import",) for record in report.records)


def test_a_sum_is_read_and_assigned_as_a_whole() -> None:
    check_pass("legalize-variables", """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      tf.AssignAddVariableOp(%h, %x)
      %v: float32[2] = tf.ReadVariableOp(%h)
      return %v
    }
    """, """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %tf_AssignAddVariableOp: float32[2] = tf.ReadVariableOp(%h) {'dtype': float32}
      %tf_AssignAddVariableOp2: float32[*] = tf.AddV2(%tf_AssignAddVariableOp, %x)
      tf.AssignVariableOp(%h, %tf_AssignAddVariableOp2)
      %v: float32[2] = tf.ReadVariableOp(%h)
      return %v
    }
    """, variables={"v": np.array([1, 2], np.float32)})
