"""Model metadata of a .tflite file, and the files that go with it, which a zip behind the flatbuffer holds."""

from __future__ import annotations

import io
import mmap
import zipfile
import zlib
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.load.tflite.table_decoder import DamagedError, Decoder, Table
from fuseconv.tfl import metadata_schema as schema

_MOST_FILES = 1000
_MOST_BYTES = 1 << 26
_TEXTS = ("name", "description", "version", "author", "license")
_TENSOR = "TensorMetadata"
# What a damaged zip raises; a file without one may look at its end as if it had.
_NO_ZIP = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error, OSError)


def describe(raw: bytes) -> dict[str, Any] | None:
    """Describe the contents of TFLITE_METADATA; None if they are damaged, or of a schema that is not known.

    {name, description, version, author, license, inputs, outputs}: inputs and outputs of the first subgraph are {name,
    mean, std, labels}, numbers and names of files as lists."""
    try:
        if raw[4:8] != schema.IDENTIFIER:
            return None
        root = Decoder(raw).root("ModelMetadata")
        graphs = root.tables("subgraph_metadata", "SubGraphMetadata")[:1]
        return {text: root.text(text) for text in _TEXTS} | {
            f"{way}s": [_tensor(table) for graph in graphs for table in graph.tables(f"{way}_tensor_metadata", _TENSOR)]
            for way in ("input", "output")
        }
    except DamagedError:
        return None


def _tensor(table: Table) -> dict[str, Any]:
    units = table.tables("process_units", "ProcessUnit")
    options = [
        unit.table("options", "NormalizationOptions") for unit in units
        if unit.number("options_type") == schema.NORMALIZATION_OPTIONS
    ]  # fmt: skip
    numbers = {
        field: [number for found in options if found for number in found.array(field, np.float32).tolist()]
        for field in ("mean", "std")
    }
    labels = [file.text("name") for file in table.tables("associated_files", "AssociatedFile")]
    return {"name": table.text("name"), **numbers, "labels": labels}


def list_files(data: bytes | mmap.mmap) -> list[tuple[str, int]]:
    """List the files behind a model, with their sizes; none if there is no zip that can be read."""
    try:
        with zipfile.ZipFile(_Stream(data)) as archive:
            return [(info.filename, info.file_size) for info in archive.infolist()[:_MOST_FILES]]
    except _NO_ZIP:
        return []


def read_files(data: bytes | mmap.mmap) -> dict[str, bytes]:
    """Read the files behind a model, by their names.

    Raises InputError for files that cannot be read, or that take more than 64 MB in all."""
    try:
        archive = zipfile.ZipFile(_Stream(data))
    except _NO_ZIP:
        return {}
    found: dict[str, bytes] = {}
    left = _MOST_BYTES
    with archive:
        for info in archive.infolist():
            try:
                with archive.open(info) as file:
                    found[info.filename] = file.read(left + 1)
            except _NO_ZIP as error:
                raise InputError(f"the model's file {info.filename} cannot be read: {error}") from error
            left -= len(found[info.filename])
            if left < 0 or len(found) > _MOST_FILES:
                raise InputError(f"the files that go with the model take more than {_MOST_BYTES >> 20} MB")
    return found


class _Stream(io.RawIOBase):
    """The bytes of a file as a stream: of a mapped one, too, nothing is copied but what is read."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data = data
        self.place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: len(self.data)}[whence]
        if place < 0:
            raise ValueError("a place before the start of the file")
        self.place = place
        return place

    def readinto(self, buffer: Any) -> int:
        piece = self.data[self.place : self.place + len(buffer)]
        buffer[: len(piece)] = piece
        self.place += len(piece)
        return len(piece)
