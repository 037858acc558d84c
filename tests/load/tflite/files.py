"""Files of other makers, and damaged ones: those of ours, changed by the schema's own code."""

from __future__ import annotations

from collections.abc import Callable

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Module
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of

BATCH = symbol("batch")
WEIGHTS = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def dense() -> Module:
    """softmax(x @ w + b) of a dynamic batch."""
    bias = np.arange(4, dtype=np.float32)
    return module_of(
        lambda tfl, x: tfl.softmax(tfl.fully_connected(x, WEIGHTS, bias, fused_activation_function="RELU")),
        (types.FLOAT32, (BATCH, 3)),
    )


def changed(data: bytes, change: Callable[[schema.ModelT], object]) -> bytes:
    """The file with its tables changed, as the schema's own code writes it."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    change(model)
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def changed_dense(change: Callable[[schema.ModelT], object]) -> bytes:
    return changed(to_bytes(dense()), change)
