"""TF ops become TFLite ops by rules."""

from __future__ import annotations

import pytest

from fuseconv.errors import UnsupportedError
from tests.check_pass import check_pass


def test_each_op_by_its_rule() -> None:
    check_pass("lower", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tf.Relu6(%x)
      %z: float32[2] = tf.Max(%y, int32[] -1)
      return %z
    }
    """, """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.RELU6(%x)
      %z: float32[2] = tfl.REDUCE_MAX(%y, int32[1] [1])
      return %z
    }
    """)


def test_what_has_no_elements_is_filled_with_nothing() -> None:
    check_pass("lower", """
    main {
      input %x: float32[n,0]
      %y: float32[n,0] = tf.Softmax(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[n,0]
      %s: int32[2] = tfl.SHAPE(%x)
      %y: float32[n,0] = tfl.FILL(%s, float32[] 0.0)
      return %y
    }
    """)


def test_what_has_no_elements_but_a_size_beyond_32_bits() -> None:
    with pytest.raises(UnsupportedError) as refused:
        check_pass("lower", """
        main {
          input %x: float32[n,0,9223372036854775807]
          %y: int16[n,0,9223372036854775807] = tf.Cast(%x)
          return %y
        }
        """)
    assert "32 bits" in refused.value.ops[0][2]
