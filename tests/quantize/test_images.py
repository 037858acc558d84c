"""Images become samples of what the input takes; what is none, or too large, is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Graph, Signature, Value
from fuseconv.quantize import images
from fuseconv.quantize.images import Images, Pixels, image_files


def _write(path: Path, size: tuple[int, int], color: tuple[int, int, int]) -> None:
    import tensorflow as tf

    image = np.full((*size, 3), color, np.uint8)
    encode = tf.io.encode_png if path.suffix == ".png" else tf.io.encode_jpeg
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode(image).numpy())


def _signature(*shape: int | str, dtype: types.DType = types.FLOAT32, count: int = 1) -> list[Signature]:
    graph = Graph("main")
    dims = tuple(symbol(dim) if isinstance(dim, str) else dim for dim in shape)
    graph.inputs = [Value(dtype, dims) for _ in range(count)]
    return [Signature(["main"], graph, [f"x{index}" for index in range(count)], [])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path / "a" / "one.png", (6, 5), (255, 0, 51))
    _write(tmp_path / "b" / "two.JPG", (8, 8), (255, 0, 51))
    _write(tmp_path / "b" / "three.jpeg", (3, 4), (255, 0, 51))
    return tmp_path


def test_images_are_resized_and_shifted(folder: Path) -> None:
    files = image_files(folder)
    assert {path.name for path in files} == {"one.png", "two.JPG", "three.jpeg"}
    samples = list(Images(files, Pixels.of(127.5, [127.5, 1, 255]))(_signature("n", 4, 7, 3)))
    assert len(samples) == 3
    for sample in samples:
        assert sample["x0"].shape == (1, 4, 7, 3) and sample["x0"].dtype == np.float32
        np.testing.assert_allclose(sample["x0"][0, 2, 3], [1, -127.5, -0.3], atol=3)
    (png,) = Images([path for path in files if path.suffix == ".png"], Pixels())(_signature(1, "n", "n", 3))
    assert png["x0"].shape == (1, 6, 5, 3) and png["x0"][0, 0, 0].tolist() == [255, 0, 51]


def test_hidden_files_are_none(folder: Path) -> None:
    before = image_files(folder)
    (folder / "a" / "._one.png").write_bytes(b"\x00\x05\x16\x07")
    _write(folder / ".thumbnails" / "one.png", (2, 2), (0, 0, 0))
    assert image_files(folder) == before


def test_inputs_of_other_forms(folder: Path) -> None:
    files = image_files(folder)
    (pair,) = Images(files, Pixels())(_signature(2, 3, 4, 5, dtype=types.UINT8))
    assert pair["x0"].shape == (2, 3, 4, 5) and pair["x0"].dtype == np.uint8
    gray, *_ = Images(files, Pixels())(_signature("n", 4, 4, 1))
    assert gray["x0"].shape == (1, 4, 4, 1) and 70 < gray["x0"].mean() < 95


@pytest.mark.parametrize(("signatures", "pixels", "why"), [
    (_signature(1, 4, 4, 3, count=2), Pixels(), "for a model of one input; this takes x0, x1: give .npz files"),
    (_signature("n", 4), Pixels(), r"x0: it takes float32 \[\?, 4\]"),
    (_signature("n", 4, 4, 3, dtype=types.INT32), Pixels(), "x0: it takes int32"),
    (_signature("n", 4, 4, 7), Pixels(), "neither .* is of 1 or 3 channels"),
    (_signature("n", 4, "n", 3), Pixels(), "one of height and width is of any size"),
    (_signature("n", 4, 4, 3, dtype=types.UINT8), Pixels.of(1, None), "are for floats; the input x0 takes bytes"),
    (_signature(5, 4, 4, 3), Pixels(), "takes 5 images at once; there are 3"),
    (_signature("n", 4, 4, 3), Pixels.of([1, 2], None), "one number, or one for each of 3 channels"),
])  # fmt: skip
def test_inputs_that_take_no_images(signatures: list[Signature], pixels: Pixels, why: str, folder: Path) -> None:
    with pytest.raises(InputError, match=why):
        list(Images(image_files(folder), pixels)(signatures))


def _png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes(9)


@pytest.mark.parametrize(("content", "why"), [
    (b"", "is neither a JPEG nor a PNG"), (b"GIF89a", "is neither a JPEG nor a PNG"),
    (_png(100_000, 100_000), "of 100000 x 100000 is larger than 32 million pixels"),
    (_png(4, 4), r"cannot be read: [^{\[]*$"), (b"\xff\xd8\xff\xe0damaged", r"cannot be read: [^{\[]*$"),
])  # fmt: skip
def test_files_that_are_no_images(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(InputError, match=why):
        list(Images(image_files(tmp_path), Pixels())(_signature("n", 4, 4, 3)))


def test_files_that_are_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_LARGEST_FILE", 10)
    with pytest.raises(InputError, match="is larger than 0 MB"):
        list(Images(image_files(folder), Pixels())(_signature("n", 4, 4, 3)))


@pytest.mark.parametrize(("mean", "scale"), [(float("nan"), 1), (0, 0), (0, [1, float("inf")])])
def test_numbers_that_are_none(mean: float, scale: float) -> None:
    with pytest.raises(InputError, match="are finite numbers, and no scale is zero"):
        Pixels.of(mean, scale)
