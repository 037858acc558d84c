"""What a file holds that is quantized already."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op

_NARROW = (types.INT8, types.UINT8, types.INT16, types.FLOAT16)


def quantized_ops(module: Module) -> int:
    """Return how many ops compute in quantized integers, or read weights of fewer bits than floats have.

    A pair of QUANTIZE and DEQUANTIZE does neither: it rounds floats."""
    return sum(_is_quantized(op) and not _is_of_pair(op) for graph in module.graphs() for op in graph.ops)


def _is_of_pair(op: Op) -> bool:
    if op.kind == "tfl.DEQUANTIZE" and op.operands[0] is not None and op.operands[0].op is not None:
        op = op.operands[0].op
    (value,) = op.operands if op.kind == "tfl.QUANTIZE" else (None,)
    if value is None or value.dtype is not types.FLOAT32:
        return False
    return all(reader.kind == "tfl.DEQUANTIZE" for reader in op.result.uses)


def _is_quantized(op: Op) -> bool:
    values = [value for value in (*op.operands, *op.results) if value is not None]
    return any(
        value.quantization is not None or (value.is_const and value.dtype is types.FLOAT16)
        for value in values if value.dtype in _NARROW
    )  # fmt: skip
