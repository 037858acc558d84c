"""What is built for a fusion, and taken back where it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.fuse.apply_fusion import build, check, replace
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


def test_what_a_check_raises_names_the_module() -> None:
    match, _ = matched()
    with pytest.raises(Refused, match="not that one"):
        check(Fusion("neg", "NEG", NEG, rewrite=print, check=lambda m: m.refuse("not that one")), match)
    with pytest.raises(InputError, match=r"the fusion neg \(.*has no other"):
        check(Fusion("neg", "NEG", NEG, rewrite=_rewrite, check=lambda m: m.other), match)
    check(Fusion("neg", "NEG", NEG, rewrite=_rewrite), match)


def _rewrite(tfl: Builder, m: Match) -> object:
    return tfl.neg(m.x)


def _built_on(shape: str, rewrite: Any, placeholder: bool = False) -> dict[str, Any]:
    text = f"main {{\n input %x: float32[{shape}]\n %y: float32[{shape}] = tf.Tanh(%x)\n return %y\n}}"
    graph = module_of(text)[0].signatures[0].graph
    match = Match({"x": graph.inputs[0]}, results={"y": graph.ops[0].result}, placeholder=placeholder)
    return build(Fusion("acme", "NEG", NEG, rewrite), match, Builder([], "n"))


@pytest.mark.parametrize(("shape", "rewrite", "made"), [
    ("2,3", lambda tfl, m: tfl.transpose(m.x, [1, 0]), r"\(3, 2\) where the model has \(2, 3\)"),
    ("n,3", lambda tfl, m: tfl.transpose(m.x, [1, 0]), r"\(3, n\) where the model has \(n, 3\)"),
    ("n,k", lambda tfl, m: tfl.transpose(m.x, [1, 0]), r"\(k, n\) where the model has \(n, k\)"),
    ("n,3", lambda tfl, m: tfl.sum(m.x, [0]), r"\(3,\) where the model has \(n, 3\)"),
    ("2,3", lambda tfl, m: tfl.custom("Acme", [m.x], [(m.x.dtype, (7, 3))])[0], r"\(7, 3\) where the model has"),
])  # fmt: skip
def test_a_plugin_that_makes_another_shape_is_named(shape: str, rewrite: Any, made: str) -> None:
    with pytest.raises(InputError, match=rf"the fusion acme \(.*test_apply_fusion.py:\d+\) made y of the shape {made}"):
        _built_on(shape, rewrite)


def test_a_shape_that_may_be_the_same_is_taken() -> None:
    assert _built_on("n,3", lambda tfl, m: tfl.neg(m.x))
    assert _built_on("n,3", lambda tfl, m: tfl.custom("Acme", [m.x], [(m.x.dtype, None)])[0])
    # A body that returns constants does not know what it stands for.
    assert _built_on("2,3", lambda tfl, m: tfl.custom("Acme", [m.x], [(m.x.dtype, (7, 3))])[0], placeholder=True)
