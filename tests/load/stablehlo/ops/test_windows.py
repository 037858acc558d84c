"""Windows of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.folds import Windows
from fuseconv.load.stablehlo.ops.windows import _reduced, dynamic_windows
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, computed, names, new_scope, operation, region


@pytest.mark.parametrize("name", names("windows"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize(("shape", "sizes", "ends"), [
    ((3, 5), (1, 2), ((0, 0), (0, 0))), ((5, 3), (2, 1), ((0, 0), (0, 0))), ((3, 4, 5), (1, 2, 3), ((0, 0),) * 3),
    ((2, 5, 4, 2, 3), (1, 2, 3, 1, 1), ((0, 0),) * 5), ((5, 4), (2, 1), ((0, 0), (1, 0))),
    ((4,), (4,), ((3, 1),)), ((4,), (4,), ((1, 3),)),
], ids=str)  # fmt: skip
def test_pools_of_any_dimensions(shape: tuple[int, ...], sizes: tuple[int, ...], ends: tuple) -> None:
    """The dimensions that windows go over become those of an image, and what is padded at one end counts."""
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (scope, (x,)), ones = new_scope(data), [1] * len(shape)
    made = _reduced(scope, x, scope.const(np.float32(0)), "add", shape, Windows([*sizes], ones, ones, ones, [*ends]))
    expected = np.lib.stride_tricks.sliding_window_view(np.pad(data, ends), sizes).sum(tuple(range(-len(shape), 0)))
    np.testing.assert_allclose(computed(scope, made, data), expected, atol=1e-5)


def test_gaps_in_what_is_padded_by_computed_amounts_are_refused() -> None:
    scope = Scope(Graph("main"), Mock(ModuleImporter))
    op = operation("custom_call float32[?] float32[] int32[1] int32[1] int32[1] int32[1] int32[1,2] -> float32[?]")
    x, start, padding = Value(types.FLOAT32, None), Value(types.FLOAT32, ()), Value(types.INT32, (1, 2))
    amounts = [scope.const(np.array([number], np.int32)) for number in (3, 1, 2, 1)]
    with pytest.raises(RefusedError, match="computed amounts has gaps"):
        dynamic_windows(scope, op, region("float32[] float32[] -> float32[]"), x, start, *amounts, padding)


def test_windows_of_computed_sizes_that_nothing_joins_are_refused_with_advice() -> None:
    scope = Scope(Graph("main"), Mock(ModuleImporter))
    op = operation("custom_call float32[?] float32[] int32[1] int32[1] int32[1] int32[1] int32[1,2] -> float32[?]")
    x, start, sizes, padding = (Value(types.INT32, None) for _ in range(4))
    ones = [scope.const(np.array([1], np.int32)) for _ in range(3)]
    with pytest.raises(RefusedError, match="no sum, product, maximum or minimum; export it with known sizes"):
        dynamic_windows(scope, op, region("float32[] float32[] -> float32[]"), x, start, sizes, *ones, padding)
