"""The table of shape functions."""

from __future__ import annotations

from types import ModuleType

import pytest

from fuseconv.errors import InputError
from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_function import OpFunction, op_function
from fuseconv.ir.op_table import OpTable
from fuseconv.tf import shape_functions
from fuseconv.tf.shape_functions.registry import TABLE, infers

B = symbol("B")
# Walked into, or without a result.
ELSEWHERE = {"AssignVariableOp", "If", "StatelessIf", "StatelessWhile", "While"}


def test_a_function_stands_for_the_ops_that_it_names() -> None:
    @infers("Grob", "Hrob")
    def grob(op, x, *, width=1):
        return x

    module = ModuleType(grob.__module__)
    module.grob = grob  # type: ignore[attr-defined]
    table: OpTable[OpFunction] = OpTable("infers", op_function)
    table.collect(module)
    assert [*table] == ["Grob", "Hrob"]
    assert table["Grob"].op == "Grob" and table["Grob"].attrs == {"width"}
    with pytest.raises(InputError, match="Grob is claimed by both"):
        table.collect(module)


def test_every_rule_has_a_shape_function() -> None:
    assert set(Registry.builtin().rules) - set(TABLE) == ELSEWHERE


# Ops that TensorFlow no longer runs, but old graphs have.
OLD = [
    ("BatchCholesky", [(B, 3, 3)], {}, (B, 3, 3)),
    ("BatchMatrixDeterminant", [(B, 3, 3)], {}, (B,)),
    ("BatchMatrixInverse", [(B, 3, 3)], {}, (B, 3, 3)),
    ("BatchMatrixSolve", [(B, 3, 3), (B, 3, 2)], {}, (B, 3, 2)),
    ("BatchMatrixTriangularSolve", [(B, 3, 3), (B, 3, 2)], {}, (B, 3, 2)),
    ("AccumulateNV2", [None, (B, 3)], {"shape": (None, 3)}, (B, 3)),
    ("BatchMatrixBandPart", [(B, 4, 3), (), ()], {}, (B, 4, 3)),
    ("BatchMatrixDiag", [(B, 3)], {}, (B, 3, 3)),
    ("BatchMatrixDiagPart", [(B, 4, 3)], {}, (B, 3)),
    ("BatchMatrixSetDiag", [(B, 4, 3), (B, 3)], {}, (B, 4, 3)),
    ("BatchNormWithGlobalNormalization", [(B, 2, 2, 3), *[(3,)] * 4], {}, (B, 2, 2, 3)),
    ("ParallelConcat", [(1, 3), (1, 3)], {"shape": (2, 3)}, (2, 3)),
    ("TopK", [(B, 7)], {"k": 3}, (B, 3)),
]


@pytest.mark.parametrize(("kind", "operands", "attrs", "expected"), OLD)
def test_old_ops(kind: str, operands: list, attrs: dict, expected: tuple) -> None:
    op = Op(f"tf.{kind}", [Value(types.FLOAT32, shape) for shape in operands], attrs)
    for _ in range(2 if kind == "TopK" else 1):
        op.add_result(types.FLOAT32, None)
    inferred = shape_functions.infer(op)
    assert inferred is not None and inferred[0] == expected
