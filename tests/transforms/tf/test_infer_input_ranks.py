"""Inputs whose rank only their uses tell."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

LOOP = """
    main {{
      input %least: float32[{0}]
      input %factor: float32[{0}]
      %ratio: float32[*] = tf.RealDiv(float32[] 12.0, %least)
      %y: float32[*]; %same: float32[*] = tf.While(%ratio, %factor) {{'cond': @small, 'body': @scaled}}
      return %y
    }}
    small {{
      input %size: float32[*]
      input %factor: float32[*]
      %more: bool[*] = tf.GreaterEqual(%size, float32[] 12.0)
      return %more
    }}
    scaled {{
      input %size: float32[*]
      input %factor: float32[*]
      %less: float32[*] = tf.Mul(%size, %factor)
      return %less, %factor
    }}
    """


def _reads(shape: str, *lines: str) -> str:
    ops = "\n".join(lines)
    return f"main {{\n input %x: float32[2,4]\n input %t: float32[{shape}]\n {ops}\n return %y\n}}"


def test_what_a_loop_compares_is_a_scalar() -> None:
    context = check_pass("infer-input-ranks", LOOP.format("*"), LOOP.format(""))
    told = " ".join(context.report.warnings)
    assert "its input i0; it is used as a scalar" in told and "--input-shape i1=..." in told


@pytest.mark.parametrize(
    ("shape", "lines"),
    [
        ("", ["%y: float32[*] = tf.Fill(int32[2] [2, 3], %t)"]),
        ("", ["%n: int32[*] = tf.Cast(%t)", "%p: int32[2] = tf.Pack(%n, int32[] 3)",
              "%y: float32[*] = tf.Reshape(%x, %p)"]),
        ("i1.0", ["%s: float32[*] = tf.StridedSlice(%t, int32[1] [1], int32[1] [2], int32[1] [1])"
                  " {'shrink_axis_mask': 1}", "%y: bool[2,4] = tf.Greater(%x, %s)"]),
        ("i1.0,i1.1", ["%s: float32[*] = tf.StridedSlice(%t, int32[1] [1], int32[1] [2], int32[1] [1])"
                       " {'shrink_axis_mask': 1}", "%y: float32[2,4] = tf.BiasAdd(%x, %s)"]),
    ],
    ids=["scalar", "size", "element", "row"],
)  # fmt: skip
def test_the_rank_that_an_op_takes(shape: str, lines: list[str]) -> None:
    check_pass("infer-input-ranks", _reads("*", *lines), _reads(shape, *lines))


@pytest.mark.parametrize(
    "lines",
    [
        ["%y: float32[*] = tf.Mul(%x, %t)"],
        ["%a: float32[*] = tf.Fill(int32[2] [2, 3], %t)", "%y: float32[*] = tf.BiasAdd(%a, %t)"],
        ["%y: float32[*] = tf.StridedSlice(%t, int32[1] [0], int32[1] [2], int32[1] [1])"],
    ],
    ids=["any rank", "two ranks", "elements that may be rows"],
)
def test_what_no_op_tells_stays_unknown(lines: list[str]) -> None:
    context = check_pass("infer-input-ranks", _reads("*", *lines))
    assert not context.report.warnings


def test_a_branch_takes_what_its_sides_read() -> None:
    text = """
    main {{
      input %flag: bool[]
      input %t: float32[{}]
      %y: float32[*] = tf.If(%flag, %t) {{'then_branch': @fills, 'else_branch': @negates}}
      return %y
    }}
    fills {{
      input %t: float32[*]
      %y: float32[*] = tf.Fill(int32[1] [2], %t)
      return %y
    }}
    negates {{
      input %t: float32[*]
      %y: float32[*] = tf.Neg(%t)
      return %y
    }}
    """
    check_pass("infer-input-ranks", text.format("*"), text.format(""))
