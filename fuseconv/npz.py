"""Read the arrays of an .npz file, which may be damaged or hostile: nothing is unpickled, and none is larger than what
the file holds of it."""

from __future__ import annotations

import math
import os
import tokenize
import zipfile
import zlib
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy

from fuseconv.errors import InputError
from fuseconv.files import open_file

# What a byte deflates from at most. A member's own word for its size, which numpy takes, could be any.
_MOST_GROWTH = 1032
_SUFFIX = ".npy"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What zipfile, what unpacks its members, and numpy's reader of headers, which parses Python, raise for damage.
_DAMAGE = (zipfile.BadZipFile, zlib.error, tokenize.TokenError, EOFError, OSError, RuntimeError, SyntaxError, TypeError,
           ValueError)  # fmt: skip


def read_npz(path: str | os.PathLike[str], what: str) -> dict[str, np.ndarray]:
    """Read the arrays of a file that numpy.savez wrote, by their names. what: the data, for the sentences of errors.

    Raises InputError for a file that cannot be read, is no such file or is damaged, or holds other than arrays of
    numbers or texts."""
    where = f"{what} {os.fspath(path)}"
    try:
        file = open_file(path)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}") from error
    with file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise InputError(f"{where} holds one array without a name: save it with numpy.savez(file, NAME=array)")
            raise InputError(f"{where} is not an .npz file: numpy.savez writes such")
        return _arrays(file, where)


def _arrays(file: BinaryIO, where: str) -> dict[str, np.ndarray]:
    size, name = os.fstat(file.fileno()).st_size, ""
    arrays = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(_SUFFIX)
                if member.file_size > _MOST_GROWTH * size:
                    raise ValueError("a member claims a size that no file of this size unpacks to")
                arrays[name] = _array(archive, member, f"{where} cannot be read: its array {name}")
    except _DAMAGE as error:
        part = f"its array {name} is damaged" if name else "it is damaged"
        raise InputError(f"{where} cannot be read: {part}, or not what numpy.savez writes") from error
    return arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, label: str) -> np.ndarray:
    """Return the array of a member. numpy makes room for what a header claims before it looks for that, so the header
    is held to the member first."""
    with archive.open(member) as stream:
        shape, _, dtype = _HEADERS.get(npy.read_magic(stream), _unknown)(stream)
        left = member.file_size - stream.tell()
    if dtype.hasobject:
        raise InputError(f"{label} holds objects of Python")
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or claimed > left:
        raise ValueError(f"{claimed} bytes are claimed of {left}")
    with archive.open(member) as stream:
        return npy.read_array(stream, allow_pickle=False)


def _unknown(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    raise ValueError("a version of the format that arrays of numbers do not need")
