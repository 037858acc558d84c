"""Slices of stride 1 are taken by the ops that copy runs."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_slices_of_known_sizes() -> None:
    check_pass("lower-strided-slices", """
    main {
      input %x: int32[2,9,4]
      %a: int32[2,4,4] = tfl.STRIDED_SLICE(%x, int32[2] [0, -5], int32[2] [0, -1], int32[2] [1, 1]) {'begin_mask': 1, 'end_mask': 1}
      %b: int32[2,0,4] = tfl.STRIDED_SLICE(%x, int32[2] [0, 7], int32[2] [0, 3], int32[2] [1, 1]) {'end_mask': 1}
      %c: int32[2,9,3] = tfl.STRIDED_SLICE(%x, int32[2] [0, 1], int32[2] [0, 99], int32[2] [1, 1]) {'ellipsis_mask': 1}
      return %a, %b, %c
    }
    """, """
    main {
      input %x: int32[2,9,4]
      %a: int32[2,4,4] = tfl.SLICE(%x, int32[3] [0, 4, 0], int32[3] [2, 4, 4])
      %b: int32[2,0,4] = tfl.SLICE(%x, int32[3] [0, 7, 0], int32[3] [2, 0, 4])
      %c: int32[2,9,3] = tfl.SLICE(%x, int32[3] [0, 0, 1], int32[3] [2, 9, 3])
      return %a, %b, %c
    }
    """)  # noqa: E501


def test_one_place_of_a_dimension() -> None:
    check_pass("lower-strided-slices", """
    main {
      input %x: float32[n,9,4]
      %a: float32[n,4] = tfl.STRIDED_SLICE(%x, int32[2] [0, -2], int32[2] [0, -1], int32[2] [1, 1]) {'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}
      %b: float32[9,4] = tfl.STRIDED_SLICE(%x, int32[1] [3], int32[1] [4], int32[1] [1]) {'shrink_axis_mask': 1}
      return %a, %b
    }
    """, """
    main {
      input %x: float32[n,9,4]
      %a: float32[n,4] = tfl.GATHER(%x, int32[] 7) {'axis': 1, 'batch_dims': 0}
      %b: float32[9,4] = tfl.GATHER(%x, int32[] 3) {'axis': 0, 'batch_dims': 0}
      return %a, %b
    }
    """)  # noqa: E501


def test_slices_in_branches() -> None:
    check_pass("lower-strided-slices", """
    main {
      input %c: bool[]
      input %x: float32[3,9]
      %b: float32[3,2] = tfl.IF(%c, %x) {'then_subgraph_index': @then, 'else_subgraph_index': @then}
      return %b
    }
    graph then {
      input %x: float32[3,9]
      %a: float32[3,2] = tfl.STRIDED_SLICE(%x, int32[2] [0, 1], int32[2] [0, 3], int32[2] [1, 1]) {'begin_mask': 1, 'end_mask': 1}
      return %a
    }
    """, """
    main {
      input %c: bool[]
      input %x: float32[3,9]
      %b: float32[3,2] = tfl.IF(%c, %x) {'then_subgraph_index': @then, 'else_subgraph_index': @then}
      return %b
    }
    graph then {
      input %x: float32[3,9]
      %a: float32[3,2] = tfl.SLICE(%x, int32[2] [0, 1], int32[2] [3, 2])
      return %a
    }
    """)  # noqa: E501


def test_sizes_strides_computed_bounds_and_slices_of_unknown_sizes_stay() -> None:
    check_pass("lower-strided-slices", """
    main {
      input %x: int32[n,9]
      input %i: int32[2]
      %s: int32[2] = tfl.SHAPE(%x)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %a: int32[n,3] = tfl.STRIDED_SLICE(%x, int32[2] [0, 1], int32[2] [0, 7], int32[2] [1, 2]) {'begin_mask': 1, 'end_mask': 1}
      %b: int32[n,7] = tfl.STRIDED_SLICE(%x, int32[2] [0, 2], int32[2] [0, 0], int32[2] [1, 1]) {'begin_mask': 1, 'end_mask': 3}
      %c: int32[k,l] = tfl.STRIDED_SLICE(%x, %i, int32[2] [5, 5], int32[2] [1, 1])
      %d: int32[9] = tfl.STRIDED_SLICE(%x, int32[1] [-1], int32[1] [0], int32[1] [1]) {'shrink_axis_mask': 1}
      %e: int32[] = tfl.STRIDED_SLICE(%x, int32[2] [1, 1], int32[2] [2, 2], int32[2] [1, 1]) {'shrink_axis_mask': 3}
      return %n, %a, %b, %c, %d, %e
    }
    """)  # noqa: E501
