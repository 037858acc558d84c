"""Scatters of StableHLO."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseconv.load.stablehlo.ops.scatter import _BY_BODY, _kind
from tests.load.stablehlo.modules import check_case, operation
from tests.load.stablehlo.ops.test_folds import region


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
        ("add_slice", ["ADD", "DYNAMIC_UPDATE_SLICE", "SLICE"]),
        ("apply_slice_dynamic", ["DYNAMIC_UPDATE_SLICE", "GELU", "STRIDED_SLICE"]),
    ],
)
def test_a_window_alone_is_a_slice_that_is_updated(name: str, ops: list[str], tmp_path: Path) -> None:
    assert sorted(check_case(f"indexing/{name}", tmp_path).elements()) == ops


@pytest.mark.parametrize("name, turned, kind", [
    ("subtract", False, "TensorScatterSub"), ("subtract", True, _BY_BODY),
    ("add", False, "TensorScatterAdd"), ("add", True, "TensorScatterAdd"),
])  # fmt: skip
def test_the_order_in_which_a_body_subtracts_counts(name: str, turned: bool, kind: str) -> None:
    body = region(name)
    if turned:
        body.arguments.reverse()
    assert _kind(operation("scatter ->", [body])) == kind
