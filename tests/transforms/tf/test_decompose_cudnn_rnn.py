"""Recurrent layers of cuDNN become loops, or say why not."""

from __future__ import annotations

import pytest

from fuseconv.transforms.tf.decompose_cudnn_rnn import decompose_cudnn_rnn
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
