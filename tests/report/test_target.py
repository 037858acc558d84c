"""The terminal's view of what a target makes of a file."""

from __future__ import annotations

import io
from typing import Any

from fuseconv.report.tables import text
from fuseconv.report.target import show_target

_SUBGRAPH = {
    "tensors": [{"name": name, "size": size} for name, size in (("x", 0), ("w", 8), ("y\x1b", 0))],
    "ops": [{"operands": [0, 1, -1], "results": [2]}],
}


def _shown(*refused: dict[str, Any]) -> str:
    found = {"refused": list(refused), "remarks": []}
    target = {"name": "gpu", "rules": "a book, 2026", "partitions": 1, "share": 0.25, **found}
    return text(lambda out: show_target(out, {"target": target, "subgraphs": [_SUBGRAPH]}), io.StringIO())


def test_what_is_refused() -> None:
    shown = _shown({"subgraph": 0, "op": 0, "type": "GELU", "why": "it has no GELU"})
    assert "gpu refuses 1 of 1 ops, by the rules of a book, 2026" in shown
    assert "1 partition; 25.00% of the multiply-adds are left behind" in shown
    assert "x -> y\\x1b" in shown and "Layer" not in shown


def test_nothing_is_refused() -> None:
    assert "gpu takes all 1 ops" in _shown() and "Why" not in _shown()


def test_the_layer_is_told_where_it_is_known() -> None:
    shown = _shown({"subgraph": 0, "op": 0, "type": "GELU", "why": "no", "layer": "net/dense"})
    assert "Layer" in shown and shown.splitlines()[-1].endswith("net/dense")
