"""Linear algebra of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case, names

NAMES = [name for name in names("linear_algebra") if "solve" not in name and "cholesky" not in name]


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)
