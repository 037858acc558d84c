"""Output file: validated before the conversion, and written atomically."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fuseconv.errors import InputError
from fuseconv.files import MODEL_SUFFIXES, PARTS

_OTHER_FORMATS = frozenset({*MODEL_SUFFIXES, ".onnx"})
# Of a file's name, in letters: with what is added, a name has at most 255 bytes.
_LONGEST_NAME = 50


def resolve(path: str | os.PathLike, model: str | os.PathLike | None, option: str) -> Path:
    """Resolve the file that `path` names, links followed.

    Raises InputError if it cannot be written or is no ordinary file - a device would be replaced by one - or if it is
    part of the model (None: one in memory). option: how the caller was told of it, for the sentence."""
    file = os.path.realpath(path)
    folder, mode = os.path.dirname(file), _mode(file)
    if stat.S_ISDIR(mode):
        raise InputError(f"{option} {path} is a directory: name a file in it")
    if os.fspath(path).endswith(os.sep):
        raise InputError(f"{option} {path}: there is no such directory: make it")
    if not os.path.isdir(folder):
        raise InputError(f"{option} {path}: there is no directory {folder}")
    if mode and not stat.S_ISREG(mode):
        raise InputError(f"{option} {path} is a device or a pipe: name an ordinary file")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: the directory {folder} cannot be written")
    if mode and not os.access(file, os.W_OK):
        raise InputError(f"{option} {path} is there already and may not be written")
    if model is None:  # it is in memory
        return Path(file)
    source = os.path.realpath(model)
    within = file.removeprefix(os.path.join(source, ""))
    if file == source or (within != file and within.partition(os.sep)[0] in PARTS):
        raise InputError(f"{option} {path} would overwrite the model")
    return Path(file)


def resolve_model(path: str | os.PathLike, model: str | os.PathLike | None) -> Path:
    """Resolve --output as `resolve` does. Raises InputError, too, if it is named as a model of another kind."""
    file = resolve(path, model, "--output")
    if os.path.splitext(path)[1].lower() in _OTHER_FORMATS:
        raise InputError(f"--output {path} is named as another kind of model: end its name with .tflite")
    return file


def _mode(file: str) -> int:
    """Return the type and permissions of a file, 0 if there is none."""
    try:
        return os.stat(file).st_mode
    except OSError:
        return 0


@contextmanager
def atomic_write(path: Path) -> Iterator[io.BufferedWriter]:
    """Return a temporary file beside `path` that takes its place when the block ends well, and goes away when it does
    not.

    Whoever looks finds the old file or the new one, whole, also after the machine has lost its power; of several that
    are written at once the last. Only what ends the process at once, such as SIGKILL, leaves the temporary file."""
    with temporary_path(path) as temporary, open(temporary, "xb") as file:
        try:
            yield file
            file.flush()
            _sync(file.fileno())
        except BaseException:
            # What is left to be written would fail once more, and say so instead.
            with suppress(OSError):
                file.close()
            raise


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """Return an unguessable path beside `path`, for a temporary file. It takes the place of `path` when the block ends
    well, and goes away when it does not."""
    # Named before it is made, so that whenever a signal comes it is known what to remove.
    temporary = path.with_name(f".{path.name[:_LONGEST_NAME]}.{os.urandom(8).hex()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _sync(descriptor: int) -> None:
    """Wait until a file is on the disk. A file system that cannot say so is taken as it is."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
