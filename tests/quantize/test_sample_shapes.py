"""The rank of an array tells whether it holds samples or rows."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.quantize.sample_shapes import cast, fits, stacked


@pytest.mark.parametrize(("shape", "wanted", "found"), [
    ((5, 1, 3), (None, 3), (5, 1, 3)), ((5, 2, 3), (2, 3), (5, 2, 3)), ((5,), (), (5,)),
    ((5, 3), (None, 3), (5, 1, 3)), ((6, 3), (2, 3), (3, 2, 3)), ((4,), (None,), (4, 1)),
    ((0, 3), (None, 3), (0, 1, 3)), ((5, 3), (2, 3), None), ((3,), (None, 3), None), ((5, 1, 4), (None, 3), None),
    ((5, 4), (None, 3), None), ((), (), None), ((), (None,), None), ((5, 3), (0, 3), None),
])  # fmt: skip
def test_samples(shape: tuple[int, ...], wanted: tuple[int | None, ...], found: tuple[int, ...] | None) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    made = stacked(array, wanted)
    assert (None if made is None else made.shape) == found
    assert made is None or made.ravel().tolist() == array.ravel().tolist()


def test_fitting() -> None:
    assert fits((5, 3), (None, 3)) and not fits((5, 3), (4, 3)) and not fits((5,), (None, 3))


@pytest.mark.parametrize(("given", "dtype", "found"), [
    (np.array([1.5]), np.float32, True), (np.array([3]), np.float32, True), (np.array([3], np.int64), np.int32, True),
    (np.array([2**40]), np.int32, False), (np.array([3.0]), np.int32, False), (np.array(["a"]), np.float32, False),
    (np.array([True]), np.float32, True), (np.array([1 + 1j]), np.float32, False),
])  # fmt: skip
def test_numbers_of_other_types(given: np.ndarray, dtype: type, found: bool) -> None:
    made = cast(given, np.dtype(dtype))
    assert (made is not None) is found
    assert made is None or (made.dtype == dtype and made.tolist() == given.tolist())
