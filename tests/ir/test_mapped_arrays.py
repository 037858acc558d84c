"""What was read of a mapped file does not stay in memory."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np

from fuseconv.ir.mapped_arrays import drop_pages

SIZE = 8 << 20


class _Mapping(mmap.mmap):
    """A mapped file that notes what it is advised."""

    advice: list[int]

    def madvise(self, *arguments: int) -> None:
        self.advice.append(arguments[0])
        super().madvise(*arguments)


def test_pages_of_a_mapped_file_are_given_back(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * (SIZE // 256))
    with path.open("rb") as file:
        mapped = _Mapping(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped.advice = []
    array = np.frombuffer(mapped, np.uint8).reshape(-1, 256).T
    drop_pages(array[:, :10])
    assert not mapped.advice, "a small array is not worth it"
    drop_pages(array)
    assert mapped.advice == [mmap.MADV_DONTNEED]
    assert (array[:, 5] == range(256)).all()


def test_what_is_no_mapped_file_stays() -> None:
    array = np.ones(SIZE, np.uint8)
    drop_pages(array[::2])
    assert array.all()
    with mmap.mmap(-1, SIZE) as memory:
        view = np.frombuffer(memory, np.uint8)
        view[:] = 1
        drop_pages(view)
        assert view.all()
        del view
