"""Recurrent layers of cuDNN become loops, or say why not."""

from __future__ import annotations

import pytest

from fuseconv.transforms.tf.decompose_cudnn_rnn import decompose_cudnn_rnn
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

TEXT = """
    main {{
      input %x: float32[5,b,3]
      input %h: float32[{states},b,4]
      input %c: float32[{states},b,4]
      input %w: float32[{weights}]
      %y: float32[5,b,4]; %h2: float32[{states},b,4]; %c2: float32[{states},b,4]; %r: float32[*] = \
tf.CudnnRNN(%x, %h, %c, %w) {attrs}
      return {read}
    }}
    """
# The weights of an LSTM of 4 units that reads 3 numbers, or those of another layer.
FIRST, FURTHER = 4 * 4 * (3 + 4 + 2), 4 * 4 * (4 + 4 + 2)


def _text(states: int = 1, weights: int = FIRST, attrs: str = "", read: str = "%y") -> str:
    return TEXT.format(states=states, weights=weights, attrs=attrs and f"{{{attrs}}}", read=read)


@pytest.mark.parametrize(
    "text, loops",
    [
        (_text(), 1),
        (_text(2, FIRST + FURTHER), 2),
        (_text(2, 2 * FIRST, "'direction': 'bidirectional'"), 2),
        (_text(4, 2 * FIRST + 2 * 4 * 4 * (8 + 4 + 2), "'direction': 'bidirectional'"), 4),
        (_text(weights=FIRST // 4 * 3, attrs="'rnn_mode': 'gru'"), 1),
        (_text(weights=FIRST // 4, attrs="'rnn_mode': 'rnn_tanh'"), 1),
        (_text(attrs="'dropout': 0.5"), 1),
        (_text(2, FIRST + FURTHER, "'dropout': 0.5, 'is_training': False"), 2),
    ],
)
def test_each_layer_and_direction_is_a_loop(text: str, loops: int) -> None:
    module, _ = module_of(text)
    decompose_cudnn_rnn(module)
    made = kinds(module)
    assert made.count("StatelessWhile") == loops and "CudnnRNN" not in made


@pytest.mark.parametrize(
    "text, why",
    [
        (_text(weights=FIRST + 1), "1 layers of 4 units take 144 weights of 3 inputs"),
        (_text(3, FIRST, "'direction': 'bidirectional'"), "take"),
        (_text(attrs="'input_mode': 'skip_input'"), "take"),
        (_text(2, FIRST + FURTHER, "'dropout': 0.5"), "drops values out between its layers"),
        (_text(attrs="'num_proj': 2"), "projection"),
        (_text(read="%y, %r"), "training is read"),
        (_text(weights=FIRST // 4 * 3, attrs="'rnn_mode': 'gru'", read="%c2"), "training is read"),
        (_text().replace("float32[5,b,3]", "float32[5,b,n]"), "sizes of its input"),
    ],
)
def test_what_is_no_loop_says_why(text: str, why: str) -> None:
    module, _ = module_of(text)
    decompose_cudnn_rnn(module)
    (op,) = module.signatures[0].graph.ops
    assert op.type == "CudnnRNN" and op.rejection is not None and why in op.rejection.why


BEFORE = """
    main {
      input %x: float32[5,b,1]
      input %h: float32[1,b,1]
      input %c: float32[0]
      input %w: float32[4]
      %y: float32[5,b,1]; %h2: float32[1,b,1]; %none: float32[*]; %r: float32[*] = tf.CudnnRNN(%x, %h, %c, %w) \
{'rnn_mode': 'rnn_tanh'}
      return %y
    }
    """
AFTER = """
    main {
      input %0: float32[5,b,1]
      input %1: float32[1,b,1]
      input %2: float32[0]
      input %3: float32[4]
      %4: float32[*] = tf.Slice(%3, int32[1] [0], int32[1] [1])
      %5: float32[*] = tf.Reshape(%4, int32[2] [1, 1])
      %6: float32[*] = tf.Transpose(%5, int32[2] [1, 0])
      %7: float32[*] = tf.Slice(%3, int32[1] [1], int32[1] [1])
      %8: float32[*] = tf.Reshape(%7, int32[2] [1, 1])
      %9: float32[*] = tf.Transpose(%8, int32[2] [1, 0])
      %10: float32[*] = tf.Slice(%3, int32[1] [2], int32[1] [1])
      %11: float32[*] = tf.Slice(%3, int32[1] [3], int32[1] [1])
      %12: float32[*] = tf.Squeeze(%1) {'squeeze_dims': [0]}
      %13: float32[*] = tf.AddV2(%10, %11)
      %14: int32[*] = tf.Shape(%0)
      %15: int32[*] = tf.StridedSlice(%14, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %16: int32[*] = tf.Shape(%0)
      %17: int32[*] = tf.StridedSlice(%16, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %18: variant[*] = tf.TensorListReserve(int32[2] [-1, -1], %17) {'element_dtype': float32}
      %19: variant[*] = tf.TensorListFromTensor(%0, int32[2] [-1, -1])
      %20: int32[*]; %21: int32[*]; %22: variant[*]; %23: float32[*]; %24: float32[*]; %25: float32[*]; \
%26: float32[*]; %27: variant[*] = tf.StatelessWhile(int32[] 0, %15, %19, %12, %6, %9, %13, %18) \
{'body': @y_body, 'cond': @y_cond}
      %28: float32[*] = tf.TensorListStack(%27, int32[2] [-1, -1])
      %29: float32[*] = tf.ExpandDims(%23, int32[] 0)
      return %28
    }
    y_body {
      input %0: int32[*]
      input %1: int32[*]
      input %2: variant[*]
      input %3: float32[*]
      input %4: float32[*]
      input %5: float32[*]
      input %6: float32[*]
      input %7: variant[*]
      %8: float32[*] = tf.TensorListGetItem(%2, %0, int32[2] [-1, -1])
      %9: float32[*] = tf.MatMul(%8, %4)
      %10: float32[*] = tf.MatMul(%3, %5)
      %11: float32[*] = tf.AddV2(%9, %10)
      %12: float32[*] = tf.BiasAdd(%11, %6)
      %13: float32[*] = tf.Tanh(%12)
      %14: variant[*] = tf.TensorListSetItem(%7, %0, %13)
      %15: int32[*] = tf.AddV2(%0, int32[] 1)
      return %15, %1, %2, %13, %4, %5, %6, %14
    }
    y_cond {
      input %0: int32[*]
      input %1: int32[*]
      input %2: variant[*]
      input %3: float32[*]
      input %4: float32[*]
      input %5: float32[*]
      input %6: float32[*]
      input %7: variant[*]
      %8: bool[*] = tf.Less(%0, %1)
      return %8
    }
    """


def test_a_layer_is_a_loop_over_lists() -> None:
    check_pass("decompose-cudnn-rnn", BEFORE, AFTER)
