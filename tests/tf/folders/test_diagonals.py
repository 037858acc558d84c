"""Diagonals of constants are folded without TensorFlow, and what TensorFlow refuses is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, constant
from fuseconv.tf.folders import evaluate
from tests.check_pass import check_pass


def test_an_identity_matrix() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.MatrixDiagV3(float32[2] [1.0, 1.0], int32[] 0, int32[] -1, int32[] -1, float32[] 0.0)
      return %a
    }
    """, """
    main {
      return float32[2,2] [[1.0, 0.0], [0.0, 1.0]]
    }
    """)


def folded(name: str, shape: tuple[int, ...], *arrays: Any) -> list | None:
    """Return what an op of this type and shape folds to."""
    operands = [np.asarray(array, np.int32) for array in arrays]
    op = Op(f"tf.{name}", [constant(array) for array in operands])
    op.add_result(types.INT32, shape)
    results = evaluate(op, operands)
    return None if results is None else results[0].tolist()


@pytest.mark.parametrize(
    "name, shape, arrays",
    [
        ("MatrixDiagV3", (4, 4), ([1, 2, 3], 0, 4, 4, 0)),  # neither as few rows nor as few columns as the diagonal has
        ("MatrixDiagV3", (2, 3), ([1, 2, 3], 0, 2, 3, 0)),
        ("MatrixDiagV3", (3, 3), ([[1, 2, 3]], [0, 1], 3, 3, 0)),  # one diagonal of two
        ("MatrixDiagV3", (3, 3), ([[1, 2, 3]], [1, 0], 3, 3, 0)),
        ("MatrixDiagPartV3", (3,), ([[1, 2], [3, 4]], 2, 0)),
        ("MatrixDiagPartV2", (3,), ([[1, 2], [3, 4]], -2, 0)),
        ("MatrixSetDiagV3", (2, 2), ([[1, 2], [3, 4]], [5], 0)),
    ],
)
def test_what_tensorflow_refuses_is_declined(name: str, shape: tuple[int, ...], arrays: tuple) -> None:
    assert folded(name, shape, *arrays) is None


def test_an_operand_is_not_written_into() -> None:
    x = np.array([[1, 2], [3, 4]], np.int32)
    assert folded("MatrixSetDiagV3", (2, 2), x, [5, 6], 0) == [[5, 2], [3, 6]]
    assert x.tolist() == [[1, 2], [3, 4]]
