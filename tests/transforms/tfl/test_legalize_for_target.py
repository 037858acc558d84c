"""Ops that a target refuses, in other forms."""

from __future__ import annotations

from fuseconv.fuse.registry import Registry
from tests.check_pass import check_pass

GPU = Registry().target("gpu")

_RESHAPED = """
    main {{
      input %x: float32[2,3]
      %y: float32[2,1,3] = tfl.{op}
      %z: float32[2,1,3] = tfl.RELU(%y)
      return %z
    }}
"""


def test_an_op_takes_the_form_that_the_target_has() -> None:
    check_pass(
        "legalize-for-target", _RESHAPED.format(op="EXPAND_DIMS(%x, int32[] 1)"),
        _RESHAPED.format(op="RESHAPE(%x, int32[3] [2, 1, 3])"), target=GPU,
    )  # fmt: skip


def test_nothing_changes_without_a_target() -> None:
    check_pass("legalize-for-target", _RESHAPED.format(op="EXPAND_DIMS(%x, int32[] 1)"))


def test_what_the_target_takes_stays() -> None:
    check_pass("legalize-for-target", _RESHAPED.format(op="EXPAND_DIMS(%x, int32[] 1)"),
               target=Registry().target("openvino"))  # fmt: skip


def test_what_has_no_form_stays() -> None:
    # TOPK_V2 would do for ARG_MAX, but no GPU casts to int64.
    check_pass("legalize-for-target", """
    main {
      input %x: float32[2,3]
      %y: int64[2] = tfl.ARG_MAX(%x, int32[] 1) {'output_type': 'INT64'}
      return %y
    }
    """, target=GPU)


def test_a_form_takes_other_forms_in_turn() -> None:
    # SELECT -> SELECT_V2, of three dimensions, whose branch is tiled.
    check_pass("legalize-for-target", """
    main {
      input %c: bool[2]
      input %x: float32[2,3]
      input %y: float32[2,3]
      %z: float32[2,3] = tfl.SELECT(%c, %x, %y)
      return %z
    }
    """, """
    main {
      input %c: bool[2]
      input %x: float32[2,3]
      input %y: float32[2,3]
      %d: bool[2,1] = tfl.RESHAPE(%c, int32[2] [2, 1])
      %c3: bool[1,2,1] = tfl.RESHAPE(%d, int32[3] [1, 2, 1])
      %x3: float32[1,2,3] = tfl.RESHAPE(%x, int32[3] [1, 2, 3])
      %y3: float32[1,2,3] = tfl.RESHAPE(%y, int32[3] [1, 2, 3])
      %z3: float32[1,2,3] = tfl.SELECT_V2(%c3, %x3, %y3)
      %z: float32[2,3] = tfl.RESHAPE(%z3, int32[2] [2, 3])
      return %z
    }
    """, target=GPU)


def test_bodies_of_loops_take_forms_too() -> None:
    loop = """
    main {{
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.WHILE(%x) {{'cond_subgraph_index': @cond, 'body_subgraph_index': @body}}
      return %y
    }}
    cond {{
      input %x: float32[2,3]
      return bool[] False
    }}
    body {{
      input %x: float32[2,3]
      %y: float32[2,1,3] = tfl.{}
      %z: float32[2,3] = tfl.RESHAPE(%y, int32[2] [2, 3])
      return %z
    }}
    """
    check_pass("legalize-for-target", loop.format("EXPAND_DIMS(%x, int32[] 1)"),
               loop.format("RESHAPE(%x, int32[3] [2, 1, 3])"), target=GPU)  # fmt: skip
