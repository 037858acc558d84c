"""What a report knows of a conversion."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Graph, Module, Op, Signature, constant
from fuseconv.report.records import Report
from fuseconv.transforms.tf.dead_code_elimination import remove_dead_code
from tests.tf.text_cases import module_of

TEXT = """main {
    input %0 "x": float32[2]
    %1 "a": float32[2] = tf.Neg(%0) {}
    %2 "b": float32[2] = tf.Abs(%0) {}
    %3 "c": float32[2] = tf.Exp(%0) {}
    return %3
}"""


def test_the_strongest_claim_is_a_nodes_fate() -> None:
    report = Report()
    report.source("a", "Neg")
    assert report.account() == {"a": ""}
    report.record("removed", "dead code", ["a"])
    report.record("refused", "some_fusion", ["a"], why="it does not fit")
    assert report.account() == {"a": "removed"}
    report.record("fused", "other_fusion", ["a"], ["ADD"])
    assert report.account() == {"a": "fused"}
    assert report.totals() == {"fused": 1}


def test_what_a_rewrite_takes_out_is_recorded_once() -> None:
    module, report = module_of(TEXT)
    graph = module.signatures[0].graph
    with report.rewriting(module, "loops", "its loop takes another form"):
        remove_dead_code(module, report)
        graph.ops[0].sources = ()
    assert [(record.rule, record.sources) for record in report.records] == [
        ("dead code", ("b",)), ("dead code", ("a",)), ("loops", ("c",)),
    ]  # fmt: skip


def test_nodes_that_become_known_while_rewriting_count_too() -> None:
    """A function's nodes get their names when it is inlined, which comes first in the stage that rewrites."""
    module = Module([Signature(["main"], Graph("main"), [], [])])
    report = Report()
    report.source("before", "Neg")
    with report.rewriting(module, "loops", "its loop takes another form"):
        for name in ("f/switch", "f/merge"):
            report.source(name, "Switch")
        report.record("removed", "dead code", ["f/merge"])
    assert [(record.rule, record.sources) for record in report.records] == [
        ("dead code", ("f/merge",)), ("loops", ("f/switch",)),
    ]  # fmt: skip


def test_refusals_are_taken_back() -> None:
    report = Report()
    for kind, rule in (("refused", "a"), ("fused", "a"), ("refused", "b")):
        report.record(kind, rule, ["x"])
    report.forget_refusals(["a"])
    assert [(record.kind, record.rule) for record in report.records] == [("fused", "a"), ("refused", "b")]


def test_what_nodes_read_is_recorded_if_it_is_asked_for() -> None:
    module, _ = module_of("""main {
        input %0 "x": float32[2]
        %1 "net/a": float32[2] = tf.Neg(%0) {}
        %2 "net/b": float32[2] = tf.Mul(%1, %1) {}
        return %2
    }""")
    graph = module.signatures[0].graph
    graph.ops[1].set_operand(1, constant(np.zeros(2, np.float32), name="c"))
    for asked, edges in ((False, {}), (True, {"net/a": (), "net/b": ("net/a", "net/c")})):
        report = Report(graph=asked)
        for name, kind in (("net/c", "Const"), ("net/a", "Neg"), ("net/b", "Mul")):
            report.source(name, kind)
        report.connect(module)
        assert report.edges == edges


def test_scopes_of_what_reads_a_constant_are_looked_at_up_to_a_depth() -> None:
    """A name of 900 kB may have 450,000 of them."""
    weights = constant(np.zeros(2, np.float32), name="c")
    op = Op("tf.Neg", [weights], {}, "call/" + "a/" * 450_000 + "b")
    report = Report(graph=True)
    report.source("call/c", "Const")
    assert report._node(weights, op) == ""
    op.name = "call/" + "a/" * 90 + "b"
    assert report._node(weights, op) == "call/c"


def test_a_constant_counts_for_the_first_op_that_reads_it() -> None:
    module, report = module_of("""main {
        input %0 "x": float32[n,2]
        %1 "a": float32[n,2] = tfl.NEG(%0) {}
        %2 "b": float32[n,2] = tfl.NEG(%1) {}
        return %2
    }""")
    graph = module.signatures[0].graph
    stored = {}
    for op, buffer in zip(graph.ops, (2, 2)):
        weights = constant(np.ones((1, 2), np.float32))
        op.set_operands([weights, weights])
        stored[weights] = buffer, 8
    report.finish(module, [graph], stored.__getitem__)
    assert [(op.type, op.bytes) for op in report.emitted] == [("NEG", 8), ("NEG", 0)]
    (ends,) = report.signatures
    assert [tensor[1:] for tensor in ends.inputs] == [("float32", (-1, 2))]
