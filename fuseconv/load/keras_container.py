"""The files that Keras models come in, HDF5 and .keras archives: opened with care, and the architecture taken out.

Nothing here makes an object of Keras's. What would have HDF5 read other files, write outside a temporary directory,
or take more memory than the file can justify is refused, with --trust-model too: no Keras writes such a file.
"""

from __future__ import annotations

import io
import json
import mmap
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fuseconv.child import how_it_ended, memory_to_run, try_in_child
from fuseconv.errors import InputError
from fuseconv.files import open_file

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
ZIP_MAGIC = b"PK\x03\x04"
_HDF5_SUFFIXES = (".h5", ".hdf5")
# An archive may unpack to a thousand times its size, and HDF5 invents what was never written. Weights hardly compress.
_MAX_GROWTH = 100
_SMALL_BYTES = 1 << 26
_SMALL_CONFIG = 1 << 23
_CHUNK = 1 << 20
_FEW_NAMES = 64
_BYTES_OF_A_NAMED_GROUP = 1024
_LOCAL_HEADER = 30
# Half of a pair, which JSON can spell and UTF-8 cannot: no name in a file may hold it.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
_SECONDS_TO_READ = 8
# What reading a damaged archive raises, besides the errors of reading any file.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error)
_READ_ERRORS = (*ZIP_ERRORS, OSError, EOFError, KeyError, ValueError, RuntimeError, TypeError, NotImplementedError)


@dataclass(frozen=True)
class KerasFile:
    """A Keras file's architecture, the Keras that wrote it ("" if it does not say), and its size in bytes."""

    config: dict[str, Any]
    keras_version: str
    size: int = 0

    @property
    def from_keras3(self) -> bool:
        return self.keras_version.partition(".")[0] == "3"


def justified_bytes(size: int) -> int:
    """Return the bytes that a file of `size` bytes may make anybody allocate for its weights."""
    return max(_SMALL_BYTES, _MAX_GROWTH * size)


def read(path: Path) -> KerasFile:
    """Read the architecture of a .keras, .h5 or .hdf5 file. Raise InputError if it has none, is damaged or reaches for
    other files."""
    try:
        with open_file(path) as file:
            magic = file.read(len(HDF5_MAGIC))
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if not magic:
        raise InputError(f"{path} is empty.")
    named_hdf5 = path.suffix.lower() in _HDF5_SUFFIXES
    if magic == HDF5_MAGIC:
        # Keras goes by the content before 2.13, and tf-keras still does where there is no archive in the file.
        _require_name(path, named_hdf5 or not zipfile.is_zipfile(path), "an HDF5 file", ".h5")
        reader = _read_hdf5
    elif magic.startswith(ZIP_MAGIC):
        _require_name(path, not named_hdf5, "a .keras archive", ".keras")
        reader = _read_zip
    else:
        raise InputError(f"{path} is neither an HDF5 file nor a .keras archive.")
    checked = _try_in_child(path, size, lambda: reader(path, size, False))
    config, version = reader(path, size, checked)
    return KerasFile(config, version, size)


def _try_in_child(path: Path, size: int, work: Callable[[], object]) -> bool:
    """Refuse a file that the HDF5 library does not come to an end with, or crashes over: Python can stop neither.

    Return whether the work was done in the child without an error."""
    import h5py  # noqa: F401  (the child need not load it)

    code = try_in_child(work, _SECONDS_TO_READ, memory_to_run(size))
    if how_it_ended(code):
        raise InputError(f"{path} is damaged: the HDF5 library comes to no end with it.")
    return code == 0


def _told(error: Exception) -> str:
    """Return the sentence of an error, without the number that the system gives it."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _require_name(path: Path, fits: bool, kind: str, suffix: str) -> None:
    """Refuse a file whose name makes Keras read it in another format than the one that was checked."""
    if not fits:
        raise InputError(f"{path} is {kind} by its content; a file of that kind ends in {suffix}.")


def _decoded(path: Path, config: str | bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(config)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: its architecture is not JSON ({error}).") from error
    if not isinstance(decoded, dict):
        raise InputError(f"{path} is damaged: its architecture is no JSON object.")
    if _SURROGATE.search(config if isinstance(config, bytes) else config.encode(errors="surrogatepass")):
        try:
            json.dumps(decoded, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{path} is damaged: a text in its architecture is no Unicode.") from error
    return decoded


def _read_hdf5(path: Path, size: int, checked: bool) -> tuple[dict[str, Any], str]:
    """Read the architecture of an .h5 file, and the version of Keras that wrote it. checked: whether its structure was
    checked before. Raises InputError for a damaged file, and for one of weights alone."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            if not checked:
                _check_hdf5(path, file, size)
            config, version = file.attrs.get("model_config"), file.attrs.get("keras_version", "")
    except _READ_ERRORS as error:
        raise InputError(f"{path} is damaged or cut off: {_told(error)}.") from error
    if not isinstance(config, (str, bytes)):
        raise InputError(
            f"{path} holds weights only, not the model they belong to; save the whole model with model.save()."
        )
    version = version.decode(errors="replace") if isinstance(version, bytes) else str(version)
    return _decoded(path, config) if version.startswith("3") else _of_later_form(_decoded(path, config)), version


