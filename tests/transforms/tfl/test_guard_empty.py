"""Ops that take no tensor without elements get one that has some, where data may choose none."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def test_images_that_are_counted_get_one_more() -> None:
    check_pass("guard-empty", """
    main {
      input %x: float32[n,8,8,1]
      input %i: int64[?where1]
      input %w: float32[2,1,1,1]
      input %o: float32[2]
      %c: float32[?where1,8,8,1] = tfl.GATHER(%x, %i)
      %y: float32[?where1,8,8,2] = tfl.CONV_2D(%c, %w, %o) {'padding': 'SAME', 'stride_h': 1, 'stride_w': 1}
      return %y
    }
    """, """
    main {
      input %x: float32[n,8,8,1]
      input %i: int64[?where1]
      input %w: float32[2,1,1,1]
      input %o: float32[2]
      %c: float32[?where1,8,8,1] = tfl.GATHER(%x, %i)
      %p: float32[?where1 + 1,8,8,1] = tfl.PAD(%c, int32[4,2] [[0, 1], [0, 0], [0, 0], [0, 0]])
      %l: float32[?where1 + 1,8,8,2] = tfl.CONV_2D(%p, %w, %o) {'stride_h': 1, 'stride_w': 1}
      const %b: int32[4] = [0, 0, 0, 0]
      const %e: int32[4] = [-1, 0, 0, 0]
      const %s: int32[4] = [1, 1, 1, 1]
      %y: float32[?where1,8,8,2] = tfl.STRIDED_SLICE(%l, %b, %e, %s) {'begin_mask': 14, 'end_mask': 14}
      return %y
    }
    """)  # fmt: skip


def test_columns_of_any_size_of_data_are_split() -> None:
    check_pass("guard-empty", """
    main {
      input %x: float32[?u1,2]
      %a: float32[?u1]; %b: float32[?u1] = tfl.UNPACK(%x) {'num': 2, 'axis': 1}
      return %a, %b
    }
    """, """
    main {
      input %x: float32[?u1,2]
      %c: float32[?u1,1]; %d: float32[?u1,1] = tfl.SPLIT(int32[] 1, %x) {'num_splits': 2}
      %a: float32[?u1] = tfl.SQUEEZE(%c) {'squeeze_dims': [1]}
      %b: float32[?u1] = tfl.SQUEEZE(%d) {'squeeze_dims': [1]}
      return %a, %b
    }
    """)  # fmt: skip


@pytest.mark.parametrize("kind", ["SUM", "MEAN"])
def test_axes_of_sums_are_computed(kind: str) -> None:
    check_pass("guard-empty", f"""
    main {{
      input %x: float32[?u1,2]
      %y: float32[2] = tfl.{kind}(%x, int32[1] [0])
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[?u1,2]
      %a: int32[1] = tfl.RESHAPE(int32[1] [0], int32[1] [1])
      %y: float32[2] = tfl.{kind}(%x, %a)
      return %y
    }}
    """)  # fmt: skip


@pytest.mark.parametrize("ops", [
    "%y: float32[?u1] = tfl.SUM(%x, int32[1] [1])",  # of no row there is no sum
    "%y: float32[?u1,?u1] = tfl.BATCH_MATMUL(%x, %x) {'adj_y': True}",  # as of a sequence that grows
    "%y: float32[?u1,2] = tfl.SOFTMAX(%x) {'beta': 1.0}",
])  # fmt: skip
def test_others_stay(ops: str) -> None:
    check_pass("guard-empty", f"""
    main {{
      input %x: float32[?u1,2]
      {ops}
      return %y
    }}
    """)


def test_sizes_of_inputs_stay() -> None:
    check_pass("guard-empty", """
    main {
      input %x: float32[n,2]
      %y: float32[2] = tfl.SUM(%x, int32[1] [0])
      %a: float32[n]; %b: float32[n] = tfl.UNPACK(%x) {'num': 2, 'axis': 1}
      return %y, %a, %b
    }
    """)


_LOOP = """
    main {
      input %list: float32[?where0,2]
      GROW
      %i: int32[]; %made: float32[ROWS,2] = tfl.WHILE(int32[] 0, LIST) LOOP
      CUT
      return %i, RESULT
    }
    cond {
      input %i: int32[]
      input %list: float32[ROWS,2]
      %more: bool[] = tfl.LESS(%i, int32[] 3)
      return %more
    }
    body {
      input %i: int32[]
      input %list: float32[ROWS,2]
      %at: int32[2] = tfl.PACK(%i, int32[] 0) {'values_count': 2}
      %next: float32[ROWS,2] = tfl.DYNAMIC_UPDATE_SLICE(%list, float32[1,2] [[1.0, 2.0]], %at)
      %j: int32[] = tfl.ADD(%i, int32[] 1)
      return %j, %next
    }
    """


def _loop(grow: str, cut: str, rows: str, start: str, result: str) -> str:
    functions = "{'cond_subgraph_index': @cond, 'body_subgraph_index': @body}"
    text = _LOOP.replace("GROW", grow).replace("CUT", cut).replace("ROWS", rows).replace("LOOP", functions)
    return text.replace("LIST", start).replace("RESULT", result)


@pytest.mark.parametrize("rows", ["?where0", "n + -1", "?slice0", "?fill0 + n + -1"])
def test_lists_that_a_loop_writes_get_one_row_more(rows: str) -> None:
    grow = "%longer: float32[?where0 + 1,2] = tfl.PAD(%list, int32[2,2] [[0, 1], [0, 0]])"
    bounds, masks = "int32[2] [0, 0], int32[2] [-1, 0], int32[2] [1, 1]", "{'begin_mask': 2, 'end_mask': 2}"
    cut = f"%y: float32[?where0,2] = tfl.STRIDED_SLICE(%made, {bounds}) {masks}"
    before, after = ("", "", "?where0", "%list", "%made"), (grow, cut, "?where0 + 1", "%longer", "%y")
    longer = rows.removesuffix(" + -1") if "-1" in rows else f"{rows} + 1"
    texts = [_loop(*each).replace("?where0 + 1", longer).replace("?where0", rows) for each in (before, after)]
    check_pass("guard-empty", *texts)


def test_lists_that_have_rows_or_are_read_stay() -> None:
    plain = _loop("", "", "?where0", "%list", "%made")
    for rows in ("n", "2*n + -1", "?u1", "?slice0 + 1"):
        check_pass("guard-empty", plain.replace("?where0", rows))
    read = """%s: int32[2] = tfl.SHAPE(%list)
      %n: int32[] = tfl.GATHER(%s, int32[] 0)
      %more: bool[] = tfl.LESS(%i, %n)"""
    check_pass("guard-empty", plain.replace("%more: bool[] = tfl.LESS(%i, int32[] 3)", read))
