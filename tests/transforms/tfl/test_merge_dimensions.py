"""Dimensions that no op between RESHAPEs tells apart become one."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from tests.check_pass import check_pass

GPU = Registry().target("gpu")

_NORM = """
    main {
      input %x: float32[1,8,8,6]
      %r: float32[1,8,8,2,3] = tfl.RESHAPE(%x, int32[5] [1, 8, 8, 2, 3])
      %m: float32[1,1,1,2,1] = tfl.MEAN(%r, int32[3] AXES) {'keep_dims': True}
      %s: float32[1,8,8,2,3] = tfl.SUB(%r, %m)
      %g: float32[1,8,8,2,3] = tfl.MUL(%s, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      %y: float32[1,8,8,6] = tfl.RESHAPE(%g, int32[4] [1, 8, 8, 6])
      return %y
    }
    """


def test_a_group_norm() -> None:
    check_pass("merge-dimensions", _NORM.replace("AXES", "[1, 2, -1]"), """
    main {
      input %x: float32[1,8,8,6]
      %r: float32[1,64,2,3] = tfl.RESHAPE(%x, int32[4] [1, 64, 2, 3])
      %m: float32[1,1,2,1] = tfl.MEAN(%r, int32[2] [1, 3]) {'keep_dims': True}
      %s: float32[1,64,2,3] = tfl.SUB(%r, %m)
      %g: float32[1,64,2,3] = tfl.MUL(%s, float32[1,1,2,3] [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]])
      %y: float32[1,8,8,6] = tfl.RESHAPE(%g, int32[4] [1, 8, 8, 6])
      return %y
    }
    """, target=GPU)


def test_rows_that_are_repeated() -> None:
    check_pass("merge-dimensions", """
    main {
      input %x: float32[2,3,4,5]
      %r: float32[2,3,1,4,5] = tfl.RESHAPE(%x, int32[5] [2, 3, 1, 4, 5])
      %c: float32[2,3,2,4,5] = tfl.CONCATENATION(%r, %r) {'axis': 2}
      %y: float32[2,6,4,5] = tfl.RESHAPE(%c, int32[4] [2, 6, 4, 5])
      return %y
    }
    """, """
    main {
      input %x: float32[2,3,4,5]
      %r: float32[2,3,1,20] = tfl.RESHAPE(%x, int32[4] [2, 3, 1, 20])
      %c: float32[2,3,2,20] = tfl.CONCATENATION(%r, %r) {'axis': 2}
      %y: float32[2,6,4,5] = tfl.RESHAPE(%c, int32[4] [2, 6, 4, 5])
      return %y
    }
    """, target=GPU)


_APART = """
    main {
      input %x: float32[2,2,2,2,2]
      %r: float32[2,2,2,2,2] = tfl.RELU(%x)
      %y: float32[4,8] = tfl.RESHAPE(%r, int32[2] [4, 8])
      return %y
    }
    """
_ALTERNATING = """
    main {
      input %x: float32[64]
      %r: float32[4,2,2,2,2] = tfl.RESHAPE(%x, int32[5] [4, 2, 2, 2, 2])
      %m: float32[1,2,1,2,1] = tfl.MEAN(%r, int32[3] [0, 2, 4]) {'keep_dims': True}
      %s: float32[4,2,2,2,2] = tfl.SUB(%r, %m)
      %y: float32[64] = tfl.RESHAPE(%s, int32[1] [64])
      return %y
    }
    """


@pytest.mark.parametrize("text", [_APART, _ALTERNATING], ids=["an input", "each second"])
def test_others_stay(text: str) -> None:
    check_pass("merge-dimensions", text, target=GPU)


def test_nothing_changes_without_a_target_that_refuses() -> None:
    text = _NORM.replace("AXES", "[1, 2, -1]")
    check_pass("merge-dimensions", text)
    check_pass("merge-dimensions", text, target=Registry().target("openvino"))


_SHUFFLE = """
    main {
      input %x: float32[1,8,8,6]
      %r: float32[1,8,8,2,3] = tfl.RESHAPE(%x, int32[5] [1, 8, 8, 2, 3])
      %t: float32[1,8,8,3,2] = tfl.TRANSPOSE(%r, int32[5] [0, 1, 2, 4, 3])
      %y: float32[1,8,8,6] = tfl.RESHAPE(%t, int32[4] [1, 8, 8, 6])
      return %y
    }
    """


def test_channels_that_are_shuffled() -> None:
    check_pass("merge-dimensions", _SHUFFLE, """
    main {
      input %x: float32[1,8,8,6]
      %r: float32[64,2,3] = tfl.RESHAPE(%x, int32[3] [64, 2, 3])
      %t: float32[64,3,2] = tfl.TRANSPOSE(%r, int32[3] [0, 2, 1])
      %y: float32[1,8,8,6] = tfl.RESHAPE(%t, int32[4] [1, 8, 8, 6])
      return %y
    }
    """, target=GPU)


@pytest.mark.parametrize("text", [
    pytest.param(_SHUFFLE.replace("tfl.RESHAPE(%t, int32[4] [1, 8, 8, 6])", "tfl.ABS(%t)")
                 .replace("%y: float32[1,8,8,6]", "%y: float32[1,8,8,3,2]"), id="another op reads it"),
    pytest.param("""
    main {
      input %x: float32[4,9,25]
      %r: float32[2,2,3,3,5,5] = tfl.RESHAPE(%x, int32[6] [2, 2, 3, 3, 5, 5])
      %t: float32[5,5,3,3,2,2] = tfl.TRANSPOSE(%r, int32[6] [5, 4, 3, 2, 1, 0])
      %y: float32[25,9,4] = tfl.RESHAPE(%t, int32[3] [25, 9, 4])
      return %y
    }
    """, id="nothing stays beside another"),
])  # fmt: skip
def test_transposes_that_stay(text: str) -> None:
    check_pass("merge-dimensions", text, target=GPU)


def test_windows_that_a_product_reads() -> None:
    check_pass("merge-dimensions", """
    main {
      input %x: float32[1,8,8,6]
      %r: float32[1,2,4,2,4,6] = tfl.RESHAPE(%x, int32[6] [1, 2, 4, 2, 4, 6])
      %t: float32[1,2,2,4,4,6] = tfl.TRANSPOSE(%r, int32[6] [0, 1, 3, 2, 4, 5])
      %y: float32[64,2] = tfl.FULLY_CONNECTED(%t, float32[2,6] [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]], _)
      return %y
    }
    """, """
    main {
      input %x: float32[1,8,8,6]
      %r: float32[2,4,2,24] = tfl.RESHAPE(%x, int32[4] [2, 4, 2, 24])
      %t: float32[2,2,4,24] = tfl.TRANSPOSE(%r, int32[4] [0, 2, 1, 3])
      %m: float32[64,6] = tfl.RESHAPE(%t, int32[2] [64, 6])
      %y: float32[64,2] = tfl.FULLY_CONNECTED(%m, float32[2,6] [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]], _)
      return %y
    }
    """, target=GPU)


_QKV = """
    main {
      input %x: float32[36,48]
      %r: float32[4,9,3,2,8] = tfl.RESHAPE(%x, int32[5] [4, 9, 3, 2, 8])
      %t: float32[3,4,2,9,8] = tfl.TRANSPOSE(%r, int32[5] [2, 0, 3, 1, 4])
      %q: float32[4,2,9,8] = tfl.STRIDED_SLICE(%t, int32[5] [0, 0, 0, 0, 0], int32[5] [1, 4, 2, 9, 8], int32[5] [1, 1, 1, 1, 1]) {'shrink_axis_mask': 1}
      %k: float32[4,2,9,8] = tfl.STRIDED_SLICE(%t, int32[5] [2, 0, 0, 0, 0], int32[5] [3, 4, 2, 9, 8], int32[5] [1, 1, 1, 1, 1]) {'shrink_axis_mask': 1}
      return %q, %k
    }
    """  # noqa: E501


def test_queries_and_keys() -> None:
    check_pass("merge-dimensions", _QKV, """
    main {
      input %x: float32[36,48]
      %r: float32[36,3,16] = tfl.RESHAPE(%x, int32[3] [36, 3, 16])
      %a: float32[36,1,16] = tfl.SLICE(%r, int32[3] [0, 0, 0], int32[3] [-1, 1, -1])
      %b: float32[4,9,2,8] = tfl.RESHAPE(%a, int32[4] [4, 9, 2, 8])
      %q: float32[4,2,9,8] = tfl.TRANSPOSE(%b, int32[4] [0, 2, 1, 3])
      %c: float32[36,1,16] = tfl.SLICE(%r, int32[3] [0, 2, 0], int32[3] [-1, 1, -1])
      %d: float32[4,9,2,8] = tfl.RESHAPE(%c, int32[4] [4, 9, 2, 8])
      %k: float32[4,2,9,8] = tfl.TRANSPOSE(%d, int32[4] [0, 2, 1, 3])
      return %q, %k
    }
    """, target=GPU)


@pytest.mark.parametrize(("old", "new"), [
    ("return %q, %k", "return %q, %k, %t"),
    ("return %q, %k", "%s: float32[3,4,2,9,8] = tfl.ABS(%t)\nreturn %q, %k, %s"),
    ("int32[5] [1, 4, 2, 9, 8], int32[5] [1, 1, 1, 1, 1]) {'shrink_axis_mask': 1}",
     "int32[5] [1, 4, 2, 9, 8], int32[5] [1, 1, 1, 1, 1])"),
])  # fmt: skip
def test_picks_that_stay(old: str, new: str) -> None:
    """Something else reads all of it, or a slice keeps the dimension."""
    text = _QKV.replace(old, new)
    text = text.replace("%q: float32[4,2,9,8]", "%q: float32[1,4,2,9,8]") if "%q" not in new else text
    check_pass("merge-dimensions", text, target=GPU)
