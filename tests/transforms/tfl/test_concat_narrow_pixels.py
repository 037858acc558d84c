"""Pixels of few channels are repeated by copies of rows."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

BEFORE = """
    main {
      input %x: float32[n,4,5,3]
      %y: float32[n,8,15,3] = tfl.RESIZE_NEAREST_NEIGHBOR(%x, int32[2] [8, 15]) {'half_pixel_centers': True}
      return %y
    }
    """


def test_rows_and_columns_are_copied() -> None:
    check_pass("concat-narrow-pixels", BEFORE, """
    main {
      input %x: float32[n,4,5,3]
      %a: float32[n,4,5,9] = tfl.CONCATENATION(%x, %x, %x) {'axis': 3}
      %b: float32[n,4,45] = tfl.RESHAPE(%a, int32[3] [-1, 4, 45])
      %c: float32[n,4,90] = tfl.CONCATENATION(%b, %b) {'axis': 2}
      %y: float32[n,8,15,3] = tfl.RESHAPE(%c, int32[4] [-1, 8, 15, 3])
      return %y
    }
    """)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3]", "32]"),  # as fast, and one op
        ("15", "12"),  # not each as often
        ("15", "30"),  # more copies than XNNPACK takes
        ("n,4,5,3", "n,4,w,3"),
        ("'half_pixel_centers'", "'align_corners'"),
        ("float32[n", "uint8[n"),
        ("8", "4"),
    ],
)
def test_others_stay(old: str, new: str) -> None:
    before = BEFORE.replace("15", "5") if old == "8" else BEFORE
    check_pass("concat-narrow-pixels", before.replace(old, new))
