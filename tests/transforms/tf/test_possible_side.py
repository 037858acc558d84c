"""Branches with a placeholder on the side that their readers cannot take."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

READERS = {
    "einsum": "%y: float32[*] = tf.Einsum(%a, %k) {'equation': 'td,dnh->tnh'}",
    "any rank": "%y: float32[*] = tf.Mul(%a, %a)",
    "ellipsis": "%y: float32[*] = tf.Einsum(%a, %k) {'equation': '...d,dnh->...nh'}",
    "third rank": "%y: float32[*] = tf.Einsum(%a, %k) {'equation': 'btd,dnh->btnh'}",
    "second operand": "%y: float32[*] = tf.Einsum(%k, %a) {'equation': 'dnh,td->tnh'}",
}
_PLACEHOLDER = "%y: float32[1] = tf.Fill(int32[1] [1], float32[] -1.0)"


def _module(reader: str, other: str = _PLACEHOLDER) -> str:
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
      {other}
      return %y
    }}
    """


@pytest.mark.parametrize("reader", ["einsum", "second operand"])
def test_the_side_that_a_reader_can_take(reader: str) -> None:
    check_pass("simplify-control-flow", _module(reader), f"""
    main {{
      input %c: bool[]
      input %x: float32[n,4]
      input %k: float32[4,2,3]
      %a: float32[n,4] = tf.Add(%x, %x)
      {READERS[reader]}
      return %y
    }}
    """)


@pytest.mark.parametrize("reader", ["any rank", "ellipsis", "third rank"])
def test_what_readers_do_not_tell_stays_a_branch(reader: str) -> None:
    check_pass("simplify-control-flow", _module(reader))


@pytest.mark.parametrize("other", ["%y: float32[n,4] = tf.Neg(%x)", "%y: float32[*] = tf.Squeeze(%x)"])
def test_two_sides_that_a_reader_can_take_stay(other: str) -> None:
    check_pass("simplify-control-flow", _module("einsum", other))
