"""Contents that are followed in symbols, against TensorFlow's results at both batch sizes."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf import shape_functions
from fuseconv.tf.operands import content_of
from fuseconv.tf.symbolic_content import content
from tests.tf.all_cases import CASES
from tests.tf.harness import BATCHES, Case, at_batch

_FOLLOWED = [case for case in CASES if case.kinds() & {*"iub"}]
B = symbol("B")


@pytest.mark.parametrize("case", _FOLLOWED, ids=str)
def test_equals_tensorflow(case: Case) -> None:
    followed = content(case.symbolic())
    assert case.name != "content" or all(array is not None for array in followed)
    for batch in BATCHES:
        for array, wanted in zip(followed, case.run(batch)):
            if array is None:
                continue
            assert array.dtype == object
            here = np.array([at_batch(element, batch) for element in array.flat]).reshape(array.shape)
            np.testing.assert_array_equal(here, wanted)


def _int32(array: object) -> Value:
    return constant(np.array(array, np.int32))


def _run(kind: str, *operands: Value, dtype: types.DType = types.INT32, results: int = 1, **attrs: object) -> Value:
    op = Op(f"tf.{kind}", operands, dict(attrs), name=kind)
    for _ in range(results):
        op.add_result(dtype, None)
    inferred = shape_functions.infer(op)
    assert inferred is not None
    for result, shape in zip(op.results, inferred):
        result.shape = shape
    for result, known in zip(op.results, content(op)):
        result.content = known
    return op.result


def _elements(value: Value) -> list[object]:
    assert value.content is not None
    return list(value.content.flat)


def test_sizes_are_padded_rolled_and_replaced() -> None:
    """As TensorFlow Probability puts the sizes of events behind those of batches."""
    shape = _run("Shape", Value(types.FLOAT32, (B, 4)))
    assert _elements(_run("PadV2", shape, _int32([[0, 1]]), _int32(1))) == [B, 4, 1]
    assert _elements(_run("Roll", shape, _int32(1), _int32(0))) == [4, B]
    assert _elements(_run("TensorScatterUpdate", shape, _int32([[1]]), _int32([7]))) == [B, 7]


def test_a_flatten_over_the_batch() -> None:
    """Shape -> StridedSlice -> Pack -> Reshape, as Keras writes it."""
    x = Value(types.FLOAT32, (B, 7, 7, 64))
    batch = _run("StridedSlice", _run("Shape", x), _int32([0]), _int32([1]), _int32([1]), shrink_axis_mask=1)
    assert batch.shape == ()
    flat = _run("Reshape", x, _run("Pack", batch, _int32(-1)), dtype=types.FLOAT32)
    assert flat.shape == (B, 3136)


def test_heads_apart_and_together_again() -> None:
    """[B, T, 8 * 16] -> [B, T, 8, 16] -> [B, 8, T, 16] and back."""
    time = symbol("T")
    x = Value(types.FLOAT32, (B, time, 128))
    shape = _run("Shape", x)
    sizes = [
        _run("StridedSlice", shape, _int32([k]), _int32([k + 1]), _int32([1]), shrink_axis_mask=1) for k in range(2)
    ]
    heads = _run("Reshape", x, _run("Pack", *sizes, _int32(8), _int32(16)), dtype=types.FLOAT32)
    turned = _run("Transpose", heads, _int32([0, 2, 1, 3]), dtype=types.FLOAT32)
    assert turned.shape == (B, 8, time, 16)
    back = _run("Transpose", turned, _int32([0, 2, 1, 3]), dtype=types.FLOAT32)
    assert _run("Reshape", back, _run("Pack", *sizes, _int32(-1)), dtype=types.FLOAT32).shape == (B, time, 128)


def test_arithmetic() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (B, 6)))
    doubled = _run("Mul", shape, _int32([4, 1]))
    half = _run("FloorDiv", doubled, _int32(2))
    assert _elements(half) == [2 * B, 3]
    assert _elements(_run("FloorMod", doubled, _int32(4))) == [0, 2]
    assert _run("Prod", shape, _int32([0])).content == 6 * B
    assert _elements(_run("Cast", shape, dtype=types.INT64)) == [B, 6]
    assert _elements(_run("Neg", shape)) == [-B, -6]


def test_numbers_are_those_of_python() -> None:
    odd = _run("FloorMod", _run("Shape", Value(types.FLOAT32, (B, 6))), _int32([2, 4]))
    pads = _elements(_run("Pad", odd, _int32([[1, 0]])))
    assert pads == [0, B % 2, 2]
    assert [type(number) for number in pads] == [int, type(B), int]


def test_the_largest_of_one_size_is_that_size() -> None:
    sizes = _run("Shape", Value(types.FLOAT32, (B,)))
    assert _run("Max", sizes, _int32([0])).content == B
    assert _run("Min", sizes, _int32([0])).content == B
    assert _run("Max", _run("Shape", Value(types.FLOAT32, (B, 6))), _int32([0])).content is None


def test_known_numbers_go_through_any_kernel() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (4, 6)))
    assert _elements(_run("Mod", shape, _int32(5))) == [4, 1]
    assert _elements(_run("Less", shape, _int32(5), dtype=types.BOOL)) == [True, False]


def test_the_larger_of_two_sizes() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (B, B + 2)))
    assert _elements(_run("Maximum", shape, _int32(0))) == [B, B + 2]
    assert _elements(_run("Minimum", shape, _int32(0))) == [0, 0]
    assert _elements(_run("Minimum", _run("Shape", Value(types.FLOAT32, (2, B))), _int32(-5))) == [-5, -5]
    both = _run("BroadcastArgs", shape, _int32([1, 7, 1]))
    assert _elements(both) == [1, 7, B + 2]
    assert _run("Maximum", shape, _int32(1)).content is None


@pytest.mark.parametrize("kind", ["Less", "Equal", "Maximum", "TruncateDiv", "Mod"])
def test_no_conclusion_on_unknown_sizes(kind: str) -> None:
    dtype = types.BOOL if kind in ("Less", "Equal") else types.INT32
    assert _run(kind, _run("Shape", Value(types.FLOAT32, (B, 6))), _int32(5), dtype=dtype).content is None


def test_a_division_by_an_unknown_size() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (B, 6)))
    content = _run("FloorMod", _int32(7), shape).content
    assert content is not None
    assert [at_batch(element, 5) for element in content] == [2, 1]


def test_what_would_wrap_is_not_followed() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (B, 300)))
    assert _run("Cast", shape, dtype=types.UINT8).content is None


def test_large_tensors_are_not_followed() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (B, 2)))
    assert _run("Tile", shape, _int32([33])).content is None
    assert content_of(constant(np.zeros(65, np.int32))) is None


def test_floats_are_not_followed() -> None:
    shape = _run("Shape", Value(types.FLOAT32, (B, 2)))
    assert _run("Cast", shape, dtype=types.FLOAT32).content is None


def test_ranks_and_sizes_of_unknown_shapes() -> None:
    x = Value(types.FLOAT32, None)
    assert _run("Shape", x).content is None
    assert _run("Rank", x).content is None
    assert _run("Size", x).content is None
    assert _run("Rank", Value(types.FLOAT32, (B, 2))).content == 2
    assert _run("Size", Value(types.FLOAT32, (B, 2))).content == 2 * B
    assert _run("TensorListLength", Value(types.VARIANT, ())).content is None  # a damaged model's


def test_axes_of_gradients() -> None:
    """None of equal shapes; of others that are not known none is told, as a size may turn out to be 1."""
    shapes = [_run("Shape", Value(types.FLOAT32, shape)) for shape in ((B, 1), (B, 1), (1,))]
    assert _elements(_run("BroadcastGradientArgs", *shapes[:2], results=2)) == []
    assert _run("BroadcastGradientArgs", *shapes[1:], results=2).content is None
    assert _elements(_run("BroadcastGradientArgs", _int32([4, 1]), _int32([3]), results=2)) == [1]
