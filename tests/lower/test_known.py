"""The list of all ops that are known agrees with who takes care of them."""

import re

from fuseconv.fuse.registry import Registry
from fuseconv.lower.inexpressible import _WHY
from fuseconv.lower.known import _BY_PASSES, known_ops
from fuseconv.passes import control_flow, functionalise, list_ops, remapped, state, tensor_arrays, tensor_lists
from fuseconv.passes.inline import CALLS
from fuseconv.report.listing import rule_rows

PASSES = {op for ops in _BY_PASSES.values() for op in ops.split()}


def test_all_that_passes_rewrite_is_listed():
    tables = [
        CALLS, control_flow._CASES, functionalise._STEERING, list_ops.REWRITES, remapped._EXPRESS, state._IMPORTS,
        state._UPDATES, state._ROW_UPDATES, tensor_arrays._REWRITES, tensor_lists._MAKERS,
    ]  # fmt: skip
    rewritten = {re.sub(r"^tf\.", "", op) for table in tables for op in table}
    assert rewritten - PASSES - set(Registry.builtin().rules) == set()


def test_each_op_has_one_row():
    rows = known_ops(rule_rows(Registry.builtin()))
    assert [row["op"] for row in rows] == sorted({row["op"] for row in rows})
    found = {row["op"]: row["status"] for row in rows}
    assert {op for op, status in found.items() if status == "unsupported"} == set(_WHY)
    assert {op for op, status in found.items() if status == "pass"} == PASSES
    assert all(row["summary"] for row in rows if row["status"] != "rule")
