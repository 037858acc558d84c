"""Ops of TF Text; what is refused is told in test_fusable_op.py."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_words_are_split_by_the_custom_op() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: string[2]
      %words: string[w]; %splits: int64[3] = tf.PartitionedCall(%x) {'f': @words}
      return %words, %splits
    }
    words {
      attrs {'_implements': {'function': 'tftext:WhitespaceTokenizer'}}
      input %x: string[2]
      %words: string[w]; %splits: int64[3] = tf.Odd(%x)
      return %words, %splits
    }
    """, """
    main {
      input %x: string[2]
      %words: string[w]; %splits: int64[3] = tfl.CUSTOM(%x) {'custom_code': 'tftext:WhitespaceTokenizer', \
'custom_options': b''}
      return %words, %splits
    }
    """)
