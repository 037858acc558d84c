"""What a loop carries has one scale, outside of it and inside."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.quantize.affine import Range
from fuseconv.quantize.loops import gates, join_ranges, join_steps, loops, wide_values
from fuseconv.tfl.integer import INT8
from tests.check_pass import check_pass
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_WHILE = "{'cond_subgraph_index': @more, 'body_subgraph_index': @step}"
_MORE = """
more {
  input %i: int32[]
  input %g: float32[n]
  %m: bool[] = tfl.LESS(%i, int32[] 3)
  return %m
}
"""
_STEP = """
step {
  input %i: int32[]
  input %g: float32[n]
  %j: int32[] = tfl.ADD(%i, int32[] 1)
  %h: float32[n] = tfl.ABS(%g)
  return %j, %h
}
"""


def test_numbers_stay_integers_from_one_iteration_to_the_next() -> None:
    # %x is requantized, %h is from -128 to 127 as what is carried, although it has the range of its own.
    check_pass("to-integers", f"""
    main {{
      input %x: float32[n]
      %k: int32[]; %y: float32[n] = tfl.WHILE(int32[] 0, %x) {_WHILE}
      return %y
    }}
    {_MORE}
    {_STEP}
    """, f"""
    main {{
      input %x: float32[n]
      %q: int8[n]<1.0> = tfl.QUANTIZE(%x)
      %k: int32[]; %y: int8[n]<1.0> = tfl.WHILE(int32[] 0, %q) {_WHILE}
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      return %d
    }}
    {_MORE.replace("float32[n]", "int8[n]<1.0>")}
    step {{
      input %i: int32[]
      input %g: int8[n]<1.0>
      %j: int32[] = tfl.ADD(%i, int32[] 1)
      %h: int8[n]<0.25:-128> = tfl.ABS(%g)
      %r: int8[n]<1.0> = tfl.ADD(%h, int8[]<0.25:-128> -128)
      return %j, %r
    }}
    """, quantize="int8", calibration=measured(x=(-128, 127), y=(0, 127), h=(0, 63.75), g=(-128, 127)))


_SUMS = """
sums {
  input %i: int32[]
  input %c: float32[n]
  %j: int32[] = tfl.ADD(%i, int32[] 1)
  %f: float32[n] = tfl.LOGISTIC(%c)
  %k: float32[n] = tfl.MUL(%f, %c)
  %l: float32[n] = tfl.ADD(%k, float32[] 0.5)
  return %j, %l
}
"""
_SUM_OVER_STEPS = f"""
main {{
  input %x: float32[n]
  %k: int32[]; %y: float32[n] = tfl.WHILE(int32[] 0, %x) {{'cond_subgraph_index': @more, 'body_subgraph_index': @sums}}
  return %y
}}
{_MORE}
{_SUMS}
"""
_MICRO = Registry().target("micro")
_ADDS_UP = "its rounding errors would add up over the steps of a loop"
_RANGES = {"x": (-1, 1), "y": (-1, 1), "c": (-1, 1), "f": (0, 1), "k": (-1, 1), "l": (-1, 1)}


def test_sums_over_steps_are_floats_with_the_gates_around_them() -> None:
    product = _SUM_OVER_STEPS.replace("[n]", "[n,2]").replace(
        "%f: float32[n,2] = tfl.LOGISTIC(%c)",
        "%m: float32[n,2] = tfl.FULLY_CONNECTED(%c, float32[2,2] [[0.5, 1], [1, 0.5]])\n"
        "  %f: float32[n,2] = tfl.LOGISTIC(%m)",
    )
    context = check_pass("to-integers", product, product.replace("""
  %m: float32[n,2] = tfl.FULLY_CONNECTED(%c, float32[2,2] [[0.5, 1], [1, 0.5]])
  %f: float32[n,2] = tfl.LOGISTIC(%m)""", f"""
  %q: int8[n,2]<{_step(1 / 127.5)}:-1> = tfl.QUANTIZE(%c)
  %m: int8[n,2]<{_step(3 / 255)}:-1> = tfl.FULLY_CONNECTED(%q, int8[2,2]<0.015625> [[32, 64], [64, 32]])
  %d: float32[n,2] = tfl.DEQUANTIZE(%m)
  %f: float32[n,2] = tfl.LOGISTIC(%d)"""), quantize="int8", target=_MICRO,
        calibration=measured(**_RANGES, m=(-1.5, 1.5)))  # fmt: skip
    assert {item.op: item.why for item in context.report.quantized} == {
        "FULLY_CONNECTED": "", "WHILE": "what it hands to its bodies is float",
        **dict.fromkeys(("LOGISTIC", "MUL", "ADD"), _ADDS_UP),
    }  # fmt: skip


def test_gates_end_at_products_and_at_what_others_read() -> None:
    module, _ = module_of("""
    main {
      input %c: float32[2,2]
      input %x: float32[2,2]
      %m: float32[2,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [[1, 0], [0, 1]])
      %s: float32[2,2] = tfl.SLICE(%m, int32[2] [0, 0], int32[2] [2, 2])
      %a: float32[2,2] = tfl.ADD(%s, %x)
      %f: float32[2,2] = tfl.LOGISTIC(%a)
      %r: float32[2,2] = tfl.RESHAPE(%f, int32[2] [2, 2])
      %d: float32[2,2] = tfl.MUL(%r, %c)
      %b: float32[2,2] = tfl.TANH(%x)
      %e: float32[2,2] = tfl.ADD(%d, %b)
      %t: float32[2,2] = tfl.TANH(%e)
      %h: float32[2,2] = tfl.MUL(%t, float32[] 0.5)
      %n: float32[2,2] = tfl.FULLY_CONNECTED(%h, float32[2,2] [[1, 0], [0, 1]])
      %o: float32[2,2] = tfl.TANH(%n)
      return %e, %o, %b
    }
    """)
    graph = module.signatures[0].graph
    sums = {graph.inputs[0], *(op.result for op in graph.ops if op.result.name in "de")}
    integer = {op for op in graph.ops if op.result not in sums}
    # %b is an output as well, and %r moves numbers: it is as what is around it.
    assert {op.result.name for op in gates(graph, sums, integer, INT8.moves)} == {"a", "f", "t", "h"}
    # Of ops that no three steps have, none is a gate of an unrolled loop.
    assert not gates(graph, sums - {*graph.inputs}, integer, INT8.moves)
    assert not gates(graph, set(), integer, INT8.moves)


@pytest.mark.parametrize("io_types", ["int8", "x=int8", "int8,x=float,y=float"])
def test_sums_over_steps_have_16_bits_between_integers(io_types: str) -> None:
    wide = f"int16[n]<{_step(2 / 32767)}>"
    context = check_pass("to-integers", _SUM_OVER_STEPS, f"""
    main {{
      input %x: float32[n]
      %q: {wide} = tfl.QUANTIZE(%x)
      %k: int32[]; %y: {wide} = tfl.WHILE(int32[] 0, %q) {{'cond_subgraph_index': @more, 'body_subgraph_index': @sums}}
      %d: float32[n] = tfl.DEQUANTIZE(%y)
      return %d
    }}
    {_MORE.replace("float32[n]", wide)}
    sums {{
      input %i: int32[]
      input %c: {wide}
      %j: int32[] = tfl.ADD(%i, int32[] 1)
      %q: int8[n]<{_step(1 / 127.5)}:-1> = tfl.QUANTIZE(%c)
      %f: int8[n]<0.00390625:-128> = tfl.LOGISTIC(%q)
      %w: float32[n] = tfl.DEQUANTIZE(%f)
      %r: {wide} = tfl.QUANTIZE(%w)
      %k: {wide} = tfl.MUL(%r, %c)
      %l: {wide} = tfl.ADD(%k, int16[]<{_step(1 / 32767)}> 16384) {{'pot_scale_int16': False}}
      return %j, %l
    }}
    """, quantize="int8", calibration=measured(**_RANGES), io_types=io_types)
    assert {item.op: item.type for item in context.report.quantized} == {
        "LOGISTIC": "int8", "MUL": "int16", "ADD": "int16", "WHILE": "int8"
    }  # fmt: skip


def _step(exact: float) -> float:
    return float(np.float32(exact))


def test_ranges_of_all_iterations() -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n]
      %k: int32[]; %y: float32[n] = tfl.WHILE(int32[] 0, %x) {_WHILE}
      return %y
    }}
    {_MORE}
    {_STEP}
    """)
    ((op, condition, body),) = loops(module)
    ranges = {op.operands[1]: Range(-4, 1), body.outputs[1]: Range(0, 3), op.results[1]: Range(1, 2)}
    join_ranges(module, ranges)  # type: ignore[arg-type]
    assert ranges[body.inputs[1]] == ranges[condition.inputs[1]] == Range(-4, 3)
    del ranges[op.operands[1]]  # as of what has no elements in any sample
    join_ranges(module, ranges)  # type: ignore[arg-type]
    assert ranges[op.operands[1]] == ranges[body.inputs[1]] == Range(0, 3)


