"""Scatters of StableHLO."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case


@pytest.mark.parametrize(
    "name", ["add_elements", "count", "max_columns", "min_along", "multiply_slice_beyond", "set_beyond", "set_slice"]
)
def test_updates_outside_go_nowhere(name: str, tmp_path: Path) -> None:
    check_case(f"indexing/{name}", tmp_path)


@pytest.mark.parametrize(
    "name, ops",
    [
        ("set_slice", ["DYNAMIC_UPDATE_SLICE"]),
        ("set_slice_dynamic", ["DYNAMIC_UPDATE_SLICE"]),
        ("add_slice", ["ADD", "DYNAMIC_UPDATE_SLICE", "STRIDED_SLICE"]),
        ("apply_slice_dynamic", ["DYNAMIC_UPDATE_SLICE", "GELU", "STRIDED_SLICE"]),
    ],
)
def test_a_window_alone_is_a_slice_that_is_updated(name: str, ops: list[str], tmp_path: Path) -> None:
    assert sorted(check_case(f"indexing/{name}", tmp_path).elements()) == ops
