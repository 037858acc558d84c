"""Loops that are recurrent layers become calls of annotated functions."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_tanh_of_two_products_is_a_simple_rnn() -> None:
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
      %sum: float32[1,3] = tf.AddV2(%wx, %uh)
      %new: float32[1,3] = tf.Tanh(%sum)
      %set: variant[] = tf.TensorListSetItem(%ys, %t, %new)
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      return %next, %set, %new, %xs
    }
    """, """
    main {
      input %x: float32[5,1,2]
      %xs: variant[] = tf.TensorListFromTensor(%x, int32[2] [1, 2])
      %list: variant[] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {'element_dtype': float32}
      %t: float32[1,3]; %t_1: float32[5,1,3]; %t_2: float32[1,3] = tf.PartitionedCall(%x, float32[1,3] [[0.0, 0.0, \
0.0]], float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, \
1.0]], float32[3] [0.0, 0.0, 0.0]) {'f': @t/rnn_raised}
      return %t_1
    }
    t/rnn_raised {
      attrs {'_implements': {'function': 'rnn_raised', 'attrs': {'time_major': True, 'go_backwards': False}}}
      input %x: float32[5,1,2]
      input %h0: float32[1,3]
      input %kernel: float32[2,3]
      input %recurrent: float32[3,3]
      input %bias: float32[3]
      %list: variant[*] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {'element_dtype': float32}
      %xs: variant[*] = tf.TensorListFromTensor(%x, int32[2] [1, 2])
      %t: int32[]; %t_1: variant[]; %t_2: float32[1,3]; %t_3: variant[] = tf.While(int32[] 0, %list, %h0, %xs) \
{'body': @body, 'cond': @cond}
      %t2: float32[*] = tf.TensorListStack(%t_1, int32[2] [-1, 3])
      return %t_2, %t2, %t_2
    }
    body {
      input %t: int32[]
      input %ys: variant[]
      input %h: float32[1,3]
      input %xs: variant[]
      %x: float32[1,2] = tf.TensorListGetItem(%xs, %t, int32[2] [1, 2])
      %wx: float32[1,3] = tf.MatMul(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      %uh: float32[1,3] = tf.MatMul(%h, float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
      %sum: float32[1,3] = tf.AddV2(%wx, %uh)
      %new: float32[1,3] = tf.Tanh(%sum)
      %set: variant[] = tf.TensorListSetItem(%ys, %t, %new)
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      return %next, %set, %new, %xs
    }
    cond {
      input %t: int32[]
      input %ys: variant[]
      input %h: float32[1,3]
      input %xs: variant[]
      %more: bool[] = tf.Less(%t, int32[] 5)
      return %more
    }
    """)


def test_an_activation_without_a_kernel() -> None:
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
      %sum: float32[1,3] = tf.AddV2(%wx, %uh)
      %new: float32[1,3] = tf.Exp(%sum)
      %set: variant[] = tf.TensorListSetItem(%ys, %t, %new)
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      return %next, %set, %new, %xs
    }
    """)
