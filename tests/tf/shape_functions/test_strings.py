"""Shapes of texts."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_lengths_and_joined_texts() -> None:
    check_pass("canonicalize", """
    main {
      input %x: string[n,2]
      %a: int32[*] = tf.StringLength(%x)
      %b: string[*] = tf.StringJoin(%x, %x)
      return %a, %b
    }
    """, """
    main {
      input %x: string[n,2]
      %a: int32[n,2] = tf.StringLength(%x)
      %b: string[n,2] = tf.StringJoin(%x, %x)
      return %a, %b
    }
    """)
