"""Archives of arrays that are damaged or hostile end in a sentence, before anything is unpickled or made room for."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.npz import read_npz

FLOATS = "'descr': '<f4', 'fortran_order': False"


def member(header: str, content: bytes = b"", version: int = 1) -> bytes:
    """Return an .npy file with a header of any text."""
    text = f"{header}\n".encode()
    return b"\x93NUMPY" + bytes((version, 0)) + len(text).to_bytes(2, "little") + text + content


def archive(path: Path, content: bytes, name: str = "x.npy") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        read_npz(path, "the data")
    assert str(error.value).startswith(f"the data {path} ")
    return str(error.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(save, tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6.0).reshape(2, 3), "of/two": np.asfortranarray(np.ones((3, 4), np.int8)),
        "none": np.zeros((0, 9)), "scalar": np.float32(3), "text": np.array(["a", "bc"]), "bytes": np.array([b"a\0b"]),
        "half": np.ones(2, ">f2"),
    }  # fmt: skip
    save(tmp_path / "data.npz", **arrays)
    found = read_npz(tmp_path / "data.npz", "the data")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(("header", "why"), [
    (f"{{{FLOATS}, 'shape': (99999999999, 4)}}", "its array x is damaged"),
    (f"{{{FLOATS}, 'shape': (4294967296, 4294967296, 1)}}", "its array x is damaged"),
    (f"{{{FLOATS}, 'shape': (-1, 4)}}", "its array x is damaged"),
    (f"{{{FLOATS}, 'shape': {(1,) * 99}}}", "its array x is damaged"),
    ("{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (1,)}", "its array x is damaged"),
    ("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "its array x holds objects of Python"),
    ("{'descr': [('f', '|O')], 'fortran_order': False, 'shape': (1,)}", "its array x holds objects of Python"),
    ("{'descr': '|V1000000000', 'fortran_order': False, 'shape': (9,)}", "its array x is damaged"),
    ("(" * 3000, "its array x is damaged"),
    ("1" * 9000, "its array x is damaged"),
    ("", "its array x is damaged"),
])  # fmt: skip
def test_headers_that_lie(header: str, why: str, tmp_path: Path) -> None:
    assert why in refused(archive(tmp_path / "data.npz", member(header, b"cos\nsystem\n(S'true'\ntR.")))


@pytest.mark.parametrize(
    "content", [b"", b"cos\nsystem\n(S'true'\ntR.", member("{}", version=3), member("{}", version=9)]
)
def test_members_that_are_no_arrays(content: bytes, tmp_path: Path) -> None:
    assert "its array x is damaged" in refused(archive(tmp_path / "data.npz", content))
    assert "its array ../x is damaged" in refused(archive(tmp_path / "data.npz", content, "../x"))


def test_sizes_that_members_claim(tmp_path: Path) -> None:
    path = archive(tmp_path / "data.npz", member(f"{{{FLOATS}, 'shape': (1000000000,)}}"))
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = data.rindex(mark) + at
        data[start : start + 4] = (4_000_000_100).to_bytes(4, "little")
    path.write_bytes(data)
    assert "its array x is damaged" in refused(path)


def test_what_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("text")
    assert "is not an .npz file" in refused(tmp_path / "text.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    assert "without a name" in refused(tmp_path / "one.npy")
    assert "No such file" in refused(tmp_path / "none.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(InputError, match="is a pipe"):
        read_npz(tmp_path / "pipe.npz", "the data")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_bytes_end_in_a_sentence(save, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    save(path, x=np.random.default_rng(0).normal(size=(30, 4)))
    whole = path.read_bytes()
    for seed in range(200):
        rng = Random(seed)
        data = bytearray(whole)
        for _ in range(rng.choice((1, 3, 10))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice((len(data), len(data), len(data) // 2))])
        try:
            read_npz(path, "the data")
        except InputError as error:
            assert len(str(error)) < 300


@pytest.mark.parametrize(("local", "central", "bits"), [(6, 8, 1), (8, 10, 99)])
def test_encrypted_members_and_unknown_methods(local: int, central: int, bits: int, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.zeros(3))
    data = bytearray((tmp_path / "data.npz").read_bytes())
    data[local] |= bits
    data[data.index(b"PK\x01\x02") + central] |= bits
    (tmp_path / "data.npz").write_bytes(data)
    assert "its array x is damaged" in refused(tmp_path / "data.npz")
