"""What kernels decline, and what they do not copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, constant
from fuseconv.tf import folders
from fuseconv.tf.folders import evaluate
from tests.tf.all_cases import CASES


def _run(kind: str, *operands: Any, dtype: types.DType = types.FLOAT32, results: int = 1, **attrs: Any):
    arrays = [np.asarray(operand) for operand in operands]
    op = Op(kind if "." in kind else f"tf.{kind}", [constant(array) for array in arrays], attrs, name=kind)
    for _ in range(results):
        op.add_result(dtype, None)
    return evaluate(op, arrays)


def _i(*elements: int) -> np.ndarray:
    return np.array(elements, np.int32)


def test_every_kernel_is_compared_with_tensorflow() -> None:
    of_xla_alone = {"XlaDynamicSlice", "XlaDynamicUpdateSlice"}  # see test_slicing.py
    assert set(folders.TABLE) - {case.op for case in CASES} == {"LoopCond", *of_xla_alone}


X = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("kind", "operands", "attrs"),
    [
        ("Identity", (), {}),
        ("Reshape", (_i(2, 12),), {}),
        ("ExpandDims", (_i(0),), {}),
        ("Squeeze", (), {}),
        ("Transpose", (_i(1, 0),), {}),
        ("StridedSlice", (_i(1), _i(3), _i(1)), {}),
        ("Slice", (_i(1, 0), _i(2, -1)), {}),
        ("BroadcastTo", (_i(3, 4, 6),), {}),
        ("ReverseV2", (_i(1),), {}),
        ("Bitcast", (), {}),
    ],
)
def test_views(kind: str, operands: tuple, attrs: dict[str, Any]) -> None:
    results = _run(kind, X, *operands, **attrs)
    assert results is not None
    assert np.shares_memory(results[0], X)


def test_fill_holds_one_element() -> None:
    results = _run("Fill", _i(1000, 1000), np.float32(2))
    assert results is not None
    assert results[0].shape == (1000, 1000)
    assert results[0].strides == (0, 0)


def test_an_attribute_that_a_kernel_does_not_name() -> None:
    assert _run("Relu6", X) is not None
    assert _run("Relu6", X, something=1) is None
    # What only concerns TensorFlow's runtime does not matter.
    assert _run("Relu6", X, _class=["loc:@x"]) is not None


def test_other_dialects_and_unknown_ops() -> None:
    assert _run("tfl.Relu6", X) is None
    assert _run("NoSuchOp", X) is None


@pytest.mark.parametrize(
    ("kind", "operands"),
    [
        ("AddV2", (np.ones(3, np.float32), np.ones(4, np.float32))),
        ("MatMul", (np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))),
        ("Reshape", (X, _i(5, -1))),
        ("Reshape", (X, _i(-1, -1))),
        ("ConcatV2", (X, X, np.int32(2))),
        ("GatherV2", (X, _i(4), np.int32(0))),
        ("GatherV2", (X, _i(-1), np.int32(0))),
        ("GatherNd", (X, np.array([[4, 0]], np.int32))),
        ("Slice", (X, _i(3, 0), _i(2, 6))),
        ("StridedSlice", (X, _i(0), _i(2), _i(0))),
        ("Transpose", (X, _i(0, 0))),
        ("Pad", (X, np.array([[0, -1], [0, 0]], np.int32))),
        ("BroadcastTo", (X, _i(4, 7))),
        ("Mean", (X, _i(2))),
        ("CheckNumerics", (np.array([np.inf], np.float32),)),
        ("Range", (np.float32(0), np.float32(1), np.float32(-1))),
        ("TopKV2", (X, np.int32(7))),
    ],
)
def test_what_tensorflow_refuses(kind: str, operands: tuple) -> None:
    assert _run(kind, *operands, results=2 if kind == "TopKV2" else 1) is None


@pytest.mark.parametrize("kind", ["FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Div", "Mod"])
def test_an_integer_division_by_zero(kind: str) -> None:
    assert _run(kind, _i(3), _i(0), dtype=types.INT32) is None


def test_a_number_that_does_not_fit() -> None:
    for number in (3e9, np.nan, np.inf):
        assert _run("Cast", np.float32(number), dtype=types.INT16) is None


def test_a_result_of_another_type_is_a_defect() -> None:
    with pytest.raises(TypeError, match="float32 where the op makes int32"):
        _run("Relu6", X, dtype=types.INT32)
    with pytest.raises(TypeError, match="1 results where the op has 2"):
        _run("Relu6", X, results=2)


@pytest.mark.parametrize("axis", [0, -1])
def test_one_text_of_several_is_a_tensor_of_texts(axis: int) -> None:
    texts = np.array([b"a", b"bc"], object)
    made = Op("tf.GatherV2", [constant(each) for each in (texts, np.array(1), np.array(axis))])
    made.add_result(types.STRING, ())
    found = folders.evaluate(made, [texts, np.array(1), np.array(axis)])
    assert found is not None and found[0].dtype == object and found[0].item() == b"bc"


def test_symbols_go_through() -> None:
    """`apply` takes object arrays; `evaluate` is for numbers."""
    op = Op("tf.Pack", [], {}, name="pack")
    op.add_result(types.INT32, None)
    made = folders.apply(op, [np.array(1, object), np.array(2, object)])
    assert made is not None
    assert made[0].dtype == object
