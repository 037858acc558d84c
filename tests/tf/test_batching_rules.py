"""What a step computes of its row is computed of all rows, an axis further on."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_softmax_and_its_maximum() -> None:
    check_pass("hoist-loop-invariants", """
    main {
      input %x: float32[5,1,2]
      input %h: float32[1,2]
      %i: int32[]; %y: float32[1,2]; %xs: float32[5,1,2] = tf.While(int32[] 0, %h, %x) {'cond': @cond, 'body': @body}
      return %y
    }
    cond {
      input %i: int32[]
      input %h: float32[1,2]
      input %x: float32[5,1,2]
      %more: bool[] = tf.Less(%i, int32[] 5)
      return %more
    }
    body {
      input %i: int32[]
      input %h: float32[1,2]
      input %x: float32[5,1,2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,2] = tf.GatherV2(%x, %i, int32[] 0)
      %soft: float32[1,2] = tf.Softmax(%row)
      %most: float32[1,1] = tf.Max(%soft, int32[] -1) {'keep_dims': True}
      %scaled: float32[1,2] = tf.Mul(%h, %most)
      return %next, %scaled, %x
    }
    """, """
    main {
      input %x: float32[5,1,2]
      input %h: float32[1,2]
      %soft: float32[5,1,2] = tf.Softmax(%x)
      %most: float32[5,1,1] = tf.Max(%soft, int32[1] [-1]) {'keep_dims': True}
      %i: int32[]; %y: float32[1,2]; %xs: float32[5,1,2]; %i_3: float32[5,1,2]; %i_4: float32[5,1,1] = \
tf.While(int32[] 0, %h, %x, %soft, %most) {'body': @body, 'cond': @cond}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,2]
      input %x: float32[5,1,2]
      input %soft: float32[5,1,2]
      input %most: float32[5,1,1]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %row: float32[1,2] = tf.GatherV2(%x, %i, int32[] 0)
      %soft2: float32[1,2] = tf.GatherV2(%soft, %i, int32[] 0)
      %most2: float32[1,1] = tf.GatherV2(%most, %i, int32[] 0)
      %scaled: float32[1,2] = tf.Mul(%h, %most2)
      return %next, %scaled, %x, %soft, %most
    }
    cond {
      input %i: int32[]
      input %h: float32[1,2]
      input %x: float32[5,1,2]
      input %soft: float32[5,1,2]
      input %most: float32[5,1,1]
      %more: bool[] = tf.Less(%i, int32[] 5)
      return %more
    }
    """)
