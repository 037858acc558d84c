"""The one place through which a model's files are opened: ordinary files, and none but the model's own.

What a model's directory holds is as untrusted as the rest of it. A link in it may lead to any file that this user can
read, whose bytes would end up in the converted one; a pipe or a device never ends. A file must not be changed while it
is converted: what is mapped and then cut off ends the process with SIGBUS, as with any program that maps files.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from fuseconv.errors import InputError

# What a SavedModel's directory consists of. Others may lie beside it, such as the converted file.
PARTS = frozenset({
    "assets", "assets.extra", "fingerprint.pb", "keras_metadata.pb", "saved_model.cpb", "saved_model.pb",
    "saved_model.pbtxt", "variables",
})  # fmt: skip
# Protobuf counts the bytes of a message in 31 bits, and so does TFLite those of a string tensor.
MOST_BYTES = (1 << 31) - 1
_MOST_FILES = 100_000
# What a model's file ends in, and how many entries of a directory that is no model are looked at, how far down, and
# named.
MODEL_SUFFIXES = (".keras", ".h5", ".hdf5", ".pb", ".mlirbc", ".mlir")
_MODELS = (*MODEL_SUFFIXES, ".tflite")
_MOST_LISTED, _MOST_LEVELS, _MOST_NAMED = 1000, 4, 3
# The bytes from 4 to 8 of a .tflite file.
TFLITE_MARK = b"TFL3"
_CONVERT = "`fuseconv convert` makes one of other models"
RESTORE = "restore the checkpoint in TensorFlow, and save the model"
_ADDRESS = re.compile(r"[a-z][a-z0-9]+:/")  # a drive of Windows has one letter
# A pipe that nobody writes to is opened at once, and a terminal does not become this process's own.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
_KINDS = {
    stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket", stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}  # fmt: skip


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file that the user named, links followed. Raises OSError as `open` does, and InputError if it is no
    ordinary file."""
    # Some devices act when they are opened, so what is known to be one is not; and what is open is what is judged.
    _refuse_special(path, os.stat(path).st_mode)
    handle = os.open(path, _FLAGS)
    try:
        _refuse_special(path, os.fstat(handle).st_mode)
    except InputError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb", io.DEFAULT_BUFFER_SIZE)  # else it is asked whether it is a terminal


def missing(path: Path) -> InputError:
    """Return what to raise where there is no model at a path: it names one beside it that was surely meant."""
    if _ADDRESS.match(path.as_posix()):
        address = path.as_posix().replace(":/", "://", 1)  # a path has no two slashes in a row
        return InputError(f"{address} is an address, not a path; download the model first")
    if os.path.exists(path.with_name(path.name + ".index")):
        return InputError(f"{path} is a checkpoint, not a model; {RESTORE}")
    # Names are tried: what else lies beside a model is not to be listed.
    stems = dict.fromkeys((path.name, path.stem))
    alike = [path.parent / (stem + suffix) for stem in stems for suffix in ("", *_MODELS)]
    there = [neighbor for neighbor in alike if os.path.exists(neighbor)]
    return InputError(f"{path} does not exist" + (f"; did you mean {there[0]}?" if len(there) == 1 else ""))


def models_within(folder: Path) -> str:
    """Return "; did you mean X?", or what models there are, of a directory that is no model itself, such as one of
    versions, or that is the only one in such a directory."""
    for _ in range(_MOST_LEVELS):
        found = _entries(folder)
        models = [at for at in found if at.suffix.lower() in MODEL_SUFFIXES or (at / "saved_model.pb").is_file()]
        if models:
            if len(models) == 1:
                return f"; did you mean {models[0]}?"
            more = ", ..." if len(models) > _MOST_NAMED else ""
            return f"; give one of its models, {', '.join(map(str, models[:_MOST_NAMED]))}{more}"
        if len(found) != 1:
            break
        folder = found[0]
    return ""


def _entries(folder: Path) -> list[Path]:
    """Return what is in a directory, by name."""
    try:
        return sorted(islice(folder.iterdir(), _MOST_LISTED))
    except OSError:
        return []  # the path is wrong, or nobody may look


