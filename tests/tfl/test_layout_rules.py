"""Forms of tensors: dimensions in another order, or one of size 1 more."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tfl.layout_rules import Form, arranged, moves_only_units, put_on, taken_off
from tests.tf.text_cases import module_of


def op_of(line: str) -> Op:
    module, _ = module_of(f"main {{\n input %x: float32[2,3,4]\n {line}\n return %y\n}}")
    return module.signatures[0].graph.ops[0]


def test_a_transpose_puts_on_what_its_inverse_takes_off() -> None:
    transpose = op_of("%y: float32[4,2,3] = tfl.TRANSPOSE(%x, int32[3] [2, 0, 1])")
    assert put_on(transpose) == Form((2, 0, 1)) and taken_off(transpose) == Form((1, 2, 0))
    form = Form((2, 0, 1))
    assert form.shape((2, 3, 4)) == (4, 2, 3) and form.place(-1) == 0 and not form.reshapes
    assert form.array(np.zeros((3, 4))).shape == (4, 1, 3)


def test_a_reshape_adds_a_dimension() -> None:
    form = put_on(op_of("%y: float32[2,1,3,4] = tfl.RESHAPE(%x, int32[4] [2, 1, 3, 4])"))
    assert form == Form((0, None, 1, 2)) and form.reshapes and form.takes((5, 6, 7)) and not form.takes((5, 6))
    assert put_on(op_of("%y: float32[6,4] = tfl.RESHAPE(%x, int32[2] [6, 4])")) is None
    assert put_on(op_of("%y: float32[1,2,4,3] = tfl.RESHAPE(%x, int32[4] [1, 2, 4, 3])")) is None


def test_what_ops_are_in_a_form() -> None:
    line = "%y: float32[2,3] = tfl.SUM(%x, int32[1] [2])"
    found = arranged(op_of(line), Form((2, 0, 1)))
    assert found is not None and found.plain and found.operands[1].data.tolist() == [0]  # type: ignore[union-attr]
    assert arranged(op_of(line), Form((2, 1, 0))) is None
    assert arranged(op_of("%y: float32[2,3,4] = tfl.EXP(%x)"), Form((2, 0, 1))) is not None
    assert arranged(op_of("%y: float32[2,3,4] = tfl.SOFTMAX(%x)"), Form((2, 0, 1))) is None
    assert arranged(op_of("%y: float32[2,3,4] = tfl.SOFTMAX(%x)"), Form((0, 1))) is None


def test_a_product_of_rows_takes_them_in_any_dimensions() -> None:
    weights = ", float32[1,4] [[1, 2, 3, 4]], _"
    kept = op_of(f"%y: float32[2,3,1] = tfl.FULLY_CONNECTED(%x{weights}) {{'keep_num_dims': True}}")
    assert arranged(kept, Form((0, None, 1, 2))).operands == [True, None, None]  # type: ignore[union-attr]
    assert arranged(kept, Form((2, 0, 1))) is None
    assert arranged(op_of(f"%y: float32[6,1] = tfl.FULLY_CONNECTED(%x{weights})"), Form((0, None, 1, 2))) is None


def test_units_may_move_but_others_may_not() -> None:
    assert moves_only_units((4, 1, 3), [1, 0, 2])
    assert not moves_only_units((4, 2, 3), [1, 0, 2])
