"""Bounds of what folders move hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fuseconv.ir.graph import Op
from fuseconv.ir.types import FLOAT32
from fuseconv.tf.folders import apply
from fuseconv.tf.folders.bounds import numbers_of


@pytest.mark.parametrize(
    ("kind", "shapes", "attrs"),
    [
        ("AddV2", [(3, 1), (1, 4)], {}),
        ("Bitcast", [(3, 1)], {}),
        ("BroadcastTo", [(3, 1), np.array([2, 3, 4])], {}),
        ("Range", [np.array(1), np.array(10), np.array(2)], {}),
        ("Range", [np.array(1.0), np.array(-10.5), np.array(-2.0)], {}),
        ("Tile", [(3, 1), np.array([2, 4])], {}),
        ("ConcatV2", [(3, 2), (1, 2), np.array(0)], {}),
        ("Fill", [np.array([5, 7]), ()], {}),
        ("GatherV2", [(3, 2), np.zeros((4, 2), np.int32), np.array(0)], {"batch_dims": 0}),
        ("MatMul", [(3, 2), (2, 5)], {}),
        ("MatMul", [(3, 2), (5, 2)], {"transpose_b": True}),
        ("MatMul", [(2, 3), (2, 5)], {"transpose_a": True}),
        ("FloorMod", [(3, 1), (4,)], {}),
        ("Where", [np.ones((3, 2), bool)], {}),
        ("Transpose", [(3, 2), np.array([1, 0])], {}),
    ],
)
def test_results_are_no_larger(kind: str, shapes: list, attrs: dict) -> None:
    arrays = [np.ones(each, np.float32) if isinstance(each, tuple) else each for each in shapes]
    op = Op(f"tf.{kind}", [None] * len(arrays), attrs)
    op.add_result(FLOAT32, None)
    bound, made = numbers_of(op), apply(op, arrays)
    assert bound is not None and made is not None
    assert made[0].size <= bound(op, arrays) < math.inf


def test_of_others_nothing_is_known() -> None:
    for step in (0.0, math.nan):
        endless = numbers_of(Op("tf.Range", [None] * 3))
        operands = [np.array(each) for each in (0.0, 9.0, step)]
        assert endless is not None and endless(Op("tf.Range", []), operands) == math.inf
    assert numbers_of(Op("tf.Svd", [None])) is None


def test_texts_have_no_bound() -> None:
    """y = y + y doubles its length."""
    bound = numbers_of(Op("tf.AddV2", [None] * 2))
    assert bound is not None and bound(Op("tf.AddV2", []), [np.array(b"a", object)] * 2) == math.inf
