"""Loops carry what is read, once."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check as check_ir
from fuseconv.transforms.loops.loop_info import LoopForm
from fuseconv.transforms.loops.reduce_while_operands import reduce_while_operands
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.inline import inline
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of
from tests.transforms.loops.loop_texts import TWO_PRODUCTS

INPUTS = """input %0 "t": int32[]
    input %1 "count": int32[]
    input %2 "a": float32[2]
    input %3 "b": float32[2]
    input %4 "slot": float32[1,2]
    input %5 "x": float32[2]"""
COND = f"""cond {{
    {INPUTS}
    const %6 "n": int32[] = 7
    const %7 "m": int32[] = 9
    %8 "first": bool[] = tf.Less(%0, %6) {{}}
    %9 "second": bool[] = tf.Less(%1, %7) {{}}
    %10 "both": bool[] = tf.LogicalAnd(%8, %9) {{}}
    return %10
}}"""
BODY = f"""body {{
    {INPUTS}
    const %6 "one": int32[] = 1
    const %7 "axis": int32[] = 0
    const %8 "begin": int32[2] = [0, 0]
    %9 "next": int32[] = tf.AddV2(%0, %6) {{}}
    %10 "counted": int32[] = tf.AddV2(%1, %6) {{}}
    %11 "sum": float32[2] = tf.AddV2(%2, %5) {{}}
    %12 "other": float32[2] = tf.AddV2(%3, %5) {{}}
    %13 "row": float32[1,2] = tf.ExpandDims(%11, %7) {{}}
    %14 "written": float32[1,2] = tf.XlaDynamicUpdateSlice(%4, %13, %8) {{}}
    return %9, %10, %11, %12, %14, %5
}}"""


def trimmed(returned: int, b: str = "[0.0, 0.0]", body: str = BODY) -> Module:
    module, report = module_of(
        f"""main {{
        input %0 "x": float32[2]
        const %1 "zero": int32[] = 0
        const %2 "a0": float32[2] = [0.0, 0.0]
        const %3 "b0": float32[2] = {b}
        const %4 "slot0": float32[1,2] = [[0.0, 0.0]]
        %5 "l": int32[]; %6 "l:1": int32[]; %7 "l:2": float32[2]; %8 "l:3": float32[2]; %9 "l:4": float32[1,2]; \
%10 "l:5": float32[2] = \
tf.While(%1, %1, %2, %3, %4, %0) {{'cond': {{'function': 'cond'}}, 'body': {{'function': 'body'}}}}
        %11 "sum": float32[2] = tf.AddV2(%7, %8) {{}}
        return %{returned}
        }}""",
        COND,
        body,
    )
    inline(module, report)
    canonicalize(module, report)
    reduce_while_operands(module, report)
    check_ir(module)
    canonicalize(module, report)
    check_ir(module)
    return module


def loop_of(module: Module) -> LoopForm:
    return LoopForm(next(op for op in module.signatures[0].graph.ops if op.kind == "tf.While"), module)


def test_one_counter_and_one_comparison() -> None:
    loop = loop_of(trimmed(7))
    assert [op.type for op in loop.cond.ops] == ["Less"]
    assert loop.steps() == 7
    assert loop.counters == {0: 0}
    # The second state and the list are read by nobody, and neither is the second counter.
    assert [value.shape for value in loop.body.inputs] == [(), (2,), (2,)]


def test_equal_states_are_one() -> None:
    assert len(loop_of(trimmed(11)).body.inputs) == 3


def test_states_that_start_differently_are_two() -> None:
    assert len(loop_of(trimmed(11, b="[0.0, 1.0]")).body.inputs) == 4


def test_states_that_go_on_differently_are_two() -> None:
    body = BODY.replace('"other": float32[2] = tf.AddV2', '"other": float32[2] = tf.Mul')
    assert len(loop_of(trimmed(11, body=body)).body.inputs) == 4


def test_a_list_of_one_is_the_state_that_is_written() -> None:
    module = trimmed(9)
    assert kinds(module) == ["While", "ExpandDims"]
    assert len(loop_of(module).body.inputs) == 3


def test_zeros_of_different_signs_are_two_states() -> None:
    assert len(loop_of(trimmed(11, b="[-0.0, -0.0]")).body.inputs) == 4


def test_equal_states_are_found_however_many_ops_make_them() -> None:
    chains = [
        "\n".join(
            f'%{first + n} "{name}{n}": float32[2] = tf.Neg(%{first + n - 1 if n else start}) {{}}' for n in range(2000)
        )
        for first, start, name in ((1000, 11, "p"), (4000, 12, "q"))
    ]
    body = BODY.replace("return %9, %10, %11, %12,", "\n".join((*chains, "return %9, %10, %2999, %5999,")))
    assert len(loop_of(trimmed(11, body=body)).body.inputs) == 3


def test_a_second_counter_goes() -> None:
    check_pass("reduce-while-operands", """
    main {
      input %n: int32[]
      input %x: float32[2]
      %i: int32[]; %t: int32[]; %m: int32[]; %y: float32[2] = tf.While(int32[] 0, int32[] 0, %n, %x) {'cond': @cond, \
'body': @body}
      return %y
    }
    cond {
      input %i: int32[]
      input %t: int32[]
      input %m: int32[]
      input %y: float32[2]
      %more: bool[] = tf.Less(%i, %m)
      return %more
    }
    body {
      input %i: int32[]
      input %t: int32[]
      input %m: int32[]
      input %y: float32[2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %also: int32[] = tf.AddV2(%t, int32[] 1)
      %z: float32[2] = tf.Neg(%y)
      return %next, %also, %m, %z
    }
    """, """
    main {
      input %n: int32[]
      input %x: float32[2]
      %i: int32[]; %m: int32[]; %y: float32[2] = tf.While(int32[] 0, %n, %x) {'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %m: int32[]
      input %y: float32[2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %z: float32[2] = tf.Neg(%y)
      return %next, %m, %z
    }
    cond {
      input %i: int32[]
      input %m: int32[]
      input %y: float32[2]
      %more: bool[] = tf.Less(%i, %m)
      return %more
    }
    """)


def test_what_is_read_is_carried() -> None:
    check_pass("reduce-while-operands", TWO_PRODUCTS)


@pytest.mark.parametrize(
    ("starts", "bounds", "kept"),
    [((0, 1), ("%n", "%n"), "%t"), ((2, 1), ("%n", "%n"), "%s"), ((0, 1), ("int32[] 9", "int32[] 9"), "%t"),
     ((4, 1), ("int32[] 9", "int32[] 7"), "%s"), ((0, 1), ("%n", "int32[] 7"), "%u")],
)  # fmt: skip
def test_of_counters_from_different_numbers_the_one_that_ends_first_is_compared(
    starts: tuple[int, int], bounds: tuple[str, str], kept: str
) -> None:
    loop = """
    main {{
      input %n: int32[]
      input %x: float32[2]
      %i: int32[]; %j: int32[]; %k: int32[]; %y: float32[2] = tf.While(int32[] {0}, int32[] {1}, %n, %x) \
{{'cond': @cond, 'body': @body}}
      return %i, %j, %k, %y
    }}
    cond {{
      input %a: int32[]
      input %b: int32[]
      input %n: int32[]
      input %x: float32[2]
      %s: bool[] = tf.Less(%a, {2})
      %t: bool[] = tf.Less(%b, {3})
      %u: bool[] = tf.LogicalAnd(%s, %t)
      return {4}
    }}
    body {{
      input %a: int32[]
      input %b: int32[]
      input %n: int32[]
      input %x: float32[2]
      %c: int32[] = tf.AddV2(%a, int32[] 1)
      %d: int32[] = tf.AddV2(%b, int32[] 1)
      %z: float32[2] = tf.Tanh(%x)
      return %c, %d, %n, %z
    }}
    """
    check_pass("reduce-while-operands", loop.format(*starts, *bounds, "%u"), loop.format(*starts, *bounds, kept))


def _starts(steps: str, written: str = "%made") -> list[str]:
    """Return the ops before a loop that defines %v[n,4] in each step, and before the first without rows."""
    module, report = module_of(f"""
    main {{
      input %x: float32[n,4]
      input %steps: int32[]
      %v: float32[0,4] = tf.Slice(%x, int32[2] [0, 0], int32[2] [0, 4])
      %i: int32[]; %y: float32[n,4]; %last: float32[m,4]; %s: int32[] = tf.While(int32[] 0, %x, %v, %steps) \
{{'body': @body, 'cond': @cond}}
      return %last
    }}
    body {{
      input %i: int32[]
      input %h: float32[n,4]
      input %v: float32[m,4]
      input %steps: int32[]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %made: float32[n,4] = tf.Tanh(%h)
      %state: float32[n,4] = tf.AddV2(%made, %h)
      %seen: float32[n,4] = tf.ConcatV2(%v, %made, int32[] 0)
      return %next, %state, {written}, %steps
    }}
    cond {{
      input %i: int32[]
      input %h: float32[n,4]
      input %v: float32[m,4]
      input %steps: int32[]
      %more: bool[] = tf.Less(%i, {steps})
      return %more
    }}
    """)
    reduce_while_operands(module, report)
    check_ir(module)
    return [op.type for op in module.signatures[0].graph.ops]


def test_what_is_written_alone_starts_with_its_size() -> None:
    assert "Fill" in _starts("int32[] 3")


@pytest.mark.parametrize(("steps", "written"), [("int32[] 0", "%made"), ("%steps", "%made"), ("int32[] 3", "%seen")])
def test_what_may_be_seen_starts_as_it_is(steps: str, written: str) -> None:
    assert "Fill" not in _starts(steps, written)
