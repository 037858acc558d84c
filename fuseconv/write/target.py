"""The file that is written: judged before the work is done, and put in its place as a whole when it is."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuseconv.errors import InputError
from fuseconv.files import PARTS


def target(path: str | os.PathLike, model: str | os.PathLike, option: str) -> Path:
    """The file that `path` names, links followed.

    Raises InputError if it cannot be written or is no ordinary file - a device would be replaced by one - or if it is
    part of the model. option: how the caller was told of it, for the sentence."""
    file = Path(os.path.realpath(path))
    if file.is_dir():
        raise InputError(f"{option} {path} is a directory: name a file in it")
    if not file.parent.is_dir():
        raise InputError(f"{option} {path}: there is no directory {file.parent}")
    if file.exists() and not file.is_file():
        raise InputError(f"{option} {path} is a device or a pipe: name an ordinary file")
    if not os.access(file.parent, os.W_OK):
        raise InputError(f"{option} {path}: the directory {file.parent} cannot be written")
    if file.exists() and not os.access(file, os.W_OK):
        raise InputError(f"{option} {path} is there already and may not be written")
    source = Path(os.path.realpath(model))
    if file == source or (source in file.parents and file.relative_to(source).parts[0] in PARTS):
        raise InputError(f"{option} {path} would overwrite the model")
    return file


@contextmanager
def replacing(path: Path) -> Iterator[io.BufferedWriter]:
    """A temporary file beside `path` that takes its place when the block ends well, and goes away when it does not."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
