"""Calls of StableHLO, and calls of what is known by name."""

from __future__ import annotations

from pathlib import Path

from tests.load.stablehlo.modules import check_case


def test_a_composite_that_is_known_is_one_op(tmp_path: Path) -> None:
    ops = check_case("elementwise/erf", tmp_path)
    assert ops["TANH"] == 1
