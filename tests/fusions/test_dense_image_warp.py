"""Warped images; what is refused is told in test_fusable_op.py."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_warp_becomes_the_custom_op() -> None:
    check_pass("fuse-composites", """
    main {
      input %image: float32[1,4,5,3]
      input %flow: float32[1,4,5,2]
      %y: float32[1,4,5,3] = tf.PartitionedCall(%image, %flow) {'f': @warp}
      return %y
    }
    warp {
      attrs {'_implements': {'function': 'addons:DenseImageWarp'}}
      input %image: float32[1,4,5,3]
      input %flow: float32[1,4,5,2]
      return %image
    }
    """, """
    main {
      input %image: float32[1,4,5,3]
      input %flow: float32[1,4,5,2]
      %y: float32[1,4,5,3] = tfl.CUSTOM(%image, %flow) {'custom_code': 'DenseImageWarp', 'custom_options': b''}
      return %y
    }
    """)
