"""What contradicts each fact, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv import facts
from fuseconv.ir import types
from fuseconv.ir.graph import Variable
from fuseconv.ir.verifier import Fact
from tests.tf.text_cases import module_of


def text(line: str) -> str:
    return f"main {{\n input %x: float32[2]\n input %p: bool[]\n {line}\n return %y\n}}"


@pytest.mark.parametrize(
    ("fact", "wrong", "right", "why"),
    [
        (facts.TFL_ONLY, "%y: float32[2] = tf.Neg(%x)", "%y: float32[2] = tfl.NEG(%x)", "is no TFLite op"),
        (
            facts.NO_TF1_CONTROL_FLOW, "%y: float32[2]; %z: float32[2] = tf.Switch(%x, %p)",
            "%y: float32[2] = tf.If(%p, %x)", "is control flow of TF1",
        ),
    ],
)  # fmt: skip
def test_what_contradicts_a_fact(fact: Fact, wrong: str, right: str, why: str) -> None:
    assert fact.violation(module_of(text(wrong))[0]).endswith(f"in main {why}")
    assert not fact.violation(module_of(text(right))[0])


def test_a_read_of_a_variable_that_nothing_writes() -> None:
    read = "%h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}\n %y: float32[2] = tf.ReadVariableOp(%h)"
    fact = facts.READ_ONLY_VARIABLES_ARE_CONSTANTS
    for lines, holds in ((read, False), (read + "\n tf.AssignVariableOp(%h, %x)", True)):
        module, _ = module_of(text(lines))
        assert not fact.violation(module), "what the checkpoint does not tell is no constant"
        module.variables["v"] = Variable("v", types.FLOAT32, (2,), np.zeros(2, np.float32))
        assert bool(fact.violation(module)) is not holds
