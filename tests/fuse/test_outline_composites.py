"""Patterns that are outlined: which, and into what; by globs and by target."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.fuse.outline_composites import choose_composites
from fuseconv.fuse.registry import Registry
from fuseconv.report.records import Report
from tests.check_pass import check_pass

COMPOSITE = "STABLEHLO_COMPOSITE"
NORM = """
    main {
      input %x: float32[n,4]
      %a: float32[n,4] = tfl.SQUARE(%x)
      %b: float32[n,1] = tfl.MEAN(%a, int32[1] [1]) {'keep_dims': True}
      %c: float32[n,1] = tfl.ADD(%b, float32[] 0.5)
      %d: float32[n,1] = tfl.RSQRT(%c)
      %y: float32[n,4] = tfl.MUL(%x, %d)
      return %y
    }
    """
OUTLINED = """
    main {
      input %x: float32[n,4]
      %y: float32[n,4] = tfl.STABLEHLO_COMPOSITE(%x, float32[4] [1.0, 1.0, 1.0, 1.0]) {'name': 'odml.rms_norm', 'decomposition_subgraph_index': @y:odml.rms_norm_0, 'composite_attributes': {'epsilon': 0.5}}
      return %y
    }
    y:odml.rms_norm_0 {
      input %x: float32[n,4]
      input %gamma: float32[4]
      %a: float32[n,4] = tfl.MUL(%x, %x)
      %b: float32[n,1] = tfl.MEAN(%a, int32[1] [1]) {'keep_dims': True}
      %c: float32[n,1] = tfl.ADD(%b, float32[] 0.5)
      %d: float32[n,1] = tfl.RSQRT(%c)
      %e: float32[n,4] = tfl.MUL(%x, %d)
      %y: float32[n,4] = tfl.MUL(%e, %gamma)
      return %y
    }
    """  # noqa: E501


def chosen(*globs: str, target: str | None = None) -> list[str]:
    registry = Registry.builtin()
    fusions = registry.choose_fusions((), (), Report())
    found = choose_composites(fusions, globs, registry.target(target) if target else None)
    return [fusion.name for fusion in (*found[0], *found[1]) if fusion.emits == COMPOSITE]


def outlined(target: str | None = None) -> dict[str, Any]:
    registry = Registry.builtin()
    names = () if target else ("odml.*",)
    return {"outlined": choose_composites(registry.fusions, names, registry.target(target) if target else None)[1]}


def test_a_norm_becomes_a_composite() -> None:
    check_pass("outline-composites", NORM, OUTLINED, **outlined())


def test_the_function_of_a_composite_is_not_outlined() -> None:
    check_pass("outline-composites", OUTLINED, **outlined())


def test_a_composite_that_the_target_refuses_is_not_made() -> None:
    context = check_pass("outline-composites", NORM, **outlined("mediatek"))
    assert [(record.rule, record.why) for record in context.report.records if record.kind == "refused"] == [
        ("odml.rms_norm", "mediatek refuses it: it computes with an epsilon of 1.2e-07, where the composite has 0.5")
    ]


def test_none_is_written_unasked() -> None:
    assert chosen() == chosen(target="gpu") == chosen(target="xnnpack") == []


def test_globs_choose() -> None:
    assert chosen("odml.l2*", "odml.rms*") == ["odml.rms_norm", "odml.l2_norm"]
    assert chosen("odml.scaled*", target="xnnpack") == ["odml.scaled_dot_product_attention"]


def test_a_glob_that_chooses_none_is_an_error() -> None:
    with pytest.raises(InputError, match=r"--composites rms_norm names none; there are odml.rms_norm, "):
        chosen("rms_norm")
