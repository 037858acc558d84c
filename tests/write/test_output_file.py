"""Where a file may be written, and how it comes there."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from fuseconv.errors import InputError
from fuseconv.write.output_file import atomic_write, resolve, resolve_model, temporary_path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    (path / "variables").mkdir(parents=True)
    for name in ("saved_model.pb", "variables/variables.index"):
        (path / name).write_text("precious")
    return path


def test_links_are_followed(tmp_path: Path, model: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "out.tflite")
    file = resolve(tmp_path / "link", model, "--output")
    with atomic_write(file) as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "out.tflite").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["m.keras", "m.pb", "m.ONNX"])
def test_a_name_of_another_kind_of_model_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--output .*{name} is named as another kind of model: end its name with"):
        resolve_model(tmp_path / name, None)
    assert resolve_model(tmp_path / "m.bin", None) == tmp_path / "m.bin"


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path: Path, model: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match=f"--output .*{name} is a device or a pipe"):
            resolve(tmp_path / name, model, "--output")


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index", "variables/new", "fingerprint.pb"])
def test_the_model_is_not_overwritten(model: Path, name: str) -> None:
    with pytest.raises(InputError, match="would overwrite the model"):
        resolve(model / name, model, "--output")
    (model.parent / "link").symlink_to(model)
    with pytest.raises(InputError, match="would overwrite the model"):
        resolve(model.parent / "link" / name, model, "--output")
    with pytest.raises(InputError, match="would overwrite the model"):
        resolve(model / "saved_model.pb", model / "saved_model.pb", "--output")


def test_a_file_beside_the_models_own_is_fine(model: Path) -> None:
    assert resolve(model / "out.tflite", model, "--output") == model / "out.tflite"


def test_a_file_that_may_not_be_written(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everything, so the answer is made.
    (tmp_path / "out.tflite").write_text("precious")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_dir())
    with pytest.raises(InputError, match="may not be written"):
        resolve(tmp_path / "out.tflite", model, "--output")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious")
    with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "out") as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "precious")]


def test_a_file_is_synced_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, int]] = []
    replace = os.replace

    def noted(*paths: Path) -> None:
        done.append(("replace", 0))
        replace(*paths)

    monkeypatch.setattr(os, "fsync", lambda handle: done.append(("sync", os.fstat(handle).st_size)))
    monkeypatch.setattr(os, "replace", noted)
    with atomic_write(tmp_path / "out") as stream:
        stream.write(b"new")
    assert done == [("sync", 3), ("replace", 0)]


@pytest.mark.parametrize(("number", "is_an_error"), [(errno.EINVAL, False), (errno.EIO, True), (errno.ENOSPC, True)])
def test_a_disk_that_cannot_sync(
    number: int, is_an_error: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError) if is_an_error else nullcontext(), atomic_write(tmp_path / "out") as stream:
        stream.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ([] if is_an_error else ["out"])


def test_nobody_guesses_the_temporary_name(tmp_path: Path) -> None:
    names = set()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), temporary_path(tmp_path / ("\u00e9" * 120)) as temporary:
            temporary.write_bytes(b"half")
            names.add(temporary.name)
            raise KeyboardInterrupt
    assert len(names) == 3
    assert not list(tmp_path.iterdir())


def test_it_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    with atomic_write(tmp_path / "out"):
        pass
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode
