"""Which values count 0, 1, 2, ..."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fuseconv.tf import iota
from fuseconv.tf.iota import counts_up
from fuseconv.tf.operands import content_of
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.tf.text_cases import module_of

_RANGE = "%r: int32[n] = tf.Range(int32[] 0, %n, int32[] 1)\n"
_TEST = "%more: bool[] = tf.Greater(%n, int32[] 1)\n"


def _counts(lines: str) -> bool:
    """Whether the value %y of these lines counts."""
    module, report = module_of(f"""
    main {{
      input %x: float32[n,3]
      %s: int32[2] = tf.Shape(%x)
      %n: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %m: int32[] = tf.StridedSlice(%s, int32[1] [1], int32[1] [2], int32[1] [1]) {{'shrink_axis_mask': 1}}
      {lines}
      return %y
    }}
    """)
    canonicalize(module, report)
    return counts_up(module.signatures[0].graph.outputs[0])


@pytest.mark.parametrize("lines", [
    _RANGE.replace("%r", "%y"),
    _RANGE + "%y: int32[n,1] = tf.ExpandDims(%r, int32[] 1)",
    _RANGE + "%y: int32[n,1] = tf.Pack(%r) {'axis': 1}",
    _RANGE + _TEST + "%y: int32[n] = tf.SelectV2(%more, %r, int32[] 0)",
    _RANGE + _TEST + "%i: int32[n] = tf.SelectV2(%more, %r, int32[] 0)\n%y: int32[n] = tf.GatherV2(%r, %i, int32[] 0)",
])  # fmt: skip
def test_it_counts(lines: str) -> None:
    assert _counts(lines)


@pytest.mark.parametrize("lines", [
    "%y: int32[n] = tf.Range(int32[] 1, %n, int32[] 1)",
    "%y: int32[n] = tf.Range(int32[] 0, %n, int32[] 2)",
    _RANGE + "%y: int32[n] = tf.Neg(%r)",
    _RANGE + "%y: int32[2,n] = tf.Pack(%r, %r)",
    _RANGE + _TEST.replace("%n,", "%m,") + "%y: int32[n] = tf.SelectV2(%more, %r, int32[] 0)",
    _RANGE + _TEST.replace("int32[] 1", "int32[] 2") + "%y: int32[n] = tf.SelectV2(%more, %r, int32[] 0)",
    _RANGE + _TEST + "%y: int32[n] = tf.SelectV2(%more, %r, int32[] 1)",
    _RANGE + "%i: int32[n] = tf.ReverseV2(%r, int32[1] [0])\n%y: int32[n] = tf.GatherV2(%r, %i, int32[] 0)",
    "%i: float32[3,n] = tf.Transpose(%x, int32[2] [1, 0])\n%y: float32[n,3] = tf.Transpose(%i, int32[2] [1, 0])",
])  # fmt: skip
def test_it_does_not_count(lines: str) -> None:
    assert not _counts(lines)


def test_no_more_ops_are_looked_at_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2 ** 64 ways from the last of these to the Range."""
    look = Mock(wraps=content_of)
    monkeypatch.setattr(iota, "content_of", look)
    steps = [f"%i{at + 1}: int32[n] = tf.GatherV2(%i{at}, %i{at}, int32[] 0)\n" for at in range(64)]
    assert _counts(_RANGE.replace("%r", "%i0") + "".join(steps[:3]) + "%y: int32[n] = tf.Identity(%i3)")
    look.reset_mock()
    assert not _counts(_RANGE.replace("%r", "%i0") + "".join(steps) + "%y: int32[n] = tf.Identity(%i64)")
    assert 0 < look.call_count < 200
