"""Windows of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.bytecode import read_bytecode
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.folds import Windows
from fuseconv.load.stablehlo.ops.reductions import lowest
from fuseconv.load.stablehlo.ops.windows import _joined, _reduced, dynamic_windows
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import cases, check_case, computed, names, new_scope, operation, region, walk


@pytest.mark.parametrize("name", names("windows"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize(("shape", "sizes", "ends"), [
    ((3, 5), (1, 2), ((0, 0), (0, 0))), ((5, 3), (2, 1), ((0, 0), (0, 0))), ((3, 4, 5), (1, 2, 3), ((0, 0),) * 3),
    ((2, 5, 4, 2, 3), (1, 2, 3, 1, 1), ((0, 0),) * 5), ((5, 4), (2, 1), ((0, 0), (1, 0))),
    ((4,), (4,), ((3, 1),)), ((4,), (4,), ((1, 3),)), ((2, 5, 4, 2, 3), (1, 2, 1, 1, 1), ((0, 0),) * 5),
    ((2, 5, 4, 6, 3), (1, 2, 3, 2, 1), ((0, 0), (1, 0), (0, 1), (1, 1), (0, 0))), ((3, 4, 5), (2, 3, 2), ((0, 0),) * 3),
    ((3, 4, 5, 6), (2, 3, 2, 4), ((1, 1),) * 4), ((3, 4, 2, 5), (2, 1, 1, 3), ((0, 0),) * 4),
], ids=str)  # fmt: skip
def test_pools_of_any_dimensions(shape: tuple[int, ...], sizes: tuple[int, ...], ends: tuple) -> None:
    """The dimensions that windows go over become those of an image, and what is padded at one end counts."""
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (scope, (x,)), ones = new_scope(data), [1] * len(shape)
    made = _reduced(scope, x, scope.const(np.float32(0)), "add", shape, Windows([*sizes], ones, ones, ones, [*ends]))
    expected = np.lib.stride_tricks.sliding_window_view(np.pad(data, ends), sizes).sum(tuple(range(-len(shape), 0)))
    np.testing.assert_allclose(computed(scope, made, data), expected, atol=1e-5)


@pytest.mark.parametrize("computation", ["add", "maximum"])
def test_pools_of_three_dimensions_are_two(computation: str) -> None:
    shape, ones = (2, 6, 5, 4, 3), [1] * 5
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    scope, (x,) = new_scope(data)
    start = scope.const(np.array(0 if computation == "add" else -np.inf, np.float32))
    windows = Windows([1, 2, 3, 2, 1], [1, 2, 1, 2, 1], ones, ones, [(0, 0)] * 5)
    made = _reduced(scope, x, start, computation, shape, windows)
    parts = np.lib.stride_tricks.sliding_window_view(data, (2, 3, 2), (1, 2, 3))[:, ::2, :, ::2]
    expected = (np.sum if computation == "add" else np.max)(parts, (-3, -2, -1))
    np.testing.assert_allclose(computed(scope, made, data), expected, atol=1e-5)
    kinds = [op.kind for op in scope.out]
    assert kinds.count("tf.XlaReduceWindow") == 2 and "tf.Transpose" not in kinds


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int64, ml_dtypes.bfloat16, np.float32])
def test_running_extremes_of_any_length_take_few_ops(kind: Any) -> None:
    data = np.random.default_rng(0).integers(0, 100, (2, 300)).astype(kind)
    (scope, (x,)), ones = new_scope(data), [1, 1]
    least, windows = lowest(x.dtype), Windows([1, 300], ones, ones, ones, [(0, 0), (299, 0)])
    made = _reduced(scope, x, scope.const(np.array(least, kind)), "maximum", data.shape, windows)
    np.testing.assert_array_equal(computed(scope, made, data), np.maximum.accumulate(data, 1))
    assert len(scope.out) == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_running_sums_of_logarithms_of_any_length(dynamic: bool, tmp_path: Path) -> None:
    function = read_bytecode(cases()["windows/cumulative_logsumexp"].data, "it").functions["cumlogsumexp"]
    (body,) = [op.regions[0] for op in walk(function) if op.name == "reduce_window"]
    data = np.random.default_rng(0).standard_normal((2, 300)).astype(np.float32)
    data[0, :3] = -np.inf
    scope, (x,) = new_scope(data)
    start, ones, pads = scope.const(np.array(-np.inf, np.float32)), [1, 1], [(0, 0), (0, 299)]
    if dynamic:
        amounts = [scope.const(each) for each in (ones, ones, ones, pads)]
        kind = "float32[2,300] float32[] int32[2] int32[2] int32[2] int32[2] int32[2,2] -> float32[2,300]"
        sizes = scope.ConcatV2(scope.const([1]), scope.StridedSlice(scope.shape(x), [1], [2], [1]), 0)
        (made,) = dynamic_windows(scope, operation(f"custom_call {kind}"), body, x, start, sizes, *amounts)
    else:
        (made,) = _joined(scope, body, [x], [start], data.shape, Windows([1, 300], ones, ones, ones, pads))
    expected = np.logaddexp.accumulate(data[:, ::-1].astype(np.float64), 1)[:, ::-1]
    np.testing.assert_allclose(computed(scope, made, data), expected, atol=1e-5)


def test_several_arrays_have_windows_of_computed_sizes() -> None:
    body = region("float32[] float32[] float32[] float32[] -> float32[] float32[]")
    adds = [operation("add float32[] float32[] -> float32[]") for _ in range(2)]
    for place, add in enumerate(adds):
        add.operands[:] = body.arguments[place], body.arguments[place + 2]
        add.results[0].op = add
        body.ops[-1].operands[place] = add.results[0]
    body.ops[:0] = adds
    data = [np.random.default_rng(seed).standard_normal(5).astype(np.float32) for seed in range(2)]
    scope, xs = new_scope(*data)
    zero, one = scope.const(np.zeros((), np.float32)), scope.const([1])
    op = operation("custom_call float32[5] float32[5] float32[] float32[] int32[1] int32[1] int32[1] int32[1] "
                   "int32[1,2] -> float32[5] float32[5]")  # fmt: skip
    size = scope.StridedSlice(scope.shape(xs[0]), [0], [1], [1])
    made = dynamic_windows(scope, op, body, *xs, zero, zero, size, one, one, one, scope.const([[4, 0]]))
    total = scope.ConcatV2(*made, 0)
    np.testing.assert_allclose(computed(scope, total, *data), np.cumsum(data, 1).reshape(-1), atol=1e-5)
    with pytest.raises(DamagedError, match="computed sizes have 8 operands"):
        dynamic_windows(scope, op, body, *xs, zero, size, one, one, one, one)


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
