"""Functions that JAX spells out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.bytecode import Operation, read_bytecode
from fuseconv.load.stablehlo.spelled_out import digest, spelled_function
from tests.load.stablehlo.modules import cases, check_case, operation


def _selects() -> list[Operation]:
    functions = read_bytecode(cases()["elementwise/gelu_exact"].data, "it").functions.values()
    return [op for function in functions for op in function.regions[0].ops if op.name == "select"]


def test_erfc_is_one_op_and_a_gelu(tmp_path: Path) -> None:
    assert check_case("elementwise/gelu_exact", tmp_path) == {"GELU": 1}


def test_another_structure_is_another_function() -> None:
    (op,) = [op for op in _selects() if spelled_function(op) is not None]
    name, leaf = spelled_function(op) or ("", op.results[0])
    before = digest(op.results[0], leaf)
    assert name == "Erfc" and before
    op.operands[1], op.operands[2] = op.operands[2], op.operands[1]
    assert spelled_function(op) is None and digest(op.results[0], leaf) not in ("", before)


@pytest.mark.parametrize(("value", "is_one_number"), [
    (np.full(2, 0.5, np.float32), True), (np.array([0.5, 1], np.float32), False), (np.full(2, 0.5), False),
    (np.zeros(0, np.float32), False),
], ids=str)  # fmt: skip
def test_constants_of_one_float32_alone_are_known(value: np.ndarray, is_one_number: bool) -> None:
    number, x = operation("constant -> float32[2]", value=value), operation("iota -> float32[2]")
    op = operation("add float32[2] float32[2] -> float32[2]")
    op.operands[:] = [number.results[0], x.results[0]]
    number.results[0].op, op.results[0].op = number, op
    assert bool(digest(op.results[0], x.results[0])) == is_one_number
