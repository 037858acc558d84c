"""CONCATENATION of a packed size with constants -> one PACK: the shapes that layers build."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def joined(tfl: Any, size: Any) -> Term:
    return tfl.CONCATENATION(tfl.PACK(size, name="pack"), ..., name="join")


def check(m: Match) -> None:
    m.require(
        m.result.dtype in (types.INT32, types.INT64) and m.size.rank == 0,
        "what is joined are not single sizes of a shape",
    )
    m.require(all(value.is_const for value in m.join.operands[1:]), "more than one size is not known")


def rewrite(tfl: Builder, m: Match) -> Value:
    known = [tfl.const(number, m.size.dtype) for value in m.join.operands[1:] for number in value.data]
    return tfl.pack(m.size, *known)


FUSIONS = [Fusion("packed_sizes", "PACK", joined, rewrite, check)]
