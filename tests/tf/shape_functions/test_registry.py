"""The table of shape functions."""

from __future__ import annotations

from types import ModuleType

import pytest

from fuseconv.errors import InputError
from fuseconv.ir.op_table import OpTable
from fuseconv.ir.signature import OpFunction, op_function
from fuseconv.tf.shape_functions.registry import infers


def test_a_function_stands_for_the_ops_that_it_names() -> None:
    @infers("Grob", "Hrob")
    def grob(op, x, *, width=1):
        return x

    module = ModuleType(grob.__module__)
    module.grob = grob  # type: ignore[attr-defined]
    table: OpTable[OpFunction] = OpTable("infers", op_function)
    table.collect(module)
    assert [*table] == ["Grob", "Hrob"]
    assert table["Grob"].op == "Grob" and table["Grob"].attrs == {"width"}
    with pytest.raises(InputError, match="Grob is claimed by both"):
        table.collect(module)
