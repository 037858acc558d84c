"""What a file holds that is quantized already."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op
from fuseconv.ir.types import DType
from fuseconv.quantize import MEASURED, TOLERANCES

# By types of weights, and of numbers that ops compute with.
_OF_WEIGHTS = {"FLOAT16": "float16", "INT4": "int4", "INT8": "dynamic", "UINT8": "dynamic"}
_OF_ACTIVATIONS = {"INT8": "int8", "UINT8": "int8", "INT16": "int16x8"}
_CONVERT = ("DEQUANTIZE", "QUANTIZE")
_INTEGERS = (types.INT4, types.INT8, types.UINT8, types.INT16)
_NARROW = (*_INTEGERS, types.FLOAT16)


def quantized_ops(module: Module, quantize: str = "float16") -> int:
    """Return how many ops compute in quantized integers, or read weights of fewer bits than floats have.

    A pair of QUANTIZE and DEQUANTIZE does neither: it rounds floats. Nor do weights of float16 count that are to have
    fewer bits, and those beside floats that are to compute in integers. quantize: the mode."""
    narrow = _NARROW if quantize == "float16" else _INTEGERS
    return sum(
        _is_quantized(op, narrow) and not _is_of_pair(op) and not (quantize in MEASURED and _expands_weights(op))
        for graph in module.graphs() for op in graph.ops
    )  # fmt: skip


def all_quantized(name: str, count: int) -> InputError:
    """Return what to raise for a file of which nothing is left to quantize. count: its ops that are."""
    ops = "1 of its ops is" if count == 1 else f"{count} of its ops are"
    return InputError(f"{name} is quantized: {ops}, and nothing else can be")


def computes_floats(module: Module, quantize: str) -> bool:
    """Return whether an op computes on floats that is not quantized yet: what converts floats computes nothing."""
    narrow = _NARROW if quantize == "float16" else _INTEGERS
    return any(
        _reads_floats(op) and (_is_of_pair(op) or not (op.type in _CONVERT or _is_quantized(op, narrow)))
        for graph in module.graphs() for op in graph.ops
    )  # fmt: skip


def _reads_floats(op: Op) -> bool:
    return any(value is not None and value.dtype is types.FLOAT32 for value in op.operands)


def _expands_weights(op: Op) -> bool:
    return op.kind == "tfl.DEQUANTIZE" and op.operands[0] is not None and op.operands[0].is_const


def _is_of_pair(op: Op) -> bool:
    if op.kind == "tfl.DEQUANTIZE" and op.operands[0] is not None and op.operands[0].op is not None:
        op = op.operands[0].op
    (value,) = op.operands if op.kind == "tfl.QUANTIZE" else (None,)
    if value is None or value.dtype is not types.FLOAT32:
        return False
    return all(reader.kind == "tfl.DEQUANTIZE" for reader in op.result.uses)


def _is_quantized(op: Op, narrow: Collection[DType]) -> bool:
    values = [value for value in (*op.operands, *op.results) if value is not None]
    return any(
        value.quantization is not None or (value.is_const and value.dtype is types.FLOAT16)
        for value in values if value.dtype in narrow
    )  # fmt: skip


def form_of_file(document: Mapping[str, Any]) -> str | None:
    """Return how a file is quantized, as `--quantize` names it; None for floats. document: what `inspect` returns. Of
    several forms it is the one that may differ most from floats."""
    forms = {form for subgraph in document["subgraphs"] for form in _forms(subgraph)}
    # Weights of int8 belong to integers of either size.
    computing = forms & {*MEASURED, "int4"} if not forms.isdisjoint(MEASURED) else forms
    return max(computing, key=TOLERANCES.__getitem__, default=None)


def _forms(subgraph: Mapping[str, Any]) -> Iterator[str]:
    for op in subgraph["ops"]:
        for index in op["operands"]:
            tensor = subgraph["tensors"][index] if index >= 0 else None
            if tensor is None or (tensor["quantisation"] is None and tensor["type"] != "FLOAT16"):
                continue
            form = (_OF_WEIGHTS if tensor["size"] else _OF_ACTIVATIONS).get(tensor["type"])
            if form is not None and (tensor["size"] or op["op"] not in _CONVERT):
                yield form
