"""Indexing of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case, names


@pytest.mark.parametrize("name", names("indexing"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize("name, most", [("pairs_batched", 14), ("pairs_batched_twice", 15), ("windows_batched", 18)])
def test_the_numbers_of_rows_are_constants_where_a_batch_is_known(name: str, most: int, tmp_path: Path) -> None:
    ops = check_case(f"indexing/{name}", tmp_path)
    assert ops["MUL"] == 0 and ops.total() <= most
