"""Constants of BATCH_MATMUL beside states of a dynamic batch are transposed in the file."""

from __future__ import annotations

from tests.check_pass import check_pass

_STATE = "tfl.FILL(%sizes, float32[] 0.0)"


def test_beside_a_state_of_dynamic_size() -> None:
    check_pass("pretranspose-matmul", f"""
    main {{
      input %x: float32[n,1,2]
      input %sizes: int32[2]
      %h: float32[n,2] {{'variable': True}} = {_STATE}
      %y: float32[n,1,3] = tfl.BATCH_MATMUL(%x, float32[2,3] [1, 2, 3, 4, 5, 6])
      return %y, %h
    }}
    """, f"""
    main {{
      input %x: float32[n,1,2]
      input %sizes: int32[2]
      %h: float32[n,2] {{'variable': True}} = {_STATE}
      %y: float32[n,1,3] = tfl.BATCH_MATMUL(%x, float32[3,2] [1, 4, 2, 5, 3, 6]) {{'adj_y': True}}
      return %y, %h
    }}
    """)


def test_elsewhere_it_stays() -> None:
    check_pass("pretranspose-matmul", """
    main {
      input %x: float32[n,1,2]
      %h: float32[4,2] {'variable': True} = tfl.FILL(int32[2] [4, 2], float32[] 0.0)
      %y: float32[n,1,3] = tfl.BATCH_MATMUL(%x, float32[2,3] [1, 2, 3, 4, 5, 6])
      return %y, %h
    }
    """)
