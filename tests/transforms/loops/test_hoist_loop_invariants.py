"""What a step computes without the loop's state is computed before the loop."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass
from tests.transforms.loops.loop_texts import TWO_PRODUCTS, condition


def test_rows_are_multiplied_at_once() -> None:
    check_pass("hoist-loop-invariants", """
    main {
      input %x: float32[5,1,2]
      input %h: float32[1,3]
      input %w: float32[2,3]
      %i: int32[]; %y: float32[1,3]; %xs: float32[5,1,2]; %ws: float32[2,3] = tf.While(int32[] 0, %h, %x, %w) \
{'cond': @cond, 'body': @body}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,3]
      input %x: float32[5,1,2]
      input %w: float32[2,3]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,2] = tf.GatherV2(%x, %i, int32[] 0)
      %p: float32[1,3] = tf.MatMul(%row, %w)
      %sum: float32[1,3] = tf.AddV2(%p, %h)
      return %next, %sum, %x, %w
    }
    """ + condition(5, "h: float32[1,3]", "x: float32[5,1,2]", "w: float32[2,3]"), """
    main {
      input %x: float32[5,1,2]
      input %h: float32[1,3]
      input %w: float32[2,3]
      %p: float32[5,1,3] = tf.BatchMatMulV2(%x, %w)
      %i: int32[]; %y: float32[1,3]; %xs: float32[5,1,2]; %ws: float32[2,3]; %i_4: float32[5,1,3] = tf.While(int32[] \
0, %h, %x, %w, %p) {'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,3]
      input %x: float32[5,1,2]
      input %w: float32[2,3]
      input %p: float32[5,1,3]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,2] = tf.GatherV2(%x, %i, int32[] 0)
      %p2: float32[1,3] = tf.GatherV2(%p, %i, int32[] 0)
      %sum: float32[1,3] = tf.AddV2(%p2, %h)
      return %next, %sum, %x, %w, %p
    }
    """ + condition(5, "h: float32[1,3]", "x: float32[5,1,2]", "w: float32[2,3]", "p: float32[5,1,3]"))


def test_rows_of_tables_of_several_lengths() -> None:
    """Those that the loop reads are computed."""
    inputs = """
    body {
      input %i: int32[]
      input %h: float32[2]
      input %x: float32[5,2]
      input %z: float32[7,2]
    """
    check_pass("hoist-loop-invariants", """
    main {
      input %x: float32[5,2]
      input %z: float32[7,2]
      input %h: float32[2]
      %i: int32[]; %y: float32[2]; %xs: float32[5,2]; %zs: float32[7,2] = tf.While(int32[] 0, %h, %x, %z) \
{'cond': @cond, 'body': @body}
      return %y
    }
    """ + inputs + """
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %a: float32[2] = tf.GatherV2(%x, %i, int32[] 0)
      %b: float32[2] = tf.GatherV2(%z, %i, int32[] 0)
      %p: float32[2] = tf.Mul(%a, %b)
      %sum: float32[2] = tf.Sub(%p, %h)
      return %next, %sum, %x, %z
    }
    """ + condition(5, "h: float32[2]", "x: float32[5,2]", "z: float32[7,2]"), """
    main {
      input %x: float32[5,2]
      input %z: float32[7,2]
      input %h: float32[2]
      %cut: float32[5,2] = tf.Slice(%z, int32[2] [0, 0], int32[2] [5, -1])
      %p: float32[5,2] = tf.Mul(%x, %cut)
      %i: int32[]; %y: float32[2]; %xs: float32[5,2]; %zs: float32[7,2]; %i_4: float32[5,2] = tf.While(int32[] 0, %h, \
%x, %z, %p) {'body': @body, 'cond': @cond}
      return %y
    }
    """ + inputs + """
      input %p: float32[5,2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %a: float32[2] = tf.GatherV2(%x, %i, int32[] 0)
      %b: float32[2] = tf.GatherV2(%z, %i, int32[] 0)
      %p2: float32[2] = tf.GatherV2(%p, %i, int32[] 0)
      %sum: float32[2] = tf.Sub(%p2, %h)
      return %next, %sum, %x, %z, %p
    }
    """ + condition(5, "h: float32[2]", "x: float32[5,2]", "z: float32[7,2]", "p: float32[5,2]"))


def test_rows_are_transposed_at_once_where_no_loop_will_be_left() -> None:
    check_pass("hoist-out-of-unrolled-loops", """
    main {
      input %x: float32[3,1,2]
      input %h: float32[2,1]
      %i: int32[]; %y: float32[2,1]; %xs: float32[3,1,2] = tf.While(int32[] 0, %h, %x) {'cond': @cond, 'body': @body}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[2,1]
      input %x: float32[3,1,2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,2] = tf.GatherV2(%x, %i, int32[] 0)
      %column: float32[2,1] = tf.Transpose(%row, int32[2] [1, 0])
      %p: float32[2,1] = tf.MatMul(%h, float32[1,1] [[0.5]])
      %sum: float32[2,1] = tf.AddV2(%p, %column)
      return %next, %sum, %x
    }
    """ + condition(3, "h: float32[2,1]", "x: float32[3,1,2]"), """
    main {
      input %x: float32[3,1,2]
      input %h: float32[2,1]
      %column: float32[3,2,1] = tf.Transpose(%x, int32[3] [0, 2, 1])
      %i: int32[]; %y: float32[2,1]; %xs: float32[3,1,2]; %i_3: float32[3,2,1] = tf.While(int32[] 0, %h, %x, %column) \
{'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[2,1]
      input %x: float32[3,1,2]
      input %column: float32[3,2,1]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,2] = tf.GatherV2(%x, %i, int32[] 0)
      %column2: float32[2,1] = tf.GatherV2(%column, %i, int32[] 0)
      %p: float32[2,1] = tf.MatMul(%h, float32[1,1] [[0.5]])
      %sum: float32[2,1] = tf.AddV2(%p, %column2)
      return %next, %sum, %x, %column
    }
    """ + condition(3, "h: float32[2,1]", "x: float32[3,1,2]", "column: float32[3,2,1]"))


def test_a_product_of_the_state_stays() -> None:
    check_pass("hoist-loop-invariants", TWO_PRODUCTS)


def test_transposes_stay_in_a_loop_that_stays() -> None:
    check_pass("hoist-out-of-unrolled-loops", TWO_PRODUCTS)


@pytest.mark.parametrize("adds", [
    "tf.ExpandDims(%x, int32[] 1)",
    "tf.StridedSlice(%x, int32[2] [0, 0], int32[2] [0, 0], int32[2] [1, 1]) {'begin_mask': 1, 'end_mask': 1, \
'new_axis_mask': 2}",
], ids=["ExpandDims", "StridedSlice"])
def test_a_reshape_stays_beside_other_readers_of_what_is_carried(adds: str) -> None:
    before = f"""
    main {{
      input %x: float32[n,3]
      %i: int32[]; %y: float32[n,3]; %xs: float32[n,3] = tf.While(int32[] 0, %x, %x) {{'body': @body, 'cond': @cond}}
      return %y
    }}
    body {{
      input %i: int32[]
      input %h: float32[n,3]
      input %x: float32[n,3]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %column: float32[n,1,3] = {adds}
      %sum: float32[n,n,3] = tf.AddV2(%column, %h)
      %most: float32[n,3] = tf.Max(%sum, int32[] 1)
      %y: float32[n,3] = tf.Mul(%most, %x)
      return %next, %y, %x
    }}
    """ + condition(5, "h: float32[n,3]", "x: float32[n,3]")
    loop = "%i: int32[]; %y"
    check_pass("hoist-loop-invariants", before, before.replace(loop, f"%z: float32[n,1,3] = {adds}\n{loop}"))


def test_a_reshape_moves_with_all_that_reads_what_is_carried() -> None:
    check_pass("hoist-loop-invariants", """
    main {
      input %x: float32[3]
      input %h: float32[1,3]
      %i: int32[]; %y: float32[1,3]; %xs: float32[3] = tf.While(int32[] 0, %h, %x) {'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,3]
      input %x: float32[3]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,3] = tf.ExpandDims(%x, int32[] 0)
      %sum: float32[1,3] = tf.AddV2(%row, %h)
      return %next, %sum, %x
    }
    """ + condition(5, "h: float32[1,3]", "x: float32[3]"), """
    main {
      input %x: float32[3]
      input %h: float32[1,3]
      %row: float32[1,3] = tf.ExpandDims(%x, int32[] 0)
      %i: int32[]; %y: float32[1,3]; %xs: float32[3]; %rows: float32[1,3] = tf.While(int32[] 0, %h, %x, %row) \
{'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,3]
      input %x: float32[3]
      input %row: float32[1,3]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %sum: float32[1,3] = tf.AddV2(%row, %h)
      return %next, %sum, %x, %row
    }
    """ + condition(5, "h: float32[1,3]", "x: float32[3]", "row: float32[1,3]"))


def test_what_a_condition_computes_of_invariants() -> None:
    loop = """
    cond {
      input %i: int32[]
      input %x: float32[n,2]
      INPUTS
      %more: bool[] = tf.Less(%i, %count)
      return %more
    }
    body {
      input %i: int32[]
      input %x: float32[n,2]
      MORE
      %next: int32[] = tf.AddV2(%i, %i)
      return %next, %x REST
    }
    """
    ops = """%shape: int32[2] = tf.Shape(%x)
      %count: int32[] = tf.StridedSlice(%shape, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}"""
    inputs = "input %shape: int32[2]\n      input %count: int32[]"
    before = loop.replace("INPUTS", ops).replace("MORE", "").replace(" REST", "")
    after = loop.replace("INPUTS", inputs).replace("MORE", inputs).replace(" REST", ", %shape, %count")
    check_pass("hoist-loop-invariants", f"""
    main {{
      input %x: float32[n,2]
      %i: int32[]; %xs: float32[n,2] = tf.While(int32[] 1, %x) {{'cond': @cond, 'body': @body}}
      return %i
    }}
    {before}""", f"""
    main {{
      input %x: float32[n,2]
      {ops}
      %i: int32[]; %xs: float32[n,2]; %s: int32[2]; %c: int32[] = tf.While(int32[] 1, %x, %shape, %count) \
{{'cond': @cond, 'body': @body}}
      return %i
    }}
    {after}""")  # fmt: skip


def _sliced(begin: str, end: str) -> str:
    """A loop of four steps that reads columns from `begin` to `end` of five."""
    return f"""
    main {{
      input %x: float32[2,5]
      input %h: float32[2,1]
      %i: int32[]; %y: float32[2,1]; %xs: float32[2,5] = tf.While(int32[] 0, %h, %x) \
{{'cond': @cond, 'body': @body}}
      return %y
    }}
    body {{
      input %i: int32[]
      input %h: float32[2,1]
      input %x: float32[2,5]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %later: int32[] = tf.AddV2(%i, int32[] 2)
      %from: int32[2] = tf.Pack(int32[] 0, {begin}) {{'axis': 0}}
      %to: int32[2] = tf.Pack(int32[] 0, {end}) {{'axis': 0}}
      %column: float32[2,?c] = tf.StridedSlice(%x, %from, %to, int32[2] [1, 1]) {{'begin_mask': 1, 'end_mask': 1}}
      %sum: float32[2,1] = tf.Mul(%h, %column)
      return %next, %sum, %x
    }}
    """ + condition(4, "h: float32[2,1]", "x: float32[2,5]")


def test_a_column_that_is_there_in_each_step_is_a_row() -> None:
    check_pass("hoist-loop-invariants", _sliced("%next", "%later"), """
    main {
      input %x: float32[2,5]
      input %h: float32[2,1]
      %t: float32[5,2] = tf.Transpose(%x, int32[2] [1, 0])
      %rows: float32[5,2,1] = tf.ExpandDims(%t, int32[] 2)
      %i: int32[]; %y: float32[2,1]; %xs: float32[2,5]; %ts: float32[5,2] = tf.While(int32[] 0, %h, %x, %t) \
{'cond': @cond, 'body': @body}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[2,1]
      input %x: float32[2,5]
      input %t: float32[5,2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %later: int32[] = tf.AddV2(%i, int32[] 2)
      %from: int32[2] = tf.Pack(int32[] 0, %next) {'axis': 0}
      %to: int32[2] = tf.Pack(int32[] 0, %later) {'axis': 0}
      %row: float32[2] = tf.GatherV2(%t, %next, int32[] 0)
      %column: float32[2,1] = tf.ExpandDims(%row, int32[] 1)
      %sum: float32[2,1] = tf.Mul(%h, %column)
      return %next, %sum, %x, %t
    }
    """ + condition(4, "h: float32[2,1]", "x: float32[2,5]", "t: float32[5,2]"))


def test_columns_that_may_be_more_or_none_stay() -> None:
    check_pass("hoist-loop-invariants", _sliced("%i", "%later"))
    check_pass("hoist-loop-invariants", _sliced("%later", "%next"))
    beyond = _sliced("%next", "%later").replace("[2,5]", "[2,4]")
    check_pass("hoist-loop-invariants", beyond)
