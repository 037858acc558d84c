"""Convolution of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value, constant
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.convolution import _fits_float, convolution, dynamic_conv
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, names, operation


@pytest.mark.parametrize("name", names("convolution"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize(("made", "kind", "inputs", "fits"), [
    (types.INT32, types.INT8, 1024, True), (types.INT32, types.INT8, 1025, False),
    (types.INT32, types.UINT8, 258, True), (types.INT32, types.UINT8, 259, False),
    (types.INT16, types.INT8, 2, False), (types.INT32, types.INT32, 1, False), (types.FLOAT32, types.FLOAT32, 1, False),
])  # fmt: skip
def test_integers_are_convolved_as_floats_that_are_exact(made: DType, kind: DType, inputs: int, fits: bool) -> None:
    x, kernel = Value(kind, (1, 2, inputs)), Value(kind, (1, inputs, 3))
    assert _fits_float(made, x, kernel, [0, 1, 2], [1, inputs, 3]) == fits


def test_of_weights_that_are_known_their_sum_counts() -> None:
    weights = np.full((3, 9000, 2), -7, np.int8)
    x, order = Value(types.INT8, (1, 4, 9000)), [0, 1, 2]
    assert not _fits_float(types.INT32, x, constant(weights), order, [3, 9000, 2])
    weights[1:] = 0
    assert _fits_float(types.INT32, x, constant(weights), order, [3, 9000, 2])


def _attributes(groups: int = 1, spread: int = 1) -> dict[str, Any]:
    return {
        "input_batch_dimension": 0, "input_feature_dimension": 2, "input_spatial_dimensions": [1],
        "kernel_input_feature_dimension": 1, "kernel_output_feature_dimension": 2, "kernel_spatial_dimensions": [0],
        "output_batch_dimension": 0, "output_feature_dimension": 2, "output_spatial_dimensions": [1],
        "window_strides": [1], "lhs_dilation": [spread], "rhs_dilation": [1], "feature_group_count": groups,
        "batch_group_count": 1, "padding": [0, 0],
    }  # fmt: skip


def test_gaps_in_what_is_padded_by_computed_amounts_are_refused() -> None:
    scope, (x, kernel) = Scope(Graph("main"), Mock(ModuleImporter)), (Value(types.FLOAT32, None) for _ in range(2))
    op = operation("dynamic_conv float32[2,?,4] float32[3,4,2] int32[1,2] -> float32[2,?,2]", **_attributes(spread=2))
    with pytest.raises(RefusedError, match="computed amounts has gaps"):
        dynamic_conv(scope, op, x, kernel, Value(types.INT32, (1, 2)))


@pytest.mark.parametrize(("filter_type", "groups"), [("float32[?,4,2]", 1), ("float32[3,?,2]", 2)])
def test_filters_of_unknown_windows_or_groups_are_refused(filter_type: str, groups: int) -> None:
    scope, (x, kernel) = Scope(Graph("main"), Mock(ModuleImporter)), (Value(types.FLOAT32, None) for _ in range(2))
    op = operation(f"convolution float32[2,9,4] {filter_type} -> float32[2,7,2]", **_attributes(groups))
    with pytest.raises(RefusedError, match="the shape of the filter is not known"):
        convolution(scope, op, x, kernel)
