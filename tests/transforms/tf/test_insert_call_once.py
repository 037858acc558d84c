"""What runs before the first invoke: variables and tables are filled once for all signatures."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Signature, Table, Variable
from fuseconv.ir.verifier import check
from fuseconv.pass_manager import Context, PassManager
from fuseconv.report.records import Report
from fuseconv.transforms.tf.insert_call_once import INITIALIZER, insert_call_once
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

HANDLES = """%1 "v": resource[] = tf.VarHandleOp() {'shared_name': 'v'}
%2 "t": resource[] = tf.HashTableV2() \
{'shared_name': 't', 'key_dtype': {'dtype': 'string'}, 'value_dtype': {'dtype': 'int64'}}"""
KEPT = """
main {
  input %x: float32[2]
  %h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
  %v: float32[2] = tf.ReadVariableOp(%h)
  tf.AssignVariableOp(%h, %x)
  return %v
}
"""


def _module(body: str, filled: bool = True) -> tuple[Module, Report]:
    module, report = module_of(f'main {{\n input %0 "x": float32[2,2]\n{body}\n}}')
    module.variables["v"] = Variable("v", types.FLOAT32, (2, 2), np.ones((2, 2), np.float32))
    keys, values = np.array([b"a", b"b"], object), np.array([1, 2], np.int64)
    module.tables["t"] = Table("t", types.STRING, types.INT64, *((keys, values) if filled else ()))
    return module, report


def test_all_signatures_run_one_initializer() -> None:
    module, report = _module(f"{HANDLES}\n return %0")
    first = module.signatures[0]
    module.signatures.append(Signature(["again"], Graph("again"), [], []))
    insert_call_once(module, report)
    check(module)
    assert kinds(module) == ["CALL_ONCE", "VarHandleOp", "HashTableV2"]
    assert kinds(module, 1) == ["CALL_ONCE"]
    function = module.functions[INITIALIZER]
    assert [op.type for op in function.ops] == ["VAR_HANDLE", "ASSIGN_VARIABLE", "HASHTABLE", "HASHTABLE_IMPORT"]
    assert function.ops[2].attrs["table_id"] == first.graph.ops[2].attrs["table_id"] > 0
    assert not function.inputs and not function.outputs


def test_a_model_without_state_runs_nothing_first() -> None:
    module, report = _module("return %0")
    insert_call_once(module, report)
    assert not kinds(module) and not module.functions


def test_a_table_that_nothing_fills_is_refused() -> None:
    module, report = _module(f"{HANDLES}\n return %0", filled=False)
    insert_call_once(module, report)
    variable, table = module.signatures[0].graph.ops[-2:]
    assert variable.rejection is None
    assert table.rejection is not None and "nothing in the model fills this table" in table.rejection.why
    assert not table.rejection.hopeless


def test_a_variable_is_given_its_first_value_once() -> None:
    check_pass("insert-call-once", KEPT, """
    main {
      input %x: float32[2]
      tfl.CALL_ONCE() {'init_subgraph_index': @initialize}
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %v: float32[2] = tf.ReadVariableOp(%h)
      tf.AssignVariableOp(%h, %x)
      return %v
    }
    initialize {
      %h: resource[] = tfl.VAR_HANDLE() {'shared_name': 'v'}
      tfl.ASSIGN_VARIABLE(%h, float32[2] [1.0, 2.0])
      return
    }
    """, variables={"v": np.array([1, 2], np.float32)})


def test_a_table_that_the_graph_fills_is_only_numbered() -> None:
    handle = HANDLES.splitlines(keepends=True)[1:]
    fill = '%3 "k": string[2] = tf.Keys() {}\n%4 "v": int64[2] = tf.Values() {}\ntf.LookupTableImportV2(%2, %3, %4) {}'
    module, report = _module(f"{''.join(handle)}\n{fill}\n return %0", filled=False)
    context = Context(module, report)
    PassManager(context).run((insert_call_once,))
    assert not module.functions and module.signatures[0].graph.ops[0].attrs["table_id"] > 0
    assert report.passes[-1].changes


@pytest.mark.parametrize(
    ("text", "dtype", "signatures", "warns"),
    [
        (KEPT, types.FLOAT32, 1, True),
        (KEPT, types.FLOAT32, 2, False),  # one that resets it, or trains it
        (KEPT.replace("float32[2]", "int64[2]"), types.INT64, 1, False),
        (KEPT.replace("tf.AssignVariableOp(%h, %x)", ""), types.FLOAT32, 1, False),
    ],
)
def test_a_state_that_nothing_resets_is_warned_of(text: str, dtype: types.DType, signatures: int, warns: bool) -> None:
    module, report = module_of(text)
    module.variables["v"] = Variable("v", dtype, (2,), np.zeros(2, dtype.numpy))
    module.signatures += [Signature(["again"], Graph("again"), [], [])] * (signatures - 1)
    insert_call_once(module, report)
    assert [("keeps v from" in each, "reset_all_variables does not" in each) for each in report.warnings] == [
        (True, True)
    ] * warns
