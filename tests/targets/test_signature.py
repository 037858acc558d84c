"""Signatures of ops of the IR, and of the same ops in the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuseconv.inspecting import inspect
from fuseconv.targets.signature import OpSignature, signature_in, signature_of
from fuseconv.write.flatbuffer_export import write
from tests.tf.text_cases import module_of

_TEXT = """
main {
  input %x: float32[n,4,4,3]
  %c: float32[n,4,4,2] = tfl.CONV_2D(%x, float32[2,1,1,3] [1, 2, 3, 4, 5, 6], _) {'stride_h': 1, 'stride_w': 1}
  %y: float32[n,4,4,2] = tfl.CUSTOM(%c) {'custom_code': 'ADD', 'custom_options': b''}
  return %y
}
"""


def _both(tmp_path: Path) -> list[tuple[OpSignature, OpSignature]]:
    module, _ = module_of(_TEXT)
    write(module, tmp_path / "m.tflite")
    document = inspect(tmp_path / "m.tflite")
    subgraph = document["subgraphs"][0]
    customs = document["custom_ops"]
    told = [signature_in(subgraph, op, op["op"] in customs, lambda tensor: None) for op in subgraph["ops"]]
    return list(zip(map(signature_of, module.signatures[0].graph.ops), told, strict=True))


def test_the_ir_and_the_file_tell_the_same(tmp_path: Path) -> None:
    for mine, told in _both(tmp_path):
        assert (mine.type, mine.version, mine.custom_code) == (told.type, told.version, told.custom_code)
        assert list(mine.operands) == list(told.operands) and list(mine.results) == list(told.results)
    conv, told = _both(tmp_path)[0]
    assert conv.options["padding"] == told.options["padding"] == "SAME"
    assert conv.options["stride_h"] == told.options["stride_h"] == 1


def test_what_a_tensor_is() -> None:
    module, _ = module_of(_TEXT)
    conv, custom = map(signature_of, module.signatures[0].graph.ops)
    x, weights, bias = conv.operands
    assert x is not None and weights is not None and bias is None and conv.operand(2) is None is conv.operand(7)
    assert x.shape == (1, 4, 4, 3) and not x.is_static and not x.is_const
    assert weights.is_const and weights.is_static and weights.size == 6
    values = weights.values()
    assert values is not None and np.array_equal(values.ravel(), [1, 2, 3, 4, 5, 6])
    assert conv.runtime_operands == [x] and custom.type == "CUSTOM" and custom.custom_code == "ADD"
