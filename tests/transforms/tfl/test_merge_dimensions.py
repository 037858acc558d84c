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
