"""SAME padding is none where strides leap over elements behind the last window."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_what_is_not_padded_becomes_valid() -> None:
    check_pass("legalize-padding", """
    main {
      input %x: float32[n,32,9,2]
      input %b: float32[4]
      input %w: float32[4,3,2,2]
      %y: float32[n,8,3,4] = tfl.CONV_2D(%x, %w, %b) {'stride_h': 4, 'stride_w': 3}
      return %y
    }
    """, """
    main {
      input %x: float32[n,32,9,2]
      input %b: float32[4]
      input %w: float32[4,3,2,2]
      %y: float32[n,8,3,4] = tfl.CONV_2D(%x, %w, %b) {'padding': 'VALID', 'stride_h': 4, 'stride_w': 3}
      return %y
    }
    """)  # fmt: skip


def test_windows_of_one_element_are_never_padded() -> None:
    check_pass("legalize-padding", """
    main {
      input %x: float32[n,h,w,2]
      input %b: float32[4]
      input %w: float32[4,1,1,2]
      %y: float32[n,a,b,4] = tfl.CONV_2D(%x, %w, %b) {'stride_h': 2, 'stride_w': 2}
      return %y
    }
    """, """
    main {
      input %x: float32[n,h,w,2]
      input %b: float32[4]
      input %w: float32[4,1,1,2]
      %y: float32[n,a,b,4] = tfl.CONV_2D(%x, %w, %b) {'padding': 'VALID', 'stride_h': 2, 'stride_w': 2}
      return %y
    }
    """)  # fmt: skip


def test_one_dimension_is_padded_and_the_other_cut() -> None:
    text = """
    main {{
      input %x: float32[n,17,18,2]
      input %w: float32[1,3,1,2]{cut}
      %y: float32[n,9,9,2] = tfl.DEPTHWISE_CONV_2D({data}, %w) {{'depth_multiplier': 1, 'stride_h': 2, 'stride_w': 2}}
      return %y
    }}
    """
    bounds = ", ".join(f"int32[4] {places}" for places in ([0] * 4, [0, 17, 17, 2], [1] * 4))
    cut = f"\n%s: float32[n,17,17,2] = tfl.STRIDED_SLICE(%x, {bounds}) {{'begin_mask': 15, 'end_mask': 1}}"
    check_pass("legalize-padding", text.format(cut="", data="%x"), text.format(cut=cut, data="%s"))


def test_windows_that_overlap_or_touch_stay() -> None:
    check_pass("legalize-padding", """
    main {
      input %x: float32[n,h,9,2]
      input %b: float32[4]
      input %w: float32[4,2,2,2]
      %y: float32[n,a,5,4] = tfl.CONV_2D(%x, %w, %b) {'stride_h': 2, 'stride_w': 2}
      return %y
    }
    """)


def test_windows_that_are_padded_in_each_dimension_stay() -> None:
    check_pass("legalize-padding", """
    main {
      input %x: float32[n,5,9,2]
      input %b: float32[4]
      input %w: float32[4,3,3,2]
      %y: float32[n,2,3,4] = tfl.CONV_2D(%x, %w, %b) {'stride_h': 4, 'stride_w': 4}
      return %y
    }
    """)


def test_a_dilated_window_reaches_farther() -> None:
    check_pass("legalize-padding", """
    main {
      input %x: float32[n,h,w,2]
      input %b: float32[4]
      input %w: float32[4,2,2,2]
      %y: float32[n,a,w,4] = tfl.CONV_2D(%x, %w, %b) {'dilation_h_factor': 2, 'stride_h': 3, 'stride_w': 1}
      return %y
    }
    """)  # fmt: skip
