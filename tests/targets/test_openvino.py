"""Rules of the plug-in: lists of ops, and the composites that it reads."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_NORM = "float32[2,4] = tfl.STABLEHLO_COMPOSITE(%0) {'name': 'NAME', 'decomposition_subgraph_index': 0}"


@pytest.mark.parametrize("op, reason", [
    ("float32[1,2,4] = tfl.EXPAND_DIMS(%0, int32[] 0)", None),
    (_NORM.replace("NAME", "odml.rms_norm"), None),
    (_NORM.replace("NAME", "odml.l2_norm"), "it has no composite odml.l2_norm"),
    ("float32[2,4] = tfl.NEG(%0)", "it has no NEG"),
    ("float32[4,4] = tfl.MIRROR_PAD(%0, int32[2,2] [1, 1, 0, 0]) {'mode': 'REFLECT'}", None),
    ("float32[4,4] = tfl.MIRROR_PAD(%0, int32[2,2] [1, 1, 0, 0]) {'mode': 'SYMMETRIC'}",
     "mode is SYMMETRIC, and not REFLECT"),
    ("float32[4,4] = tfl.CONCATENATION(%0, %0) {'axis': 0, 'fused_activation_function': 'RELU'}",
     "fused_activation_function is RELU, and not NONE"),
])  # fmt: skip
def test_what_it_takes(op: str, reason: str | None) -> None:
    assert why("openvino", "float32[2,4]", op) == reason


def test_how_many_are_taken_off_the_top_is_constant() -> None:
    op = "float32[2,k] = tfl.GATHER(%0, %1)"
    assert why("openvino", "float32[2,4] int32[3]", op.replace("k", "3")) is None
