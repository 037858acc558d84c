"""Which ops compute in integers, and why the others do not."""

from __future__ import annotations

import pytest

from fuseconv.ir import types
from fuseconv.quantize.recipe import choose_recipes
from fuseconv.tfl.integer import INT8, INT16
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(("op", "why"), [
    ("tfl.SIN(%x)", "SIN has no kernel for int8"),
    ("tfl.SQRT(%x)", "x has numbers below zero"),
    ("tfl.ADD(%x, float32[] inf)", "reaches inf"),
    ("tfl.FULLY_CONNECTED(%x, %v, _)", "its weights are computed"),
    ("tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, 4], %b)", "its bias is computed"),
    ("tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, nan], _)", "have no scale"),
    ("tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 2, 3, 4], float32[2] [1, inf])", "not finite"),
    ("tfl.RESHAPE(%x, int32[2] [-1, 2])", "what is around it is float"),
])  # fmt: skip
def test_why_an_op_stays_float(op: str, why: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      input %v: float32[2,2]
      input %b: float32[2]
      %y: float32[n,2] = {op}
      return %y
    }}
    """)
    ranges = measured(x=(-1, 1), v=(0, 1), b=(0, 1), y=(0, 1)).ranges
    recipe = choose_recipes(module, ranges, INT8)[module.signatures[0].graph]
    (reason,) = recipe.why.values()
    assert why in reason and not recipe.integer and not recipe.scales


@pytest.mark.parametrize(("op", "ranges", "stays"), [
    ("tfl.DIV(%x, %v)", {"v": (1, 3)}, "its kernels of integers fail over a divisor that is stored as 0"),
    ("tfl.SUB(%x, %v)", {"v": (-2, 2), "y": (-0.01, 0.01)}, "its operands cancel out"),
    ("tfl.SUB(%x, %v)", {"v": (-2, 2), "y": (-0.5, 0.5)}, ""),
    ("tfl.RSQRT(%x)", {"x": (0.01, 1)}, "its operand comes near zero"),
    ("tfl.LOG(%x)", {"x": (0.01, 1)}, "its operand comes near zero"),
    ("tfl.LOG(%x)", {"x": (0.02, 1)}, ""),
    ("tfl.SQRT(%x)", {"x": (0.01, 1)}, ""),
    ("tfl.EXP(%x)", {"x": (-60, 1)}, "the steps of int8 are coarse for what it makes of x"),
    ("tfl.EXP(%x)", {"x": (-20, 1)}, ""),
    ("tfl.LOG_SOFTMAX(%x)", {"y": (-18, 0)}, "its results reach 18, and those of its kernel end at 16"),
    ("tfl.LOG_SOFTMAX(%x)", {"y": (-16, 0)}, ""),
    ("tfl.LOGISTIC(%x)", {"y": (0, 1)}, ""),
    ("tfl.TANH(%x)", {"y": (-1, 1)}, ""),
    # As FakeQuants from 0 to 1 and -1 to 1 have them.
    ("tfl.LOGISTIC(%x)", {"y": (0, 1.0000001)}, ""),
    ("tfl.TANH(%x)", {"y": (-1.004, 1.004)}, ""),
])  # fmt: skip
def test_what_integers_would_lose(op: str, ranges: dict[str, tuple[float, float]], stays: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      input %v: float32[n,2]
      %y: float32[n,2] = {op}
      return %y
    }}
    """)
    known = measured(**({"x": (-1, 1), "y": (-1, 1)} | ranges)).ranges
    recipe = choose_recipes(module, known, INT8)[module.signatures[0].graph]
    assert list(recipe.why.values()) == [stays] * bool(stays)


