"""What guards against numbers that cannot come."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.transforms.tf.int_range_optimizations import int_range_optimizations
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def forwarded(ops: str, low: int, high: int) -> str | None:
    """Return which input the value %z becomes, as all of %ids is in a range; None if it stays."""
    text = f"""
    main {{
      input %ids: int32[b,3]
      input %x: float32[b,3]
      input %y: float32[b,3]
      {ops}
      return %z
    }}
    """
    module, report = module_of(text)
    (graph,) = module.graphs()
    inputs = dict(zip(graph.inputs, ("ids", "x", "y")))
    changed = int_range_optimizations(module, {"i0": (low, high)}, report)
    name = inputs.get(graph.outputs[0])
    assert changed or name is None
    return name


@pytest.mark.parametrize(("op", "low", "high", "same"), [
    ("Maximum(%ids, int32[] 0)", 0, 9, True), ("Maximum(%ids, int32[] 0)", -1, 9, False),
    ("Maximum(int32[] -3, %ids)", -3, 9, True), ("Maximum(%ids, int32[3] [0, -1, 1])", 0, 9, False),
    ("Maximum(%ids, int32[3] [0, -1, 1])", 1, 9, True),
    ("Minimum(%ids, int32[] 9)", 0, 9, True), ("Minimum(%ids, int32[] 9)", 0, 10, False),
    ("FloorMod(%ids, int32[] 10)", 0, 9, True), ("FloorMod(%ids, int32[] 10)", 0, 10, False),
    ("FloorMod(%ids, int32[] 10)", -1, 9, False), ("FloorMod(int32[1,3] [[1, 2, 3]], %ids)", 4, 9, False),
])  # fmt: skip
def test_bounds(op: str, low: int, high: int, same: bool) -> None:
    assert forwarded(f"%z: int32[b,3] = tf.{op}", low, high) == ("ids" if same else None)


@pytest.mark.parametrize(("op", "low", "high", "chosen"), [
    ("Less(%ids, int32[] 0)", 0, 9, "y"), ("Less(%ids, int32[] 0)", -9, -1, "x"),
    ("Less(%ids, int32[] 0)", -1, 0, None),
    ("LessEqual(%ids, int32[] 9)", 0, 9, "x"), ("LessEqual(%ids, int32[] 9)", 0, 10, None),
    ("LessEqual(%ids, int32[] 9)", 10, 11, "y"),
    ("Greater(%ids, int32[] 9)", 0, 9, "y"), ("Greater(int32[] 10, %ids)", 0, 9, "x"),
    ("Greater(%ids, int32[] 8)", 0, 9, None),
    ("GreaterEqual(%ids, int32[] 0)", 0, 9, "x"), ("GreaterEqual(%ids, int32[] 1)", 0, 9, None),
    ("GreaterEqual(%ids, int32[] 10)", 0, 9, "y"),
    ("Equal(%ids, int32[] 0)", 1, 9, "y"), ("Equal(%ids, int32[] 0)", 0, 9, None),
    ("Equal(%ids, int32[] 4)", 4, 4, "x"),
    ("NotEqual(%ids, int32[] 0)", 1, 9, "x"), ("NotEqual(%ids, int32[] 4)", 4, 4, "y"),
    ("NotEqual(%ids, int32[] 4)", 4, 5, None),
])  # fmt: skip
def test_choices(op: str, low: int, high: int, chosen: str | None) -> None:
    ops = f"""%c: bool[b,3] = tf.{op}
      %z: float32[b,3] = tf.SelectV2(%c, %x, %y)"""
    assert forwarded(ops, low, high) == chosen


@pytest.mark.parametrize(("ops", "low", "high", "chosen"), [
    ("%a: int32[b,3] = tf.AddV2(%ids, int32[] 5)", 0, 5, "x"),
    ("%a: int32[b,3] = tf.AddV2(%ids, int32[] 5)", 0, 6, None),
    ("%a: int32[b,3] = tf.Sub(int32[] 10, %ids)", 0, 9, "x"), ("%a: int32[b,3] = tf.Sub(int32[] 11, %ids)", 0, 9, None),
    ("%a: int32[b,3] = tf.Mul(%ids, int32[] -2)", -5, 9, "x"),
    ("%a: int32[b,3] = tf.Mul(%ids, int32[] -2)", -6, 9, None),
    ("%a: int32[b,3] = tf.Neg(%ids)", -10, 4, "x"), ("%a: int32[b,3] = tf.Neg(%ids)", -11, 4, None),
    # Numbers of 32 bits wrap around.
    ("%a: int32[b,3] = tf.Mul(%ids, int32[] 1073741824)", -4, 0, None),
    ("%a: int64[b,3] = tf.Cast(%ids)", 0, 10, "x"), ("%a: int64[b,3] = tf.Cast(%ids)", 0, 11, None),
    ("%a: int8[b,3] = tf.Cast(%ids)", -200, 0, None),
    ("%a: int32[b,3] = tf.GatherV2(%ids, int32[3] [2, 1, 0], int32[] 1)", 0, 10, "x"),
    ("%a: int32[b,3] = tf.SelectV2(bool[3] [True, True, False], %ids, int32[] 10)", 0, 9, "x"),
    ("%a: int32[b,3] = tf.SelectV2(bool[3] [True, True, False], %ids, int32[] 11)", 0, 9, None),
    ("""%b: int32[b,1] = tf.Slice(%ids, int32[2] [0, 1], int32[2] [-1, 1])
      %a: int32[b,3] = tf.ConcatV2(%b, %b, %b, int32[] 1)""", 0, 10, "x"),
    ("""%shape: int32[2] = tf.Shape(%ids)
      %b: int32[b,3] = tf.Fill(%shape, int32[] 10)
      %a: int32[b,3] = tf.Maximum(%ids, %b)""", 0, 10, "x"),
    ("""%e: int32[b,3,1] = tf.ExpandDims(%ids, int32[] 2)
      %m: int64[b,3] = tf.ArgMax(%e, int32[] 2)
      %a: int32[b,3] = tf.Cast(%m)""", 0, 99, "x"),
])  # fmt: skip
def test_what_ops_make_of_ranges(ops: str, low: int, high: int, chosen: str | None) -> None:
    dtype = next(kind for kind in ("int64", "int32", "int8") if f"%a: {kind}[" in ops)
    ops += f"""
      %c: bool[b,3] = tf.LessEqual(%a, {dtype}[] 10)
      %z: float32[b,3] = tf.SelectV2(%c, %x, %y)"""
    assert forwarded(ops, low, high) == chosen


@pytest.mark.parametrize(("logic", "chosen"), [
    ("LogicalAnd(%yes, %yes)", "x"), ("LogicalAnd(%no, %open)", "y"), ("LogicalOr(%yes, %open)", "x"),
    ("LogicalOr(%no, %no)", "y"), ("LogicalNot(%no)", "x"), ("LogicalNot(%open)", None),
    ("LogicalOr(%open, %no)", None), ("LogicalAnd(%open, %yes)", None),
])  # fmt: skip
def test_logic(logic: str, chosen: str | None) -> None:
    ops = f"""%yes: bool[b,3] = tf.Less(%ids, int32[] 10)
      %no: bool[b,3] = tf.Less(%ids, int32[] 0)
      %open: bool[b,3] = tf.Less(%ids, int32[] 4)
      %c: bool[b,3] = tf.{logic}
      %z: float32[b,3] = tf.SelectV2(%c, %x, %y)"""
    assert forwarded(ops, 0, 9) == chosen


@pytest.mark.parametrize(("reduction", "chosen"), [
    ("All(%yes", "x"), ("All(%no", None), ("Any(%no", "y"), ("Any(%yes", None),
])  # fmt: skip
def test_reductions_of_no_elements_are_heeded(reduction: str, chosen: str | None) -> None:
    ops = f"""%yes: bool[b,3] = tf.Less(%ids, int32[] 10)
      %no: bool[b,3] = tf.Less(%ids, int32[] 0)
      %c: bool[b,1] = tf.{reduction}, int32[] 1) {{'keep_dims': True}}
      %z: float32[b,3] = tf.SelectV2(%c, %x, %y)"""
    assert forwarded(ops, 0, 9) == chosen


def test_a_choice_that_gives_the_result_its_shape_stays() -> None:
    check_pass("int-range-optimizations", """
    main {
      input %ids: int32[b,3]
      input %row: float32[3]
      %c: bool[b,3] = tf.GreaterEqual(%ids, int32[] 0)
      %z: float32[b,3] = tf.SelectV2(%c, %row, float32[] 0.0)
      return %z
    }
    """, input_ranges={"i0": (0, 9)})


def test_places_of_maxima_and_remainders_need_no_range_of_an_input() -> None:
    check_pass("int-range-optimizations", """
    main {
      input %x: float32[b,3]
      input %n: int32[b]
      %place: int32[b] = tf.ArgMax(%x, int32[] 1) {'output_type': int32}
      %held: int32[b] = tf.Minimum(%place, int32[] 2)
      %low: int32[b] = tf.Minimum(%place, int32[] 1)
      %rest: int32[b] = tf.FloorMod(%n, int32[] 7)
      %risen: int32[b] = tf.Maximum(%rest, int32[] 0)
      return %held, %low, %risen
    }
    """, """
    main {
      input %x: float32[b,3]
      input %n: int32[b]
      %place: int32[b] = tf.ArgMax(%x, int32[] 1) {'output_type': int32}
      %low: int32[b] = tf.Minimum(%place, int32[] 1)
      %rest: int32[b] = tf.FloorMod(%n, int32[] 7)
      return %place, %low, %rest
    }
    """)


def test_a_range_of_no_input() -> None:
    module, report = module_of("main {\n input %x: int32[3]\n return %x\n}")
    with pytest.raises(InputError, match="--input-range: the model has no input ids; it has i0"):
        int_range_optimizations(module, {"ids": (0, 9)}, report)
