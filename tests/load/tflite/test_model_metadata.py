"""Model metadata and files of a .tflite file, which may be anybody's; tests/write has whole ones."""

from __future__ import annotations

import io
import zipfile

import pytest

from fuseconv.errors import InputError
from fuseconv.load.tflite import model_metadata
from fuseconv.load.tflite.model_metadata import describe, list_files, read_files
from fuseconv.write.table_encoder import Encoder, Table

MODEL = b"....TFL3" + bytes(100)


def packed(*names: str, way: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO(MODEL)
    with zipfile.ZipFile(out, "a", way) as archive:
        for name in names:
            archive.writestr(name, name * 100)
    return out.getvalue()


@pytest.mark.parametrize("way", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_files_behind_a_model(way: int) -> None:
    data = packed("a", "b", way=way)
    assert list_files(data) == [("a", 100), ("b", 100)] and read_files(data) == {"a": b"a" * 100, "b": b"b" * 100}


@pytest.mark.parametrize("data", [b"", MODEL, MODEL + b"PK\x05\x06" + bytes(18), packed("a")[:-5]])
def test_a_model_without_files(data: bytes) -> None:
    assert list_files(data) == [] and read_files(data) == {}


def test_a_damaged_file_is_refused() -> None:
    data = packed("a").replace(b"a" * 100, b"b" * 100)
    assert list_files(data) == [("a", 100)]
    with pytest.raises(InputError, match="the model's file a cannot be read"):
        read_files(data)


def test_files_that_take_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_metadata, "_MOST_BYTES", 150)
    with pytest.raises(InputError, match="take more than"):
        read_files(packed("a", "b", way=zipfile.ZIP_DEFLATED))


def test_metadata_that_is_damaged_says_nothing() -> None:
    whole = bytes(Encoder(Table("ModelMetadata", {"author": "Acme"}), b"M001").data)
    told = describe(whole)
    assert told is not None and told["author"] == "Acme" and told["name"] is None and told["inputs"] == []
    assert describe(b"") is None and describe(whole.replace(b"M001", b"M002")) is None
    for index in range(len(whole)):
        describe(whole[:index])
        describe(whole[:index] + b"\xff" + whole[index + 1 :])
