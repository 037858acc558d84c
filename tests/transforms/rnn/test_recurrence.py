"""Loops whose state is not what the last step left alone."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_step_that_knows_its_number() -> None:
    check_pass("raise-rnn-loops", """
    main {
      input %x: float32[5,1,2]
      %xs: variant[] = tf.TensorListFromTensor(%x, int32[2] [1, 2])
      %list: variant[] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {'element_dtype': float32}
      %t: int32[]; %ys: variant[]; %h: float32[1,3]; %l: variant[] = tf.While(int32[] 0, %list, float32[1,3] [[0.0, \
0.0, 0.0]], %xs) {'cond': @cond, 'body': @body}
      %y: float32[5,1,3] = tf.TensorListStack(%ys, int32[2] [1, 3])
      return %y
    }
    cond {
      input %t: int32[]
      input %ys: variant[]
      input %h: float32[1,3]
      input %xs: variant[]
      %more: bool[] = tf.Less(%t, int32[] 5)
      return %more
    }
    body {
      input %t: int32[]
      input %ys: variant[]
      input %h: float32[1,3]
      input %xs: variant[]
      %x: float32[1,2] = tf.TensorListGetItem(%xs, %t, int32[2] [1, 2])
      %wx: float32[1,3] = tf.MatMul(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      %uh: float32[1,3] = tf.MatMul(%h, float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
      %f: float32[] = tf.Cast(%t)
      %w: float32[1,3] = tf.Mul(%wx, %f)
      %sum: float32[1,3] = tf.AddV2(%w, %uh)
      %new: float32[1,3] = tf.Tanh(%sum)
      %set: variant[] = tf.TensorListSetItem(%ys, %t, %new)
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      return %next, %set, %new, %xs
    }
    """)
