"""Convolution of StableHLO, against JAX."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value, constant
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.convolution import _exact_parts, convolution, dynamic_conv
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, computed, names, new_scope, operation


@pytest.mark.parametrize("name", names("convolution"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize(("made", "kind", "inputs", "parts"), [
    (types.INT32, types.INT8, 1024, [1024]), (types.INT32, types.INT8, 1025, [1024, 1]),
    (types.INT32, types.INT8, 3072, [1024] * 3), (types.INT32, types.UINT8, 258, [258]),
    (types.INT32, types.UINT8, 259, [258, 1]), (types.INT32, types.INT8, 2**40, []), (types.INT16, types.INT8, 2, []),
    (types.INT32, types.INT32, 1, []), (types.FLOAT32, types.FLOAT32, 1, []),
])  # fmt: skip
def test_integers_are_convolved_as_floats_that_are_exact(
    made: DType, kind: DType, inputs: int, parts: list[int]
) -> None:
    x, kernel = Value(kind, (1, 2, inputs)), Value(kind, (1, inputs, 3))
    assert _exact_parts(made, x, kernel, [0, 1, 2], [1, inputs, 3]) == parts


def test_of_weights_that_are_known_their_sum_counts() -> None:
    weights = np.full((3, 9000, 2), -7, np.int8)
    x, order = Value(types.INT8, (1, 4, 9000)), [0, 1, 2]
    assert _exact_parts(types.INT32, x, constant(weights), order, [3, 9000, 2]) == [6241, 2759]
    assert _exact_parts(types.INT16, x, constant(weights), order, [3, 9000, 2]) == []
    weights[1:] = 0
    assert _exact_parts(types.INT32, x, constant(weights), order, [3, 9000, 2]) == [9000]


def test_weights_of_many_channels_are_convolved_in_parts() -> None:
    rng = np.random.default_rng(5)
    x, weights = rng.integers(-128, 128, (2, 5, 600), np.int8), rng.integers(100, 128, (3, 600, 2), np.int8)
    scope, (taken,) = new_scope(x)
    op = operation("convolution int8[2,5,600] int8[3,600,2] -> int32[2,3,2]", **_attributes())
    made = computed(scope, convolution(scope, op, taken, constant(weights)), x)
    np.testing.assert_array_equal(made, np.stack([
        sum(x[:, start + at].astype(np.int32) @ weights[at].astype(np.int32) for at in range(3)) for start in range(3)
    ], axis=1))  # fmt: skip


def test_a_convolution_without_windows_is_a_product() -> None:
    rng = np.random.default_rng(6)
    x, weights = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (5, 4)))
    scope, operands = new_scope(x, weights)
    op = operation(
        "convolution float32[3,4] float32[5,4] -> float32[5,3]", input_batch_dimension=0, input_feature_dimension=1,
        input_spatial_dimensions=[], kernel_output_feature_dimension=0, kernel_input_feature_dimension=1,
        kernel_spatial_dimensions=[], output_batch_dimension=1, output_feature_dimension=0,
        output_spatial_dimensions=[], window_strides=[], lhs_dilation=[], rhs_dilation=[], padding=[],
        feature_group_count=1, batch_group_count=1,
    )  # fmt: skip
    np.testing.assert_allclose(computed(scope, convolution(scope, op, *operands), x, weights), weights @ x.T, atol=1e-5)


def _attributes(groups: int = 1, spread: int = 1) -> dict[str, Any]:
    return {
        "input_batch_dimension": 0, "input_feature_dimension": 2, "input_spatial_dimensions": [1],
        "kernel_input_feature_dimension": 1, "kernel_output_feature_dimension": 2, "kernel_spatial_dimensions": [0],
        "output_batch_dimension": 0, "output_feature_dimension": 2, "output_spatial_dimensions": [1],
        "window_strides": [1], "lhs_dilation": [spread], "rhs_dilation": [1], "feature_group_count": groups,
        "batch_group_count": 1, "padding": [0, 0],
    }  # fmt: skip


@pytest.mark.parametrize("pads", [[(2, 2)] * 3, [(3, 1), (0, 4), (2, 5)], [(4, 0), (-1, 3), (1, 1)]])
@pytest.mark.parametrize("spatial", [2, 3])
def test_a_spread_input_is_a_transposed_convolution(spatial: int, pads: list[tuple[int, int]]) -> None:
    rng, pads, steps = np.random.default_rng(7), pads[:spatial], (2, 3, 1)[:spatial]
    x = rng.standard_normal((2, *(4, 3, 5)[:spatial], 3)).astype(np.float32)
    kernel = rng.standard_normal((*[3] * spatial, 3, 4)).astype(np.float32)
    expected = _of_spread(x, kernel, steps, pads)
    sizes = ["float32[{}]".format(",".join(map(str, array.shape))) for array in (x, kernel, expected)]
    scope, (taken,) = new_scope(x)
    op = operation(
        f"convolution {sizes[0]} {sizes[1]} -> {sizes[2]}",
        input_batch_dimension=0, input_feature_dimension=spatial + 1, input_spatial_dimensions=[*range(1, spatial + 1)],
        kernel_input_feature_dimension=spatial, kernel_output_feature_dimension=spatial + 1,
        kernel_spatial_dimensions=[*range(spatial)], output_batch_dimension=0, output_feature_dimension=spatial + 1,
        output_spatial_dimensions=[*range(1, spatial + 1)], window_strides=[1] * spatial, lhs_dilation=list(steps),
        rhs_dilation=[1] * spatial, feature_group_count=1, batch_group_count=1, padding=[*itertools.chain(*pads)],
    )  # fmt: skip
    made = convolution(scope, op, taken, constant(kernel))
    assert {each.type for each in scope.graph.ops} & {"Conv2DBackpropInput", "Conv3DBackpropInputV2"}
    np.testing.assert_allclose(computed(scope, made, x), expected, atol=1e-5)


def _of_spread(
    x: np.ndarray, kernel: np.ndarray, steps: Sequence[int], pads: Sequence[tuple[int, int]]
) -> np.ndarray:
    """Convolve x [N, spatial, C] that is spread by zeros, then padded, or cut where an amount is negative."""
    spatial = tuple(range(1, x.ndim - 1))
    longer = [(x.shape[axis] - 1) * step + 1 for axis, step in zip(spatial, steps)]
    spread = np.zeros([x.shape[0], *longer, x.shape[-1]], x.dtype)
    places = slice(None), *(slice(None, None, step) for step in steps)
    spread[places] = x
    padded = np.pad(spread, [(0, 0), *((max(low, 0), max(high, 0)) for low, high in pads), (0, 0)])
    places = slice(None), *(slice(max(-low, 0), min(high, 0) or None) for low, high in pads)
    windows = np.lib.stride_tricks.sliding_window_view(padded[places], kernel.shape[:-2], spatial)
    letters = "dhw"[: len(spatial)]
    return np.einsum(f"n...c{letters},{letters}co->n...o", windows, kernel)


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
