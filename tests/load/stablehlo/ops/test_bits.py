"""The same bits as another type."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.bits import as_bits, narrowed, narrowed_together
from fuseconv.load.stablehlo.scope import Scope


@pytest.fixture
def scope() -> Scope:
    return Scope(Graph("main"), Mock(ModuleImporter))


def test_a_constant_is_read_anew(scope: Scope) -> None:
    made = as_bits(scope, scope.const(np.array([2**64 - 1, 5], np.uint64), types.UINT64), types.INT64)
    assert made.is_const and made.dtype is types.INT64
    assert made.data.tolist() == [-1, 5]  # type: ignore[union-attr]


def test_a_scalar_stays_one(scope: Scope) -> None:
    # One of [1] as the condition of a branch would be true whatever it held.
    made = as_bits(scope, scope.const(np.array(2**32 - 1, np.uint32), types.UINT32), types.INT32)
    assert made.shape == () and made.data == -1


@pytest.mark.parametrize("unsigned, signed", [(types.UINT64, types.INT64), (types.UINT32, types.INT32)])
def test_there_and_back_is_the_value_itself(scope: Scope, unsigned: types.DType, signed: types.DType) -> None:
    x = Value(unsigned, (3,))
    there = narrowed(scope, x)
    assert there.dtype is signed and [op.kind for op in scope.out] == ["tf.Bitcast"]
    assert as_bits(scope, there, unsigned) is x
    assert len(scope.out) == 1


def test_other_types_stay(scope: Scope) -> None:
    x = Value(types.UINT16, (3,))
    assert narrowed(scope, x) is x and as_bits(scope, x, types.UINT16) is x
    assert not scope.out


def test_uint32_is_narrowed_beside_such_bits_alone(scope: Scope) -> None:
    x, y = Value(types.UINT32, (3,)), Value(types.UINT32, (3,))
    assert narrowed_together(scope, x, y) == [x, y]
    bits = as_bits(scope, narrowed(scope, x), types.UINT32)
    assert narrowed_together(scope, bits, y) == [x, y]
    made = as_bits(scope, Value(types.INT32, (3,)), types.UINT32)
    assert [value.dtype for value in narrowed_together(scope, made, y)] == [types.INT32] * 2
