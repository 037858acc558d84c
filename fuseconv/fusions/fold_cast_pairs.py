"""CAST of bool to a number and back -> the bool: masks that layers pass on as another type."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import LAYOUT_CHANGES


@pattern
def there_and_back(tfl: Any, x: Any) -> Term:
    number = tfl.CAST(x, shared=True, name="number")
    return tfl.CAST(number | tfl[LAYOUT_CHANGES](number, ..., name="move"), out_data_type="BOOL", name="back")


def check(m: Match) -> None:
    m.require(m.x.dtype is types.BOOL, "what is cast is not of type bool")


def rewrite(tfl: Builder, m: Match) -> Value:
    if m.move is None:
        return m.x
    return tfl.op(m.move.type, (m.x, *m.move.operands[1:]), m.move.attrs)[0]


FUSIONS = [Fusion("truth_as_number", "RESHAPE", there_and_back, rewrite, check)]
