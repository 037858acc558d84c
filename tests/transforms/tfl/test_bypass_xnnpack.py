"""Convolutions that XNNPACK computes wrong go past it."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def _check(data: str, strides: str, passes_by: bool, padding: str = "SAME", kind: str = "CONV_2D") -> None:
    text = """
    main {{
      input %x: float32[n,DATA,4]
      input %w: float32[FILTER]
      %y: float32[n,SIZES,4] = tfl.KIND(%x, %w, {bias}) {{'padding': 'PADDING', STRIDES}}
      return %y
    }}
    """.replace("DATA", data).replace("PADDING", padding).replace("STRIDES", strides).replace("KIND", kind)
    text = text.replace("FILTER", "4,3,3,4" if kind == "CONV_2D" else "1,3,3,4").replace("SIZES", "a,b")
    bias = "float32[4] [1.0, 2.0, 3.0, 4.0]"
    reshaped = text.replace("%y:", f"%b: float32[4] = tfl.RESHAPE({bias}, int32[1] [4]) {{{{}}}}\n      %y:")
    after = reshaped.format(bias="%b") if passes_by else None
    check_pass("bypass-xnnpack", text.format(bias=bias), after)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_a_large_stride_over_data_of_unknown_size_goes_past(kind: str) -> None:
    _check("h,w", "'stride_h': 4, 'stride_w': 4", passes_by=True, kind=kind)
    _check("7,w", "'stride_h': 1, 'stride_w': 4", passes_by=True, kind=kind)


def test_data_of_known_size_stays() -> None:
    _check("5,5", "'stride_h': 4, 'stride_w': 4", passes_by=False)
    _check("5,w", "'stride_h': 4, 'stride_w': 3", passes_by=False)


def test_small_strides_stay() -> None:
    _check("h,w", "'stride_h': 3, 'stride_w': 2", passes_by=False)


def test_what_is_not_padded_stays() -> None:
    _check("h,w", "'stride_h': 4, 'stride_w': 4", passes_by=False, padding="VALID")


def test_a_variable_is_read_for_each_operand() -> None:
    text = """
    main {
      input %x: float32[2]
      %h: resource[] = tfl.VAR_HANDLE() {'shared_name': 'v', 'container': ''}
      %v: float32[2] = tfl.READ_VARIABLE(%h)
      %y: float32[2] = tfl.ADD(%v, OTHER)
      tfl.ASSIGN_VARIABLE(%h, %x)
      %z: float32[2] = tfl.MUL(%v, %y)
      return %z
    }
    """
    read = "%v: float32[2] = tfl.READ_VARIABLE(%h)"
    twice = text.replace(read, f"{read}\n      {read.replace('%v', '%u')}").replace("OTHER", "%u")
    check_pass("bypass-xnnpack", text.replace("OTHER", "%v"), twice)
    check_pass("bypass-xnnpack", text.replace("OTHER", "%x"))
