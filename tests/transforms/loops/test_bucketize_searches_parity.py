"""Searches of constants, against JAX; of numbers at the constants, and of those without end and NaN."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case, names

# How many ops each takes; interp computes with what it finds.
_OPS = {"falling": 2, "interp": 28, "left_of_unknown": 0, "right_of_unknown": 0}


@pytest.mark.parametrize("name", names("searches"))
def test_constants_are_found_as_by_jax(name: str, tmp_path: Path) -> None:
    made = check_case(name, tmp_path)
    most = _OPS.get(name.removeprefix("searches/"), 1)
    assert made["BUCKETIZE"] == (most > 0)
    assert not most or sum(made.values()) <= most
