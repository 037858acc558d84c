"""Reshapes around a dense layer -> none, or one: FULLY_CONNECTED reads any shape by rows, and can keep dimensions."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK
from fuseconv.tfl.traits import RESHAPES


@pattern
def behind(tfl: Any, x: Any) -> Term:
    dense = tfl.FULLY_CONNECTED(x, ..., name="dense")
    return tfl[RESHAPES](dense | tfl[RESHAPES](dense, ...), ..., name="reshape")


@pattern
def before(tfl: Any, x: Any) -> Term:
    return tfl.FULLY_CONNECTED(tfl[RESHAPES](x, ..., name="reshape", shared=True), ..., name="dense")


@pattern
def around(tfl: Any, x: Any) -> Term:
    dense = tfl.FULLY_CONNECTED(tfl[RESHAPES](x, ..., name="reshape", shared=True), ..., name="dense")
    return tfl.RESHAPE(dense, ..., name="last")


def check_behind(m: Match) -> None:
    m.require(_rows_are_whole(m) and m.x.shape, "a row of the weights is not as long as the last dimension of the data")
    m.require((m.x.rank or 0) <= RANK["FULLY_CONNECTED"], "FULLY_CONNECTED takes fewer dimensions than the data has")
    kept = (*m.x.shape[:-1], m.dense.result.shape[-1])
    m.require(m.reshape.result.shape == kept, "the RESHAPE gives the result other outer dimensions than the data has")


def rewrite_behind(tfl: Builder, m: Match) -> Value:
    """RESHAPE of a dense layer's result to the outer dimensions of its data -> FULLY_CONNECTED(keep_num_dims)."""
    return tfl.op("FULLY_CONNECTED", tuple(m.dense.operands), m.dense.attrs | {"keep_num_dims": True})[0]


def check_before(m: Match) -> None:
    m.require(
        not m.dense.attrs.get("keep_num_dims"),
        "the dense layer's result has the dimensions of the reshaped data (keep_num_dims)",
    )
    m.require(_rows_are_whole(m), "a row of the weights is not as long as the last dimension of the data")
    m.require((m.x.rank or 0) <= RANK["FULLY_CONNECTED"], "FULLY_CONNECTED takes fewer dimensions than the data has")
    readers = m.reshape.result.uses
    m.require(
        all(r.kind == "tfl.FULLY_CONNECTED" for r in readers), "an op that is no dense layer reads the reshaped data"
    )
    m.require(
        all(not r.attrs.get("keep_num_dims") for r in readers),
        "a dense layer's result has the dimensions of the reshaped data (keep_num_dims)",
    )


def rewrite_before(tfl: Builder, m: Match) -> Value:
    """RESHAPE of a dense layer's data -> none: FULLY_CONNECTED reads any shape row by row."""
    return tfl.op("FULLY_CONNECTED", (m.x, *m.dense.operands[1:]), m.dense.attrs)[0]


def check_around(m: Match) -> None:
    m.require(_rows_are_whole(m), "a row of the weights is not as long as the last dimension of the data")
    m.require((m.x.rank or 0) <= RANK["FULLY_CONNECTED"], "FULLY_CONNECTED takes fewer dimensions than the data has")
    for reader in m.reshape.result.uses:
        m.require(reader.kind == "tfl.FULLY_CONNECTED", "an op that is no dense layer reads the reshaped data")
        reshaped = all(behind.kind == "tfl.RESHAPE" for behind in reader.result.uses)
        m.require(reshaped, "a dense layer's result is read without a RESHAPE")


def rewrite_around(tfl: Builder, m: Match) -> Value:
    """RESHAPE before and behind a dense layer -> the one behind: FULLY_CONNECTED reads any shape row by row."""
    attrs = {key: value for key, value in m.dense.attrs.items() if key != "keep_num_dims"}
    dense = tfl.op("FULLY_CONNECTED", (m.x, *m.dense.operands[1:]), attrs)[0]
    return tfl.op("RESHAPE", (dense, *m.last.operands[1:]), m.last.attrs)[0]


def _rows_are_whole(m: Match) -> bool:
    """Return True if the last dimension of the dense layer's data is the input size of its weights."""
    data, weights = m.dense.operands[0].shape, m.dense.operands[1].shape
    return bool(data) and weights is not None and data[-1] == weights[-1]


FUSIONS = [
    Fusion("dense_keeps_dimensions", "FULLY_CONNECTED", behind, rewrite_behind, check_behind),
    Fusion("dense_reads_any_shape", "FULLY_CONNECTED", before, rewrite_before, check_before),
    Fusion("dense_needs_one_reshape", "FULLY_CONNECTED", around, rewrite_around, check_around),
]
