"""FAKE_QUANTs tell ranges, and ops that keep them hand them on."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.pass_manager import Context, PassManager
from fuseconv.quantize.affine import Range, parameters
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.selection import Selection
from tests.check_pass import PASSES, check_pass
from tests.frozen import FLOAT, Frozen
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_OFTEN = '{"min": -64.0, "max": 63.5, "num_bits": 8}'  # steps of 0.5


def _ranges(text: str, quantize: str = "int8") -> dict[str, Range]:
    """Return the ranges by the names of values."""
    calibration = Calibration()
    check_pass("read-fake-quant", text, calibration=calibration, quantize=quantize)
    return {value.name: found for value, found in calibration.ranges.items()}


@pytest.mark.parametrize("bits", [-3, 0, 17, 2**31 - 1])
def test_other_numbers_of_bits_than_the_kernel_has_tell_no_range(bits: int) -> None:
    options = _OFTEN.replace("8}", f"{bits}}}")
    text = f"""
    main {{
      input %x: float32[4]
      %y: float32[4] = tfl.FAKE_QUANT(%x) {options}
      return %y
    }}
    """
    assert not _ranges(text)


def test_ranges_go_through_what_keeps_them() -> None:
    found = _ranges(f"""
    main {{
      input %x: float32[1,4,4,8]
      %a: float32[1,4,4,8] = tfl.EXP(%x)
      %b: float32[1,2,2,8] = tfl.MAX_POOL_2D(%a) {{"filter_width": 2, "filter_height": 2, "stride_w": 2, "stride_h": 2}}
      %c: float32[1,2,2,8] = tfl.FAKE_QUANT(%b) {_OFTEN}
      %d: float32[1,2,2,8] = tfl.RELU(%c)
      %e: float32[1,32] = tfl.RESHAPE(%d, int32[2] [1, 32])
      %s: float32[1,32] = tfl.SOFTMAX(%e)
      %f: float32[1,32] = tfl.EXP(%e)
      return %f, %s
    }}
    """)
    steps = Range(-64.0, 63.5, fixed=True)
    assert {name: found[name] for name in "abcde"} == dict.fromkeys("abcde", steps)
    assert found["s"] == Range(0.0, 255 / 256) and not {"x", "f"} & found.keys()


def test_the_steps_of_what_is_clamped_are_no_others_where_samples_are_measured() -> None:
    positive, ends = (0.0, 20.0), (-60.0, 60.0)
    calibration = measured(x=ends, a=ends, b=(-60.0, 20.0), c=positive, d=positive, e=(0.0, 9.0))
    check_pass(
        "read-fake-quant", f"""
        main {{
          input %x: float32[1,4,4,8]
          %a: float32[1,4,4,8] = tfl.FAKE_QUANT(%x) {_OFTEN}
          %b: float32[1,4,4,8] = tfl.MINIMUM(%a, float32[] 20.0)
          %c: float32[1,4,4,8] = tfl.RELU(%b)
          %d: float32[1,128] = tfl.RESHAPE(%c, int32[2] [1, 128])
          %e: float32[1,2,2,8] = tfl.AVERAGE_POOL_2D(%c) {{"filter_width": 2, "filter_height": 2}}
          return %d, %e
        }}
        """, calibration=calibration, quantize="int8",
    )  # fmt: skip
    found = calibration.ranges.named  # type: ignore[attr-defined]
    assert {name: found[name] for name in "abcd"} == dict.fromkeys("abcd", Range(-64.0, 63.5, fixed=True))
    assert found["e"] == Range(0.0, 9.0)  # between the steps


def test_two_ways_to_round_are_none() -> None:
    found = _ranges(f"""
    main {{
      input %x: float32[8]
      %a: float32[8] = tfl.EXP(%x)
      %b: float32[8] = tfl.FAKE_QUANT(%a) {_OFTEN}
      %c: float32[8] = tfl.FAKE_QUANT(%a) {{"min": 0.0, "max": 1.0, "num_bits": 8}}
      %d: float32[8] = tfl.EXP(%x)
      %e: float32[8] = tfl.FAKE_QUANT(%d) {_OFTEN}
      return %b, %c, %d, %e
    }}
    """)
    assert not {"a", "d"} & found.keys()


def test_zero_is_moved_as_tensorflow_does() -> None:
    found = _ranges("""
    main {
      input %x: float32[8]
      %a: float32[8] = tfl.FAKE_QUANT(%x) {"min": 1.0, "max": 256.0, "num_bits": 8}
      %b: float32[8] = tfl.FAKE_QUANT(%x) {"min": -1.0, "max": 1.0, "num_bits": 8}
      %c: float32[8] = tfl.FAKE_QUANT(%x) {"min": -1.0, "max": 1.0, "num_bits": 4}
      return %a, %b, %c
    }
    """)
    assert found["a"] == Range(0.0, 255.0, fixed=True) and parameters(found["b"]).zero_point == (-1,)
    assert "c" not in found


def test_kernels_of_int16_have_zero_in_the_middle() -> None:
    found = _ranges("""
    main {
      input %x: float32[8]
      %a: float32[8] = tfl.FAKE_QUANT(%x) {"min": -2.0, "max": 2.0, "num_bits": 16}
      %b: float32[8] = tfl.FAKE_QUANT(%x) {"min": -1.0, "max": 2.0, "num_bits": 16}
      return %a, %b
    }
    """, quantize="int16x8")
    assert found.keys() == {"a"}
    how = parameters(found["a"], types.INT16)
    assert how.zero_point == (0,) and how.scale[0] == pytest.approx(4 / 65535)


def test_a_layer_between_fake_quants_computes_in_integers() -> None:
    context = check_pass("read-fake-quant", before := f"""
    main {{
      input %x: float32[n,2]
      %a: float32[n,2] = tfl.FAKE_QUANT(%x) {_OFTEN}
      %b: float32[n,2] = tfl.FULLY_CONNECTED(%a, float32[2,2] [127, 2, 50, 0.5], float32[2] [1, 2])
      %c: float32[n,2] = tfl.FAKE_QUANT(%b) {{"min": -128.0, "max": 127.0, "num_bits": 8}}
      %d: float32[n,2] = tfl.FAKE_QUANT(%c) {{"min": 0.0, "max": 510.0, "num_bits": 8}}
      %e: float32[n,2] = tfl.SIN(%d)
      return %e
    }}
    """, quantize="int8", calibration=Calibration())
    check_pass("to-integers", before, """
    main {
      input %x: float32[n,2]
      %a: int8[n,2]<0.5> = tfl.QUANTIZE(%x)
      %b: int8[n,2]<1.0> = tfl.FULLY_CONNECTED(%a, int8[2,2]<1.0,0.5@0> [127, 2, 100, 1], int32[2]<0.5,0.25@0> [2, 8])
      %d: int8[n,2]<2.0:-128> = tfl.ADD(%b, int8[]<1.0> 0)
      %f: float32[n,2] = tfl.DEQUANTIZE(%d)
      %e: float32[n,2] = tfl.SIN(%f)
      return %e
    }
    """, first=("read-fake-quant",), quantize="int8", calibration=Calibration())
    assert not context.report.warnings


def test_what_no_range_is_told_of_is_counted() -> None:
    context = check_pass("to-integers", f"""
    main {{
      input %x: float32[n]
      %a: float32[n] = tfl.FAKE_QUANT(%x) {_OFTEN}
      %b: float32[n] = tfl.EXP(%a)
      %c: float32[n] = tfl.FAKE_QUANT(%b) {{"min": 0.0, "max": 1.0, "num_bits": 4}}
      return %c
    }}
    """, first=("read-fake-quant",), quantize="int8", calibration=Calibration())
    whys = {item.op: item.why for item in context.report.quantized}
    assert whys["EXP"] == "no range of b is known"
    assert context.report.warnings == ["1 op stays float as no FakeQuant tells their ranges; --calibration-data would"]


def test_weights_that_are_rounded_are_counted() -> None:
    text = f"""
    main {{
      input %x: float32[n,2]
      %a: float32[n,2] = tfl.FAKE_QUANT(%x) {_OFTEN}
      %b: float32[n,2] = tfl.FULLY_CONNECTED(%a, float32[2,2] [WEIGHTS], float32[2] [1, 2])
      %c: float32[n,2] = tfl.FAKE_QUANT(%b) {_OFTEN}
      return %c
    }}
    """
    for weights, count in (("127, 2, 0, 0", 0), ("127, 2.5, 50, 0.333", 1)):
        context = _passed(text.replace("WEIGHTS", weights))
        assert len(context.report.warnings) == count
    assert context.report.warnings[0].startswith("weights of 1 op lie on no grid of int8 and are rounded")


def _passed(text: str) -> Context:
    module, report = module_of(text)
    options = {"quantize": "int8", "calibration": Calibration(), "selection": Selection(), "io_types": "float"}
    context = Context(module, report, {**options, "target": None})
    PassManager(context).run((PASSES["read-fake-quant"], PASSES["to-integers"]))
    return context


def test_neither_ranges_nor_samples(tmp_path: Path) -> None:
    graph = Frozen(2)
    graph.node("y", "Neg", "x", T={"type": FLOAT})
    with pytest.raises(InputError, match=r"--quantize int8 needs samples of real inputs, .* --calibration-data an"):
        fuseconv.convert(graph.write(tmp_path), quantize="int8")
