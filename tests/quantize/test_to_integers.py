"""Ops with integer kernels compute on int8; conversions stand where they meet others."""

from __future__ import annotations

import pytest

from fuseconv.quantize import to_integers as module
from tests.check_pass import check_pass
from tests.quantize.ranges import measured


def test_a_dense_layer() -> None:
    # 0.5 / 127 is the scale of the second channel, and each bias has the product of both scales.
    check_pass("to-integers", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [127, 2, 63.5, 0.5], float32[2] [1, 2])
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %q: int8[n,2]<0.5:-118> = tfl.QUANTIZE(%x)
      %y: int8[n,2]<128.0> = tfl.FULLY_CONNECTED(%q, int8[2,2]<1.0,0.5@0> [127, 2, 127, 1], int32[2]<0.5,0.25@0> [2, 8])
      %d: float32[n,2] = tfl.DEQUANTIZE(%y)
      return %d
    }
    """, quantize="int8", calibration=measured(x=(-5, 122.5), y=(-16384, 16256)))


def test_an_op_of_floats_between() -> None:
    context = check_pass("to-integers", """
    main {
      input %x: float32[n]
      %y: float32[n] = tfl.ABS(%x)
      %z: float32[n] = tfl.SIN(%y)
      %w: float32[n] = tfl.LOGISTIC(%z)
      return %w
    }
    """, """
    main {
      input %x: float32[n]
      %q: int8[n]<0.015625> = tfl.QUANTIZE(%x)
      %y: int8[n]<0.0078125:-128> = tfl.ABS(%q)
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      %z: float32[n] = tfl.SIN(%d)
      %r: int8[n]<0.0078125> = tfl.QUANTIZE(%z)
      %w: int8[n]<0.00390625:-128> = tfl.LOGISTIC(%r)
      %o: float32[n] = tfl.DEQUANTIZE(%w)
      return %o
    }
    """, quantize="int8", calibration=measured(x=(-2, 1.984375), y=(0, 1.9921875), z=(-1, 0.9921875), w=(0.2, 0.8)))
    assert [(item.op, item.type) for item in context.report.quantized] == [
        ("ABS", "int8"), ("SIN", "float32"), ("LOGISTIC", "int8"),
    ]  # fmt: skip
    assert context.report.quantized[1].why == "SIN has no kernel for int8"


def test_what_is_joined_has_one_scale() -> None:
    # Nothing else reads %a, which is made in the scale that is needed; the fixed one of TANH is requantized.
    check_pass("to-integers", """
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.ABS(%x)
      %t: float32[n] = tfl.TANH(%a)
      %b: float32[n] = tfl.RELU(%t)
      %c: float32[m] = tfl.CONCATENATION(%b, %t)
      return %c
    }
    """, """
    main {
      input %x: float32[n]
      %q: int8[n]<0.015625> = tfl.QUANTIZE(%x)
      %a: int8[n]<0.0078125:-128> = tfl.ABS(%q)
      %t: int8[n]<0.0078125> = tfl.TANH(%a)
      %b: int8[n]<2.0:-1> = tfl.ADD(%t, int8[]<0.0078125> 0) {'fused_activation_function': 'RELU'}
      %r: int8[n]<2.0:-1> = tfl.QUANTIZE(%t)
      %c: int8[m]<2.0:-1> = tfl.CONCATENATION(%b, %r)
      %d: float32[m] = tfl.DEQUANTIZE(%c)
      return %d
    }
    """, quantize="int8", calibration=measured(x=(-2, 1.984375), a=(0, 1.9921875), t=(-1, 1), b=(0, 1), c=(-254, 256)))


def test_roots_read_no_numbers_below_zero() -> None:
    check_pass("to-integers", """
    main {
      input %x: float32[n]
      %p: float32[n] = tfl.PAD(%x, int32[1,2] [1, 1])
      %s: float32[n] = tfl.SQRT(%p)
      return %p, %s
    }
    """, """
    main {
      input %x: float32[n]
      %q: int8[n]<1.0:-128> = tfl.QUANTIZE(%x)
      %p: int8[n]<1.0:-128> = tfl.PAD(%q, int32[1,2] [1, 1])
      %s: int8[n]<0.0625:-128> = tfl.SQRT(%p)
      %d: float32[n] = tfl.DEQUANTIZE(%p)
      %e: float32[n] = tfl.DEQUANTIZE(%s)
      return %d, %e
    }
    """, quantize="int8", calibration=measured(x=(0, 255), p=(0, 255), s=(0, 15.9375)))


def test_what_was_not_measured_stays() -> None:
    check_pass("to-integers", """
    main {
      input %x: float32[n]
      %y: float32[n] = tfl.ABS(%x)
      return %y
    }
    """, quantize="int8", calibration=measured())


def test_integer_forms() -> None:
    check_pass("to-integer-forms", """
    main {
      input %x: float32[n]
      %y: float32[n] = tfl.SQUARE(%x)
      %z: float32[n] = tfl.NEG(%y)
      return %z
    }
    """, """
    main {
      input %x: float32[n]
      %y: float32[n] = tfl.MUL(%x, %x)
      %z: float32[n] = tfl.SUB(float32[] 0.0, %y)
      return %z
    }
    """, quantize="int8")


_READ_TWICE = """
main {
  input %x: float32[n,2]
  %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, 4], float32[2] [1, 2])
  %z: float32[n,2] = tfl.RELU6(%y)
  return %y, %z
}
"""


def test_a_dense_layer_that_an_activation_and_others_read() -> None:
    check_pass("to-integer-forms", _READ_TWICE, """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, 4], float32[2] [1, 2])
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, 4], float32[2] [1, 2]) \
{'fused_activation_function': 'RELU6'}
      return %y, %z
    }
    """, quantize="int8")


@pytest.mark.parametrize(("of", "to"), [
    ("float32[2] [1, 2])", "float32[2] [1, 2]) {'fused_activation_function': 'RELU'}"),
    ("tfl.RELU6(%y)", "tfl.TANH(%y)"),
    ("tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, 4], float32[2] [1, 2])", "tfl.ADD(%x, float32[2] [1, 2])"),
    ("return %y, %z", "return %z"),
])  # fmt: skip
def test_activations_that_stand_apart(of: str, to: str) -> None:
    assert of in _READ_TWICE
    check_pass("to-integer-forms", _READ_TWICE.replace(of, to), quantize="int8")


def test_large_layers_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WEIGHTS_TWICE", 3)
    check_pass("to-integer-forms", _READ_TWICE, quantize="int8")


def test_steps_of_int16_are_fine_for_activations() -> None:
    check_pass("to-integer-forms", _READ_TWICE, quantize="int16x8")


def test_forms_of_int16() -> None:
    text = """
    main {
      input %x: float32[n]
      input %y: float32[n]
      %z: float32[n] = tfl.SQUARED_DIFFERENCE(%x, %y)
      return %z
    }
    """
    check_pass("to-integer-forms", text, quantize="int8")
    check_pass("to-integer-forms", text, """
    main {
      input %x: float32[n]
      input %y: float32[n]
      %d: float32[n] = tfl.SUB(%x, %y)
      %z: float32[n] = tfl.MUL(%d, %d)
      return %z
    }
    """, quantize="int16x8")


_VARIANCE = """
    main {
      input %x: float32[n,4]
      input %m: float32[n,1]
      REPLACED
      %v: float32[n] = tfl.MEAN(%z, int32[1] [1])
      %e: float32[n] = tfl.ADD(%v, float32[] 0.001)
      %y: float32[n] = tfl.RSQRT(%e)
      return %y
    }
"""


def test_squares_of_a_norm_are_computed_by_fast_kernels() -> None:
    text = _VARIANCE.replace("REPLACED", "%z: float32[n,4] = tfl.SQUARED_DIFFERENCE(%x, %m)")
    products = "%d: float32[n,4] = tfl.SUB(%x, %m)\n      %z: float32[n,4] = tfl.MUL(%d, %d)"
    check_pass("to-integer-forms", text, _VARIANCE.replace("REPLACED", products), quantize="int8")
    for other in (text.replace("RSQRT(%e)", "EXP(%e)"), text.replace("return %y", "return %y, %v")):
        check_pass("to-integer-forms", other, quantize="int8")
