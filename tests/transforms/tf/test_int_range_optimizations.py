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
    with pytest.raises(InputError, match="--input-range: the model has no input ids; there is i0"):
        int_range_optimizations(module, {"ids": (0, 9)}, report)


def looped(condition: str, body: str, start: str = "int32[] 0") -> list[str]:
    """Return the types of the ops of a loop's body behind the pass: of a counter %i, and %ids from 0 to 8 at first."""
    module, report = module_of(f"""
    main {{
      input %ids: int32[3]
      %j: int32[]; %r: int32[3] = tf.While({start}, %ids) {{'cond': @cond, 'body': @body}}
      return %j, %r
    }}
    """, f"""
    cond {{
      input %i: int32[]
      input %ids: int32[3]
      {condition}
      return %c
    }}
    """, f"""
    body {{
      input %i: int32[]
      input %ids: int32[3]
      {body}
    }}
    """)
    int_range_optimizations(module, {"i0": (0, 8)}, report)
    _, _, graph = module.graphs()
    return [op.type for op in graph.ops]


BELOW_7 = "%c: bool[] = tf.Less(%i, int32[] 7)"
NEXT = "%j: int32[] = tf.AddV2(%i, int32[] 1)"


def test_a_counter_ends_where_the_condition_says() -> None:
    clamped = f"""{NEXT}
      %low: int32[] = tf.Maximum(%i, int32[] 0)
      %held: int32[] = tf.Minimum(%low, int32[] 6)
      %r: int32[3] = tf.Sub(%ids, %held)
      return %j, %r"""
    assert looped(BELOW_7, clamped) == ["AddV2", "Sub"]
    assert looped(BELOW_7.replace("Less", "LessEqual"), clamped) == ["AddV2", "Minimum", "Sub"]
    assert looped("%c: bool[] = tf.Greater(int32[] 7, %i)", clamped) == ["AddV2", "Sub"]
    both = """%a: bool[] = tf.Less(%i, int32[] 7)
      %b: bool[] = tf.Less(%i, int32[] 9)
      %c: bool[] = tf.LogicalAnd(%a, %b)"""
    assert looped(both, clamped) == ["AddV2", "Sub"]
    assert looped(BELOW_7, clamped, start="int32[] -1") == ["AddV2", "Maximum", "Sub"]
    assert looped("%c: bool[] = tf.NotEqual(%i, int32[] 7)", clamped) == ["AddV2", "Maximum", "Minimum", "Sub"]
    down = clamped.replace("AddV2", "Sub")
    assert looped("%c: bool[] = tf.Greater(%i, int32[] 0)", down, start="int32[] 6") == ["Sub", "Sub"]


def test_what_a_loop_carries_is_held_to_what_an_iteration_makes() -> None:
    def kept(op: str) -> list[str]:
        return looped(BELOW_7, f"""{NEXT}
      %low: int32[3] = tf.Maximum(%ids, int32[] 0)
      %r: int32[3] = tf.{op}
      return %j, %r""")

    assert kept("FloorMod(%low, int32[] 5)") == ["AddV2", "FloorMod"]
    assert kept("Sub(%low, int32[] 1)") == ["AddV2", "Maximum", "Sub"]
    # It may wrap around.
    assert kept("AddV2(%low, int32[] 1)") == ["AddV2", "Maximum", "AddV2"]
    assert kept("Minimum(%low, %i)") == ["AddV2", "Minimum"]


def test_a_slice_that_starts_within_its_operand_is_no_more_than_a_slice() -> None:
    def sliced(size: int) -> list[str]:
        return looped(BELOW_7, f"""{NEXT}
      %big: int32[{size}] = tf.Tile(%ids, int32[1] [{size // 3}])
      %start: int32[1] = tf.Pack(%i)
      %r: int32[3] = tf.XlaDynamicSlice(%big, %start, int32[1] [3])
      return %j, %r""")

    assert sliced(9)[-1] == "Slice" and sliced(6)[-1] == "XlaDynamicSlice"


def test_functions_that_several_ops_run_are_right_for_all() -> None:
    loop = "tf.While(int32[] {}, %ids) {{'cond': @cond, 'body': @body}}"
    before = f"""
    main {{
      input %ids: int32[3]
      %a: int32[]; %b: int32[3] = {loop.format(0)}
      %e: int32[]; %f: int32[3] = {loop.format(-5)}
      return %b, %f
    }}
    cond {{
      input %i: int32[]
      input %ids: int32[3]
      {BELOW_7}
      return %c
    }}
    body {{
      input %i: int32[]
      input %ids: int32[3]
      {NEXT}
      %low: int32[] = tf.Maximum(%i, int32[] 0)
      %r: int32[3] = tf.Sub(%ids, %low)
      return %j, %r
    }}
    """
    check_pass("int-range-optimizations", before)


def test_branches_make_what_either_does() -> None:
    check_pass("int-range-optimizations", """
    main {
      input %ids: int32[3]
      input %c: bool[]
      %r: int32[3] = tf.If(%c, %ids) {'then_branch': @then, 'else_branch': @else}
      %low: int32[3] = tf.Maximum(%r, int32[] -9)
      %high: int32[3] = tf.Minimum(%low, int32[] 8)
      return %high
    }
    then {
      input %x: int32[3]
      %y: int32[3] = tf.Maximum(%x, int32[] 0)
      return %y
    }
    else {
      input %x: int32[3]
      %y: int32[3] = tf.Neg(%x)
      return %y
    }
    """, """
    main {
      input %ids: int32[3]
      input %c: bool[]
      %r: int32[3] = tf.If(%c, %ids) {'then_branch': @then, 'else_branch': @else}
      %high: int32[3] = tf.Minimum(%r, int32[] 8)
      return %high
    }
    then {
      input %x: int32[3]
      return %x
    }
    else {
      input %x: int32[3]
      %y: int32[3] = tf.Neg(%x)
      return %y
    }
    """, input_ranges={"i0": (0, 9)})


def test_functions_that_run_each_other_twice_are_walked_once() -> None:
    """The 40th is run 2**40 times."""
    graphs = [
        f"""
        f{number} {{
          input %c: bool[]
          input %x: int32[3]
          %a: int32[3] = tf.If(%c, %c, %x) {{'then_branch': @f{number + 1}, 'else_branch': @f{number + 1}}}
          return %a
        }}
        """
        for number in range(40)
    ]  # fmt: skip
    last = """
    f40 {
      input %c: bool[]
      input %x: int32[3]
      %r: int32[3] = tf.FloorMod(%x, int32[] 5)
      %y: int32[3] = tf.Maximum(%r, int32[] 0)
      return %y
    }
    """
    module, report = module_of(*graphs, last)
    assert int_range_optimizations(module, {}, report)
    assert [op.type for op in list(module.graphs())[-1].ops] == ["FloorMod"]
