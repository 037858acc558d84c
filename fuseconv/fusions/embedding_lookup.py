"""Embedding lookup -> EMBEDDING_LOOKUP.

The contract is TensorFlow Lite's (guide "TensorFlow operation fusion", where the name is `embedding_lookup`;
ConvertEmbeddedLookupFunc of TFLiteConverter, where it is `embedding_matmul`): table [rows, ...], ids -> a row for each.
The kernel takes ids of rank 1; others are flattened and the rows put into their shape.
"""

from __future__ import annotations

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

LOOKUP = composite("embedding_lookup embedding_matmul", "table ids -> rows")


def check(m: Match) -> None:
    m.require(m.ids.dtype in (types.INT32, types.INT64), f"the ids are {m.ids.dtype}, no whole numbers")
    m.require(m.ids.rank is not None, "the rank of the ids is not known")
    m.require(m.table.dtype is types.FLOAT32, f"TFLite's EMBEDDING_LOOKUP takes float32, not {m.table.dtype}")
    m.require((m.table.rank or 0) >= 2, "the table is not known to be of rank 2 or more")
    m.require(m.ids.rank == 1 or all(isinstance(n, int) for n in m.table.shape[1:]), "the size of a row is not known")


def rewrite(tfl: Builder, m: Match) -> Value:
    ids = m.ids if m.ids.dtype is types.INT32 else tfl.cast(m.ids, out_data_type="INT32")
    if m.ids.rank == 1:
        return tfl.embedding_lookup(ids, m.table)
    rows = tfl.embedding_lookup(tfl.reshape(ids, [-1]), m.table)
    shape = (*m.ids.shape, *m.table.shape[1:])
    static = tfl.static_shape(shape)
    if static is not None:
        return tfl.reshape(rows, static)
    sizes = tfl.concatenation(tfl.shape(ids), tfl.ints(m.table.shape[1:]), axis=0)
    return tfl.reshape(rows, sizes)


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw ids that are in the table."""
    if m.ids.is_const:
        return {}
    return {"ids": rng.integers(0, m.table.shape[0], m.ids.shape).astype(m.ids.dtype.numpy)}


FUSIONS = [Fusion("embedding_lookup", "EMBEDDING_LOOKUP", LOOKUP, rewrite, check, draw)]
