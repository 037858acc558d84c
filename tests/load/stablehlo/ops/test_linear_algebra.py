"""Linear algebra of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.ops.linear_algebra import batch_norm_inference, batch_norm_training, triangular_solve
from tests.load.stablehlo.modules import check_case, computed, names, new_scope, operation

NAMES = [name for name in names("linear_algebra") if "solve" not in name and "cholesky" not in name]


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("transpose", "unit"), [("NO_TRANSPOSE", False), ("NO_TRANSPOSE", True), ("TRANSPOSE", False),
                                                 ("ADJOINT", True)])  # fmt: skip
def test_triangular_systems(left: bool, lower: bool, transpose: str, unit: bool) -> None:
    """What is beside the triangle, or on a diagonal of ones, is not read. JAX itself calls LAPACK."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(1, 2, size).astype(np.float32) for size in ((2, 3, 3), (2, 3, 4) if left else (2, 4, 3)))
    triangle = (np.tril if lower else np.triu)(a)
    if unit:
        triangle[:, range(3), range(3)] = 1
    made = triangle if transpose == "NO_TRANSPOSE" else np.swapaxes(triangle, 1, 2)
    expected = np.linalg.solve(made, b) if left else b @ np.linalg.inv(made)
    scope, operands = new_scope(a, b)
    op = operation("triangular_solve float32[2,3,3] float32[2,3,4] -> float32[2,3,4]",
                   left_side=left, lower=lower, unit_diagonal=unit, transpose_a=transpose)  # fmt: skip
    np.testing.assert_allclose(computed(scope, triangular_solve(scope, op, *operands), a, b), expected, 1e-4, 1e-4)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("training", [False, True])
def test_a_norm_along_any_dimension(axis: int, training: bool) -> None:
    rng = np.random.default_rng(0)
    x, *parameters = (rng.uniform(0.5, 2, size).astype(np.float32) for size in ((3, 4, 5), *[(3 + axis,)] * 4))
    others = tuple(other for other in range(3) if other != axis)
    if training:
        parameters[2:] = [x.mean(others), x.var(others)]
    scale, offset, mean, variance = (np.expand_dims(each, others) for each in parameters)
    scope, operands = new_scope(x, *parameters)
    op = operation("batch_norm_inference float32[3,4,5] ->", feature_index=axis, epsilon=0.25)
    value = batch_norm_training(scope, op, *operands[:3])[0] if training else batch_norm_inference(scope, op, *operands)
    expected = (x - mean) * scale / np.sqrt(variance + 0.25) + offset
    np.testing.assert_allclose(computed(scope, value, x, *parameters), expected, 1e-4, 1e-5)
