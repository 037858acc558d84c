"""Indexing of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.ops.indexing import gather
from tests.load.stablehlo.modules import check_case, computed, names, new_scope, operation


@pytest.mark.parametrize("name", names("indexing"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize("name, most", [("pairs_batched", 14), ("pairs_batched_twice", 15), ("windows_batched", 18)])
def test_the_numbers_of_rows_are_constants_where_a_batch_is_known(name: str, most: int, tmp_path: Path) -> None:
    ops = check_case(f"indexing/{name}", tmp_path)
    assert ops["MUL"] == 0 and ops.total() <= most


def test_a_grid_of_known_places_is_sliced(tmp_path: Path) -> None:
    assert check_case("indexing/grid_dynamic", tmp_path) == {"STRIDED_SLICE": 1}


@pytest.mark.parametrize("place", [-3, 0, 2, 9])
def test_one_row_is_gathered_and_one_of_a_known_place_is_sliced(place: int) -> None:
    x, where = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([place], np.int32)
    op = operation(
        "gather float32[4,3] int32[1] -> float32[3]", offset_dims=[0], collapsed_slice_dims=[0], start_index_map=[0],
        operand_batching_dims=[], start_indices_batching_dims=[], index_vector_dim=0, slice_sizes=[1, 3],
    )  # fmt: skip
    scope, (value, index) = new_scope(x, where)
    made = gather(scope, op, value, index)
    assert made.op is not None and made.op.type == "GatherV2"
    np.testing.assert_array_equal(computed(scope, made, x, where), x[min(max(place, 0), 3)])
    scope, (value,) = new_scope(x)
    made = gather(scope, op, value, scope.const(where))
    assert any(each.type == "XlaDynamicSlice" for each in scope.graph.ops)
    np.testing.assert_array_equal(computed(scope, made, x), x[min(max(place, 0), 3)])
