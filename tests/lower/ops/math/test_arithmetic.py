"""Parity of arithmetic on two operands."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
FLOATS = [tf.float32, tf.float16, tf.bfloat16]
SIGNED = [tf.int8, tf.int16, tf.int32, tf.int64]
UNSIGNED = [tf.uint8, tf.uint16, tf.uint32]
NUMBERS = FLOATS + SIGNED + UNSIGNED
BINARY = {"add": raw.AddV2, "sub": raw.Sub, "mul": raw.Mul, "max": raw.Maximum, "min": raw.Minimum}
DIVISIONS = {"FloorDiv": raw.FloorDiv, "FloorMod": raw.FloorMod, "TruncateDiv": raw.TruncateDiv, "Mod": raw.Mod}
LACKING = {("Mod", t) for t in (tf.int8, tf.int16, tf.uint8, tf.uint16, tf.uint32)}


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def nonzero(rng, shape, dtype):
    """Numbers of both signs, none of them 0."""
    if dtype.kind == "u":
        return rng.integers(1, 100, shape).astype(dtype)
    sign = rng.choice([-1, 1], shape)
    if dtype.kind == "i":
        return (rng.integers(1, 100, shape) * sign).astype(dtype)
    return (rng.uniform(0.3, 4, shape) * sign).astype(dtype)


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda t: t.name)
def test_binary_of_each_type(op, dtype):
    check(lambda x, y: BINARY[op](x=x, y=y), spec(None, 3, dtype=dtype), spec(None, 3, dtype=dtype))


@pytest.mark.parametrize("op", BINARY)
def test_binary_broadcasts(op):
    check(lambda x, y: BINARY[op](x=x, y=y), spec(None, 1, 5), spec(4, 1))


def test_one_op_each():
    check(lambda x, y: x + y, spec(None, 3), spec(3), ops=["ADD"])
    check(lambda x, y: x * y, spec(None, 3), spec(3), ops=["MUL"])
    check(lambda x: x / 3.0, spec(None, 3), ops=["MUL"])
    check(lambda x: x**2, spec(None, 3), ops=["MUL"])


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
def test_real_division(dtype):
    check(lambda x, y: x / y, spec(None, 3, dtype=dtype), spec(None, 3, dtype=dtype), inputs=nonzero)


@pytest.mark.parametrize("dtype", [*FLOATS, tf.int32, tf.int64], ids=lambda t: t.name)
def test_squared_difference(dtype):
    check(tf.math.squared_difference, spec(None, 3, dtype=dtype), spec(3, dtype=dtype))


@pytest.mark.parametrize(
    ("op", "dtype"), [(op, dtype) for op in DIVISIONS for dtype in SIGNED + UNSIGNED if (op, dtype) not in LACKING]
)
def test_integer_division(op, dtype):
    check(
        lambda x, y: DIVISIONS[op](x=x, y=y), spec(None, 7, dtype=dtype), spec(None, 7, dtype=dtype), inputs=nonzero
    )


@pytest.mark.parametrize(
    ("op", "dtype"), [(op, t) for op in DIVISIONS for t in FLOATS if op != "TruncateDiv" and (op, t.size) != ("Mod", 2)]
)
def test_division_of_floats_with_a_rest(op, dtype):
    check(
        lambda x, y: DIVISIONS[op](x=x, y=y), spec(None, 7, dtype=dtype), spec(None, 7, dtype=dtype), inputs=nonzero
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
def test_division_of_floats_toward_zero(dtype):
    x, y = np.array([7.5, -7.5, 7, -7, 0.5, -6]), np.array([2, 2, -2, -2, 3, 3])
    arrays = [array.astype(dtype.as_numpy_dtype) for array in (x, y)]
    check(lambda x, y: raw.TruncateDiv(x=x, y=y), spec(6, dtype=dtype), spec(6, dtype=dtype), inputs=arrays)


@pytest.mark.parametrize("op", ["FloorDiv", "TruncateDiv", "Mod"])
def test_division_of_large_int64(op):
    top = 2**63 - 1
    x = np.array([top, -top, top - 7, 2**53 + 1, -(2**53) - 1, 10**18, 7, -7, 0, top, -(2**63)])
    y = np.array([1, -1, 3, 7, 7, -(10**9), 10**18, 10**18, -5, top, 3])
    check(lambda x, y: DIVISIONS[op](x=x, y=y), spec(11, dtype=tf.int64), spec(11, dtype=tf.int64), inputs=[x, y])


def test_add_n():
    check(lambda x, y, z: tf.add_n([x, y, z]), spec(None, 3), spec(None, 3), spec(None, 3), ops=["ADD_N"])
    check(lambda x, y: tf.add_n([x, y]), spec(None, 3), spec(None, 3), ops=["ADD"])
    check(lambda x: tf.add_n([x, x, x]), spec(None, 3, dtype=tf.int64), ops=["ADD", "ADD"])


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
@pytest.mark.parametrize("op", [raw.MulNoNan, raw.DivNoNan, raw.Xdivy, raw.Xlogy, raw.Xlog1py])
def test_zero_wins(op, dtype):
    x = np.array([0, 0, 2, 3, 0.5, 4], dtype.as_numpy_dtype)
    y = np.array([0, 3, 5, 1.5, 7, 0.25], dtype.as_numpy_dtype)
    check(lambda x, y: op(x=x, y=y), spec(6, dtype=dtype), spec(6, dtype=dtype), inputs=[x, y])


@pytest.mark.parametrize("shape", [(None, 3), (2, 3)])
def test_a_constant_that_is_0_nowhere_is_not_compared_with_0(shape):
    def positive(rng, shape, numpy_type):
        return rng.uniform(0.3, 3, shape).astype(numpy_type)

    factors, some = np.float32([-0.5, 2, 1e-30]), np.float32([-0.5, 0, 1e-30])
    check(lambda y: tf.math.xlogy(factors, y), spec(*shape), inputs=positive, ops=["LOG", "MUL"])
    check(lambda y: tf.math.xdivy(factors, y), spec(*shape), inputs=positive, ops=["DIV"])
    assert "SELECT_V2" in check(lambda y: tf.math.xlogy(some, y), spec(*shape), inputs=positive).ops


@pytest.mark.parametrize("shape", [(None, 3), (2, 3)])
def test_logarithms_of_constants_are_factors(shape):
    check(lambda x: tf.math.xlogy(x, np.float32([0.3, 1, 7])), spec(*shape), ops=["MUL"])
    check(lambda x: tf.math.xlog1py(x, np.float32([-0.3, 1e-9, 7])), spec(*shape), ops=["MUL"])
    zero = np.float32([[0, 1, 2]])
    made = check(lambda x: tf.math.xlogy(x, np.float32([0, 1, 7])), spec(1, 3), inputs=[zero])
    assert "SELECT_V2" in made.ops


def test_division_that_zero_wins():
    x, y = np.array([0, 1, -2, 6], np.float32), np.array([0, 0, 0, 3], np.float32)
    check(lambda x, y: tf.math.divide_no_nan(x, y), spec(4), spec(4), inputs=[x, y])


@pytest.mark.parametrize("shape", [(None, 3), (2, 3)])
def test_what_is_divided_by_no_zero_is_not_chosen(shape):
    check(lambda x: tf.math.divide_no_nan(x, np.float32([2, 3, 7])), spec(*shape), ops=["MUL"])
    check(lambda x: tf.math.divide_no_nan(tf.sin(x), 7.0), spec(*shape))
    assert "SELECT_V2" in check(lambda x: tf.math.divide_no_nan(x, np.float32([2, 0, 7])), spec(*shape)).ops


def test_multiplication_that_zero_wins_over_nan():
    x, y = np.array([np.nan, np.inf, 2], np.float32), np.array([0, 0, 3], np.float32)
    check(lambda x, y: raw.MulNoNan(x=x, y=y), spec(3), spec(3), inputs=[x, y])


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 1.7])
def test_constant_power(exponent):
    check(lambda x: tf.pow(x, exponent), spec(None, 5), inputs=lambda rng, s, t: rng.uniform(0.3, 3, s).astype(t))


INTEGERS = [tf.int8, tf.int16, tf.int32, tf.int64]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=lambda t: t.name)
def test_power(dtype):
    def small(rng, shape, numpy_type):
        return rng.integers(0, 4, shape).astype(numpy_type)

    check(tf.pow, spec(None, 5, dtype=dtype), spec(5, dtype=dtype), inputs=small)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_powers_of_integers_wrap_around(dtype):
    x = np.array([[-2], [-1], [0], [1], [2], [3], [-7]], dtype.as_numpy_dtype)
    largest = np.iinfo(dtype.as_numpy_dtype).max
    y = np.array([0, 1, 2, 5, 63, 64, 127, largest // 2 + 1, largest], dtype.as_numpy_dtype)
    check(tf.pow, spec(None, 1, dtype=dtype), spec(9, dtype=dtype), inputs=[x, y], batches=(7,))
    check(lambda x: [tf.pow(x, n) for n in (0, 2, 3, 11, 127)], spec(None, 1, dtype=dtype))


def test_negative_powers_of_integers_are_refused():
    check_refused(lambda x: tf.pow(x, -2), spec(5, dtype=tf.int32), match="power of -2")


def test_atan2_broadcasts():
    check(tf.atan2, spec(None, 4, 1), spec(3))
    check(tf.atan2, spec(None, 3, dtype=tf.float16), spec(None, 3, dtype=tf.float16))
    check(tf.atan2, spec(4, dtype=tf.float64), spec(4, dtype=tf.float64))


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.uint8, tf.float16], ids=lambda t: t.name)
def test_clip_by_value(dtype):
    check(lambda x: raw.ClipByValue(t=x, clip_value_min=1, clip_value_max=3), spec(None, 9, dtype=dtype))


def test_float64_is_refused():
    check_refused(lambda x, y: x + y, spec(3, dtype=tf.float64), spec(3, dtype=tf.float64), match="float64")


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.int32, tf.int64], ids=lambda t: t.name)
def test_cross(dtype):
    check(tf.linalg.cross, spec(None, 2, 3, dtype=dtype), spec(None, 2, 3, dtype=dtype))


def test_accumulate():
    check(lambda x, y: raw.AccumulateNV2(inputs=[x, y, x], shape=[2, 3]), spec(2, 3), spec(2, 3), ops=["ADD_N"])
