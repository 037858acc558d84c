"""TensorProto, shapes and attributes, as TensorFlow writes them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef
from fuseconv.load import attrs, protos

TensorProto = protos.classes["TensorProto"]
AttrValue = protos.classes["AttrValue"]


ARRAYS = [
    np.array([[1, 2, 3]], np.float32), np.array([1.5], np.float64), np.array([1.5, -2, 7], np.float16),
    np.array([1, -1], np.int32), np.array([1 << 40], np.int64), np.array([-3, 3], np.int8), np.array([200], np.uint8),
    np.array([-300], np.int16), np.array([40000], np.uint16), np.array([1 << 31], np.uint32),
    np.array([1 << 63], np.uint64), np.array([True, False]), np.array([1 + 2j, 3], np.complex64),
    np.array([1 - 2j], np.complex128), np.array([b"a", b"", b"\xff"], object), np.array(3, np.float32),
    np.zeros((0, 2), np.float32), np.array([1, -2], ml_dtypes.bfloat16),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS)
def test_tensor(tf: Any, array: np.ndarray) -> None:
    """In both encodings: as bytes, and as values."""
    compact = tf.make_tensor_proto(tf.constant(array))
    spelled = tf.make_tensor_proto(array.tolist(), tf.as_dtype(types.of_array(np.asarray(array)).tf), array.shape)
    for theirs in (compact, spelled):
        decoded = attrs.tensor(TensorProto.FromString(theirs.SerializeToString()), "c")
        assert decoded.dtype == array.dtype
        assert decoded.shape == array.shape
        np.testing.assert_array_equal(decoded, array)


def tensor_proto(dtype: int, shape: list[int], **values: Any) -> Any:
    proto = TensorProto(dtype=dtype, **values)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def test_last_value_repeats() -> None:
    assert attrs.tensor(tensor_proto(1, [2, 2], float_val=[1, 2]), "c").tolist() == [[1, 2], [2, 2]]
    assert attrs.tensor(tensor_proto(3, [3]), "c").tolist() == [0, 0, 0]
    assert attrs.tensor(tensor_proto(7, [2]), "c").tolist() == [b"", b""]
    assert attrs.tensor(tensor_proto(8, [2], scomplex_val=[1, 2]), "c").tolist() == [1 + 2j, 1 + 2j]


def test_bytes_are_not_copied() -> None:
    array = attrs.tensor(tensor_proto(1, [2], tensor_content=np.array([1, 2], np.float32).tobytes()), "c")
    assert not array.flags.owndata


@pytest.mark.parametrize(
    "proto",
    [
        tensor_proto(1, [2], tensor_content=b"1234"),
        tensor_proto(1, [1], float_val=[1, 2]),
        tensor_proto(1, [-1], float_val=[1]),
        tensor_proto(1, [1 << 40], float_val=[1]),
        tensor_proto(1, [0, 1 << 62]),
        tensor_proto(1, [1] * 100_000, float_val=[1]),
        tensor_proto(7, [1], tensor_content=b"1234"),
        tensor_proto(99, [1]),
        tensor_proto(20, []),
    ],
)
def test_malformed_tensors(proto: Any) -> None:
    with pytest.raises(InputError):
        attrs.tensor(proto, "c")


def test_shapes() -> None:
    shape = protos.classes["TensorShapeProto"]
    assert attrs.shape(shape()) == ()
    assert attrs.shape(shape(unknown_rank=True)) is None
    assert attrs.shape(shape(dim=[{"size": -1}, {"size": 0}, {"size": 3}])) == (None, 0, 3)


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"i": -3}, -3),
        ({"f": 0.5}, 0.5),
        ({"b": True}, True),
        ({"s": b"SAME"}, "SAME"),
        ({"s": b"\xff"}, b"\xff"),
        ({"type": 1}, types.FLOAT32),
        ({"type": 101}, types.FLOAT32),
        ({"shape": {"dim": [{"size": 2}]}}, (2,)),
        ({"func": {"name": "f"}}, FuncRef("f")),
        ({"func": {"name": "f", "attr": {"n": AttrValue(i=1)}}}, FuncRef("f", {"n": 1})),
        ({"list": {}}, []),
        ({"list": {"i": [1, 2]}}, [1, 2]),
        ({"list": {"i": [1], "f": [0.5]}}, [1, 0.5]),
        ({"list": {"s": [b"a"]}}, ["a"]),
        ({"list": {"type": [3, 7]}}, [types.INT32, types.STRING]),
        ({"list": {"func": [{"name": "f"}]}}, [FuncRef("f")]),
        ({}, None),
    ],
)
def test_attributes(fields: dict[str, Any], expected: Any) -> None:
    assert attrs.attr(AttrValue(**fields)) == expected


def test_unbound_attribute() -> None:
    with pytest.raises(InputError, match=r"not bound"):
        attrs.attr(AttrValue(placeholder="T"))


def test_types_without_a_like_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"computes in float8_e4m3fn.*int8"):
        attrs.attr(AttrValue(type=25))
    with pytest.raises(InputError, match=r"number 99"):
        attrs.dtype(99)
