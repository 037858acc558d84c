"""Quantization: a module of float "tfl" ops -> the same with smaller numbers."""

from __future__ import annotations

from fuseconv.errors import InputError

# Those that need ranges of activations.
MEASURED = ("int8", "int16x8")
# Those that round weights better where samples tell what they are multiplied by.
ROUNDED = ("dynamic", "int4")
QUANTIZATIONS = ("float16", "dynamic", "int4", *MEASURED)
# By how much a file may differ from its model, as a part of the largest number, where nobody says.
TOLERANCES = {"float16": 0.005, "dynamic": 0.05, "int4": 0.5, "int8": 0.1, "int16x8": 0.03}
# Of weights of 4 bits: inputs that share a scale, in blocks that XNNPACK takes.
BLOCK_SIZES = (32, 64, 128)


def checked_block_size(size: int | None, quantize: str | None) -> int | None:
    """Return a block size. Raises InputError for one that kernels do not take, or other quantizations."""
    if size is not None and quantize != "int4":
        raise InputError("--block-size is for --quantize int4")
    if size not in (None, *BLOCK_SIZES):
        raise InputError(f"--block-size {size} is none of {', '.join(map(str, BLOCK_SIZES))}")
    return size
