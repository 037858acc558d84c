"""The list of all ops that are known agrees with who takes care of them."""

import re

from fuseconv.fuse.registry import Registry
from fuseconv.lower.engine.coverage import _BY_PASSES, known_ops
from fuseconv.lower.engine.unsupported_ops import _WHY
from fuseconv.report.listing import rule_rows
from fuseconv.tf import tensor_list_rules
from fuseconv.tf.traits import CALLS, STEERING, TABLE_IMPORTS
from fuseconv.transforms.tf import (
    decompose_grappler_kernels,
    decompose_tensor_arrays,
    legalize_variables,
    simplify_control_flow,
    tensor_list_info,
)

PASSES = {op for ops in _BY_PASSES.values() for op in ops.split()}


def test_all_that_passes_rewrite_is_listed():
    tables = [
        CALLS, simplify_control_flow._CASES, STEERING, tensor_list_rules.REWRITES,
        decompose_grappler_kernels._DECOMPOSE, TABLE_IMPORTS, legalize_variables._UPDATES,
        legalize_variables._ROW_UPDATES, decompose_tensor_arrays._REWRITES, tensor_list_info.MAKERS,
    ]  # fmt: skip
    rewritten = {re.sub(r"^tf\.", "", op) for table in tables for op in table}
    assert rewritten - PASSES - set(Registry.builtin().rules) == set()


def test_each_op_has_one_row():
    rows = known_ops(rule_rows(Registry.builtin()))
    assert [row["op"] for row in rows] == sorted({row["op"] for row in rows})
    found = {row["op"]: row["status"] for row in rows}
    lowered = sorted(op for op in {*_WHY, *PASSES} if found[op] == "rule")
    assert lowered == [], "they have a rule: take them out of unsupported_ops.py, or of coverage.py"
    assert {op for op, status in found.items() if status == "unsupported"} == set(_WHY)
    assert {op for op, status in found.items() if status == "pass"} == PASSES
    assert all(row["summary"] for row in rows if row["status"] != "rule")
