"""Keras files are opened with care, without Keras, and nothing outside them is read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.load import keras_container

TESTDATA = Path("testdata")


@pytest.mark.parametrize(
    ("name", "version"),
    [("keras2.h5", "2."), ("keras2_lambda.h5", "2."), ("keras3.h5", "3."), ("keras3.keras", "3.")],
)
def test_read(name: str, version: str) -> None:
    file = keras_container.read(TESTDATA / name)
    assert file.config["class_name"] == "Functional"
    assert file.keras_version.startswith(version)
    assert file.from_keras3 == (version == "3.")


@pytest.mark.parametrize("name", ["keras3.h5", "keras3.keras"])
@pytest.mark.parametrize("kept", [0, 100, 2000])
def test_truncated(tmp_path: Path, name: str, kept: int) -> None:
    path = tmp_path / name
    path.write_bytes((TESTDATA / name).read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged or cut off" if kept else "is empty"):
        keras_container.read(path)


def test_foreign(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes(b"GIF89a and more")
    with pytest.raises(InputError, match="neither an HDF5 file nor"):
        keras_container.read(path)


def test_weights_only() -> None:
    with pytest.raises(InputError, match="holds weights only"):
        keras_container.read(TESTDATA / "weights_only.h5")


@pytest.mark.parametrize("config", ["{", "[" * 100_000, "[]", "\xff"])
def test_config_is_no_object(tmp_path: Path, config: str) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config.encode("latin-1"))
    with pytest.raises(InputError, match="is damaged: its architecture is"):
        keras_container.read(path)


@pytest.mark.parametrize(("text", "fine"), [
    (b'"\\ud800"', False), (b'"a\\uDFFFb"', False), (b'"\xed\xa0\x80"', False),
    (b'"\\ud83d\\ude00"', True), (b'"\\\\ud800"', True),
])  # fmt: skip
def test_halves_of_surrogate_pairs_are_damage(tmp_path: Path, text: bytes, fine: bool) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", b'{"class_name": "Sequential", "config": {"name": ' + text + b"}}")
    if fine:
        assert keras_container.read(path).config["config"]["name"] == json.loads(text)
        return
    with pytest.raises(InputError, match="is damaged: a text in its architecture is no Unicode"):
        keras_container.read(path)


@pytest.mark.parametrize("metadata", ["[]", "[" * 100_000, "{"])
def test_metadata_is_no_object(tmp_path: Path, metadata: str) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", metadata)
    with pytest.raises(InputError, match="is damaged"):
        keras_container.read(path)


def test_an_archive_that_unpacks_to_anything(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("config.json", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(1 << 20))
    with pytest.raises(InputError, match=r"claims to unpack to \d+ bytes"):
        keras_container.read(path)


@pytest.mark.parametrize("how", ["external", "link", "virtual"])
@pytest.mark.parametrize("name", ["model.h5", "model.keras"])
def test_data_of_other_files(tmp_path: Path, name: str, how: str) -> None:
    """tf-keras would take any file of the user's for weights."""
    import h5py

    weights = tmp_path / "weights.h5"
    with h5py.File(tmp_path / "secret.h5", "w") as secret:
        secret["w"] = np.ones(3, np.float32)
    with h5py.File(weights, "w") as file:
        file.attrs["model_config"] = "{}"
        group = file.create_group("layer")
        group["again"] = group  # a circle
        if how == "external":
            group.create_dataset("w", (3,), np.float32, external=[(str(tmp_path / "secret.h5"), 0, 12)])
        elif how == "link":
            group["w"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "w")
        else:
            layout = h5py.VirtualLayout((3,), np.float32)
            layout[...] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "w", (3,))
            group.create_virtual_dataset("w", layout)
    path = weights
    if name == "model.keras":
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", "{}")
            archive.write(weights, "model.weights.h5")
    with pytest.raises(InputError, match="takes '/layer/w' from outside itself"):
        keras_container.read(path)


def test_zip_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match=r"no config\.json"):
        keras_container.read(path)


