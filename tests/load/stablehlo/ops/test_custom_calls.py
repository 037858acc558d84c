"""Calls of functions outside of StableHLO."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import UnsupportedError
from tests.load.stablehlo.modules import cases, check_case


@pytest.mark.parametrize("name", ["cholesky", "solve_left", "solve_right", "solve_transposed", "solve_unit"])
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(f"linear_algebra/{name}", tmp_path)


def test_an_unknown_function_is_named(tmp_path: Path) -> None:
    path = tmp_path / "module.mlirbc"
    path.write_bytes(cases()["linear_algebra/solve_left"].data.replace(b"lapack_strsm_ffi", b"lapack_mine_ffi."))
    with pytest.raises(UnsupportedError) as caught:
        fuseconv.convert(path)
    assert "'lapack_mine_ffi.'" in caught.value.ops[0][2]
