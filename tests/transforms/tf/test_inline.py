"""Calls become bodies, each function that stays has one user, and every op is accounted for."""

from __future__ import annotations

from fuseconv.ir.verifier import check
from fuseconv.tf.annotated_functions import implements
from fuseconv.transforms.tf.inline import inline, inline_composites
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

INNER = 'inner {\n input %0 "x": float32[2]\n %1 "neg": float32[2] = tf.Neg(%0) {}\n return %1, %0\n}'
OUTER = """outer {
    input %0 "x": float32[2]
    %1 "call": float32[2]; %2 "call:1": float32[2] = tf.PartitionedCall(%0) {'f': {'function': 'inner'}}
    %3 "again": float32[2]; %4 "again:1": float32[2] = tf.PartitionedCall(%1) {'f': {'function': 'inner'}}
    return %3, %2
}"""
MAIN = """main {
    input %0 "x": float32[2]
    %1 "top": float32[2]; %2 "top:1": float32[2] = tf.StatefulPartitionedCall(%0) {'f': {'function': 'outer'}}
    %3 "abs": float32[2] = tf.Abs(%1) {}
    return %3, %2
}"""


def test_calls_become_bodies_at_any_depth() -> None:
    module, report = module_of(MAIN, OUTER, INNER, outputs=2)
    inline(module, report)
    check(module)
    graph = module.signatures[0].graph
    assert [op.name for op in graph.ops] == ["top/call/neg", "top/again/neg", "abs"]
    assert graph.outputs[1] is graph.inputs[0]
    assert module.functions == {}
    assert graph.ops[0].sources == ("top/call/neg",)
    assert report.account()["top/call"] == "removed"


def test_a_kept_function_is_copied_for_each_call() -> None:
    kept = INNER.replace("inner {", "inner {\n attrs {'_implements': {'function': 'x'}}")
    module, report = module_of(MAIN, OUTER, kept, outputs=2)
    inline(module, report, keep=implements)
    check(module)
    assert kinds(module) == ["PartitionedCall", "PartitionedCall", "Abs"]
    assert len(module.functions) == 2
    assert {op.attrs["f"].name for op in module.signatures[0].graph.ops[:2]} == set(module.functions)
    inline_composites(module, report)
    check(module)
    assert [op.name for op in module.signatures[0].graph.ops] == ["top/call/neg", "top/again/neg", "abs"]
    assert {name for name, fate in report.account().items() if not fate} == {"top/call/neg", "top/again/neg", "abs"}


def test_a_call_in_a_call() -> None:
    check_pass("inline", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @twice}
      return %y
    }
    twice {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @once}
      %z: float32[2] = tf.StatefulPartitionedCall(%y) {'f': @once}
      return %z
    }
    once {
      input %x: float32[2]
      %y: float32[2] = tf.Neg(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %y_y_y: float32[2] = tf.Neg(%x)
      %y_z_y: float32[2] = tf.Neg(%y_y_y)
      return %y_z_y
    }
    """)


def test_a_composite_that_nobody_took() -> None:
    check_pass("inline-composites", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Swoosh'}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """)


def test_an_annotated_function_stays() -> None:
    check_pass("inline", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Swoosh'}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh@y}
      return %y
    }
    swoosh@y {
      attrs {'_implements': {'function': 'Swoosh'}}
      input %x: float32[2]
      %y_y: float32[2] = tf.Softplus(%x)
      return %y_y
    }
    """)