def archive(path: Path, **members: bytes | str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("config.json", "{}")
        for name, data in members.items():
            made.writestr(name, data)
    return path


def test_a_soft_link_is_not_followed(tmp_path: Path) -> None:
    """It may lead through an external one, which HDF5 would open."""
    import h5py

    path = tmp_path / "model.h5"
    with h5py.File(path, "w") as file:
        file["a"] = h5py.SoftLink("/z/w")
        file["z"] = h5py.ExternalLink("/dev/zero", "/")
    with pytest.raises(InputError, match="holds '/a' as a link"):
        keras_container.read(path)


def test_data_that_nobody_wrote(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "model.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("w", (1 << 30,), np.float32, chunks=(1024,))
    with pytest.raises(InputError, match=r"claims to hold 4294967296 bytes of data in \d+"):
        keras_container.read(path)


@pytest.mark.parametrize("kind", ["sequence", "text", "record", "reference"])
def test_types_that_no_keras_writes(tmp_path: Path, kind: str) -> None:
    import h5py

    types = {
        "sequence": h5py.vlen_dtype(np.float32), "text": h5py.string_dtype(), "record": np.dtype([("a", np.float32)]),
        "reference": h5py.ref_dtype,
    }  # fmt: skip
    path = tmp_path / "model.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("w", (3,), types[kind])
    with pytest.raises(InputError, match="in a type that no Keras writes"):
        keras_container.read(path)


def test_names_beyond_what_the_file_has_room_for(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "model.h5"
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = np.array(["x"] * 1000, object)
    with pytest.raises(InputError, match="an attribute of '/' has 1000 names"):
        keras_container.read(path)


def test_content_and_name_must_agree(tmp_path: Path) -> None:
    """Keras goes by the name, and could find another model behind the one that was judged."""
    (tmp_path / "model.h5").write_bytes((TESTDATA / "keras3.keras").read_bytes())
    with pytest.raises(InputError, match=r"by its content; a file of that kind ends in"):
        keras_container.read(tmp_path / "model.h5")


def test_hdf5_of_the_name_of_an_archive(tmp_path: Path) -> None:
    """Keras before 2.13 writes HDF5 for model.save("model.keras")."""
    named = tmp_path / "model.keras"
    named.write_bytes((TESTDATA / "keras2.h5").read_bytes())
    assert keras_container.read(named) == keras_container.read(TESTDATA / "keras2.h5")
    written = [fuseconv.convert(path, keras_loader="data").data for path in (named, TESTDATA / "keras2.h5")]
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["model.h5", "model.keras", "model.KERAS"])
def test_two_files_in_one(tmp_path: Path, name: str) -> None:
    """HDF5 looks for its magic at 512, 1024, ... too, and zip reads from the end."""
    zipped = archive(tmp_path / "a.keras", pad=bytes(512)).read_bytes()
    block = zipped.ljust(1024, b"\0")
    (tmp_path / name).write_bytes(block + (TESTDATA / "keras3.h5").read_bytes())
    with pytest.raises(InputError):
        keras_container.read(tmp_path / name)
    (tmp_path / "model.keras").write_bytes((TESTDATA / "keras3.h5").read_bytes() + zipped)
    with pytest.raises(InputError, match="HDF5 file by its content"):
        keras_container.read(tmp_path / "model.keras")


@pytest.mark.parametrize("name", ["../out", "/out", "assets/../../out", "a\\..\\out", "C:/out"])
def test_members_stay_inside(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="leads out of the archive"):
        keras_container.read(archive(tmp_path / "model.keras", **{name: "x"}))


def test_a_member_that_is_a_link(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("config.json", "{}")
        link = zipfile.ZipInfo("assets/words.txt")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="leads out of the archive"):
        keras_container.read(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two members of the archive have one name"):
        path = tmp_path / "model.keras"
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("config.json", "{}")
            made.writestr("config.json", "[]")
        keras_container.read(path)


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = archive(tmp_path / "model.keras")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"is encrypted \('config\.json'\)"):
        keras_container.read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(tmp_path: Path, method: int) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("config.json", "{}")
    with pytest.raises(InputError, match="compressed in a way that no Keras writes"):
        keras_container.read(path)


def test_a_member_that_unpacks_to_more_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("config.json", "{}" + " " * 100_000)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = (2).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError, match="does not unpack to the size that it claims"):
        keras_container.read(path)


def test_a_compressed_archive(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(TESTDATA / "keras3.keras") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in plain.namelist():
            made.writestr(name, plain.read(name))
    assert keras_container.read(path).config == keras_container.read(TESTDATA / "keras3.keras").config


def test_what_it_was_trained_with_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("config.json", json.dumps({"class_name": "Sequential", "compile_config": {"loss": "mine"}}))
    assert keras_container.read(path).config == {"class_name": "Sequential"}


@pytest.mark.parametrize("first", ["model.weights.h5", "assets/some_file"])
def test_only_weights_may_start_where_hdf5_looks_for_its_signature(first: str, tmp_path: Path) -> None:
    # Keras stores them as they are, behind a config of any length; HDF5 looks for its signature at 512, 1024, 2048, ...
    import h5py

    with zipfile.ZipFile(TESTDATA / "keras3.keras") as saved:
        parts = {part: saved.read(part) for part in ("metadata.json", "config.json", "model.weights.h5")}
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", parts["metadata.json"])
        headers = sum(30 + len(part) for part in parts) + len(parts["metadata.json"])
        start = 1 << (headers + len(parts["config.json"])).bit_length()
        archive.writestr("config.json", parts["config.json"].ljust(start - headers))
        archive.writestr(first, parts["model.weights.h5"])
        if first != "model.weights.h5":
            archive.writestr("model.weights.h5", parts["model.weights.h5"])
    assert h5py.is_hdf5(path)
    if first == "model.weights.h5":
        assert keras_container.read(path).from_keras3
    else:
        with pytest.raises(InputError, match="HDF5 file in one"):
            keras_container.read(path)
