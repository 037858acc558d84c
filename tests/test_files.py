"""Which files are opened: ordinary ones, and of a directory none that lie elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import fuseconv
from fuseconv import files
from fuseconv.errors import InputError
from fuseconv.files import ModelFiles, map_file, map_tflite, open_file, read_file, tflite_contents
from fuseconv.inspecting import inspect

TESTDATA = Path(__file__).parents[1] / "testdata"


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        # The path of a socket has at most 107 bytes.
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.close(directory)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _directory(path: Path) -> None:
    path.mkdir()


SPECIAL = {"a pipe": _pipe, "a socket": _socket, "a device": _device, "a directory": _directory}
special = pytest.mark.parametrize("kind", SPECIAL)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with files, beside one that is not the model's."""
    root = tmp_path / "model"
    (root / "variables").mkdir(parents=True)
    (root / "saved_model.pb").write_bytes(b"graph")
    (root / "variables" / "shard").write_bytes(b"weights")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_bytes(b"secret")
    return root


@special
def test_what_is_no_ordinary_file_is_not_opened(kind: str, tmp_path: Path) -> None:
    SPECIAL[kind](tmp_path / "it")
    with pytest.raises(InputError, match=rf"it is {kind}, no ordinary file; it is not read$"):
        open_file(tmp_path / "it")


