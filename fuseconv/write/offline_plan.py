"""A plan of TFLite Micro's arena, as metadata of the file: where each tensor is to begin.

TFLite Micro plans the arena as it starts, unless the file brings a plan (its memory_management.md). That has a version
and the number of subgraphs, which it ignores, and for each tensor of each subgraph the byte at which it begins, or -1
to let TFLite Micro place it. What kernels ask for is placed around these. Other runtimes do not read the plan. It holds
for these tensors only: tools that change the file must drop it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.ir.types import ALL
from fuseconv.tfl.arena import RUNS, Node, Subgraph, better_plan, item_bytes
from fuseconv.write.table_encoder import Table

_ITEM_BYTES = {dtype.tflite: item_bytes(dtype) for dtype in ALL if dtype.tflite is not None}


def offline_plan(subgraphs: Sequence[Table]) -> bytes | None:
    """Return the metadata for tables of subgraphs; None where sizes are unknown, or its own plan is as small."""
    tensors = [tensor.fields for subgraph in subgraphs for tensor in subgraph.fields["tensors"]]
    if any("shape_signature" in fields for fields in tensors):
        return None
    plan = better_plan([_described(subgraph) for subgraph in subgraphs])
    if plan is None:
        return None
    numbers = [offset for begins in plan[1] for offset in begins]
    return np.array([1, len(subgraphs), len(numbers), *numbers], "<i4").tobytes()


def _described(subgraph: Table) -> Subgraph:
    nodes = [Node(op.fields["inputs"], op.fields["outputs"], _runs(op)) for op in subgraph.fields["operators"]]
    sizes = [_size(tensor) for tensor in subgraph.fields["tensors"]]
    return Subgraph(subgraph.fields["inputs"], subgraph.fields["outputs"], nodes, sizes)


def _runs(op: Table) -> list[int]:
    options = op.fields.get("builtin_options")
    return [] if options is None else [options.fields[name] for name in RUNS if name in options.fields]


def _size(tensor: Table) -> int:
    fields = tensor.fields
    if fields["buffer"] or fields["is_variable"]:
        return 0
    return _ITEM_BYTES.get(fields["type"], 1) * math.prod(fields["shape"])
