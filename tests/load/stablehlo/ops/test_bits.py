"""The same bits as another type."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.bits import as_bits, narrowed
from fuseconv.load.stablehlo.scope import Scope


@pytest.fixture
def scope() -> Scope:
    return Scope(Graph("main"), Mock(ModuleImporter))


def test_a_constant_is_read_anew(scope: Scope) -> None:
    made = as_bits(scope, scope.const(np.array([2**64 - 1, 5], np.uint64), types.UINT64), types.INT64)
    assert made.is_const and made.dtype is types.INT64
    assert made.data.tolist() == [-1, 5]  # type: ignore[union-attr]


def test_there_and_back_is_the_value_itself(scope: Scope) -> None:
    x = Value(types.UINT64, (3,))
    there = narrowed(scope, x)
    assert there.dtype is types.INT64 and [op.kind for op in scope.out] == ["tf.Bitcast"]
    assert as_bits(scope, there, types.UINT64) is x
    assert len(scope.out) == 1


def test_other_types_stay(scope: Scope) -> None:
    x = Value(types.UINT32, (3,))
    assert narrowed(scope, x) is x and as_bits(scope, x, types.UINT32) is x
    assert not scope.out
