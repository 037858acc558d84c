"""What is built for a fusion, and taken back where it is refused."""

from __future__ import annotations

import pytest

from fuseconv.fuse.apply_fusion import build, replace
from fuseconv.fuse.match import Fusion, Match, Refused, composite
from fuseconv.ir.graph import Graph
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from tests.tf.text_cases import module_of

NEG = composite("neg", "x -> y")


def matched() -> tuple[Match, Graph]:
    module, _ = module_of("main {\n input %x: float32[2]\n %y: float32[2] = tf.Neg(%x)\n return %y\n}")
    graph = module.signatures[0].graph
    return Match({"x": graph.inputs[0]}, results={"y": graph.ops[0].result}), graph


def test_readers_read_what_was_built_and_it_is_recorded() -> None:
    match, graph = matched()
    fusion = Fusion("neg", "NEG", NEG, lambda tfl, m: {"y": tfl.neg(m.x)})
    tfl, report = Builder([], "n", ("y",)), Report()
    made = build(fusion, match, tfl)
    replace(fusion, match, made, tfl, report)
    assert graph.outputs == [made["y"]] and made["y"].name == "y"
    assert [(r.kind, r.rule, r.emitted) for r in report.records] == [("fused", "neg", ("NEG",))]


def test_what_is_refused_leaves_nothing() -> None:
    match, graph = matched()
    tfl = Builder([], "n")

    def rewrite(tfl: Builder, m: Match) -> object:
        tfl.neg(m.x)
        m.refuse("not today")

    with pytest.raises(Refused, match="not today"):
        build(Fusion("neg", "NEG", NEG, rewrite), match, tfl)
    assert not tfl.out and [*graph.inputs[0].uses] == graph.ops
