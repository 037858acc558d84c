"""Inputs and outputs are integers where that is asked for, and where ops of integers read and make them."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Quantization
from fuseconv.quantize.io_types import _as, parse_io_types, set_io_types
from tests.check_pass import check_pass
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
    with pytest.raises(InputError, match="SIN reads the input i0 as floats; leave that so by i0=float"):
        set_io_types(module, "int8")
    module, _ = module_of(_QUANTIZED.replace("tfl.DEQUANTIZE", "tfl.CAST"))
    with pytest.raises(InputError, match="CAST makes the output o0 as floats"):
        set_io_types(module, "int8")
    with pytest.raises(InputError, match="no input or output is called y"):
        set_io_types(module, "int8,y=float")
    module, _ = module_of(_QUANTIZED.replace("main {", "main {\n input %tokens: int32[4]"))
    with pytest.raises(InputError, match="i0 holds int32 in the model, and stays so: leave i0=int8 out"):
        set_io_types(module, "float,i0=int8")


def test_one_type_for_each_name() -> None:
    assert parse_io_types("x=int8,x=int8") == ("float", {"x": "int8"})
    with pytest.raises(InputError, match="x is int8 or float; name it once"):
        parse_io_types("int8,x=int8,x=float")


def test_no_kernel_makes_uint8_of_int16() -> None:
    module, _ = module_of(_QUANTIZED.replace("int8[n]<0.5:-3>", "int16[n]<0.5>"))
    with pytest.raises(InputError, match="uint8 is for files that compute in int8"):
        set_io_types(module, "uint8")
