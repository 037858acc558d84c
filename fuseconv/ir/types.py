"""Element types, with the numbers that TensorFlow and TFLite give them."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from fuseconv.errors import InputError

# numpy 1 wraps numbers that an element type does not hold where numpy 2 raises OverflowError, and gives a shift of a
# uint32 by an int 64 bits.
if int(np.__version__.partition(".")[0]) < 2:
    raise InputError(f"fuseconv needs numpy 2 or later, and this is {np.__version__}: pip install --upgrade numpy")


@dataclass(frozen=True, eq=False)
class DType:
    """One element type; there is one object of each.

    `tf` is its number in TensorFlow's `types.proto`, `tflite` its number in `TensorType` of TFLite's schema (None where
    TFLite has no such type); `numpy` is the type of a constant's array (strings are object arrays of bytes).
    """

    name: str
    tf: int
    tflite: int | None
    numpy: np.dtype

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self in (FLOAT32, FLOAT16, BFLOAT16, FLOAT64)

    @property
    def is_integer(self) -> bool:
        return self.numpy.kind in "iu"

    @property
    def is_complex(self) -> bool:
        return self.numpy.kind == "c"

    def holds(self, other: DType) -> bool:
        """Return whether each number of another type is one of this type. numpy says so of float64 and integers of 64
        bits, too, of which it rounds those beyond 53."""
        if other.is_integer and other.numpy.itemsize == 8 and not self.is_integer:
            return False
        return np.can_cast(other.numpy, self.numpy)

    @property
    def is_handle(self) -> bool:
        """Return whether the type holds no numbers: resources and variants."""
        return self in (RESOURCE, VARIANT)


def _dtype(name: str, tf: int, tflite: int | None, numpy: object) -> DType:
    return DType(name, tf, tflite, np.dtype(numpy))  # type: ignore[call-overload]


FLOAT32 = _dtype("float32", 1, 0, np.float32)
FLOAT64 = _dtype("float64", 2, 10, np.float64)
INT32 = _dtype("int32", 3, 2, np.int32)
UINT8 = _dtype("uint8", 4, 3, np.uint8)
INT16 = _dtype("int16", 5, 7, np.int16)
INT8 = _dtype("int8", 6, 9, np.int8)
STRING = _dtype("string", 7, 5, object)
COMPLEX64 = _dtype("complex64", 8, 8, np.complex64)
INT64 = _dtype("int64", 9, 4, np.int64)
BOOL = _dtype("bool", 10, 6, np.bool_)
QINT8 = _dtype("qint8", 11, None, np.int8)
QUINT8 = _dtype("quint8", 12, None, np.uint8)
QINT32 = _dtype("qint32", 13, None, np.int32)
BFLOAT16 = _dtype("bfloat16", 14, 18, ml_dtypes.bfloat16)
UINT16 = _dtype("uint16", 17, 16, np.uint16)
COMPLEX128 = _dtype("complex128", 18, 11, np.complex128)
FLOAT16 = _dtype("float16", 19, 1, np.float16)
RESOURCE = _dtype("resource", 20, 13, object)
VARIANT = _dtype("variant", 21, 14, object)
UINT32 = _dtype("uint32", 22, 15, np.uint32)
UINT64 = _dtype("uint64", 23, 12, np.uint64)

# What weights are stored in, two in a byte; no model has it here.
INT4 = _dtype("int4", 29, 17, ml_dtypes.int4)

ALL = (
    FLOAT32, FLOAT64, INT32, UINT8, INT16, INT8, STRING, COMPLEX64, INT64, BOOL, QINT8, QUINT8, QINT32,
    BFLOAT16, UINT16, COMPLEX128, FLOAT16, RESOURCE, VARIANT, UINT32, UINT64,
)  # fmt: skip

BY_NAME = {t.name: t for t in (*ALL, INT4)}
BY_TF = {t.tf: t for t in ALL} | {t.tf + 100: t for t in ALL}  # +100: TF1's reference types
_BY_NUMPY = {t.numpy: t for t in (INT4, *reversed(ALL)) if t.numpy != np.dtype(object) and not t.name.startswith("q")}


def of_array(array: np.ndarray) -> DType:
    """Return the element type of a constant's array; object and bytes arrays are strings."""
    if array.dtype.kind in "OSU":
        return STRING
    return _BY_NUMPY[array.dtype.newbyteorder("=")]
