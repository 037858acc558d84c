"""An LSTM layer of one op becomes a loop."""

from __future__ import annotations

from tests.check_pass import check_pass

BEFORE = """
    main {
      input %steps: int64[]
      input %x: float32[5,1,2]
      input %c: float32[1,1]
      input %h: float32[1,1]
      input %w: float32[3,4]
      input %p: float32[1]
      input %b: float32[4]
      %i: float32[5,1,1]; %cs: float32[5,1,1]; %f: float32[5,1,1]; %o: float32[5,1,1]; %ci: float32[5,1,1]; %co: \
float32[5,1,1]; %hs: float32[5,1,1] = tf.BlockLSTMV2(%steps, %x, %c, %h, %w, %p, %p, %p, %b)
      return %hs
    }
    """
AFTER = """
    main {
      input %steps: int64[]
      input %x: float32[5,1,2]
      input %c: float32[1,1]
      input %h: float32[1,1]
      input %w: float32[3,4]
      input %p: float32[1]
      input %b: float32[4]
      %i: int32[*] = tf.Shape(%x)
      %i2: int32[*] = tf.StridedSlice(%i, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %i3: variant[*] = tf.TensorListReserve(int32[2] [-1, -1], %i2) {'element_dtype': float32}
      %i4: variant[*] = tf.TensorListFromTensor(%x, int32[2] [-1, -1])
      %i5: int32[*] = tf.Cast(%steps)
      %i6: int32[*]; %i_1: int32[*]; %i_2: variant[*]; %i_3: float32[*]; %i_4: float32[*]; %i_5: float32[*]; %i_6: \
float32[*]; %i_7: float32[*]; %i_8: float32[*]; %i_9: float32[*]; %i_10: variant[*] = tf.StatelessWhile(int32[] 0, \
%i5, %i4, %c, %h, %w, %p, %p, %p, %b, %i3) {'body': @i_body, 'cond': @i_cond}
      %i7: float32[*] = tf.TensorListStack(%i_10, int32[2] [-1, -1])
      return %i7
    }
"""
STEP = """
    i_body {
      input %i: int32[*]
      input %i2: int32[*]
      input %i3: variant[*]
      input %c: float32[*]
      input %h: float32[*]
      input %w: float32[*]
      input %p: float32[*]
      input %p2: float32[*]
      input %p3: float32[*]
      input %b: float32[*]
      input %i4: variant[*]
      %i5: float32[*] = tf.TensorListGetItem(%i3, %i, int32[2] [-1, -1])
      %i6: float32[*] = tf.ConcatV2(%i5, %h, int32[] 1)
      %i7: float32[*] = tf.MatMul(%i6, %w)
      %i8: float32[*] = tf.BiasAdd(%i7, %b)
      %i9: float32[*]; %i_1: float32[*]; %i_2: float32[*]; %i_3: float32[*] = tf.Split(int32[] 1, %i8)
      %i10: float32[*] = tf.Sigmoid(%i9)
      %i11: float32[*] = tf.Tanh(%i_2)
      %i12: float32[*] = tf.Sigmoid(%i_1)
      %i13: float32[*] = tf.Mul(%i12, %c)
      %i14: float32[*] = tf.Mul(%i10, %i11)
      %i15: float32[*] = tf.AddV2(%i13, %i14)
      %i16: float32[*] = tf.Sigmoid(%i_3)
      %i17: float32[*] = tf.Tanh(%i15)
      %i18: float32[*] = tf.Mul(%i16, %i17)
      %i19: variant[*] = tf.TensorListSetItem(%i4, %i, %i18)
      %i20: int32[*] = tf.AddV2(%i, int32[] 1)
      return %i20, %i2, %i3, %i15, %i18, %w, %p, %p2, %p3, %b, %i19
    }
    i_cond {
      input %i: int32[*]
      input %i2: int32[*]
      input %i3: variant[*]
      input %c: float32[*]
      input %h: float32[*]
      input %w: float32[*]
      input %p: float32[*]
      input %p2: float32[*]
      input %p3: float32[*]
      input %b: float32[*]
      input %i4: variant[*]
      %i5: bool[*] = tf.Less(%i, %i2)
      return %i5
    }
    """


def test_a_layer_is_a_loop_over_lists() -> None:
    check_pass("decompose-block-lstm", BEFORE, AFTER + STEP)
