"""Shapes of images, and of the boxes that are selected in them."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_sizes_that_are_given() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,8,9,2]
      input %boxes: float32[m,4]
      input %scores: float32[m]
      %a: float32[*] = tf.ResizeBilinear(%x, int32[2] [4, 5])
      %b: int32[*]; %c: float32[*]; %d: int32[*] = tf.NonMaxSuppressionV5(%boxes, %scores, int32[] 7, float32[] 0.5, float32[] 0.1, float32[] 0.2) {'pad_to_max_output_size': True}
      return %a, %b, %c, %d
    }
    """, """
    main {
      input %x: float32[n,8,9,2]
      input %boxes: float32[m,4]
      input %scores: float32[m]
      %a: float32[n,4,5,2] = tf.ResizeBilinear(%x, int32[2] [4, 5])
      %b: int32[7]; %c: float32[7]; %d: int32[] = tf.NonMaxSuppressionV5(%boxes, %scores, int32[] 7, float32[] 0.5, float32[] 0.1, float32[] 0.2) {'pad_to_max_output_size': True}
      return %a, %b, %c, %d
    }
    """)  # noqa: E501