def read_file(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """Read a file that the user named. Errors as of `open_file`; InputError if there are more than `most`."""
    with open_file(path) as file:
        return _read(file, path, most)


def map_file(path: str | os.PathLike[str]) -> bytes | mmap.mmap:
    """Map a file that the user named: its bytes are read as they are looked at; b"" of an empty one. Raises InputError
    if it cannot be read."""
    try:
        with open_file(path) as file:
            # What is empty cannot be mapped.
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(file.fileno()).st_size else b""
    except OSError as error:
        raise InputError(f"{os.fspath(path)} cannot be read: {error.strerror}") from error


def map_tflite(path: str | os.PathLike[str]) -> bytes | mmap.mmap:
    """Map a .tflite file that the user named. Raises InputError if it cannot be read or is of another kind."""
    if os.path.isdir(path):
        raise InputError(f"{os.fspath(path)} is a directory, where a .tflite file should be; {_CONVERT}")
    try:
        contents = map_file(path)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise missing(Path(path)) from None
        raise
    check_tflite(contents, os.fspath(path))
    return contents


def tflite_contents(file: str | os.PathLike[str] | bytes) -> tuple[bytes | mmap.mmap, str]:
    """Return what is in a .tflite file, given by its path or its bytes, and how sentences call it. Raises InputError as
    `map_tflite` does."""
    return (file, "the file") if isinstance(file, bytes) else (map_tflite(file), os.fspath(file))


def check_tflite(contents: bytes | mmap.mmap, name: str) -> None:
    """Raise InputError for contents that are no TFLite model's. name: of the file, for the sentence."""
    if contents[4:8] == TFLITE_MARK:
        return
    if name.lower().endswith(MODEL_SUFFIXES):
        raise InputError(f"{name} is not a TFLite model; {_CONVERT}")
    why = "it does not bear the mark TFL3" if contents else "it is empty"
    raise InputError(f"{name} is not a TFLite model: {why}")


class ModelFiles:
    """The files of the model in the directory `root`, by their paths in it.

    A link in the directory may lead to another place in it, and elsewhere only with `follow_links`: caches of models
    link single files into a store beside the model. `root` may itself be a link."""

    def __init__(self, root: str | os.PathLike[str], follow_links: bool = False) -> None:
        self.root = Path(root)
        self._follow_links = follow_links
        self._real = os.path.realpath(root)

    def open(self, name: str) -> BinaryIO:
        """Open a file. Raises OSError as `open` does, and InputError if it is no ordinary one or not the model's."""
        return open_file(self._place(name))

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Read a file of the model. Errors as of `open`; InputError if there are more than `most`."""
        with self.open(name) as file:
            return _read(file, self.root / name, most)

    def exists(self, name: str) -> bool:
        return os.path.lexists(self.root / name)

    def check(self) -> None:
        """Refuse the directory if one of a SavedModel's files in it could not be opened here: TensorFlow, which is
        about to load the model, would open it all the same."""
        for count, name in enumerate(self._names()):
            if count >= _MOST_FILES:
                raise InputError(f"{self.root} holds more than {_MOST_FILES} files: it is no SavedModel.")
            try:
                mode = os.stat(self._place(name)).st_mode
            except OSError as error:
                raise InputError(f"{self.root / name} cannot be read: {error.strerror}.") from None
            _refuse_special(self.root / name, mode, (stat.S_ISREG, stat.S_ISDIR))

    def _names(self) -> Iterator[str]:
        """Yield all files and directories of the model, links as they are found."""
        pending = sorted(PARTS.intersection(os.listdir(self.root)))
        seen = set()
        while pending:
            name = pending.pop()
            yield name
            place = os.path.realpath(self.root / name)
            if os.path.isdir(place) and place not in seen:
                seen.add(place)
                with os.scandir(place) as entries:
                    pending += [f"{name}/{entry.name}" for _, entry in zip(range(_MOST_FILES + 1), entries)]

    def _place(self, name: str) -> str:
        """Find where a file lies, links followed. Refuses names and links that lead out of the directory."""
        relative = Path(name)
        if relative.anchor or ".." in relative.parts or "\0" in name:
            raise InputError(f"the model's file '{name}' lies outside its directory; it is not read.")
        place, linked = self._real, False
        for part in relative.parts:
            place = os.path.join(place, part)
            linked |= os.path.islink(place)
        if not linked:
            return place
        place = os.path.realpath(place)
        if not self._follow_links and not self._holds(place):
            raise self._leads_out(relative)
        return place

    def _holds(self, place: str) -> bool:
        return Path(place).is_relative_to(self._real)

    def _leads_out(self, relative: Path) -> InputError:
        """Name the link that leads out of the directory, and where to."""
        steps = [self.root / Path(*relative.parts[: count + 1]) for count in range(len(relative.parts))]
        link = next(step for step in steps if not self._holds(os.path.realpath(step)))
        return InputError(
            f"{link} is a link to {os.path.realpath(link)}, outside the model's directory; it is not read. "
            "If the model comes from a cache that keeps its files elsewhere, add --follow-links."
        )


def _refuse_special(path: str | os.PathLike[str], mode: int, allowed: tuple = (stat.S_ISREG,)) -> None:
    if not any(test(mode) for test in allowed):
        kind = next((kind for test, kind in _KINDS.items() if test(mode)), "something else")
        raise InputError(f"{os.fspath(path)} is {kind}, no ordinary file; it is not read.")


def _read(file: BinaryIO, path: str | os.PathLike[str], most: int) -> bytes:
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise InputError(f"{os.fspath(path)} has {size} bytes; what it should hold has at most {most}.")
    # No more than that: some files of the system have no end.
    return file.read(size) or b""
