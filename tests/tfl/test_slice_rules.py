"""Which part of its operands an op needs for a part of its result."""

from __future__ import annotations

import pytest

from fuseconv.tfl.slice_rules import Part, needs
from tests.tf.text_cases import module_of

ROW, COLUMN = Part(0, 1, 2), Part(1, 1, 2)


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("%y: float32[4,3] = tfl.EXP(%x)", [ROW]),
        ("%y: float32[4,3] = tfl.ADD(%x, float32[3] [1.0, 2.0, 3.0])", [ROW, None]),
        ("%y: float32[4,3] = tfl.SOFTMAX(%x)", [ROW]),
        ("%y: float32[4,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], _)",
         [ROW, None, None]),
        ("%y: float32[3,4] = tfl.TRANSPOSE(%x, int32[2] [1, 0])", [COLUMN, None]),
        ("%y: float32[4] = tfl.SUM(%x, int32[1] [-1])", [ROW, None]),
        ("%y: float32[3] = tfl.SUM(%x, int32[1] [0])", [COLUMN, None]),
        ("%y: float32[4,1] = tfl.SUM(%x, int32[1] [1]) {'keep_dims': True}", [ROW, None]),
        ("%y: float32[1,3] = tfl.SUM(%x, int32[1] [0]) {'keep_dims': True}", None),
        ("%y: float32[4,5] = tfl.PAD(%x, int32[2,2] [[0, 0], [1, 1]])", [ROW, None]),
        ("%y: float32[5,3] = tfl.PAD(%x, int32[2,2] [[1, 0], [0, 0]])", None),
        ("%y: float32[4,1,3] = tfl.RESHAPE(%x, int32[3] [4, 1, 3])", [ROW, None]),
        ("%y: float32[2,6] = tfl.RESHAPE(%x, int32[2] [2, 6])", None),
        ("%y: float32[4,1] = tfl.BATCH_MATMUL(%x, float32[3,1] [[1.0], [2.0], [3.0]])", [ROW, None]),
        ("%y: float32[3,1] = tfl.BATCH_MATMUL(%x, float32[4,1] [[1.0], [2.0], [3.0], [4.0]]) {'adj_x': True}",
         [COLUMN, None]),
        ("%y: float32[8,3] = tfl.CONCATENATION(%x, %x)", None),
        ("%y: float32[4,6] = tfl.CONCATENATION(%x, %x) {'axis': -1}", [ROW, ROW]),
        ("%y: float32[4,3] = tfl.CUMSUM(%x, int32[] 0)", None),
        ("%y: float32[4,3] = tfl.REVERSE_V2(%x, int32[1] [0])", None),
    ],
)  # fmt: skip
def test_a_row(line: str, needed: list[Part | None] | None) -> None:
    module, _ = module_of(f"main {{\n input %x: float32[4,3]\n {line}\n return %y\n}}")
    assert needs(module.signatures[0].graph.ops[0], ROW) == needed
