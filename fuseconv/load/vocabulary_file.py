"""Vocabulary files: lines -> the keys and values of a table, as InitializeTableFromTextFileV2 makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import budget, types
from fuseconv.ir.types import DType

_WHOLE_LINE = -2
_LINE_NUMBER = -1


def read_asset(files: ModelFiles, filename: str) -> tuple[Path, bytes]:
    """Read an asset: return its path and its bytes. Raises InputError if it is not there, or is no file of the
    model's."""
    name = f"assets/{filename}"
    path = files.root / name
    if Path(filename).anchor:
        raise InputError(f"the model's asset '{filename}' lies outside its directory; it is not read.")
    try:
        return path, files.read(name)
    except FileNotFoundError:
        raise InputError(f"the model's asset {path} is missing.") from None
    except OSError as error:
        raise InputError(f"the model's asset {path} cannot be read: {error.strerror}.") from None


def read_text_file(
    path: Path, data: bytes, attributes: Mapping[str, Any], key_dtype: DType, value_dtype: DType
) -> tuple[np.ndarray, np.ndarray]:
    """Read the keys and values of a vocabulary. path: names the vocabulary in what is said of it; data: its bytes.
    attributes: those of InitializeTableFromTextFileV2, with its names."""
    lines = _lines(data)
    size = attributes["vocab_size"]
    if size > len(lines):
        raise InputError(f"the vocabulary {path} has {len(lines)} lines, but the model says {size}.")
    if size >= 0:
        lines = lines[:size]
    delimiter = attributes["delimiter"]
    columns = [attributes["key_index"], attributes["value_index"]]
    for number, line in enumerate(lines):
        if not line:
            raise InputError(f"the vocabulary {path} is empty in line {number + 1}.")
    rows = [line.split(delimiter) for line in lines] if max(columns) >= 0 else []
    for number, row in enumerate(rows):
        if len(row) <= max(columns):
            raise InputError(f"the vocabulary {path} has too few columns in line {number + 1}.")
    keys, values = (
        _column(index, kind, lines, rows, attributes["offset"], path)
        for index, kind in zip(columns, (key_dtype, value_dtype))
    )
    return keys, values


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def _column(
    index: int, dtype: DType, lines: list[bytes], rows: list[list[bytes]], offset: int, path: Path
) -> np.ndarray:
    """Return a column of a vocabulary, or the lines, or their numbers, as an array. offset: the first line's number.
    Raises InputError for texts that are no numbers of the type."""
    if index == _LINE_NUMBER:
        return np.arange(offset, offset + len(lines), dtype=dtype.numpy)
    texts = lines if index == _WHOLE_LINE else [row[index] for row in rows]
    if dtype is not types.STRING:
        # Numpy makes them as long as each other.
        budget.require_room(len(texts), max(map(len, texts), default=0), str(path))
        try:
            return np.array(texts, "S").astype(dtype.numpy) if texts else np.empty(0, dtype.numpy)
        except ValueError:
            raise InputError(f"the vocabulary {path} has something else than {dtype.name} in column {index}.") from None
    array = np.empty(len(texts), object)
    array[:] = texts
    return array
