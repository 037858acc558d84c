"""What importers build with."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph
from fuseconv.load.stablehlo.attributes import OtherType, TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.scope import RefusedError, Scope, axes, ints, static_shape, tensor_type, text


def test_attributes_of_another_kind_are_damage() -> None:
    assert ints(np.array([1, 2])) == [1, 2]
    with pytest.raises(DamagedError, match="no list of whole numbers"):
        ints([1.5])
    assert text("GE") == "GE"
    with pytest.raises(DamagedError, match="no text"):
        text(["GE"])
    for wrong in ([0, 0], [2], [-1]):
        with pytest.raises(DamagedError, match="are none of 2"):
            axes(wrong, 2)


def test_what_is_no_tensor_is_refused_by_name() -> None:
    with pytest.raises(RefusedError, match="of the type token"):
        tensor_type(Var(OtherType("token")))
    for small, wider in {"i4": "int8", "ui2": "uint8", "f8E4M3FN": "float32"}.items():
        with pytest.raises(RefusedError, match=f"of the type tensor of {small}, .*; cast it to {wider} before"):
            tensor_type(Var(OtherType(f"tensor of {small}")))
    with pytest.raises(RefusedError, match="the shape of its operand is not known"):
        static_shape(Var(TensorType(types.FLOAT32, (2, None))))


def test_ops_that_broadcast_by_themselves_read_what_was_broadcast() -> None:
    two, four = (TensorType(types.FLOAT32, shape) for shape in ((3, 4), (4,)))
    add = Operation("add", 1, [Var(two), Var(two)], [Var(two)], [], None, 0, {})  # type: ignore[arg-type]
    scope = Scope(Graph("main"), None)  # type: ignore[arg-type]
    x, y = (scope.graph.add_input(kind.dtype, tuple(kind.sizes), "x") for kind in (two, four))
    wide, other = scope.broadcast(y, [3, 4]), scope.broadcast(y, [3, 4])
    assert scope.bare(add, [x, wide]) == [x, y]
    assert scope.bare(add, [wide, x]) == [y, x]
    assert scope.bare(add, [x, x]) == [x, x]
    # One has to have the shape of the result, and not to be without it as well.
    zeros = scope.const(np.zeros((3, 4), np.float32))
    made = scope.Neg(zeros)
    scope.note_narrow([zeros], [made])
    for narrow in (zeros, made):
        assert scope.bare(add, [narrow, wide]) == [narrow, wide]
    assert scope.bare(add, [wide, other]) == [wide, other]
    # What a pass reaches through as a whole stays.
    negated = scope.Neg(other)
    scope.note_narrow([other], [negated])
    scope.note_narrow([x, other], [x])
    assert x not in scope.narrow and made not in scope.repeated
    again = scope.broadcast(scope.Reshape(negated, [3, 4, 1]), [3, 4, 2])
    assert again not in scope.spread
    scope.graph.outputs = [wide, again]
    scope.drop_unread_broadcasts()
    assert [op.type for op in scope.graph.ops] == ["BroadcastTo", "BroadcastTo", "Neg", "Neg", "Reshape", "BroadcastTo"]
    scope.graph.outputs = [again]
    scope.drop_unread_broadcasts()
    assert [op.type for op in scope.graph.ops] == ["BroadcastTo", "Neg", "Neg", "Reshape", "BroadcastTo"]


def test_what_is_made_of_constants_is_read_as_it_was_before_broadcasts() -> None:
    two = TensorType(types.FLOAT32, (3, 4))
    add = Operation("add", 1, [Var(two), Var(two)], [Var(two)], [], None, 0, {})  # type: ignore[arg-type]
    scope = Scope(Graph("main"), None)  # type: ignore[arg-type]
    x = scope.graph.add_input(types.FLOAT32, (3, 4), "x")
    one, many = scope.const(np.ones((), np.float32)), scope.broadcast(scope.const(np.ones((), np.float32)), [1, 4])
    total = scope.AddV2(many, one)
    scope.note_narrow([many, one], [total])
    assert scope.bare(add, [x, scope.broadcast(total, [3, 4])]) == [x, total]
    # A size that only a run tells keeps it from being folded.
    size = scope.graph.add_input(types.INT32, (2,), "size")
    assert scope.broadcast(scope.broadcast(one, size), [3, 4]) not in scope.spread


def test_a_constant_of_another_shape_than_its_op_says_is_none_of_it() -> None:
    scope = Scope(Graph("main"), None)  # type: ignore[arg-type]
    scalar = Operation("constant", 1, [], [Var(TensorType(types.FLOAT32, ()))], [], None, 0, {})  # type: ignore[arg-type]
    scope.bind(scalar, [scope.const(np.array(2.0, np.float32))])
    with pytest.raises(DamagedError, match=r"constant makes \[1\], its result is said to be \[\]"):
        scope.bind(scalar, [scope.const(np.array([2.0], np.float32))])
