"""What a file holds that is quantized already."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op

_NARROW = (types.INT8, types.UINT8, types.INT16, types.FLOAT16)


def quantized_ops(module: Module) -> int:
    """Return how many ops compute in quantized integers, or read weights of fewer bits than floats have."""
    return sum(_is_quantized(op) for graph in module.graphs() for op in graph.ops)


def _is_quantized(op: Op) -> bool:
    values = [value for value in (*op.operands, *op.results) if value is not None]
    return any(
        value.quantization is not None or (value.is_const and value.dtype is types.FLOAT16)
        for value in values if value.dtype in _NARROW
    )  # fmt: skip
