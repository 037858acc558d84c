"""Shapes of the results of ops that TensorFlow no longer runs, but old graphs have; no rule goes without them."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value
from fuseconv.tf import shape_functions
from fuseconv.tf.shape_functions.registry import TABLE

B = symbol("B")
# Walked into, handed on before shapes are asked for, or without a result.
ELSEWHERE = {"AssignVariableOp", "CheckNumericsV2", "DeepCopy", "GuaranteeConst", "If", "StatelessIf", "StatelessWhile",
             "While"}  # fmt: skip


def test_every_rule_has_a_shape_function() -> None:
    assert set(Registry.builtin().rules) - set(TABLE) == ELSEWHERE


OLD = [
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
