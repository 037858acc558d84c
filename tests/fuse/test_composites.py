"""Calls of annotated functions become fused ops."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fuseconv.fuse import composites
from fuseconv.fuse.body_check import BodyCheck
from fuseconv.fuse.composites import fuse_composites
from fuseconv.fuse.match import Fusion, composite
from fuseconv.fuse.numeric_check import NumericCheck
from fuseconv.report.records import Report
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def test_a_composite_becomes_the_op_of_its_name() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Swoosh', 'attrs': {'tfl_fusable_op': True, 'beta': 2.0}}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %y: float32[2] = tfl.CUSTOM(%x) {'custom_code': 'Swoosh', 'custom_options': {'beta': 2.0}}
      return %y
    }
    """)


def test_a_composite_that_is_not_fusable() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Swoosh', 'attrs': {'tfl_fusable_op': False, 'beta': 2.0}}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """)


def test_a_composite_of_another_case_is_told_the_name_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[NumericCheck] = []
    monkeypatch.setattr(NumericCheck, "close", lambda self: ended.append(self))
    module, _ = module_of("""
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Acme.swoosh', 'attrs': {}}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """)
    fusion = Fusion("acme", "NEG", composite("acme.Swoosh", "x -> y"), lambda tfl, m: tfl.neg(m.x))
    report = Report()
    unchecked = BodyCheck(NumericCheck("never", lambda small: b""))
    fuse_composites.function(module, [fusion], report, unchecked)
    why = "none of the fusions in use is for the composite Acme.swoosh; did you mean acme.Swoosh?"
    assert [record.why for record in report.records] == [why]
    assert ended == [unchecked.numeric], "no child outlives the pass"


def test_no_child_outlives_a_pass_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[NumericCheck] = []
    monkeypatch.setattr(NumericCheck, "close", lambda self: ended.append(self))
    monkeypatch.setattr(composites._CompositeRewriter, "graph", Mock(side_effect=ZeroDivisionError))
    module, _ = module_of("main {\ninput %x: float32[2]\nreturn %x\n}")
    numeric = NumericCheck("never", lambda small: b"")
    with pytest.raises(ZeroDivisionError):
        fuse_composites.function(module, [], Report(), BodyCheck(numeric))
    assert ended == [numeric]
