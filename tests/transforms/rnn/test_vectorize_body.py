"""What a step makes of its output alone is computed of all outputs at once."""

from __future__ import annotations

from fuseconv.transforms.rnn.raise_rnn_loops import raise_rnn_loops
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of
from tests.transforms.rnn.rnn_texts import SUM, loop


def test_an_output_that_is_rectified() -> None:
    step = SUM + """
      %new: float32[1,3] = tf.Tanh(%sum)
      %out: float32[1,3] = tf.Relu(%new)
    """
    check_pass("raise-rnn-loops", loop(step), """
    main {
      input %x: float32[5,1,2]
      %xs: variant[] = tf.TensorListFromTensor(%x, int32[2] [1, 2])
      %list: variant[] = tf.TensorListReserve(int32[2] [1, 3], int32[] 5) {'element_dtype': float32}
      %t: variant[*] = tf.TensorListReserve(int32[2] [-1, 3], int32[] 5) {'element_dtype': float32}
      %t2: float32[1,3]; %t_1: float32[5,1,3]; %t_2: float32[1,3] = tf.PartitionedCall(%x, float32[1,3] [[0.0, 0.0, \
0.0]], float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, \
1.0]], float32[3] [0.0, 0.0, 0.0]) {'f': @t/rnn_raised}
      %t3: variant[*] = tf.TensorListFromTensor(%t_1, int32[2] [1, 3])
      %out: float32[5,1,3] = tf.Relu(%t_1)
      %t4: variant[*] = tf.TensorListFromTensor(%out, int32[2] [1, 3])
      %y: float32[5,1,3] = tf.TensorListStack(%t4, int32[2] [1, 3])
      return %y
    }
    t/rnn_raised {
      attrs {'_implements': {'function': 'rnn_raised', 'attrs': {'time_major': True, 'go_backwards': False}}}
      input %x: float32[5,1,2]
      input %h0: float32[1,3]
      input %kernel: float32[2,3]
      input %recurrent: float32[3,3]
      input %bias: float32[3]
      %xs: variant[*] = tf.TensorListFromTensor(%x, int32[2] [1, 2])
      %t: variant[*] = tf.TensorListReserve(int32[2] [-1, 3], int32[] 5) {'element_dtype': float32}
      %t2: int32[]; %t_1: float32[1,3]; %t_2: variant[]; %t_3: variant[*] = tf.While(int32[] 0, %h0, %xs, %t) \
{'body': @t/cell0/body, 'cond': @t/cell0/cond}
      %t3: float32[*] = tf.TensorListStack(%t_3, int32[2] [-1, 3])
      return %t_1, %t3, %t_1
    }
    t/cell0/body {
      input %t: int32[]
      input %h: float32[1,3]
      input %xs: variant[]
      input %made2: variant[*]
      %x: float32[1,2] = tf.TensorListGetItem(%xs, %t, int32[2] [1, 2])
      %wx: float32[1,3] = tf.MatMul(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      %uh: float32[1,3] = tf.MatMul(%h, float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
      %sum: float32[1,3] = tf.AddV2(%wx, %uh)
      %new: float32[1,3] = tf.Tanh(%sum)
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      %t2: variant[*] = tf.TensorListSetItem(%made2, %t, %new)
      return %next, %new, %xs, %t2
    }
    t/cell0/cond {
      input %t: int32[]
      input %h: float32[1,3]
      input %xs: variant[]
      input %made2: variant[*]
      %more: bool[] = tf.Less(%t, int32[] 5)
      return %more
    }
    """)


def test_a_chain_of_any_length_is_computed_of_all_steps() -> None:
    chain = "".join(f"%o{at + 1}: float32[1,3] = tf.Relu(%o{at})\n" for at in range(1000))
    step = SUM + "%new: float32[1,3] = tf.Tanh(%sum)\n%o0: float32[1,3] = tf.Neg(%new)\n" + chain
    module, report = module_of(loop(step + "%out: float32[1,3] = tf.Relu(%o1000)"))
    raise_rnn_loops(module, report)
    assert "PartitionedCall" in kinds(module) and kinds(module).count("Relu") == 1001
