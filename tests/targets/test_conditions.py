"""Conditions: what holds, and the sentence where it does not."""

from __future__ import annotations

import pytest

from fuseconv.targets import conditions as c
from fuseconv.targets.signature import OpSignature, TensorSpec
from fuseconv.targets.target import Condition

_X = TensorSpec("float32", (1, 4))
_W = TensorSpec("float32", (4, 4), is_const=True)
_I = TensorSpec("int32", (4,))
_ANY = TensorSpec("float32", (1, 4), is_static=False)
_OP = OpSignature("ADD", 2, [_X, _W, None], [_X], {"beta": 1.0, "fused_activation_function": "RELU", "stride_h": 0})
_COMPOSITE = OpSignature("STABLEHLO_COMPOSITE", 1, [_X], [_X], {"name": "odml.rms_norm"})


@pytest.mark.parametrize("condition, op, why", [
    (c.operands(3), _OP, None),
    (c.operands(1, 2), _OP, "it has 3 operands, and not 1 to 2"),
    (c.results(1), _OP, None),
    (c.results(2), _OP, "it has 1 results, and not 2"),
    (c.computed(1), _OP, None),
    (c.computed(2), _OP, "1 of its operands are computed, and not 2"),
    (c.constant(1, 2, 9), _OP, None),
    (c.constant(0), _OP, "its operand 0 is not constant"),
    (c.types("float32 int32"), _OP, None),
    (c.types("int32", 1), _OP, "a tensor is of float32, and not int32"),
    (c.without_types("float32"), _OP, "a tensor is of float32"),
    (c.without_types("int64"), _OP, None),
    (c.same_types(0, 1, 2), _OP, None),
    (c.same_types(0), OpSignature("CAST", 1, [_X], [_I], {}), "it mixes float32 and int32"),
    (c.rank(0, 2), _OP, None),
    (c.rank(0, 3, 4), _OP, "its operand 0 has 2 dimensions, and not 3 or 4"),
    (c.ranks_up_to(2), _OP, None),
    (c.ranks_up_to(1), _OP, "a tensor has 2 dimensions, and not up to 1"),
    (c.static, _OP, None),
    (c.static, OpSignature("RELU", 1, [_ANY], [_ANY], {}), "a size is not known before the run"),
    (c.version(2), _OP, None),
    (c.version(1), _OP, "it is of version 2, and not up to 1"),
    (c.option("beta", 1.0), _OP, None),
    (c.option("beta", 2.0, 3.0), _OP, "beta is 1.0, and not 2.0 or 3.0"),
    (c.activation("RELU"), _OP, None),
    (c.activation(), _OP, "fused_activation_function is RELU, and not NONE"),
    (c.positive("stride_h"), _OP, "stride_h is 0"),
    (c.custom("Acme"), OpSignature("CUSTOM", 1, [], [], {}, "Acme"), None),
    (c.custom("Acme"), OpSignature("CUSTOM", 1, [], [], {}, "Other"), "it has no custom op Other"),
    (c.composite("odml.rms_norm"), _COMPOSITE, None),
    (c.composite("odml.l2_norm"), _COMPOSITE, "it has no composite odml.rms_norm"),
])  # fmt: skip
def test_a_condition(condition: Condition, op: OpSignature, why: str | None) -> None:
    assert condition(op) == why
