"""Calls of functions outside of StableHLO."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import UnsupportedError
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo import bytecode
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.custom_calls import custom_call
from fuseconv.load.stablehlo.scope import Scope
from tests.load.stablehlo.modules import cases, check_case, computed, names, new_scope, operation

NAMES = [name for name in names("linear_algebra") if "solve" in name or "cholesky" in name]


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def test_an_unknown_function_is_named(tmp_path: Path) -> None:
    path = tmp_path / "module.mlirbc"
    path.write_bytes(cases()["linear_algebra/solve_left"].data.replace(b"lapack_strsm_ffi", b"lapack_mine_ffi."))
    with pytest.raises(UnsupportedError) as caught:
        fuseconv.convert(path)
    assert "'lapack_mine_ffi.'" in caught.value.ops[0][2]


def test_marks_of_litert_torch_say_nothing_of_numbers() -> None:
    data = np.arange(2, dtype=np.float32)
    scope, (x,) = new_scope(data)
    (made,) = custom_call(scope, operation("custom_call float32[2] -> float32[2]", call_target_name="mark_tensor"), x)
    np.testing.assert_array_equal(computed(scope, made, data), data)


def test_shapes_stand_behind_the_data(tmp_path: Path) -> None:
    """Bytes that say another place of them than the last are damaged."""
    data = cases()["linear_algebra/solve_dynamic"].data
    module = bytecode.read_bytecode(data, "module")
    calls = [op for function in module.functions.values() for op in function.regions[0].ops if op.name == "custom_call"]
    (call,) = [op for op in calls if op.attribute("call_target_name") == "lapack_strsm_ffi"]
    two = Value(types.FLOAT32, (3, 4, 4)), Value(types.FLOAT32, (3, 4, 2))
    with pytest.raises(DamagedError, match=r"4 operands has the shapes of its results at \[2\]"):
        custom_call(Scope(Graph("main"), Mock(ModuleImporter)), call, *two, *two)


def test_the_number_of_operands_is_checked(tmp_path: Path) -> None:
    data = cases()["linear_algebra/solve_left"].data
    module = bytecode.read_bytecode(data, "module")
    calls = [op for function in module.functions.values() for op in function.regions[0].ops if op.name == "custom_call"]
    with pytest.raises(DamagedError, match="'lapack_strsm_ffi' is called with 1 operands"):
        custom_call(Scope(Graph("main"), Mock(ModuleImporter)), calls[0], Value(types.FLOAT32, (4, 4)))
