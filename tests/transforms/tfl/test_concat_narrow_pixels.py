"""Pixels of few bytes are repeated by copies of rows."""

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


def test_integers_keep_their_scale() -> None:
    integers = BEFORE.replace("float32[n,4,5,3]", "int8[n,4,5,124]<0.5>").replace(
        "float32[n,8,15,3]", "int8[n,8,15,124]<0.5>"
    )
    check_pass("concat-narrow-pixels", integers, """
    main {
      input %x: int8[n,4,5,124]<0.5>
      %a: int8[n,4,5,372]<0.5> = tfl.CONCATENATION(%x, %x, %x) {'axis': 3}
      %b: int8[n,4,1860]<0.5> = tfl.RESHAPE(%a, int32[3] [-1, 4, 1860])
      %c: int8[n,4,3720]<0.5> = tfl.CONCATENATION(%b, %b) {'axis': 2}
      %y: int8[n,8,15,124]<0.5> = tfl.RESHAPE(%c, int32[4] [-1, 8, 15, 124])
      return %y
    }
    """)
    check_pass("concat-narrow-pixels", integers.replace("124", "125"))
    check_pass("concat-narrow-pixels", integers.replace("<0.5>", "<0.25>", 1))


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
