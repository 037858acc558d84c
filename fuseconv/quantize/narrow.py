"""What is stored in few bits in files of integers, though floats are computed of it."""

from __future__ import annotations

from collections.abc import Mapping

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.quantize import lstm
from fuseconv.quantize.affine import Range
from fuseconv.quantize.weights_to_int8 import LEAST_ELEMENTS
from fuseconv.tfl.hybrid import RECURRENT
from fuseconv.tfl.integer import Kernels


def takes_narrow_weights(op: Op, ranges: Mapping[Value, Range], kernels: Kernels) -> bool:
    """Return whether an op is a fused recurrent one that no integer kernel takes, whatever it reads, and whose weights
    may have 8 bits beside floats. They may not where the model itself rounds its input, as the kernel would add errors
    to that."""
    data = op.operands[0] if op.type in RECURRENT else None
    if data is None or (op.kind == lstm.KIND and kernels.activations is types.INT8 and not lstm.refusal(op)):
        return False
    return data in ranges and not ranges[data].fixed


def picks_constants(op: Op) -> bool:
    """Return whether an op moves numbers of constants alone, which are many enough to be stored in few bits: those of a
    table of embeddings, say."""
    tables = [value for value in op.operands if value is not None and value.dtype is types.FLOAT32]
    sizes = [0 if table.data is None else table.data.size for table in tables]
    return 0 not in sizes and sum(sizes) >= LEAST_ELEMENTS
