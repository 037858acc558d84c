"""Keys that are equal only where what they stand for is."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Quantization, Value, constant
from fuseconv.ir.value_numbering import SMALL_BYTES, attrs_key, value_key


def test_attributes_go_by_all_elements_of_an_array() -> None:
    """`repr` leaves out what is in the midst of a large one."""
    array = np.arange(2000)
    other = array.copy()
    other[1000] = 7
    assert repr(array) == repr(other)
    assert attrs_key({"a": 1, "table": array}) == attrs_key({"table": array.copy(), "a": 1})
    for near in (other, array.astype(np.int32), array.reshape(2, 1000)):
        assert attrs_key({"table": array}) != attrs_key({"table": near})
    assert attrs_key({"f": FuncRef("a")}) != attrs_key({"f": FuncRef("b")})


def test_small_constants_go_by_their_contents() -> None:
    few = np.arange(4, dtype=np.int32)
    assert value_key(constant(few)) == value_key(constant(few.copy()))
    for near in (few.reshape(2, 2), few.astype(np.int64), few + 1):
        assert value_key(constant(few)) != value_key(constant(near))
    coarse, fine = constant(few), constant(few)
    coarse.quantization, fine.quantization = Quantization((0.5,), (0,)), Quantization((0.1,), (0,))
    assert value_key(coarse) != value_key(fine)
    words = np.array([b"a", b"b"], object)
    assert value_key(constant(words, types.STRING)) == value_key(constant(words.copy(), types.STRING))


def test_all_else_goes_by_identity() -> None:
    many = np.zeros(SMALL_BYTES + 1, np.int8)
    a, b = constant(many), constant(many)
    assert value_key(a) == value_key(a) != value_key(b)
    assert value_key(Value(types.INT32, (), "x")) != value_key(Value(types.INT32, (), "x"))
