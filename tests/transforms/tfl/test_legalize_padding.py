"""SAME padding is none where strides leap over elements behind the last window."""

from __future__ import annotations

from tests.check_pass import check_pass


def _check(data: str, window: str, windows: str, attrs: str, becomes_valid: bool) -> None:
    """Hold what the pass makes of SAME padding. data, window, windows: sizes of the image, the kernel, the result."""
    text = """
    main {
      input %x: float32[n,DATA,2]
      input %b: float32[4]
      input %w: float32[4,WINDOW,2]
      %y: float32[n,SIZES,4] = tfl.CONV_2D(%x, %w, %b) {PADDING}
      return %y
    }
    """.replace("DATA", data).replace("WINDOW", window).replace("SIZES", windows)
    valid = text.replace("PADDING", f"'padding': 'VALID', {attrs}") if becomes_valid else None
    check_pass("legalize-padding", text.replace("PADDING", attrs), valid)


def test_what_is_not_padded_becomes_valid() -> None:
    _check("32,9", "3,2", "8,3", "'stride_h': 4, 'stride_w': 3", becomes_valid=True)


def test_windows_of_one_element_are_never_padded() -> None:
    _check("h,w", "1,1", "a,b", "'stride_h': 2, 'stride_w': 2", becomes_valid=True)


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
    _check("h,9", "2,2", "a,5", "'stride_h': 2, 'stride_w': 2", becomes_valid=False)


def test_windows_that_are_padded_in_each_dimension_stay() -> None:
    _check("5,9", "3,3", "2,3", "'stride_h': 4, 'stride_w': 4", becomes_valid=False)


def test_a_dilated_window_reaches_farther() -> None:
    _check("h,w", "2,2", "a,w", "'dilation_h_factor': 2, 'stride_h': 3, 'stride_w': 1", becomes_valid=False)


def test_windows_of_two_elements_are_padded_by_one_whatever_the_size() -> None:
    text = """
    main {{
      input %x: float32[n,h,w,2]
      input %w: float32[4,2,1,2]{pad}
      %y: float32[n,a,b,4] = tfl.CONV_2D({data}, %w) {{'padding': '{padding}', 'stride_h': 3, 'stride_w': 2}}
      return %y
    }}
    """
    pads = "int32[4,2] [[0, 0], [0, 1], [0, 0], [0, 0]]"
    pad = f"\n%p: float32[n,h + 1,w,2] = tfl.PAD(%x, {pads}) {{}}"
    before, after = text.format(pad="", data="%x", padding="SAME"), text.format(pad=pad, data="%p", padding="VALID")
    check_pass("legalize-padding", before, after)


def test_windows_that_are_padded_by_the_size_are_left_to_bypass_xnnpack() -> None:
    _check("h,w", "3,3", "a,b", "'stride_h': 4, 'stride_w': 4", becomes_valid=False)
