"""Results of ops that run subgraphs and hold state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fuseconv.ir.graph import FuncRef, Op, Value
from fuseconv.ir.types import FLOAT32, RESOURCE
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

BOXES, SCORES, HALF = Value(FLOAT32, (3, 4)), Value(FLOAT32, (3,)), np.float32(0.5)


def test_a_handle_and_an_initializer() -> None:
    ops: list[Op] = []
    tfl = Builder(ops)
    assert tfl.var_handle(shared_name="v").dtype is RESOURCE
    assert tfl.call_once(init_subgraph_index=FuncRef("f")) == []
    assert [op.type for op in ops] == ["VAR_HANDLE", "CALL_ONCE"]
    assert ops[1].attrs["init_subgraph_index"] == FuncRef("f")


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.random_uniform(np.ones((1, 2), np.int32)), "RANDOM_UNIFORM: its operand 0 has 2 dimensions"),
        (lambda tfl: tfl.multinomial(Value(FLOAT32, (2, 3)), -1), "MULTINOMIAL: a dimension of -1 elements"),
        (lambda tfl: tfl.non_max_suppression_v4(BOXES, SCORES, 2, [HALF], HALF), ".*: its operand 3"),
        (lambda tfl: tfl.non_max_suppression_v4(SCORES, BOXES, 2, HALF, HALF), ".*: its operand 0"),
        (lambda tfl: tfl.non_max_suppression_v5(BOXES, Value(FLOAT32, (4,)), 2, HALF, HALF, HALF), ".*: dimensions 3"),
        (lambda tfl: tfl.non_max_suppression_v5(BOXES, SCORES, -2, HALF, HALF, HALF), ".*: a dimension of -2 elements"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=f"^{why}"):
        build(Builder([]))
