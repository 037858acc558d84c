"""Activations of int8 become sums and products, which are fast on a CPU and as exact."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Quantization, Signature, Value
from fuseconv.quantize.activations import expand_activation
from fuseconv.quantize.affine import Range, parameters
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.to_integers import to_integers
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes
from tests.check_pass import check_pass
from tests.quantize.ranges import measured
from tests.tfl.interpret import module_of, run_file


def test_an_activation_is_fused_into_a_sum_with_zero() -> None:
    check_pass("to-integers", """
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.TANH(%x)
      %y: float32[n] = tfl.RELU6(%a)
      %z: float32[n] = tfl.LOGISTIC(%y)
      return %z
    }
    """, """
    main {
      input %x: float32[n]
      %q: int8[n]<0.5:-118> = tfl.QUANTIZE(%x)
      %a: int8[n]<0.0078125> = tfl.TANH(%q)
      %y: int8[n]<0.00390625:-128> = tfl.ADD(%a, int8[]<0.0078125> 0) {'fused_activation_function': 'RELU6'}
      %z: int8[n]<0.00390625:-128> = tfl.LOGISTIC(%y)
      %d: float32[n] = tfl.DEQUANTIZE(%z)
      return %d
    }
    """, quantize="int8", calibration=measured(x=(-5, 122.5), a=(-1, 1), y=(0, 0.99609375), z=(0.5, 1)))


def test_hard_swish_is_a_product() -> None:
    check_pass("to-integers", """
    main {
      input %x: float32[n]
      %y: float32[n] = tfl.HARD_SWISH(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[n]
      %q: int8[n]<0.09375:-96> = tfl.QUANTIZE(%x)
      %s: int8[n]<0.015625:-96> = tfl.MUL(%q, int8[]<0.0006535947904922068:-128> 127)
      %g: int8[n]<0.0235294122248888:-128> = tfl.ADD(%q, int8[]<0.0117647061124444:-128> 127) \
{'fused_activation_function': 'RELU6'}
      %y: int8[n]<0.125:-125> = tfl.MUL(%s, %g)
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      return %d
    }
    """, quantize="int8", io_types="int8", calibration=measured(x=(-3, 20.90625), y=(-0.375, 31.5)))


def test_floats_are_faster_than_some_kernels() -> None:
    context = check_pass("to-integers", """
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.TANH(%x)
      %y: float32[n] = tfl.HARD_SWISH(%a)
      %z: float32[n] = tfl.LOGISTIC(%y)
      return %z
    }
    """, """
    main {
      input %x: float32[n]
      %q: int8[n]<0.5:-118> = tfl.QUANTIZE(%x)
      %a: int8[n]<0.0078125> = tfl.TANH(%q)
      %b: float32[n] = tfl.DEQUANTIZE(%a)
      %y: float32[n] = tfl.HARD_SWISH(%b)
      %r: int8[n]<0.00390625> = tfl.QUANTIZE(%y)
      %z: int8[n]<0.00390625:-128> = tfl.LOGISTIC(%r)
      %d: float32[n] = tfl.DEQUANTIZE(%z)
      return %d
    }
    """, quantize="int8", calibration=measured(x=(-5, 122.5), a=(-1, 1), y=(-0.5, 0.49609375), z=(0.25, 0.75)))
    assert "on a CPU floats are faster, with conversions around it" in {item.why for item in context.report.quantized}


@pytest.mark.parametrize("of_plan", [False, True])
def test_what_is_no_cpu_has_kernels_of_its_own(of_plan: bool) -> None:
    module = module_of(lambda tfl, x: tfl.hard_swish(tfl.relu(tfl.tanh(x))), (types.FLOAT32, (4,)))
    kinds = {op.type for op in _quantized(module, Range(-1.0, 1.0), of_plan).signatures[0].graph.ops}
    assert kinds == {"QUANTIZE", "DEQUANTIZE", "TANH", *({"RELU", "HARD_SWISH"} if of_plan else {"ADD", "MUL"})}


@pytest.mark.parametrize("largest", [0.01, 0.5, 2.0, 4.0, 20.0, 900.0, 40_000.0])
@pytest.mark.parametrize("kind", ["RELU", "RELU6", "HARD_SWISH"])
def test_numbers(kind: str, largest: float) -> None:
    """As exact as the kernel of the activation: off by up to a step."""
    x = np.linspace(-largest, largest, 511, dtype=np.float32)
    graph, data = Graph("main"), Value(types.FLOAT32, x.shape, "x0")
    graph.inputs = [data]
    tfl = Builder(graph.ops, "op")
    stored = tfl.quantize(data, results=[(types.INT8, x.shape)])
    (result,) = tfl.typed_op(kind, [stored], [(types.INT8, x.shape)], {})
    stored.quantization = parameters(Range.of(x))
    result.quantization = parameters(Range.of(_activated(kind, 1.01 * x)))
    expand_activation(graph.ops.pop(), graph.ops, exact=False)
    assert {op.type for op in graph.ops} & {"ADD", "MUL"} or largest > 500
    graph.outputs = [tfl.dequantize(stored), tfl.dequantize(result)]
    rounded, found = run_file(to_bytes(Module(signatures=[Signature(["serve"], graph, ["x0"], ["y0", "y1"])])), x)
    assert np.abs(found - _activated(kind, rounded)).max() <= 1.01 * result.quantization.scale[0]


def _activated(kind: str, x: np.ndarray) -> np.ndarray:
    if kind == "HARD_SWISH":
        return x * np.clip(x + 3, 0, 6) / 6
    return np.clip(x, 0, 6 if kind == "RELU6" else None)


def test_what_a_model_rounds_itself_is_rounded_once() -> None:
    graph = Graph("main")
    data = Value(types.INT8, (4,), "x")
    data.quantization = Quantization((0.05,), (0,))
    for kind, becomes in (("HARD_SWISH", "HARD_SWISH"), ("RELU", "ADD")):
        (result,) = Builder(graph.ops, "op").typed_op(kind, [data], [(types.INT8, (4,))], {})
        result.quantization = Quantization((0.05,), (0,))
        expand_activation(graph.ops.pop(), graph.ops, exact=True)
        assert graph.ops[-1].type == becomes


def _quantized(module: Module, found: Range, of_plan: bool) -> Module:
    report = Report("a", plans_arena=of_plan)
    values = [*module.signatures[0].graph.inputs, *(op.result for op in module.signatures[0].graph.ops)]
    calibration = Calibration(ranges=dict.fromkeys(values, found))
    to_integers(module, report, calibration, "int8", Selection(), "int8", None)
    return module
