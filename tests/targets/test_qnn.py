"""Rules of the plug-in: lists of ops, and the composites that it reads."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_NORM = "float32[2,4] = tfl.STABLEHLO_COMPOSITE(%0) {'name': 'NAME', 'decomposition_subgraph_index': 0}"


@pytest.mark.parametrize("op, reason", [
    ("float32[2,4] = tfl.ROUND(%0)", None),
    (_NORM.replace("NAME", "odml.group_norm"), None),
    (_NORM.replace("NAME", "acme.norm"), "it has no composite acme.norm"),
    ("int32[2] = tfl.SHAPE(%0)", "it has no SHAPE"),
    ("float32[1,2,4] = tfl.EXPAND_DIMS(%0, int32[] 0)", "it has no EXPAND_DIMS"),
])  # fmt: skip
def test_what_it_takes(op: str, reason: str | None) -> None:
    assert why("qnn", "float32[2,4]", op) == reason
