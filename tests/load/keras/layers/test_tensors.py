"""Functions of tensors and literals: their types, and what no run could do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call, Model, Object
from fuseconv.load.keras.layers import tensors
from fuseconv.load.keras.registry import UnknownLayer

X = Value(types.FLOAT32, (symbol("n"), 3, 4), "x")
I = Value(types.INT32, (symbol("n"), 3, 4), "i")  # noqa: E741


def call(keras3: bool = True) -> Call:
    return Call(Object(Model(keras3, ()), "ops>Add", {"name": "it"}), types.FLOAT32, {})


def test_literals_take_the_type_of_tensors() -> None:
    assert [value.dtype for value in tensors.operands(call(), X, 2)] == [types.FLOAT32] * 2
    assert [value.dtype for value in tensors.operands(call(), 2, I)] == [types.INT32] * 2
    assert [value.dtype for value in tensors.operands(call(), I, 0.5)] == [types.FLOAT32] * 2


def test_only_keras_3_promotes_types() -> None:
    wide = Value(types.INT64, (3, 4), "wide")
    assert [value.dtype for value in tensors.operands(call(), I, wide, X)] == [types.FLOAT32] * 3
    assert [value.dtype for value in tensors.operands(call(), I, wide)] == [types.INT64] * 2
    with pytest.raises(UnknownLayer, match="of the types int32 and float32"):
        tensors.operands(call(keras3=False), I, X)


@pytest.mark.parametrize(
    "function, arguments, why",
    [
        (tensors.sliced, ["text"], "the index text"),
        (tensors.sliced, [[slice(0, 3, 0)]], "the index"),
        (tensors.sliced, [[..., ...]], "the index"),
        (tensors.taken, [[3], 1, True], "of 3 elements"),
        (tensors.taken, [[-1], 1, False], "of 3 elements"),
        (tensors.taken, [[0], 0, False], "of n elements"),
        (tensors.split, [2, 1], "2 parts of 3"),
        (tensors.split, [[1, 1], 1], r"of \[1, 1\] of 3"),
        (tensors.padded, [[[1, 1]], "constant", 0], "padding by"),
        (tensors.padded, [[[0, 0], [1, 1], [0, 0]], "wrap", 0], "mode='wrap'"),
        (tensors.reshaped, [[-1, -1]], "the shape"),
        (tensors.permuted, [[0, 1]], "the order"),
        (tensors.tiled, [[0, 1]], "repeats"),
        (tensors.one_hot, [3, -1, "float32"], "of float32"),
        (tensors.dotted, [I, 1 << 61], "axes=2305843009213693952"),
        (tensors.dotted, [X, [[1, 1], [0, 1]]], "axes="),
        (tensors.rolled, [1 << 40, 1], "shift=1099511627776"),
    ],
)
def test_what_no_run_could_do_is_refused(function: Any, arguments: list[Any], why: str) -> None:
    with pytest.raises(UnknownLayer, match=why):
        function(call(), X, *arguments)


def test_nested_lists_are_constants() -> None:
    (_, made) = tensors.operands(call(), X, [[1.0], [2.0], [3.0]])
    assert made.is_const and made.dtype is types.FLOAT32
    np.testing.assert_array_equal(made.data, [[1], [2], [3]])
