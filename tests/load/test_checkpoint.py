"""Tensor bundles that TensorFlow wrote, against TensorFlow's own reader."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import types
from fuseconv.load.checkpoint import Checkpoint, masked_crc32c

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
