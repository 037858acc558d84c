"""Scatters of StableHLO."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case


@pytest.mark.parametrize("name", ["add_elements", "count", "max_columns", "min_along", "set_beyond", "set_slice"])
def test_updates_outside_go_nowhere(name: str, tmp_path: Path) -> None:
    check_case(f"indexing/{name}", tmp_path)