def _of_later_form(config: dict[str, Any]) -> dict[str, Any]:
    """Give Sequential models the config that they have since Keras 2.2.3: before, it was the list of their layers."""
    for item, _ in objects(config):
        if item.get("class_name") == "Sequential" and isinstance(item.get("config"), list):
            item["config"] = {"name": item.get("name", "sequential"), "layers": item["config"]}
    return config


def objects(config: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each JSON object in a configuration and how deep it stands, outermost first, which may be changed then."""
    stack = [(config, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, dict):
            yield item, depth
            stack += [(value, depth + 1) for value in reversed(item.values())]
        elif isinstance(item, list):
            stack += [(value, depth + 1) for value in reversed(item)]


def _check_hdf5(path: Path, file: Any, size: int) -> None:
    """Refuse an HDF5 file of `size` bytes that takes data from other files, or that claims more than it can hold.

    Links are looked at, not followed: Keras writes only hard ones, and any other may lead out of the file."""
    import h5py

    groups, seen, claimed = [("", h5py.h5g.open(file.id, b"/"))], set(), 0
    _check_attributes(path, "/", groups[0][1], size)
    while groups:
        place, group = groups.pop()
        address = h5py.h5o.get_info(group).addr
        if address in seen:
            continue
        seen.add(address)
        for name in group:
            label = f"{place}/{name.decode(errors='replace')}"
            link = group.links.get_info(name).type
            if link == h5py.h5l.TYPE_SOFT:
                raise InputError(f"{path} holds '{label}' as a link, which no Keras writes; it is not read.")
            if link != h5py.h5l.TYPE_HARD:
                raise InputError(f"{path} takes '{label}' from outside itself; it is not read.")
            item = h5py.h5o.open(group, name)
            _check_attributes(path, label, item, size)
            if isinstance(item, h5py.h5g.GroupID):
                groups.append((label, item))
            elif isinstance(item, h5py.h5d.DatasetID):
                claimed += _dataset_bytes(path, label, item)
                if claimed > justified_bytes(size):
                    raise InputError(f"{path} claims to hold {claimed} bytes of data in {size}; it is not read.")


def _dataset_bytes(path: Path, label: str, dataset: Any) -> int:
    """Return the bytes that a dataset takes in memory. Raise InputError if they are in other files, or none can
    tell."""
    import h5py

    settings = dataset.get_create_plist()
    if settings.get_external_count() or settings.get_layout() == h5py.h5d.VIRTUAL:
        raise InputError(f"{path} takes '{label}' from outside itself; it is not read.")
    _require_plain(path, label, dataset.get_type())
    return int(dataset.get_space().get_simple_extent_npoints()) * int(dataset.get_type().get_size())


def _check_attributes(path: Path, label: str, item: Any, size: int) -> None:
    """Refuse attributes that are larger than the file, or whose elements lie elsewhere. h5py would make room for what
    they claim."""
    import h5py

    for index in range(h5py.h5a.get_num_attrs(item)):
        attribute = h5py.h5a.open(item, index=index)
        count, kind = attribute.get_space().get_simple_extent_npoints(), attribute.get_type()
        if count * kind.get_size() > size:
            raise InputError(f"{path} is damaged: an attribute of '{label}' is larger than the file.")
        varying = isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
        # Names of varying length may all stand in one place, and take memory each. What they name takes room too.
        if varying and count > _FEW_NAMES + size // _BYTES_OF_A_NAMED_GROUP:
            raise InputError(f"{path} is damaged: an attribute of '{label}' has {count} names.")
        if not varying:
            _require_plain(path, label, kind)


def _require_plain(path: Path, label: str, kind: Any) -> None:
    """Refuse types whose elements lie elsewhere in the file or are made of others: sequences, references, records."""
    import h5py

    plain = (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.STRING, h5py.h5t.ENUM, h5py.h5t.OPAQUE, h5py.h5t.BITFIELD)
    if kind.get_class() not in plain or (isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()):
        raise InputError(f"{path} holds '{label}' in a type that no Keras writes; it is not read.")


def _read_zip(path: Path, size: int, checked: bool) -> tuple[dict[str, Any], str]:
    """Read the architecture of a .keras archive, and the version of Keras that wrote it. checked: whether its members
    were checked before. Raises InputError for a damaged one."""
    import h5py

    try:
        with zipfile.ZipFile(path) as archive:
            if h5py.is_hdf5(path) and not _starts_at_its_weights(path, archive):
                raise InputError(f"{path} is a .keras archive and an HDF5 file in one; it is not read.")
            members = _members(path, archive, size, checked)
            config = archive.read("config.json")
            metadata = json.loads(archive.read("metadata.json")) if "metadata.json" in members else {}
    except _READ_ERRORS as error:
        raise InputError(f"{path} is damaged or cut off: {_told(error)}.") from error
    if not isinstance(metadata, dict):
        raise InputError(f"{path} is damaged: its metadata.json is no JSON object.")
    decoded = _decoded(path, config)
    # As Keras does where a model is not compiled: what it was trained with is not needed.
    decoded.pop("compile_config", None)
    return decoded, str(metadata.get("keras_version", ""))


def _starts_at_its_weights(path: Path, archive: zipfile.ZipFile) -> bool:
    """Return whether HDF5 takes the weights in an archive, which Keras stores as they are, for the whole file: it looks
    at 0, 512, 1024, 2048, ..."""
    mapped, at = mapped_file(path), 0
    while mapped[at : at + len(HDF5_MAGIC)] != HDF5_MAGIC:
        at = max(512, 2 * at)
        if at >= len(mapped):
            return False
    stored = (each for each in archive.infolist() if each.filename == "model.weights.h5")
    return any(_start(each, mapped) == at for each in stored)


def _members(path: Path, archive: zipfile.ZipFile, size: int, checked: bool) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive of `size` bytes by name, each checked; `checked`: their HDF5 files are."""
    members = {member.filename: member for member in archive.infolist()}
    if "config.json" not in members:
        raise InputError(f"{path} is no Keras model: there is no config.json in it.")
    if len(members) < len(archive.infolist()):
        raise InputError(f"{path} is damaged: two members of the archive have one name.")
    claimed = sum(member.file_size for member in members.values())
    if claimed > justified_bytes(size):
        raise InputError(f"{path} claims to unpack to {claimed} bytes; it is not read.")
    for name in ("config.json", "metadata.json"):
        if name in members and members[name].file_size > max(_SMALL_CONFIG, size):
            raise InputError(f"{path} claims to unpack to {claimed} bytes; it is not read.")
    for member in members.values():
        _check_member(path, member)
        if member.filename.endswith(".h5") and not checked:
            # Mapped, or in memory: HDF5 goes to and fro, and an archive's member can only be read from its start.
            with open_hdf5(member_data(archive, member, mapped_file(path))) as file:
                _check_hdf5(path, file, member.file_size)
    return members


def mapped_file(path: Path) -> mmap.mmap:
    """Return a file mapped into memory, read-only."""
    with open_file(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def member_data(archive: zipfile.ZipFile, member: zipfile.ZipInfo, mapped: mmap.mmap) -> memoryview:
    """Return the bytes of a member: a view of the mapped archive if it is stored as it is, else unpacked."""
    if member.compress_type != zipfile.ZIP_STORED:
        return memoryview(archive.read(member))
    start = _start(member, mapped)
    data = memoryview(mapped)[start : start + member.file_size]
    if len(data) < member.file_size or zlib.crc32(data) != member.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {member.filename!r}")
    return data


def _start(member: zipfile.ZipInfo, mapped: mmap.mmap) -> int:
    """Return where the bytes of a member start in an archive."""
    header = mapped[member.header_offset : member.header_offset + _LOCAL_HEADER]
    return member.header_offset + _LOCAL_HEADER + sum(_name_sizes(header))


def _name_sizes(header: bytes) -> list[int]:
    """Return the sizes of the name and the extra field that follow a member's local header."""
    return [int.from_bytes(header[at : at + 2], "little") for at in (26, 28)]


def open_hdf5(data: memoryview) -> Any:
    """Open bytes as an HDF5 file."""
    import h5py

    return h5py.File(_View(data), "r")


class _View(io.RawIOBase):
    """Bytes as a file, without a copy of them."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: len(self.data)}[whence]
        self.at = max(start + offset, 0)
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        part = self.data[self.at : self.at + len(buffer)]
        memoryview(buffer)[: len(part)] = part
        self.at += len(part)
        return len(part)


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    """Refuse a member that Keras would unpack to another place or another size than it says."""
    name = PurePosixPath(member.filename)
    mode = member.external_attr >> 16
    outside = name.is_absolute() or ".." in name.parts or "\\" in member.filename or ":" in member.filename
    if outside or stat.S_ISLNK(mode):
        raise InputError(f"{path} holds '{member.filename}', which leads out of the archive; it is not read.")
    if member.flag_bits & 1:
        raise InputError(f"{path} is encrypted ('{member.filename}'); it is not read.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{path} holds '{member.filename}' compressed in a way that no Keras writes; it is not read.")
    real = member.compress_size if member.compress_type == zipfile.ZIP_STORED else _inflated_bytes(path, member)
    if real != member.file_size:
        raise InputError(f"{path} is damaged: '{member.filename}' does not unpack to the size that it claims.")


def _inflated_bytes(path: Path, member: zipfile.ZipInfo) -> int:
    """Return the bytes that a member inflates to; one more than it claims if it is any more. `zipfile` would inflate it
    all before it looks at the size."""
    inflate, total = zlib.decompressobj(-zlib.MAX_WBITS), 0
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(_LOCAL_HEADER)
        file.seek(sum(_name_sizes(header)), io.SEEK_CUR)
        left = member.compress_size
        while not inflate.eof and total <= member.file_size:
            data = inflate.unconsumed_tail or file.read(min(left, _CHUNK))
            left -= 0 if inflate.unconsumed_tail else len(data)
            made = inflate.decompress(data, _CHUNK)
            total += len(made)
            if not made and not data:
                break
    return min(total, member.file_size + 1)
