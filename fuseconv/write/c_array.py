"""A .tflite file as a C array: `convert -o model.cc`.

    alignas(16) const unsigned char g_model[] = {
    0x1c,0x00,...
    };
    const unsigned int g_model_len = 6188;

The names are those of TFLite Micro's examples and of `xxd -i`, from the file's own. What ends in .h or .hpp defines the
array where it is included; other files define it for all, and their first lines declare it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fuseconv.write.output_file import atomic_write

_HEADERS = frozenset({".h", ".hpp"})
SUFFIXES = frozenset({".c", ".cc", ".cpp", *_HEADERS})
_LINE = 16
_PIECE = 1 << 20
_TEXTS = np.frombuffer(b"".join(b"0x%02x," % byte for byte in range(256)), np.uint8).reshape(256, 5)


def is_c_array(path: Path) -> bool:
    """Return whether a file of this name is to be C."""
    return path.suffix.lower() in SUFFIXES


class CArray(io.RawIOBase):
    """A binary file that writes what it gets as C into another one. `tell` counts the bytes that it got.

    name: of the file, which the array is named for. comment: lines for its head."""

    def __init__(self, out: BinaryIO, name: str, comment: Iterable[str] = ()) -> None:
        path = Path(name)
        stem = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
        self._array = stem if stem.startswith("g_") else f"g_{stem}"
        self._out, self._storage = out, "static " if path.suffix.lower() in _HEADERS else ""
        self._count, self._rest = 0, b""
        self._text("#pragma once" if self._storage else "", *(f"// {line}".rstrip() for line in comment))
        self._text("#ifndef __cplusplus", "#include <stdalign.h>", "#endif")
        if not self._storage:
            self._text(f"extern const unsigned char {self._array}[];", f"extern const unsigned int {self._array}_len;")
        self._text(f"alignas(16) {self._storage}const unsigned char {self._array}[] = {{")

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._count

    def write(self, data: Any) -> int:
        """Write bytes, as lines of 16; those of a line that is not full yet wait for more."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _PIECE):
            piece = self._rest + bytes(view[start : start + _PIECE])
            whole = len(piece) - len(piece) % _LINE
            self._out.write(_lines(piece[:whole], _LINE))
            self._rest = piece[whole:]
        self._count += len(view)
        return len(view)

    def finish(self) -> None:
        """Write what is left, and the length."""
        self._out.write(_lines(self._rest, len(self._rest)))
        self._text("};", f"{self._storage}const unsigned int {self._array}_len = {self._count};")

    def _text(self, *lines: str) -> None:
        self._out.write("".join(f"{line}\n" for line in lines if line).encode())


def _lines(data: bytes, length: int) -> bytes:
    if not data:
        return b""
    texts = _TEXTS[np.frombuffer(data, np.uint8)].reshape(-1, 5 * length)
    ends = np.full((len(texts), 1), ord("\n"), np.uint8)
    return np.concatenate((texts, ends), axis=1).tobytes()


def become_c_array(path: Path, name: str, comment: Iterable[str] = ()) -> int:
    """Put C in the place of a .tflite file, a piece at a time; return its size. name, comment: as of `CArray`."""
    with open(path, "rb") as file, atomic_write(path) as out:
        array = CArray(out, name, comment)
        while piece := file.read(_PIECE):
            array.write(piece)
        array.finish()
    return path.stat().st_size