def test_what_becomes_a_pipe_meanwhile_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    answer = os.stat(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(files.os, "stat", lambda path: answer)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with pytest.raises(InputError, match="is a pipe"):
        open_file(tmp_path / "pipe")
    assert not before or set(os.listdir("/proc/self/fd")) == before


def test_errors_of_opening_are_the_callers(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        ModelFiles(tmp_path).open("loop")


def test_what_is_mapped_is_the_file(tmp_path: Path) -> None:
    for contents in (b"", b"12345"):
        (tmp_path / "file").write_bytes(contents)
        assert map_file(tmp_path / "file")[:] == contents
    with pytest.raises(InputError, match="missing cannot be read: No such file"):
        map_file(tmp_path / "missing")


@pytest.mark.parametrize(
    ("name", "contents", "why"),
    [
        ("folder", None, r"folder is a directory, where a \.tflite file should be; `fuseconv convert` makes one"),
        ("m.keras", b"PK", r"m\.keras is not a TFLite model; `fuseconv convert` makes one"),
        ("m.txt", b"some text", "m.txt is not a TFLite model: it does not bear the mark TFL3"),
        ("m.tflite", b"", "m.tflite is not a TFLite model: it is empty"),
    ],
)
def test_what_is_no_tflite_file_is_told(name: str, contents: bytes | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.mkdir() if contents is None else path.write_bytes(contents)
    with pytest.raises(InputError, match=why):
        map_tflite(path)


def test_a_tflite_file_is_given_by_its_path_or_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(b"....TFL3")
    contents, name = tflite_contents(path)
    assert (contents[:], name) == (b"....TFL3", str(path))
    assert tflite_contents(b"....TFL3") == (b"....TFL3", "the file")


def test_a_tflite_file_that_is_not_there_is_told_with_its_neighbor(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(b"....TFL3")
    assert map_tflite(tmp_path / "m.tflite")[:] == b"....TFL3"
    with pytest.raises(InputError, match=r"m does not exist; did you mean .*m\.tflite\?"):
        map_tflite(tmp_path / "m")


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(InputError, match="has 5 bytes; what it should hold has at most 4"):
        read_file(tmp_path / "file", 4)
    with open(tmp_path / "sparse.pb", "wb") as file:
        file.truncate(1 << 31)
    with pytest.raises(InputError, match="has 2147483648 bytes"):
        fuseconv.convert(tmp_path / "sparse.pb")


def test_a_file_without_an_end() -> None:
    """It has no size, so nothing is read of it."""
    if os.path.exists("/proc/self/environ"):
        assert read_file("/proc/self/environ") == b""


@pytest.mark.parametrize("name", ["../elsewhere/secret", "variables/../saved_model.pb", "/etc/passwd", "a\0b"])
def test_names_that_lead_out(root: Path, name: str) -> None:
    for follow_links in (False, True):
        with pytest.raises(InputError, match="lies outside its directory"):
            ModelFiles(root, follow_links).open(name)


@pytest.mark.parametrize(
    ("link", "target", "name"),
    [
        ("linked", "../elsewhere/secret", "linked"),
        ("variables/linked", "../../elsewhere/secret", "variables/linked"),
        ("assets", "../elsewhere", "assets/secret"),
        ("assets", "..", "assets/elsewhere/secret"),
    ],
)
def test_links_that_lead_out(root: Path, link: str, target: str, name: str) -> None:
    (root / link).symlink_to(target)
    there = (root / link).parent / target
    with pytest.raises(InputError, match=f"{root / link} is a link to {os.path.realpath(there)}, outside the") as error:
        ModelFiles(root).read(name)
    assert "--follow-links" in str(error.value)
    assert ModelFiles(root, follow_links=True).read(name) == b"secret"


def test_a_link_to_a_link_that_leads_out(root: Path) -> None:
    (root / "first").symlink_to("second")
    (root / "second").symlink_to(root.parent / "elsewhere")
    with pytest.raises(InputError, match=f"{root / 'first'} is a link to {root.parent / 'elsewhere'}"):
        ModelFiles(root).read("first/secret")


def test_links_that_stay(root: Path) -> None:
    (root / "linked").symlink_to(root / "variables")
    assert ModelFiles(root).read("linked/shard") == b"weights"
    (root.parent / "name").symlink_to(root)
    for files_ in (ModelFiles(root), ModelFiles(root.parent / "name"), ModelFiles(root / ".." / "name")):
        assert files_.read("variables/shard") == b"weights"
        files_.check()


class TestCheck:
    """What TensorFlow would open of a directory."""

    @pytest.mark.parametrize("name", ["saved_model.pbtxt", "variables/more", "assets.extra", "variables/a/b/c"])
    @pytest.mark.parametrize("kind", ["a pipe", "a socket"])
    def test_special_files(self, root: Path, name: str, kind: str) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        SPECIAL[kind](root / name)
        for follow_links in (False, True):
            with pytest.raises(InputError, match=f"{root / name} is {kind}"):
                ModelFiles(root, follow_links).check()

    def test_links(self, root: Path) -> None:
        (root / "assets").symlink_to("more")
        (root / "more").mkdir()
        ModelFiles(root).check()
        (root / "more" / "words").symlink_to("../../elsewhere/secret")
        with pytest.raises(InputError, match=f"{root / 'assets' / 'words'} is a link to"):
            ModelFiles(root).check()
        ModelFiles(root, follow_links=True).check()
        (root / "more" / "nowhere").symlink_to("nothing")
        with pytest.raises(InputError, match="nowhere cannot be read: No such file"):
            ModelFiles(root, follow_links=True).check()

    def test_links_in_a_circle(self, root: Path) -> None:
        (root / "assets").symlink_to(".")
        ModelFiles(root).check()

    def test_what_is_not_the_models(self, root: Path) -> None:
        os.mkfifo(root / "pipe")
        (root / "venv").symlink_to("/usr")
        ModelFiles(root).check()

    def test_no_end_of_files(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "_MOST_FILES", 3)
        ModelFiles(root).check()
        (root / "variables" / "one more").write_bytes(b"")
        with pytest.raises(InputError, match="holds more than 3 files"):
            ModelFiles(root).check()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A SavedModel with variables and a vocabulary."""
    return Path(shutil.copytree(TESTDATA / MODEL, tmp_path / "model"))


MODEL = "tf1_table"
PARTS = [
    "saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001", "assets/vocabulary.txt",
]  # fmt: skip
part = pytest.mark.parametrize("name", PARTS)


@part
@special
def test_each_file_of_a_saved_model(model: Path, name: str, kind: str) -> None:
    (model / name).unlink()
    SPECIAL[kind](model / name)
    with pytest.raises(InputError, match="dev/zero, outside" if kind == "a device" else kind):
        fuseconv.convert(model)
    with pytest.raises(InputError, match=kind):
        fuseconv.convert(model, follow_links=True)


@part
def test_each_file_of_a_saved_model_in_a_store(model: Path, name: str) -> None:
    expected = fuseconv.convert(model).data
    shutil.move(model / name, model.parent / "blob")
    (model / name).symlink_to(model.parent / "blob")
    with pytest.raises(InputError, match=f"{model / name} is a link to {model.parent / 'blob'}"):
        fuseconv.convert(model)
    assert fuseconv.convert(model, follow_links=True).data == expected


@pytest.mark.parametrize("name", ["variables", "assets"])
def test_each_directory_of_a_saved_model(model: Path, name: str) -> None:
    shutil.move(model / name, model.parent / name)
    (model / name).symlink_to(model.parent / name)
    with pytest.raises(InputError, match=f"{model / name} is a link to"):
        fuseconv.convert(model)
    assert fuseconv.convert(model, follow_links=True).data


@special
@pytest.mark.parametrize("suffix", ["pb", "h5", "keras", "tflite"])
def test_each_file_that_is_a_model(kind: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{suffix}"
    if kind == "a directory":
        return  # it may be a SavedModel
    SPECIAL[kind](path)
    read: Callable[[Path], object] = inspect if suffix == "tflite" else fuseconv.convert
    with pytest.raises(InputError, match=f"is {kind}, no ordinary file"):
        read(path)


@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("name", ["frozen.pb", "keras3.keras", "keras3.h5"])
def test_a_model_that_the_user_names_may_be_a_link(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to(TESTDATA / name)
    assert fuseconv.convert(tmp_path / name).data


def test_a_frozen_graph_has_no_files_beside_it(tmp_path: Path) -> None:
    """A checkpoint that lies beside it is not the graph's."""
    shutil.copy(TESTDATA / "frozen.pb", tmp_path)
    os.mkfifo(tmp_path / "saved_model.pb")
    (tmp_path / "variables").symlink_to("/")
    assert fuseconv.convert(tmp_path / "frozen.pb").data
