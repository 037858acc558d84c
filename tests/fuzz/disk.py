"""A model whose files are no files of its own: links, pipes, devices, directories, nothing."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from tests.fuzz.sources import Source

_DEVICES = ("/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/mem", "/proc/self/environ", "/dev/full")


def arrange(rng: Random, source: Source, path: Path, outside: Path) -> Path:
    """Writes the model at `path`, then does something to one or two of its files. Returns where it is.

    outside: a folder that is not the model's, with the file "secret" in it."""
    model = source.write(path)
    for name in rng.sample(sorted(source.files), min(len(source.files), rng.choice((1, 1, 2)))):
        file = model / name if name else model
        rng.choice(_WAYS)(rng, file, outside)
    return model


def _link_out(rng: Random, file: Path, outside: Path) -> None:
    """The very bytes, but outside of the model."""
    target = outside / "moved"
    os.replace(file, target)
    file.symlink_to(rng.choice((target, os.path.relpath(target, file.parent))))


def _link_secret(rng: Random, file: Path, outside: Path) -> None:
    if file.parent == outside.parent:  # a model that is one file, which the user named: its link may be followed
        _link_out(rng, file, outside)
    else:
        _replace(file)
        file.symlink_to(outside / "secret")


def _link_folder(rng: Random, file: Path, outside: Path) -> None:
    """The folder that the file is in is a link to one outside."""
    if file.parent.name in ("variables", "assets"):
        os.replace(file.parent, outside / file.parent.name)
        file.parent.symlink_to(outside / file.parent.name)
    else:
        _link_out(rng, file, outside)


def _hard_secret(rng: Random, file: Path, outside: Path) -> None:
    """Bytes that the model does hold, and that are no file of its format."""
    _replace(file)
    file.write_bytes(b"no format at all\n" * 1000)


def _device(rng: Random, file: Path, outside: Path) -> None:
    _replace(file)
    file.symlink_to(rng.choice(_DEVICES))


def _pipe(rng: Random, file: Path, outside: Path) -> None:
    _replace(file)
    os.mkfifo(file)


def _folder(rng: Random, file: Path, outside: Path) -> None:
    _replace(file)
    file.mkdir()
    if rng.random() < 0.5:
        (file / file.name).mkdir()


def _missing(rng: Random, file: Path, outside: Path) -> None:
    _replace(file)


def _dangling(rng: Random, file: Path, outside: Path) -> None:
    _replace(file)
    file.symlink_to(rng.choice((file.name, "nowhere", "../" * 50 + "etc/hostname")))


def _unreadable(rng: Random, file: Path, outside: Path) -> None:
    if file.is_file():
        file.chmod(0)


def _empty(rng: Random, file: Path, outside: Path) -> None:
    _replace(file)
    file.touch()


def _sparse(rng: Random, file: Path, outside: Path) -> None:
    """100 GB of zeros, which take no room on the disk."""
    if file.is_file():
        os.truncate(file, 100_000_000_000)


def _replace(file: Path) -> None:
    if file.is_file() or file.is_symlink():
        file.unlink()
    elif file.is_dir():
        file.rmdir()


_WAYS = (_link_out, _link_out, _link_secret, _link_secret, _link_folder, _hard_secret, _device, _device, _pipe, _pipe,
         _folder, _missing, _dangling, _unreadable, _empty, _sparse)  # fmt: skip
