"""Read images as samples: files of JPEG and PNG, decoded and resized by TensorFlow, for the one input of a model."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Signature, Value

SUFFIXES = (".jpeg", ".jpg", ".png")
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
# What is decoded is in memory as a whole: 100 MB at most.
_LARGEST_FILE, _MOST_PIXELS = 1 << 26, 1 << 25
# What TensorFlow puts around what it says: the function that ran, and the op.
_OF_TENSORFLOW = re.compile(r"\{\{.*?\}\}|\[Op:\w+\].*", re.DOTALL)
_CHANNELS = (1, 3)


@dataclass(frozen=True)
class Pixels:
    """What becomes of the numbers of an image, 0 to 255: (number - mean) / scale, each one for all channels or one for
    each. None: not told; the numbers stay as they are."""

    mean: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None

    @classmethod
    def of(cls, mean: float | Sequence[float] | None, scale: float | Sequence[float] | None) -> Pixels:
        """Read what the options say. Raises InputError for what is not finite, or a scale of zero."""
        made = cls(*(None if each is None else tuple(map(float, np.ravel(each))) for each in (mean, scale)))
        if not np.isfinite([*(made.mean or ()), *(made.scale or ())]).all() or 0 in (made.scale or ()):
            raise InputError("--image-mean and --image-scale are finite numbers, and no scale is zero")
        return made

    @property
    def told(self) -> bool:
        return self.mean is not None or self.scale is not None

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Return an image [height, width, channels] of float32. Raises InputError for another number of channels."""
        mean, scale = self.mean or (0.0,), self.scale or (1.0,)
        if not {len(mean), len(scale)} <= {1, image.shape[2]}:
            raise InputError(
                f"--image-mean and --image-scale have one number, or one for each of {image.shape[2]} channels"
            )
        return ((image - np.array(mean)) / np.array(scale)).astype(np.float32)


@dataclass(frozen=True)
class _Input:
    """The input that images are for: its batch, the size that they are resized to, and where channels stand.

    size: height and width; None for that of each image."""

    name: str
    batch: int
    size: tuple[int, int] | None
    channels: int
    channels_first: bool
    as_bytes: bool

    @classmethod
    def of(cls, name: str, value: Value) -> _Input:
        shape = tuple(dim if isinstance(dim, int) else None for dim in value.shape or ())
        if value.dtype not in (types.FLOAT32, types.UINT8) or len(shape) != 4:
            shown = str(list(shape)).replace("None", "?")
            raise InputError(f"images are no samples of the input {name}: it takes {value.dtype} {shown}")
        first = shape[3] not in _CHANNELS
        batch, *size, channels = (shape[0], *shape[2:], shape[1]) if first else shape
        if channels not in _CHANNELS:
            raise InputError(f"images are no samples of the input {name}: neither its first dimension nor its last is "
                             "of 1 or 3 channels")  # fmt: skip
        height, width = size
        if (height is None) != (width is None):
            raise InputError(f"images are no samples of the input {name}: one of height and width is of any size")
        known = None if height is None or width is None else (height, width)
        return cls(name, batch or 1, known, channels, first, value.dtype is types.UINT8)


def image_files(directory: Path) -> list[Path]:
    """Return the images of a directory and those in it, in an order that mixes them: the first are of all folders.

    Hidden files are none, as those that macOS puts beside each image (`._cat.jpg`), nor are files of hidden folders."""
    files = sorted(
        path for path in directory.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file() and not _is_hidden(path.relative_to(directory))
    )  # fmt: skip
    random.Random(0).shuffle(files)
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


@dataclass(frozen=True)
class Images:
    """Images as samples of the one input of a model's first signature, each of as many as its batch has, else of one.

    Called with the signatures; reading raises InputError for an input that takes no images, and files that are none."""

    files: Sequence[Path]
    pixels: Pixels

    def __call__(self, signatures: Sequence[Signature]) -> Iterator[dict[str, np.ndarray]]:
        names, (first, *_) = signatures[0].inputs, signatures[0].graph.inputs
        if len(names) != 1:
            raise InputError(f"images are for a model of one input; this takes {', '.join(names)}: give .npz files")
        wanted = _Input.of(names[0], first)
        if wanted.as_bytes and self.pixels.told:
            raise InputError(f"--image-mean and --image-scale are for floats; the input {wanted.name} takes bytes")
        if len(self.files) < wanted.batch:
            held = len(self.files)
            raise InputError(f"the input {wanted.name} takes {wanted.batch} images at once; there are {held}")
        for start in range(0, len(self.files) - wanted.batch + 1, wanted.batch):
            files = self.files[start : start + wanted.batch]
            batch = np.stack([_image(path, wanted, self.pixels) for path in files])
            yield {wanted.name: np.moveaxis(batch, 3, 1) if wanted.channels_first else batch}


def _image(path: Path, wanted: _Input, pixels: Pixels) -> np.ndarray:
    """Return an image [height, width, channels] as the input takes it."""
    import tensorflow as tf

    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"the image {path} is larger than {_LARGEST_FILE >> 20} MB")
        data = path.read_bytes()
        height, width = _size(data, path)
        if height * width > _MOST_PIXELS:
            most = f"{_MOST_PIXELS >> 20} million pixels"
            raise InputError(f"the image {path} of {height} x {width} is larger than {most}")
        image = tf.io.decode_image(data, wanted.channels, expand_animations=False)
        if wanted.size is not None:
            image = tf.image.resize(image, wanted.size)  # bilinear, as Keras loads images
    except (OSError, tf.errors.OpError) as error:
        why = " ".join(_OF_TENSORFLOW.sub("", str(error)).split())[:200]
        raise InputError(f"the image {path} cannot be read: {why}") from error
    array = image.numpy()
    return np.rint(array).astype(np.uint8) if wanted.as_bytes else pixels.apply(array)


def _size(data: bytes, path: Path) -> tuple[int, int]:
    """Return height and width, before anything is decoded."""
    import tensorflow as tf

    if data.startswith(_PNG) and data[12:16] == b"IHDR" and len(data) >= 24:
        return int.from_bytes(data[20:24], "big"), int.from_bytes(data[16:20], "big")
    if data.startswith(_JPEG):
        height, width, _ = tf.io.extract_jpeg_shape(data).numpy().tolist()
        return height, width
    raise InputError(f"the image {path} is neither a JPEG nor a PNG")
