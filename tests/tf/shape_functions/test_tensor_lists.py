"""Shapes of lists: those of their elements, stacked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import Sym, symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf import shape_functions

B = symbol("B")
ANY = Sym  # a size that is not known


def _vector(*sizes: int) -> Value:
    return constant(np.array(sizes, np.int32))


def _list(*shape: Any) -> Value:
    return Value(types.VARIANT, shape)


def _x(*shape: Any) -> Value:
    return Value(types.FLOAT32, shape)


UNKNOWN = constant(np.array(-1, np.int32))
THREE = constant(np.array(3, np.int32))
INDEX = Value(types.INT32, ())
NO_LIST = Value(types.VARIANT, None)

CASES: list[tuple[str, list[Value], list[Any]]] = [
    ("TensorListFromTensor", [_x(5, B), _vector(-1)], [(5, B)]),
    ("TensorListReserve", [_vector(-1, 4), THREE], [(3, ANY, 4)]),
    ("TensorListReserve", [UNKNOWN, THREE], [None]),
    ("EmptyTensorList", [_vector(2, 4), THREE], [(0, 2, 4)]),
    ("TensorListSetItem", [_list(3, B), INDEX, _x(B)], [(3, B)]),
    ("TensorListSetItem", [NO_LIST, INDEX, _x(B)], [(ANY, B)]),
    ("TensorListGetItem", [_list(3, B, 4), INDEX, _vector(2, -1)], [(2, 4)]),
    ("TensorListGetItem", [NO_LIST, INDEX, _vector(2, -1)], [(2, ANY)]),
    ("TensorListStack", [_list(3, B), UNKNOWN], [(3, B)]),
    ("TensorListGather", [_list(3, B), Value(types.INT32, (7,)), UNKNOWN], [(7, B)]),
    ("TensorListScatter", [_x(3, B), Value(types.INT32, (3,)), UNKNOWN], [(ANY, B)]),
    ("TensorListScatterV2", [_x(3, B), Value(types.INT32, (3,)), UNKNOWN, THREE], [(3, B)]),
    ("TensorListScatterIntoExistingList", [_list(9, B), _x(3, B), Value(types.INT32, (3,))], [(9, B)]),
    ("TensorListPushBack", [_list(3, B), _x(B)], [(4, B)]),
    ("TensorListPopBack", [_list(3, B), _vector(-1)], [(2, B), (B,)]),
    ("TensorListLength", [_list(3, B)], [()]),
    ("TensorListResize", [_list(3, B), THREE], [(3, B)]),
    ("TensorListElementShape", [_list(3, B)], [(1,)]),
    ("TensorListConcatLists", [_list(3, B), _list(2, B)], [(5, B)]),
    ("TensorListConcat", [_list(3, B, 4)], [(3 * B, 4), (3,)]),
    ("TensorListConcatV2", [_list(3, B, 4), UNKNOWN, _vector()], [(3 * B, 4), (3,)]),
    ("TensorListSplit", [_x(6, B), UNKNOWN, _vector(2, 2, 2)], [(3, 2, B)]),
    ("TensorListSplit", [_x(6, B), UNKNOWN, _vector(1, 2, 3)], [None]),
]


def test_every_op_has_a_case() -> None:
    lists = {op for op in shape_functions.TABLE if op.startswith(("TensorList", "EmptyTensorList"))}
    assert lists == {op for op, _, _ in CASES}


@pytest.mark.parametrize(("kind", "operands", "expected"), CASES)
def test_shapes(kind: str, operands: list[Value], expected: list[Any]) -> None:
    op = Op(f"tf.{kind}", operands)
    for _ in expected:
        op.add_result(types.VARIANT, None)
    inferred = shape_functions.infer(op)
    assert inferred is not None and len(inferred) == len(expected)
    for shape, wanted in zip(inferred, expected):
        if wanted is None or shape is None:
            assert shape is wanted
            continue
        assert len(shape) == len(wanted)
        assert all(isinstance(dim, Sym) if want is ANY else dim == want for dim, want in zip(shape, wanted))


def test_a_list_that_grows_when_it_is_written() -> None:
    op = Op("tf.TensorListSetItem", [_list(3, B), INDEX, _x(B)], {"resize_if_index_out_of_bounds": True})
    op.add_result(types.VARIANT, None)
    (shape,) = shape_functions.infer(op) or []
    assert shape is not None and isinstance(shape[0], Sym) and shape[1:] == (B,)
