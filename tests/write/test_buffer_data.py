"""The bytes of constants, whatever the layout of their arrays."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import constant
from fuseconv.ir.product import Product
from fuseconv.write import buffer_data

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(300, 70)).astype(np.float32)
KERNEL = RNG.normal(size=(3, 5, 40, 33)).astype(np.float32)
ARRAYS = {
    "as it is": MATRIX,
    "transposed": MATRIX.T,
    "of a convolution": KERNEL.transpose(3, 0, 1, 2),
    "sliced": MATRIX[::2, 3:-3],
    "reversed": MATRIX[::-1],
    "broadcast": np.broadcast_to(np.float32(2), (3, 4)),
    "a number": np.array(7, np.int64),
    "empty": np.zeros((0, 3), np.float32).T,
    "big-endian": MATRIX.astype(">f4"),
    "a big-endian number": np.array(7, ">i8"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_pieces_are_the_array_in_row_major_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_data, "_COPIED_BYTES", 1000)
    monkeypatch.setattr(buffer_data, "_ROWS", 1)
    monkeypatch.setattr(buffer_data, "_MAPPED_BYTES", 1000)
    array = ARRAYS[name]
    value = constant(array)
    made = [bytes(piece) for piece in buffer_data.chunks(value)]
    assert b"".join(made) == np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    assert buffer_data.size(value) == array.nbytes
    # A piece has one row at least.
    assert all(len(piece) <= max(1000, array.nbytes // max(len(np.atleast_1d(array)), 1)) for piece in made)


@pytest.mark.parametrize("array", [MATRIX, MATRIX.T, KERNEL, KERNEL.transpose(3, 0, 1, 2)], ids=str)
def test_products_are_multiplied_piece_by_piece(array: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_data, "_COPIED_BYTES", 1000)
    monkeypatch.setattr(buffer_data, "_ROWS", 1)
    rows = np.array(RNG.normal(size=(len(array), *[1] * (array.ndim - 1))), np.float32)
    columns = np.array(RNG.normal(size=array.shape[-1]), np.float32)
    value = Product(Product(constant(array), rows, 9.0), columns, 9.0)
    made = [bytes(piece) for piece in buffer_data.chunks(value)]
    assert b"".join(made) == (array * rows * columns).tobytes() and len(made) > 1
    assert buffer_data.size(value) == array.nbytes


def test_a_transposed_weight_is_never_copied_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_data, "_COPIED_BYTES", 10_000)
    monkeypatch.setattr(buffer_data, "_MOST_COPIED_BYTES", 10_000)
    pieces = buffer_data.chunks(constant(MATRIX.T))
    copied = [len(piece) for piece in pieces]
    assert max(copied) <= 10_000 and sum(copied) == MATRIX.nbytes
