"""Tensor bundles that TensorFlow wrote, against TensorFlow's own reader."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import types
from fuseconv.load.checkpoint import Checkpoint, masked_crc32c
from tests.bundles import block, bundle, entry, header, row, sliced, table, varint

TENSORS: dict[str, np.ndarray] = {
    "float32": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "half": np.array([1.5, -2], np.float16),
    "int8": np.array([-1, 2, 3], np.int8),
    "flags": np.array([True, False]),
    "complex": np.array([1 + 2j], np.complex64),
    "scalar": np.array(7, np.int64),
    "empty": np.zeros((0, 3), np.float32),
    "strings": np.array([[b"a", b""], [b"x" * 300, "\u00e9".encode()]], object),
    "a/long/common/prefix/one": np.array([1], np.float32),
    "a/long/common/prefix/two": np.array([2], np.float32),
}


@pytest.fixture(scope="module")
def prefix(tf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with TENSORS, "many" small ones, and "parts", stored in slices of its rows and columns."""
    prefix = tmp_path_factory.mktemp("checkpoint") / "variables"
    tensors = dict(TENSORS) | {f"many/{n:04}": np.array([n], np.float32) for n in range(900)}
    whole = parts()
    names, slices, values = [], [], []
    for rows in (slice(0, 100), slice(100, 250)):
        for columns in (slice(0, 2), slice(2, 3)):
            names.append("parts")
            part = [f"{s.start},{s.stop - s.start}" for s in (rows, columns)]
            slices.append(f"250 3 {':'.join(part)}")
            values.append(whole[rows, columns])
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=[*tensors, *names],
        shape_and_slices=[""] * len(tensors) + slices,
        tensors=[*map(tf.constant, tensors.values()), *map(tf.constant, values)],
    )
    return prefix


def opened(prefix: Path) -> Checkpoint:
    return Checkpoint(ModelFiles(prefix.parent), prefix.name)


def parts() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(250, 3)).astype(np.float32)


@pytest.mark.parametrize("name", TENSORS)
def test_reads_what_was_written(prefix: Path, name: str) -> None:
    checkpoint = opened(prefix)
    array = checkpoint.read(name)
    expected = TENSORS[name]
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)
    assert checkpoint.entry(name) == (types.of_array(expected), expected.shape)


def test_lists_all_names(prefix: Path, tf: Any) -> None:
    checkpoint = opened(prefix)
    assert set(checkpoint.names()) == set(tf.train.load_checkpoint(str(prefix)).get_variable_to_shape_map())
    assert "many/0899" in checkpoint
    assert "nowhere" not in checkpoint
    assert all(checkpoint.read(f"many/{n:04}")[0] == n for n in range(900))


def test_arrays_are_views_of_the_file(prefix: Path) -> None:
    array = opened(prefix).read("float32")
    assert not array.flags.owndata
    assert not array.flags.writeable


@pytest.mark.parametrize(
    "spec, rows, columns",
    [
        ("", slice(0, 250), slice(0, 3)),
        ("250 3 100,150:0,2", slice(100, 250), slice(0, 2)),  # one of the slices
        ("250 3 90,20:-", slice(90, 110), slice(0, 3)),  # across all four
        ("250 3 -:1,1", slice(0, 250), slice(1, 2)),
    ],
)
def test_slices(prefix: Path, spec: str, rows: slice, columns: slice) -> None:
    np.testing.assert_array_equal(opened(prefix).read("parts", spec), parts()[rows, columns])


def test_slice_of_a_tensor_in_one_piece(prefix: Path) -> None:
    array = opened(prefix).read("float32", "2 3 4 1,1:-:0,2")
    np.testing.assert_array_equal(array, TENSORS["float32"][1:2, :, 0:2])
    assert not array.flags.owndata


