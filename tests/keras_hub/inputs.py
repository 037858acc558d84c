"""Random inputs for a model of keras-hub, drawn by what its inputs are called: ids below the vocabulary, masks that end
in padding, positions within the sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tests.keras_hub.sizes import VOCABULARY

# Sizes that are open, in the first and in the second run: rows, lengths, and by name those behind the rows.
ROWS = (1, 3)
_LENGTHS = (16, 24)
_IMAGE_SIZES = (64, 96)
# Prompts hold 2 or 3 images, of 16 patches each, which become 4 tokens, or 1 or 2 sounds, of 16 frames, also 4 tokens.
_BY_NAME: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "audio_indices": ((4,), (8,)),
    "audio_mel": ((1, 16), (2, 16)),
    "audio_mel_mask": ((1, 16), (2, 16)),
    "encoder_input_values": ((1600,), (2400,)),
    "images": ((2,), (3,)),
    "input_features": ((1, 8, 16), (2, 8, 16)),
    "input_features_mask": ((1, 8), (2, 8)),
    "pixel_position_ids": ((2, 16), (3, 16)),
    "pixel_values": ((2, 16, 48), (3, 16, 48)),
    "vision_indices": ((8,), (12,)),
}


def sized(name: str, shape: Sequence[int | None], run: int) -> tuple[int, ...]:
    """Return the shape with sizes for what is open in it, for the first run (0) or the second (1)."""
    is_image = len(shape) == 4 and shape[-1] == 3
    rest = (_IMAGE_SIZES if is_image else _LENGTHS)[run]
    behind = _BY_NAME[name][run] if name in _BY_NAME and not is_image else (rest,) * len(shape)
    return tuple(size if size is not None else (ROWS[run], *behind)[axis] for axis, size in enumerate(shape))


def draw(name: str, shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Return random numbers for an input of this name."""
    if "mask" in name and dtype.kind in "biu":
        return (np.arange(shape[-1]) < _lengths(shape, rng)).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if name == "labels":
        return rng.integers(0, 4, shape).astype(dtype)
    if name == "boxes":
        return rng.uniform(0.1, 0.6, shape).astype(dtype)
    if dtype.kind not in "iu":
        return rng.standard_normal(shape).astype(dtype)
    if name.endswith("token_ids"):
        return rng.integers(2, VOCABULARY, shape).astype(dtype)
    if name in ("audio_indices", "vision_indices"):
        return np.broadcast_to(np.arange(1, 1 + shape[-1]), shape).astype(dtype)
    if name == "pixel_position_ids":
        side = math.isqrt(shape[-2])
        return np.broadcast_to(np.stack(np.divmod(np.arange(shape[-2]), side), axis=-1), shape).astype(dtype)
    if name.endswith("index") or "position" in name:
        return rng.integers(1, 12, shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def _lengths(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return how much of each row is no padding: the first row is full."""
    lengths = rng.integers(max(1, shape[-1] // 2), shape[-1] + 1, (*shape[:-1], 1))
    if len(shape) > 1:
        lengths[0] = shape[-1]
    return lengths
