"""One object of each element type, by all its names."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from fuseconv.ir import types


def test_each_type_by_name_and_number() -> None:
    for dtype in types.ALL:
        assert types.BY_NAME[dtype.name] is types.BY_TF[dtype.tf] is types.BY_TF[dtype.tf + 100] is dtype
    numbers = [dtype.tflite for dtype in types.ALL if dtype.tflite is not None]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.zeros(1, ">f4"), types.FLOAT32), (np.array([b"a"], object), types.STRING), (np.array(["a"]), types.STRING),
        (np.zeros(1, ml_dtypes.bfloat16), types.BFLOAT16), (np.zeros(1, bool), types.BOOL),
    ],
)  # fmt: skip
def test_types_of_arrays(array: np.ndarray, dtype: types.DType) -> None:
    assert types.of_array(array) is dtype


def test_kinds() -> None:
    assert types.BFLOAT16.is_float and not types.INT32.is_float
    assert types.UINT8.is_integer and not types.BOOL.is_integer
    assert types.COMPLEX64.is_complex and types.VARIANT.is_handle and not types.STRING.is_handle


def test_an_older_numpy_is_refused() -> None:
    code = "import numpy; numpy.__version__ = '1.26.4'; import sys; sys.argv[1:] = ['convert', 'model']; " \
           "from fuseconv.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == (
        "fuseconv: error: fuseconv needs numpy 2 or later, and this is 1.26.4: pip install --upgrade numpy\n"
    )
