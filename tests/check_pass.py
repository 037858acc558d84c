"""What a pass makes of a module, told in IR text:

def test_a_row_is_taken_before_the_layer():
    check_pass("bubble-up-slices", before, after)
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fuseconv.fuse.body_check import BodyCheck
from fuseconv.fuse.numeric_check import NumericCheck
from fuseconv.fuse.pattern_check import PatternCheck
from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.graph import Table, Variable
from fuseconv.ir.rewriter import has_kind
from fuseconv.lower.engine.custom import CustomOps
from fuseconv.pass_manager import Context, PassManager, RewritePass, passes_of
from fuseconv.pipeline import CONVERT
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.floats import Floats
from fuseconv.quantize.selection import Selection
from fuseconv.transforms.loops.unroll_policy import UnrollPolicy
from tests.tf.text_cases import module_of, short_text

# Passes by name, to run whatever the module holds, but for those that look at no other ops; and the kinds of ops that
# each says it needs.
PASSES = {
    item.name: replace(item, condition=None, kinds=item.kinds if isinstance(item, RewritePass) else None)
    for item in passes_of(CONVERT)
}
_KINDS = {item.name: item.kinds for item in passes_of(CONVERT)}
# What a pass infers is no change: it follows from what the others left.
_INFER = {"canonicalize"}
_registry = functools.cache(Registry.builtin)


def check_pass(
    name: str,
    before: str,
    after: str | None = None,
    *,
    first: Sequence[str] = (),
    variables: Mapping[str, Any] = {},
    tables: Mapping[str, tuple[Any, Any]] = {},
    **options: Any,
) -> Context:
    """Run the pass of this name over a module and compare what it leaves; None for what it leaves as it was.

    before, after: as `tests.tf.text_cases` describes; names of values do not count, those of functions do.
    first: passes that run before it, where it needs what they infer, which the text does not tell. variables, tables:
    what handles refer to, by `shared_name`: a value, or keys and values. options: what the pass asks for besides, where
    that is not what `convert` takes by default. Returns the module and the report behind the pass."""
    module, report = module_of(before)
    for key, value in variables.items():
        array = np.asarray(value)
        module.variables[key] = Variable(key, types.of_array(array), array.shape, array)
    for key, arrays in tables.items():
        keys, values = (np.asarray(array) for array in arrays)
        module.tables[key] = Table(key, types.of_array(keys), types.of_array(values), keys, values)
    context = Context(module, report, _options() | options)
    PassManager(context, verify_each=True).run(tuple(PASSES[each] for each in first))
    found = short_text(module)
    expected = found if after is None else short_text(module_of(after)[0])
    kinds = _KINDS[name]
    has_work = kinds is None or any(has_kind(graph, kinds) for graph in module.graphs())
    PassManager(context, verify_each=True).run((PASSES[name],))
    made = short_text(module)
    if made != expected:
        lines = difflib.unified_diff(expected.splitlines(), made.splitlines(), "expected", f"after {name}", n=99)
        pytest.fail("\n".join(["", *lines]), pytrace=False)
    changes = report.passes[-1].changes
    assert has_work or not changes, f"{name} changes modules without ops of the kinds that it says it needs"
    assert made == found or changes or name in _INFER, f"{name} says that it left as it was what it changed"
    assert after is not None or not changes, f"{name} says that it changed what it left as it was"
    return context


def _options() -> dict[str, Any]:
    registry = _registry()
    unchecked = NumericCheck("never", lambda module: b"")
    return {
        "inputs": (), "outputs": (), "rename": {},
        "input_shapes": {}, "input_ranges": {}, "batch_size": None,
        "fusions": registry.fusions, "rules": registry.rules, "rnn": "fused", "target": None, "outlined": (),
        "rnn_state": "written", "quantize": None, "calibration": Calibration(), "io_types": "float",
        "floats": Floats(), "keep_float_under": None, "block_size": None,
        "selection": Selection(), "explain": False,
        "custom": CustomOps(),
        "unroll_policy": UnrollPolicy("auto"),
        "body_check": BodyCheck(unchecked), "pattern_check": PatternCheck(unchecked),
    }  # fmt: skip
