"""Functions that JAX spells out."""

from __future__ import annotations

from pathlib import Path

from fuseconv.load.stablehlo.bytecode import Operation, read_bytecode
from fuseconv.load.stablehlo.spelled_out import digest, spelled_function
from tests.load.stablehlo.modules import cases, check_case


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
