"""Weights that are equal to a table of an embedding are that table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv import quantize_file
from fuseconv.write.flatbuffer_export import to_bytes
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

_TABLE = "float32[2,3] [1, 2, 3, 4, 5, 6]"
_TIED = f"""
    main {{
      input %x: float32[n,3]
      input %i: int32[4]
      %t: float32[4,3] = tfl.GATHER({_TABLE}, %i)
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, TABLE)
      return %t, %y
    }}
    """


def test_a_dense_layer_reads_the_table() -> None:
    tied = _TIED.replace("TABLE", _TABLE)
    context = check_pass("share-tables", tied, tied)  # text does not tell whose constants they are
    gather, dense = context.module.signatures[0].graph.ops
    assert gather.operands[0] is dense.operands[1]


@pytest.mark.parametrize("weights", ["float32[2,3] [1, 2, 3, 4, 5, 7]", "float32[3,3] [1, 2, 3, 4, 5, 6, 7, 8, 9]"])
def test_other_weights_stay(weights: str) -> None:
    rows = weights[8]
    before = _TIED.replace("TABLE", weights).replace("%y: float32[n,2]", f"%y: float32[n,{rows}]")
    context = check_pass("share-tables", before)
    gather, dense = context.module.signatures[0].graph.ops
    assert gather.operands[0] is not dense.operands[1]


@pytest.mark.parametrize(("mode", "most"), [("float16", 2.1), ("dynamic", 1.1), ("int4", 1.1)])
def test_a_file_holds_the_table_once(mode: str, most: float, tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(400, 32)).astype(np.float32)
    text = str(table.ravel().tolist())
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,32]
      input %i: int32[4]
      %t: float32[4,32] = tfl.GATHER(float32[400,32] {text}, %i)
      %y: float32[n,400] = tfl.FULLY_CONNECTED(%x, float32[400,32] {text})
      return %t, %y
    }}
    """)
    file = tmp_path / "tied.tflite"
    file.write_bytes(to_bytes(module))
    data = quantize_file(file, quantize=mode).data
    assert data is not None and len(data) < most * table.size + 3000
