"""Constant texts are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_texts_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: string[*] = tf.StringJoin(string[] strings:[b'a'], string[] strings:[b'b']) {'separator': '-'}
      %b: int32[*] = tf.StringLength(string[] strings:[b'abc'])
      return %a, %b
    }
    """, """
    main {
      return string[] strings:[b'a-b'], int32[] 3
    }
    """)
