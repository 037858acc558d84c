"""Factors of matrices, against JAX."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.budget import Budget, limited
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.factorizations import product_of_reflections, reflections
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, names, tensor


@pytest.fixture
def scope() -> Scope:
    return Scope(Graph("main"), Mock(ModuleImporter))


@pytest.mark.parametrize("name", names("factorizations"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize("scales", ["float32[4]", "float32[2,3]", "float32[]"])
def test_bytes_that_say_other_columns_are_damaged(scope: Scope, scales: str) -> None:
    x, kind, wrong = Value(types.FLOAT32, (5, 3)), tensor("float32[5,3]"), tensor(scales)
    with pytest.raises(DamagedError, match="for their columns"):
        reflections(scope, x, kind, wrong)
    with pytest.raises(DamagedError, match="for their columns"):
        product_of_reflections(scope, x, Value(types.FLOAT32, wrong.shape), kind, wrong)  # type: ignore[arg-type]


def test_complex_matrices_are_refused(scope: Scope) -> None:
    x = Value(types.COMPLEX64, (3, 3))
    with pytest.raises(RefusedError, match="matrices of complex64"):
        reflections(scope, x, tensor("complex64[3,3]"), tensor("complex64[3]"))


def test_no_more_columns_are_counted_than_the_bytes_justify(scope: Scope) -> None:
    size = 1 << 30
    x = Value(types.FLOAT32, (size, size))
    with limited(Budget(lambda: 1000)), pytest.raises(InputError, match="max-constant-bytes"):
        reflections(scope, x, tensor(f"float32[{size},{size}]"), tensor(f"float32[{size}]"))