@pytest.mark.parametrize("spec", ["2 3 5 -:-:-", "2 3 4 0,1", "2 3 4 x:-:-", "2 3 4 0,1,1:-:-", "2 3 4 1,2:-:-"])
def test_slices_that_do_not_fit(prefix: Path, spec: str) -> None:
    with pytest.raises(InputError, match=r"float32"):
        opened(prefix).read("float32", spec)


def test_missing_tensor(prefix: Path) -> None:
    with pytest.raises(InputError, match=r"does not contain 'nowhere'"):
        opened(prefix).read("nowhere")


def test_missing_files(prefix: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"index is missing"):
        opened(tmp_path / "variables")
    shutil.copy(prefix.with_name("variables.index"), tmp_path)
    with pytest.raises(InputError, match=r"data-00000-of-00001 is missing"):
        opened(tmp_path / "variables").read("scalar")


def test_cut_off_files(prefix: Path, tmp_path: Path) -> None:
    index = prefix.with_name("variables.index").read_bytes()
    for size in (0, 10, 48, len(index) - 1):
        (tmp_path / "variables.index").write_bytes(index[:size])
        with pytest.raises(InputError, match=r"damaged or cut off"):
            opened(tmp_path / "variables")
    (tmp_path / "variables.index").write_bytes(index)
    for size in (0, 8):
        (tmp_path / "variables.data-00000-of-00001").write_bytes(bytes(size))
        checkpoint = opened(tmp_path / "variables")
        with pytest.raises(InputError, match=r"beyond the end"):
            checkpoint.read("float32")


def test_compressed_index_is_refused_by_name(prefix: Path, tmp_path: Path) -> None:
    index = bytearray(prefix.with_name("variables.index").read_bytes())
    first_block = _first_block_end(bytes(index))
    index[first_block] = 1
    (tmp_path / "variables.index").write_bytes(index)
    with pytest.raises(InputError, match=r"compressed .Snappy"):
        opened(tmp_path / "variables")


def _first_block_end(index: bytes) -> int:
    """The end of the index block, whose handle is the second in the footer."""
    footer = index[-48:]
    numbers, value, shift = [], 0, 0
    for byte in footer[:40]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    return numbers[2] + numbers[3]


def test_damaged_bytes_change_no_tensor(prefix: Path, tmp_path: Path) -> None:
    """They are found, or do not matter."""
    index = prefix.with_name("variables.index").read_bytes()
    shutil.copy(prefix.with_name("variables.data-00000-of-00001"), tmp_path)
    random = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(index)
        for at in random.integers(0, len(index), 3):
            damaged[at] = random.integers(0, 256)
        (tmp_path / "variables.index").write_bytes(damaged)
        try:
            checkpoint = opened(tmp_path / "variables")
            for name, array in TENSORS.items():
                np.testing.assert_array_equal(checkpoint.read(name), array)
        except InputError:
            pass


