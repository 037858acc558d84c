"""Elements of two tensors by turns, against JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case, names


@pytest.mark.parametrize("name", names("interleave"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize("name, ops", [
    ("equal", ["PACK", "RESHAPE"]), ("one_more", ["PACK", "PAD", "RESHAPE", "SLICE"]),
    ("batch_dynamic", ["PACK", "RESHAPE"]),
])  # fmt: skip
def test_it_takes_few_ops(name: str, ops: list[str], tmp_path: Path) -> None:
    assert sorted(check_case(f"interleave/{name}", tmp_path).elements()) == ops


@pytest.mark.parametrize("name, kind", [("of_ones", "ADD"), ("overlapping", "ADD"), ("multiplied", "MUL")])
def test_other_sums_stay(name: str, kind: str, tmp_path: Path) -> None:
    assert check_case(f"interleave/{name}", tmp_path)[kind] == 1
