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


@pytest.mark.parametrize(("shape", "rows"), [((2, 3, 4), [1, 6, 4]), ((2, 3, 4), [1, 2, 12]), ((4, 6), [1, 8, 3])])
def test_a_norm_of_rows(shape: tuple[int, ...], rows: list[int]) -> None:
    """PyTorch decomposes layer norms so; rows of whole dimensions need no reshape."""
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    scope, (value,) = new_scope(x)
    given = "x".join(map(str, rows))
    before = operation(f"reshape float32[{','.join(map(str, shape))}] -> float32[{given.replace('x', ',')}]")
    scope.values[before.operands[0]] = value
    reshaped = scope.Reshape(value, rows)
    op = operation(f"batch_norm_training float32[{given.replace('x', ',')}] ->", feature_index=1, epsilon=0.25)
    op.operands[0].op = before
    ones, zeros = (scope.const(np.full(rows[1], number, np.float32)) for number in (1, 0))
    made, mean, variance = batch_norm_training(scope, op, reshaped, ones, zeros)
    assert any(reader.kind == "tf.Sub" for reader in value.uses) == (shape != (4, 6))
    flat = x.reshape(rows)
    means, variances = flat.mean((0, 2)), flat.var((0, 2))
    expected = (flat - means[:, None]) / np.sqrt(variances[:, None] + 0.25)
    total = scope.ConcatV2(scope.Reshape(made, [-1]), scope.ConcatV2(mean, variance, 0), 0)
    wanted = np.concatenate([expected.reshape(-1), means, variances])
    np.testing.assert_allclose(computed(scope, total, x), wanted, 1e-4, 1e-5)
