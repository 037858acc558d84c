"""Types that carry others."""

import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.lower.rules import Lowering, Unsupported
from fuseconv.lower.support.type_promotion import cast, complex_from_parts, in_float32, promote


def lowering(dtype):
    op = Op("tf.Op", name="op")
    op.add_result(dtype, (2,))
    return Lowering([], op)


def test_a_type_that_the_kernel_has_is_left_alone():
    x = Value(types.INT32, (2,))
    assert promote(lowering(types.INT32), x, (types.INT32, types.INT64)) is x
    assert cast(lowering(types.INT32), x, types.INT32) is x


@pytest.mark.parametrize(
    ("dtype", "allowed", "carrier"),
    [
        (types.INT16, (types.FLOAT32, types.INT32), types.INT32),
        (types.BOOL, (types.FLOAT32,), types.FLOAT32),
        (types.UINT32, (types.INT32, types.INT64), types.INT64),
        (types.BFLOAT16, (types.FLOAT32,), types.FLOAT32),
    ],
)
def test_the_smallest_type_that_holds_the_values_carries_them(dtype, allowed, carrier):
    assert promote(lowering(dtype), Value(dtype, (2,)), allowed).dtype is carrier


@pytest.mark.parametrize("dtype", [types.INT32, types.FLOAT64, types.STRING])
def test_a_type_that_none_holds_is_refused(dtype):
    with pytest.raises(Unsupported, match=dtype.name):
        promote(lowering(dtype), Value(dtype, (2,)), (types.FLOAT32,))


@in_float32
def rule(tfl, x, axis):
    assert x.dtype is types.FLOAT32
    assert axis.dtype is types.INT32
    return tfl.relu(x)


def test_half_precision_is_computed_in_float32():
    tfl = lowering(types.FLOAT16)
    (y,) = rule(tfl, Value(types.FLOAT16, (2,)), Value(types.INT32, ()))
    assert y.dtype is types.FLOAT16
    assert [op.type for op in tfl.out] == ["CAST", "RELU", "CAST"]


@pytest.mark.parametrize("dtype", [types.FLOAT64, types.INT32, types.COMPLEX64])
def test_other_types_are_refused(dtype):
    with pytest.raises(Unsupported, match=f"not in {dtype}"):
        rule(lowering(dtype), Value(dtype, (2,)), Value(types.INT32, ()))


def test_no_op_joins_parts_of_float64():
    part = Value(types.FLOAT64, (2,))
    with pytest.raises(Unsupported, match="no arithmetic of complex numbers of float64"):
        complex_from_parts(lowering(types.COMPLEX128), part, part)