def test_steps_of_an_unrolled_loop_have_ranges_alike() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.ABS(%x)
      %b: float32[n] = tfl.ABS(%a)
      %c: float32[n] = tfl.ABS(%b)
      %d: float32[n] = tfl.ABS(%c)
      %e: float32[n] = tfl.EXP(%d)
      return %e
    }
    """)
    ops = module.signatures[0].graph.ops
    values = {op.result.name: op.result for op in ops}
    ranges = {values[name]: Range(*ends) for name, ends in
              {"a": (0, 7), "b": (0, 1), "c": (-0.125, 1.125), "d": (0, 9), "e": (0, 99)}.items()}  # fmt: skip
    join_steps(module, ranges)
    assert ranges[values["b"]] == Range(0, 1)  # nothing tells of which nodes of the model these ops are
    for op in ops:
        op.sources = ("loop/node",)
    join_steps(module, ranges)
    found = {value.name: (each.least, each.largest) for value, each in ranges.items()}
    # %b, %c and %d are copies; %a reads an input. None grows by more than a quarter of itself on a side.
    assert found["a"] == (0, 7) and found["e"] == (0, 99)
    assert found["b"] == (-0.125, 1.25) and found["c"] == (-0.125, 1.4375) and found["d"] == (-0.125, 9)


def test_sums_over_the_steps_of_an_unrolled_loop() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.MUL(%x, float32[] 0.5)
      %b: float32[n] = tfl.ADD(%a, %x)
      %c: float32[n] = tfl.MUL(%b, float32[] 0.5)
      %d: float32[n] = tfl.ADD(%c, %x)
      %e: float32[n] = tfl.MUL(%d, float32[] 0.5)
      %f: float32[n] = tfl.ADD(%e, %x)
      %g: float32[n] = tfl.TANH(%f)
      %h: float32[n] = tfl.ADD(%g, %f)
      return %h
    }
    """)
    ops = module.signatures[0].graph.ops
    assert not wide_values(module, {*ops})
    for op in ops[:6]:
        op.sources = ("loop/node",)
    ops[7].sources = ("another",)
    assert {value.name for value in wide_values(module, {*ops})} == set("abcdef")
    # Between %d and %f stands an op of floats: two steps are no loop.
    assert not wide_values(module, {*ops} - {ops[4]})


