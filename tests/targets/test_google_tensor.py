"""Rules of the plug-in: lists of ops, and the composites that it reads."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_NORM = "float32[2,4] = tfl.STABLEHLO_COMPOSITE(%0) {'name': 'NAME', 'decomposition_subgraph_index': 0}"


@pytest.mark.parametrize("op, reason", [
    ("float32[2,4] = tfl.GELU(%0)", None),
    (_NORM.replace("NAME", "odml.rms_norm"), None),
    (_NORM.replace("NAME", "odml.l2_norm"), "it has no composite odml.l2_norm"),
    ("int32[2] = tfl.SHAPE(%0)", "it has no SHAPE"),
])  # fmt: skip
def test_what_it_takes(op: str, reason: str | None) -> None:
    assert why("google-tensor", "float32[2,4]", op) == reason
