"""Errors of tensors: the numbers, and files that run side by side."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Quantization, Value
from fuseconv.quantize.tensor_errors import TensorError, compare_tensors
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import BATCH
from tests.tf.text_cases import module_of as module_of_text
from tests.tfl.interpret import module_of


def test_the_numbers():
    error = TensorError()
    error.add(np.array([0.0, 1.0, 5.0], np.float32), np.array([0.5, 1.0, 4.0]), (-1.0, 4.5))
    error.add(np.array([-3.0], np.float32), np.array([-3.0]), (-1.0, 4.5))
    want, have = np.array([0, 1, 5, -3.0]), np.array([0.5, 1, 4, -3.0])
    assert (error.largest, error.mean, error.range, error.relative) == (1.0, 1.5 / 4, 8.0, 1 / 8)
    assert error.sqnr == pytest.approx(10 * np.log10((want**2).sum() / ((want - have) ** 2).sum()))
    assert error.cosine == pytest.approx(want @ have / np.linalg.norm(want) / np.linalg.norm(have))
    assert error.saturated == 2 / 4 and error.held == 2.0  # -3 is taken for -1, and 5 for 4.5


def test_no_error_and_no_signal():
    same, nothing = TensorError(), TensorError()
    same.add(np.ones(2, np.float32), np.ones(2), (-1.0, 1.0))
    nothing.add(np.zeros(2, np.float32), np.zeros(2), (-1.0, 1.0))
    assert (same.sqnr, same.relative, nothing.sqnr, nothing.cosine) == (None, 0.0, None, None)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.0])
def test_what_is_infinite_or_no_number_in_one_file(wrong):
    error = TensorError()
    error.add(np.array([0, 4, -np.inf, np.nan], np.float32), np.array([0, 4.5, -np.inf, np.nan]), (-np.inf, np.inf))
    assert (error.largest, error.range, error.relative) == (0.5, 4.0, 0.125)
    assert error.sqnr == pytest.approx(10 * np.log10(16 / 0.25)) and error.cosine == pytest.approx(1.0)
    want = np.array([0, 2, -np.inf if wrong == 1.0 else 1], np.float32)
    error.add(want, np.array([0, 2, wrong]), (-np.inf, np.inf))
    assert (error.largest, error.held, error.relative, error.sqnr) == (np.inf, np.inf, np.inf, -np.inf)
    assert error.range == 4.0


def _file(scale: float | None) -> bytes:
    """y = -relu(x), the inner tensor in int8 of this scale."""

    def build(tfl: Builder, x: Value) -> Value:
        y = tfl.relu(x)
        y.name = "inner"
        if scale is not None:
            y = tfl.quantize(y, results=[(types.INT8, y.shape)])
            y.name, y.quantization = "narrow", Quantization((scale,), (-128,))
            y = tfl.dequantize(y)
        return tfl.neg(y)

    return to_bytes(module_of(build, (types.FLOAT32, (BATCH, 3))))


def test_two_files_side_by_side():
    samples = [{"x0": np.array([[-5, 1.0, 2.6]], np.float32)}, {"x0": np.array([[0.0, 0.4, 0]] * 2, np.float32)}]
    pairs = {"inner": "narrow", "nothing": "narrow", "x0": "nothing"}
    found = compare_tensors(_file(None), _file(0.01), pairs, samples, ["x0"])
    assert found.keys() == {"inner"} and found["inner"].count == 9
    error = found["inner"]
    # The largest number that is stored is 2.55; half a step beyond is rounded to it.
    assert error.largest == pytest.approx(0.05, abs=1e-6) and error.saturated == 1 / 9


def test_inputs_in_integers_get_floats_as_they_hold_them():
    def build(tfl: Builder, x: Value) -> Value:
        x.quantization = Quantization((0.5,), (3,))
        return tfl.dequantize(x)

    quantized = to_bytes(module_of(build, (types.INT8, (2,))))
    floats = to_bytes(module_of(lambda tfl, x: tfl.abs(x), (types.FLOAT32, (2,))))
    samples = [{"x0": np.array([1.4, 900], np.float32)}]
    found = compare_tensors(floats, quantized, {"op": "op"}, samples, ["x0"])
    assert found["op"].largest == 900 - (127 - 3) * 0.5 and found["op"].least_float == np.float32(1.4)


def test_a_file_that_does_not_take_sizes_of_one():
    module, _ = module_of_text("""
    main {
      input %x: float32[n]
      %y: float32[2,2] = tfl.RESHAPE(%x, int32[2] [2, 2])
      return %y
    }
    """)
    data, samples = to_bytes(module), [{"i0": np.arange(4, dtype=np.float32)}]
    assert compare_tensors(data, data, {"y": "y"}, samples, ["i0"])["y"].count == 4


_WHILE = "{'cond_subgraph_index': @more, 'body_subgraph_index': @step}"


def looping(scale: float | None) -> bytes:
    """Three times abs(x) * 0.4 in a loop, in which the result of ABS is stored in this scale."""
    stored = f"%q: int8[n]<{scale}:-128> = tfl.QUANTIZE(%a)\n%d: float32[n] = tfl.DEQUANTIZE(%q)" if scale else ""
    module, _ = module_of_text(f"""
    main {{
      input %x: float32[n]
      %k: int32[]; %y: float32[n] = tfl.WHILE(int32[] 0, %x) {_WHILE}
      return %y
    }}
    more {{
      input %i: int32[]
      input %g: float32[n]
      %m: bool[] = tfl.LESS(%i, int32[] 3)
      return %m
    }}
    step {{
      input %i: int32[]
      input %g: float32[n]
      %j: int32[] = tfl.ADD(%i, int32[] 1)
      %a: float32[n] = tfl.ABS(%g)
      {stored}
      %h: float32[n] = tfl.MUL(%{"d" if scale else "a"}, float32[] 0.4)
      return %j, %h
    }}
    """)
    return to_bytes(module)


def test_the_last_iteration_of_a_loop():
    samples = [{"i0": np.array([-4.0, 2], np.float32)}]
    found = compare_tensors(looping(None), looping(0.3), {"h": "h", "a": "a"}, samples, ["i0"])
    # 4 and 2 are stored as 3.9 and 2.1, what is made of them as 1.5 and 0.9, and of these as 0.6 and 0.3.
    assert (found["h"].count, found["h"].largest_float) == (2, pytest.approx(0.256))
    assert (found["a"].largest, found["h"].largest) == (pytest.approx(0.04, abs=1e-6), pytest.approx(0.016, abs=1e-6))


_BRANCHES = "{'then_subgraph_index': @double, 'else_subgraph_index': @absolute}"


def branching() -> bytes:
    """2 x where a sum is above 0, else abs(x)."""
    return to_bytes(module_of_text(f"""
    main {{
      input %x: float32[4]
      %s: float32[] = tfl.SUM(%x, int32[1] [0]) {{'keep_dims': False}}
      %c: bool[] = tfl.GREATER(%s, float32[] 0.0)
      %y: float32[4] = tfl.IF(%c, %x) {_BRANCHES}
      return %y
    }}
    double {{
      input %p: float32[4]
      %m: float32[4] = tfl.MUL(%p, float32[4] [2, 2, 2, 2])
      return %m
    }}
    absolute {{
      input %q: float32[4]
      %a: float32[4] = tfl.ABS(%q)
      return %a
    }}
    """)[0])


def test_branches_that_are_not_run_are_not_compared() -> None:
    data, samples = branching(), [{"i0": np.array(each, np.float32)} for each in ([1, 2, 3, 4], [-1, -2, -3, -4])]
    names = {name: name for name in ("m", "a", "c")}
    guards = {"m": (("c", True),), "a": (("c", False),)}
    found = compare_tensors(data, data, names, samples, ["i0"], guards)
    assert (found["m"].count, found["m"].largest_float, found["a"].count, found["a"].largest_float) == (4, 8, 4, 4)
    assert compare_tensors(data, data, {"m": "m"}, samples, ["i0"], guards) == {}
