"""Branches with a placeholder on the side that their readers cannot take."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

READERS = {
    "einsum": "%y: float32[*] = tf.Einsum(%a, %k) {'equation': 'td,dnh->tnh'}",
    "any rank": "%y: float32[*] = tf.Mul(%a, %a)",
    "ellipsis": "%y: float32[*] = tf.Einsum(%a, %k) {'equation': '...d,dnh->...nh'}",
    "third rank": "%y: float32[*] = tf.Einsum(%a, %k) {'equation': 'btd,dnh->btnh'}",
}


def _module(reader: str) -> str:
    return f"""
    main {{
      input %c: bool[]
      input %x: float32[n,4]
      input %k: float32[4,2,3]
      %a: float32[*] = tf.StatelessIf(%c, %x) {{'then_branch': @doubled, 'else_branch': @nothing}}
      {READERS[reader]}
      return %y
    }}
    doubled {{
      input %x: float32[n,4]
      %y: float32[n,4] = tf.Add(%x, %x)
      return %y
    }}
    nothing {{
      input %x: float32[n,4]
      %y: float32[1] = tf.Fill(int32[1] [1], float32[] -1.0)
      return %y
    }}
    """


def test_the_side_that_a_reader_can_take() -> None:
    check_pass("simplify-control-flow", _module("einsum"), f"""
    main {{
      input %c: bool[]
      input %x: float32[n,4]
      input %k: float32[4,2,3]
      %a: float32[n,4] = tf.Add(%x, %x)
      {READERS["einsum"]}
      return %y
    }}
    """)


@pytest.mark.parametrize("reader", ["any rank", "ellipsis", "third rank"])
def test_what_readers_do_not_tell_stays_a_branch(reader: str) -> None:
    check_pass("simplify-control-flow", _module(reader))
