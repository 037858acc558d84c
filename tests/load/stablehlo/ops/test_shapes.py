"""Shapes of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.ops.shapes import dynamic_pad
from fuseconv.load.stablehlo.scope import RefusedError
from tests.load.stablehlo.modules import check_case, computed, names, new_scope, operation


@pytest.mark.parametrize("name", names("shapes"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize("gaps", [[0, 0], [1, 0], [2, 1]])
def test_gaps_stand_within_what_is_padded_by_computed_amounts(gaps: list[int]) -> None:
    """So the gradient of a strided slice of a dimension of unknown size is."""
    x, high = np.arange(1, 7, dtype=np.float32).reshape(2, 3), np.array([2, 1], np.int32)
    scope, (data, behind) = new_scope(x, high)
    op = operation("dynamic_pad float32[?,3] float32[] int32[2] int32[2] int32[2] -> float32[?,?]")
    filling = scope.const(np.array(9, np.float32))
    made = dynamic_pad(scope, op, data, filling, scope.ints([0, 1]), behind, scope.ints(gaps))
    rows, columns = (size + gap * (size - 1) for size, gap in zip(x.shape, gaps))
    expected = np.full((rows + 2, columns + 2), 9, np.float32)
    expected[0 : rows : gaps[0] + 1, 1 : columns + 1 : gaps[1] + 1] = x
    np.testing.assert_array_equal(computed(scope, made, x, high), expected)


def test_computed_gaps_are_refused() -> None:
    scope, (x, gaps) = new_scope(np.zeros(3, np.float32), np.zeros(1, np.int32))
    op = operation("dynamic_pad float32[3] float32[] int32[1] int32[1] int32[1] -> float32[?]")
    with pytest.raises(RefusedError, match="amounts between elements are not known"):
        dynamic_pad(scope, op, x, scope.const(np.array(0, np.float32)), scope.ints([0]), scope.ints([1]), gaps)