@pytest.mark.parametrize(("last", "ranges", "floats"), [
    # softplus: 1 + exp(x) has few steps of int8 where log is steep.
    ("tfl.LOG(%s)", {"e": (0, 148), "s": (1, 149)}, ["EXP", "ADD", "LOG"]),
    ("tfl.LOG(%s)", {"e": (0, 5), "s": (1, 6)}, []),
    ("tfl.ABS(%s)", {"e": (0, 148), "s": (1, 149), "y": (1, 149)}, []),
    # elu: of exp(x) only what lies below 1 is selected.
    ("tfl.SELECT_V2(%m, %s, %d)", {"e": (0, 148), "s": (0, 148)}, ["EXP", "ADD"]),
    ("tfl.SELECT_V2(%m, %s, %d)", {"e": (0, 8), "s": (0, 8)}, []),
])  # fmt: skip
def test_numbers_near_zero_that_count(last: str, ranges: dict[str, tuple[float, float]], floats: list[str]) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      input %m: bool[n,2]
      %d: float32[n,2] = tfl.RELU(%x)
      %e: float32[n,2] = tfl.EXP(%d)
      %s: float32[n,2] = tfl.ADD(%e, float32[] 1)
      %y: float32[n,2] = {last}
      return %y
    }}
    """)
    known = measured(**({"x": (-5, 5), "d": (0, 5), "y": (-1, 2)} | ranges)).ranges
    (recipe,) = choose_recipes(module, known, INT8).values()
    assert [op.type for op in module.signatures[0].graph.ops if op in recipe.why] == floats


def test_tables_of_int16_are_coarse_near_zero() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.SQRT(%x)
      return %y
    }
    """)
    for least, count in ((0.01, 0), (0.2, 1)):
        recipe = choose_recipes(module, measured(x=(least, 1), y=(0, 1)).ranges, INT16)[module.signatures[0].graph]
        assert len(recipe.integer) == count


def test_a_range_of_zeros_has_a_usual_scale() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.ABS(%x)
      return %y
    }
    """)
    recipe = choose_recipes(module, measured(x=(0, 0), y=(0, 0)).ranges, INT8)[module.signatures[0].graph]
    assert [scale.scale[0] for scale in recipe.scales.values()] == pytest.approx([2 / 255] * 2)
    assert module.signatures[0].graph.inputs[0].dtype is types.FLOAT32


@pytest.mark.parametrize(("mask", "integer"), [(-1e5, 1), (-20, 3)])
def test_masked_exponents_stay_float(mask: float, integer: int) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      input %m: bool[n,2]
      %l: float32[n,2] = tfl.ABS(%x)
      %s: float32[n,2] = tfl.SELECT_V2(%m, %l, float32[] {mask})
      %y: float32[n,2] = tfl.SOFTMAX(%s)
      return %y
    }}
    """)
    ranges = measured(x=(-9, 9), l=(0, 9), s=(mask, 9), y=(0, 1)).ranges
    recipe = choose_recipes(module, ranges, INT8)[module.signatures[0].graph]
    assert len(recipe.integer) == integer and len(recipe.why) == 3 - integer


@pytest.mark.parametrize(("moved", "largest", "ratio"), [
    ("tfl.SUB(%x, %mean)", 1.0, 1.05), ("tfl.SUB(%x, %mean)", 1.04, 1.05), ("tfl.SUB(%x, %mean)", 1.1, 1.1),
    ("tfl.SUB(%x, %mean)", 0.9, 0.9), ("tfl.ADD(%mean, %x)", 1.0, 1.05),
    ("tfl.SUB(%x, %other)", 1.0, 1.0),  # each number is moved by its own
    ("tfl.SUB(%x, %rows)", 1.0, 1.0),  # repeated along the batch, which may be one
    ("tfl.MUL(%x, %mean)", 1.0, 1.0),
])  # fmt: skip
def test_what_one_number_moves_gets_other_steps(moved: str, largest: float, ratio: float) -> None:
    """In like steps all of it would be rounded the same way."""
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,4,2]
      input %other: float32[n,4,2]
      input %mean: float32[n,1,2]
      input %rows: float32[1,4,2]
      %y: float32[n,4,2] = {moved}
      return %y
    }}
    """)
    graph = module.signatures[0].graph
    ranges = measured(x=(-1, 1), other=(-1, 1), mean=(-0.1, 0.1), rows=(-1, 1), y=(-largest, largest)).ranges
    scales = choose_recipes(module, ranges, INT8)[graph].scales
    assert scales[graph.outputs[0]].scale[0] / scales[graph.inputs[0]].scale[0] == pytest.approx(ratio, abs=1e-5)
    fine = choose_recipes(module, ranges, INT16)[graph].scales
    assert fine[graph.outputs[0]].scale[0] / fine[graph.inputs[0]].scale[0] == pytest.approx(largest, abs=1e-5)