def test_ranges_that_the_model_tells_stay() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.ABS(%x)
      %b: float32[n] = tfl.ABS(%x)
      return %b, %a
    }
    """)
    for op in module.signatures[0].graph.ops:
        op.sources = ("loop/node",)
    a, b = (op.result for op in module.signatures[0].graph.ops)
    ranges = {a: Range(0, 1, fixed=True), b: Range(0, 1.1)}
    join_steps(module, ranges)
    assert ranges == {a: Range(0, 1, fixed=True), b: Range(0, 1.1)}


def test_loops_that_share_a_condition_have_ranges_of_their_own() -> None:
    """What the one carries tells nothing of the other."""
    other, text = _STEP.replace("step {", "other {").replace("ABS", "SIN"), """
    main {
      input %x: float32[n]
      %k: int32[]; %y: float32[n] = tfl.WHILE(int32[] 0, %x) {_WHILE}
      %l: int32[]; %z: float32[n] = tfl.WHILE(int32[] 0, %x) {_OTHER}
      return %y, %z
    }
    """.replace("{_WHILE}", _WHILE)
    for name in ("other", "step"):
        module, _ = module_of(text.replace("{_OTHER}", _WHILE.replace("step", name)), _MORE, _STEP, other)
        assert not list(loops(module))
    more = _MORE.replace("more {", "again {")
    module, _ = module_of(text.replace("{_OTHER}", _WHILE.replace("step", "other").replace("more", "again")),
                          _MORE, _STEP, other, more)  # fmt: skip
    assert len(list(loops(module))) == 2
