"""Shapes of the results of XLA's operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensorflow.compiler.xla import xla_data_pb2

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf import shape_functions

B = symbol("B")
DOT = xla_data_pb2.DotDimensionNumbers(
    lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[2], lhs_batch_dimensions=[0], rhs_batch_dimensions=[1]
)
CONV = xla_data_pb2.ConvolutionDimensionNumbers(
    input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=[2, 3], output_batch_dimension=0,
    output_feature_dimension=3, output_spatial_dimensions=[1, 2], kernel_spatial_dimensions=[0, 1],
    kernel_input_feature_dimension=2, kernel_output_feature_dimension=3,
)  # fmt: skip
ROWS = xla_data_pb2.GatherDimensionNumbers(
    offset_dims=[0], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1
)


def _infer(kind: str, *operands: Shape | list[Any] | None, results: int = 1, **attrs: Any) -> Any:
    values = [
        constant(np.array(operand, np.int32)) if isinstance(operand, list) else Value(types.FLOAT32, operand)
        for operand in operands
    ]
    op = Op(f"tf.{kind}", values, attrs, name=kind)
    for _ in range(results):
        op.add_result(types.FLOAT32, None)
    return shape_functions.infer(op)


@pytest.mark.parametrize("kind", ["XlaDot", "XlaDotV2"])
def test_products(kind: str) -> None:
    numbers = DOT.SerializeToString()
    assert _infer(kind, (B, 4, 5), (7, B, 4), dimension_numbers=numbers) == [(B, 5, 7)]
    # Bytes that are text come as text.
    assert _infer(kind, (B, 4, 5), (7, B, 4), dimension_numbers=numbers.decode()) == [(B, 5, 7)]
    assert _infer(kind, None, (7, B, 4), dimension_numbers=numbers) == [None]


@pytest.mark.parametrize("kind", ["XlaConv", "XlaConvV2"])
def test_convolutions(kind: str) -> None:
    rest = [2, 1], [[1, 1], [0, 0]], [1, 2], [1, 1], [1]
    numbers = CONV.SerializeToString()
    assert _infer(kind, (B, 3, 9, 6), (3, 2, 3, 8), *rest, dimension_numbers=numbers) == [(B, 5, 10, 8)]
    half = _infer(kind, (4, 3, 9, 6), (3, 2, 3, 8), *rest, dimension_numbers=numbers, batch_group_count=2)
    assert half == [(2, 5, 10, 8)]
    assert _infer(kind, (B, 3, 9), (3, 3, 8), *rest, dimension_numbers=numbers) == [None]


def test_windows() -> None:
    rest = [1, 3, 2], [1, 2, 1], [1, 1, 1], [1, 1, 2], [[0, 0], [1, 1], [0, 0]]
    assert _infer("XlaReduceWindow", (B, 9, 6), (), *rest) == [(B, 5, 4)]
    assert _infer("XlaReduceWindow", (B, 9, 6), (), *rest[:4], (3, 2)) == [None]
    assert _infer("XlaReduceWindow", (9,), (), [3], [1], [1], [1], [[1, 3]]) == [(11,)]


def test_windows_of_all_that_is_before_an_element() -> None:
    """Their sizes are those of what they go over, which in the body of a loop no constant tells."""
    window, padding = Value(types.INT32, (2,)), Value(types.INT32, (2, 2))
    window.content = np.array([B, 1], object)
    padding.content = np.array([[B - 1, 0], [0, 0]], object)
    ones = [constant(np.ones(2, np.int32)) for _ in range(3)]
    op = Op("tf.XlaReduceWindow", [Value(types.FLOAT32, (B, 3)), Value(types.FLOAT32, ()), window, *ones, padding], {})
    op.add_result(types.FLOAT32, None)
    assert shape_functions.infer(op) == [(B, 3)]


def test_pads() -> None:
    assert _infer("XlaPad", (B, 4), (), [1, -1], [2, 0], [0, 1]) == [(B + 3, 6)]


def test_gathers() -> None:
    numbers = ROWS.SerializeToString()
    assert _infer("XlaGather", (9, 4), (B, 1), [1, 4], dimension_numbers=numbers) == [(4, B)]
    assert _infer("XlaGather", (9, 4), (B,), [1, 4], dimension_numbers=numbers) == [(4, B)]
    assert _infer("XlaGather", (9, 4, 2), (B, 1), [1, 4, 2], dimension_numbers=numbers) == [None]


def test_barriers() -> None:
    assert _infer("XlaOptimizationBarrier", (B, 2), None, results=2) == [(B, 2), None]
