"""Results of ops that run subgraphs and hold state."""

from __future__ import annotations

from fuseconv.ir.graph import FuncRef, Op
from fuseconv.ir.types import RESOURCE
from fuseconv.tfl.builder import Builder


def test_a_handle_and_an_initializer() -> None:
    ops: list[Op] = []
    tfl = Builder(ops)
    assert tfl.var_handle(shared_name="v").dtype is RESOURCE
    assert tfl.call_once(init_subgraph_index=FuncRef("f")) == []
    assert [op.type for op in ops] == ["VAR_HANDLE", "CALL_ONCE"]
    assert ops[1].attrs["init_subgraph_index"] == FuncRef("f")
