"""Inputs and outputs are integers where that is asked for, and where ops of integers read and make them."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Quantization
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.io_types import _as, parse_io_types, set_io_types
from fuseconv.report.records import Report
from tests.check_pass import check_pass
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_QUANTIZED = """
main {
  input %x: float32[n]
  %q: int8[n]<0.5:-3> = tfl.QUANTIZE(%x)
  %y: int8[n]<0.25> = tfl.RELU(%q)
  %d: float32[n] = tfl.DEQUANTIZE(%y)
  return %d
}
"""


def test_of_the_type_that_is_computed_with() -> None:
    check_pass("set-io-types", _QUANTIZED, """
    main {
      input %x: int8[n]<0.5:-3>
      %y: int8[n]<0.25> = tfl.RELU(%x)
      return %y
    }
    """, io_types="int8")


def test_of_another_type() -> None:
    check_pass("set-io-types", _QUANTIZED, """
    main {
      input %x: uint8[n]<0.5:125>
      %q: int8[n]<0.5:-3> = tfl.QUANTIZE(%x)
      %y: int8[n]<0.25> = tfl.RELU(%q)
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      return %d
    }
    """, io_types="uint8,o0=float")


def test_no_kernel_of_tensorflow_makes_int16_of_int8() -> None:
    text = """
    main {
      input %x: float32[n]
      %q: int16[n]<0.5> = tfl.QUANTIZE(%x)
      %y: int16[n]<0.25> = tfl.RELU(%q)
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      return %d
    }
    """
    made = """
    main {
      input %x: int8[n]<129.00393700787401>
      %f: float32[n] = tfl.DEQUANTIZE(%x)
      %q: int16[n]<0.5> = tfl.QUANTIZE(%f)
      %y: int16[n]<0.25> = tfl.RELU(%q)
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      return %d
    }
    """
    check_pass("set-io-types", text, made, io_types="int8,o0=float")
    module, _ = module_of(text)
    report = Report(plans_arena=True)
    set_io_types(module, "int8,o0=float", Calibration(), report, None)
    assert [op.type for op in module.signatures[0].graph.ops] == ["QUANTIZE", "RELU", "DEQUANTIZE"]


_IN_FLOATS = """
main {
  input %x: float32[n]
  %q: int8[n]<0.5:-3> = tfl.QUANTIZE(%x)
  %r: int8[n]<0.25> = tfl.RELU(%q)
  %s: float32[n] = tfl.SIN(%x)
  %d: float32[n] = tfl.DEQUANTIZE(%r)
  %m: float32[n] = tfl.MUL(%s, %d)
  %y: float32[n] = tfl.SOFTMAX(%m)
  return %m, %y
}
"""


def test_what_ops_of_floats_read_and_make() -> None:
    """SOFTMAX has the scale of its kernel of int8."""
    step = float(np.float32(4 / 255))
    context = check_pass("set-io-types", _IN_FLOATS, f"""
    main {{
      input %x: int8[n]<0.5:-3>
      %f: float32[n] = tfl.DEQUANTIZE(%x)
      %r: int8[n]<0.25> = tfl.RELU(%x)
      %s: float32[n] = tfl.SIN(%f)
      %d: float32[n] = tfl.DEQUANTIZE(%r)
      %m: float32[n] = tfl.MUL(%s, %d)
      %y: float32[n] = tfl.SOFTMAX(%m)
      %a: int8[n]<{step}:-64> = tfl.QUANTIZE(%m)
      %b: int8[n]<0.00390625:-128> = tfl.QUANTIZE(%y)
      return %a, %b
    }}
    """, io_types="int8", calibration=measured(x=(-1, 1), m=(-1, 3), y=(0, 0.5)))
    assert context.report.warnings == [
        "the input i0 is converted to floats, as SIN reads it",
        "the output o0 is converted from floats, as MUL makes it",
        "the output o1 is converted from floats, as SOFTMAX makes it",
    ]  # fmt: skip


@pytest.mark.parametrize("zero", [-100, 10])
def test_int16_holds_both_ends_of_int8(zero: int) -> None:
    (scale,) = _as(Quantization((0.5,), (zero,)), types.INT8, types.INT16).scale
    farthest = max(abs(end - zero) for end in (-128, 127)) * 0.5
    assert scale * 32767 == pytest.approx(farthest)


@pytest.mark.parametrize("text", ["int4", "int8,", "x=int8,int8", "=int8", "int8,x=", ""])
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(InputError, match="write one of float, int8, uint8, int16"):
        parse_io_types(text)


def test_what_cannot_be_integers() -> None:
    module, _ = module_of(_QUANTIZED.replace("tfl.QUANTIZE", "tfl.SIN").replace("int8[n]<0.5:-3>", "float32[n]"))
    with pytest.raises(InputError, match=r"SIN reads the input i0 as floats, and no range of it .* so by i0=float"):
        set_io_types(module, "int8", Calibration(), Report(), None)
    module, _ = module_of(_QUANTIZED.replace("tfl.DEQUANTIZE", "tfl.CAST"))
    with pytest.raises(InputError, match="CAST makes the output o0 as floats, and no range"):
        set_io_types(module, "int8", Calibration(), Report(), None)
    with pytest.raises(InputError, match="no input or output is called y"):
        set_io_types(module, "int8,y=float", Calibration(), Report(), None)
    module, _ = module_of(_QUANTIZED.replace("main {", "main {\n input %tokens: int32[4]"))
    with pytest.raises(InputError, match="i0 holds int32 in the model, and stays so: leave i0=int8 out"):
        set_io_types(module, "float,i0=int8", Calibration(), Report(), None)


def test_one_type_for_each_name() -> None:
    assert parse_io_types("x=int8,x=int8") == ("float", {"x": "int8"})
    with pytest.raises(InputError, match="x is int8 or float; name it once"):
        parse_io_types("int8,x=int8,x=float")


def test_no_kernel_makes_uint8_of_int16() -> None:
    module, _ = module_of(_QUANTIZED.replace("int8[n]<0.5:-3>", "int16[n]<0.5>"))
    with pytest.raises(InputError, match="uint8 is for files that compute in int8"):
        set_io_types(module, "uint8", Calibration(), Report(), None)
