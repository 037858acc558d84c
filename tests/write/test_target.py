"""Where a file may be written, and how it comes there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuseconv.errors import InputError
from fuseconv.write.target import replacing, target


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
    file = target(tmp_path / "link", model, "--output")
    with replacing(file) as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "out.tflite").read_bytes() == b"new"


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path: Path, model: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match=f"--output .*{name} is a device or a pipe"):
            target(tmp_path / name, model, "--output")


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index", "variables/new", "fingerprint.pb"])
def test_the_model_is_not_overwritten(model: Path, name: str) -> None:
    with pytest.raises(InputError, match="would overwrite the model"):
        target(model / name, model, "--output")
    (model.parent / "link").symlink_to(model)
    with pytest.raises(InputError, match="would overwrite the model"):
        target(model.parent / "link" / name, model, "--output")
    with pytest.raises(InputError, match="would overwrite the model"):
        target(model / "saved_model.pb", model / "saved_model.pb", "--output")


def test_a_file_beside_the_models_own_is_fine(model: Path) -> None:
    assert target(model / "out.tflite", model, "--output") == model / "out.tflite"


def test_a_file_that_may_not_be_written(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everything, so the answer is made.
    (tmp_path / "out.tflite").write_text("precious")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_dir())
    with pytest.raises(InputError, match="may not be written"):
        target(tmp_path / "out.tflite", model, "--output")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "out") as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "precious")]