@pytest.mark.parametrize("size", [4, 5, 7, 8, 9, 12, 13, 64, 1027])
def test_checksums(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    assert masked_crc32c(data) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


NUMBERS = np.arange(64, dtype=np.float32).tobytes()
HOLED = "only parts of 'w'"
OVERLAPPING = "slices of 'w' that overlap"


@pytest.mark.parametrize(
    ("shape", "boxes", "sentence"),
    [
        ([4, 2], [[(0, 2), (0, 2)], [(0, 2), (0, 2)]], OVERLAPPING),  # twice the same
        ([4, 2], [[(0, 3), (0, 2)], [(1, 3), (0, 2)]], OVERLAPPING),  # more than the whole
        ([4, 2], [[(0, 2), (0, 2)], [(1, 2), (0, 2)]], OVERLAPPING),  # as many elements as the whole
        ([4, 2], [[(0, 4), (0, 1)], [(0, 2), (0, 2)]], OVERLAPPING),
        ([4, 2], [[(0, 4), (0, 2)], [(1, 1), (1, 1)]], OVERLAPPING),  # the whole and a part
        ([4, 2], [[(0, 2), (0, 2)]], HOLED),
        ([4, 2], [[(0, 2), (0, 2)], [(3, 1), (0, 2)]], HOLED),
        ([4, 2], [[(0, 0), (0, 2)]], HOLED),
        ([], [[], []], OVERLAPPING),
        ([4, 2], [[(0, 4)]], "does not lie within it"),
        ([4, 2], [[(3, 2), (0, 2)]], "does not lie within it"),
        ([4, 2], [[(-1, 5), (0, 2)]], "does not lie within it"),
        ([4, 2], [[(0, 1 << 62), (0, 2)]], "does not lie within it"),
    ],
)
def test_slices_that_do_not_tile(shape: list[int], boxes: Any, sentence: str, tmp_path: Path) -> None:
    offsets = [0] * len(boxes)
    bundle(tmp_path, sliced(shape, boxes, offsets), NUMBERS)
    parts_ = ["", *(["4 2 0,1:-", "4 2 1,2:0,1"] if shape else [])]
    for part in parts_:
        with pytest.raises(InputError, match=sentence):
            opened(tmp_path / "variables").read("w", part)


def test_slices_that_tile(tmp_path: Path) -> None:
    boxes = [[(0, 1), (0, 3)], [(1, 2), (0, 1)], [(1, 1), (1, 2)], [(2, 1), (1, 2)], [(3, 0), (0, 3)]]
    bundle(tmp_path, sliced([3, 3], boxes, [0, 12, 20, 28, 0]), NUMBERS)
    checkpoint = opened(tmp_path / "variables")
    np.testing.assert_array_equal(checkpoint.read("w"), [[0, 1, 2], [3, 5, 6], [4, 7, 8]])
    np.testing.assert_array_equal(checkpoint.read("w", "3 3 1,2:0,2"), [[3, 5], [4, 7]])
    assert checkpoint.read("w", "3 3 1,0:-").shape == (0, 3)


def test_slices_as_many_as_there_are_rows(tmp_path: Path) -> None:
    """Each is found at once when the model asks for it, and what is none of them is looked for only so often."""
    count = 3000
    boxes = [[(index, 1)] for index in range(count)]
    shard = np.arange(count, dtype=np.float32)
    bundle(tmp_path, sliced([count], boxes, range(0, 4 * count, 4)), shard.tobytes())
    checkpoint = opened(tmp_path / "variables")
    assert [checkpoint.read("w", f"{count} {index},1")[0] for index in range(count)] == shard.tolist()
    np.testing.assert_array_equal(checkpoint.read("w"), shard)
    with pytest.raises(InputError, match="cut 'w' into too many different slices"):
        for _ in range(count):
            checkpoint.read("w", f"{count} 1,2")


def test_irregular_slices(tmp_path: Path) -> None:
    """Their edges make more cells than are looked at."""
    corners = [[(2 * index, 1), (2 * index, 1)] for index in range(3000)]
    rest = [[(0, 6001), (6000, 1)]]
    bundle(tmp_path, {b"w": entry([6001, 6001], slices=[*corners, *rest, [(0, 6001), (0, 6000)]])})
    with pytest.raises(InputError, match="in 3002 slices, too many and too irregular ones"):
        opened(tmp_path / "variables").read("w")


def test_tensors_that_share_their_bytes(tmp_path: Path) -> None:
    """A small file would become a large array."""
    count = 40
    boxes = [[(index * (1 << 16), 1 << 16)] for index in range(count)]
    bundle(tmp_path, sliced([count << 16], boxes, [0] * count), bytes(1 << 18))
    with pytest.raises(InputError, match="has 'w' share its bytes with others"):
        opened(tmp_path / "variables").read("w")
    words = {b"%02d" % index: entry([1 << 17], size=(1 << 17) + 4, dtype=7) for index in range(count)}
    bundle(tmp_path, words, bytes((1 << 17) + 4))
    checkpoint = opened(tmp_path / "variables")
    with pytest.raises(InputError, match="share its bytes with others"):
        for name in checkpoint.names():
            checkpoint.read(name)


@pytest.mark.parametrize("shape", [[-1], [0, 1 << 62, 8], [1 << 59], [1] * 40, [1 << 31, 1 << 31, 1 << 31]])
def test_shapes_that_no_tensor_has(shape: list[int], tmp_path: Path) -> None:
    bundle(tmp_path, {b"w": entry(shape)}, NUMBERS)
    with pytest.raises(InputError, match="gives 'w' a shape that no tensor has"):
        opened(tmp_path / "variables").read("w")


def test_a_tensor_without_elements(tmp_path: Path) -> None:
    bundle(tmp_path, {b"w": entry([0, 1 << 40])}, NUMBERS)
    assert opened(tmp_path / "variables").read("w").shape == (0, 1 << 40)


@pytest.mark.parametrize(("shards", "shard"), [(0, 0), (1, 1), (1, -1), (1 << 30, 1 << 30)])
def test_shards_that_are_none(shards: int, shard: int, tmp_path: Path) -> None:
    bundle(tmp_path, {b"w": entry([1], size=4, shard=shard)}, NUMBERS, shards)
    with pytest.raises(InputError, match=f"has no data file {shard}, in which 'w' should be"):
        opened(tmp_path / "variables").read("w")


def _shared_prefixes() -> bytes:
    """Rows of three bytes and keys of a hundred thousand."""
    prefix = b"a" * 100_000
    rows = [row(b"", header()), row(prefix, b"")] + [row(b"b", b"", shared=99_999 + n) for n in range(100_000)]
    return table([block(b"".join(rows))])


def _repeated_block() -> bytes:
    """A hundred thousand handles of one block."""
    data = block(b"".join(row(b"%05d" % n, b"") for n in range(10_000)))
    return table([data], [varint(0) + varint(len(data) - 5)] * 100_000)


def _rows(*rows: bytes, restarts: int = 0) -> bytes:
    return table([block(row(b"", header()) + b"".join(rows), restarts)])


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(_shared_prefixes, id="shared prefixes"),
        pytest.param(_repeated_block, id="one block for all"),
        pytest.param(lambda: _rows(b"\x80" * 1_000_000), id="a number without an end"),
        pytest.param(lambda: _rows(b"\0\1" + varint(1 << 63) + b"a"), id="a value beyond the end"),
        pytest.param(lambda: _rows(b"\0" + varint(1 << 63) + b"\0a"), id="a key beyond the end"),
        pytest.param(lambda: _rows(restarts=0xFFFFFFFF), id="restarts beyond the block"),
        pytest.param(lambda: _rows(row(b"w", b""), row(b"w", b"")), id="a key twice"),
        pytest.param(lambda: _rows(row(b"w", b""), row(b"v", b"")), id="keys in disorder"),
        pytest.param(lambda: table([block(b"")], [varint(1 << 63) + varint(1 << 63)]), id="a block beyond the end"),
        pytest.param(lambda: table([block(b"")], [b"\x80" * 1000]), id="a handle without an end"),
        pytest.param(lambda: table([block(row(b"", b"\x08"))]), id="a header that is none"),
    ],
)
def test_an_index_that_no_writer_makes(index: Any, tmp_path: Path) -> None:
    """It ends in a sentence, and takes no more than its size allows."""
    (tmp_path / "variables.index").write_bytes(index())
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="is no index of a checkpoint, or it is damaged or cut off"):
            opened(tmp_path / "variables")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000


def test_an_index_that_is_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "variables.index", "wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(InputError, match="has 1073741825 bytes"):
        opened(tmp_path / "variables")


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    bundle(tmp_path, {b"\xff": entry([1], size=4)}, NUMBERS)
    assert opened(tmp_path / "variables").names() == ["\ufffd"]
