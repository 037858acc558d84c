"""Rules of the plug-in: lists of ops, and the composites that it reads."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_NORM = "float32[2,4] = tfl.STABLEHLO_COMPOSITE(%0) {'name': 'NAME', 'decomposition_subgraph_index': 0}"
_TELLS = _NORM.replace("}", ", 'composite_attributes': {'epsilon': EPSILON}}")
_RMS = _TELLS.replace("NAME", "odml.rms_norm")
_LARGER = "it computes with an epsilon of 1.2e-07, where the composite has 1e-06"


@pytest.mark.parametrize("op, reason", [
    ("float32[2,4] = tfl.ABS(%0)", None),
    (_NORM.replace("NAME", "odml.l2_norm"), None),
    (_NORM.replace("NAME", "odml.group_norm"), "it has no composite odml.group_norm"),
    (_RMS.replace("EPSILON", "1.1920929e-07"), None),
    (_RMS.replace("EPSILON", "1e-06"), _LARGER),
    ("float32[2,4] = tfl.SQUARE(%0)", "it has no SQUARE"),
])  # fmt: skip
def test_what_it_takes(op: str, reason: str | None) -> None:
    assert why("mediatek", "float32[2,4]", op) == reason


def test_types_without_a_counterpart_are_refused() -> None:
    why_not = why("mediatek", "uint64[2]", "uint64[2] = tfl.RESHAPE(%0, int32[1] [2])")
    assert (why_not or "").startswith("a tensor is of uint64, and not float32")
