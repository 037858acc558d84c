"""The table of importers."""

from __future__ import annotations

from fuseconv.load.stablehlo.ops import TABLE
from fuseconv.load.stablehlo.ops.registry import takes
from fuseconv.load.stablehlo.vhlo import op_attributes


def test_importers_are_of_ops_that_there_are() -> None:
    known = {name.rpartition("_v")[0] for name in op_attributes()}
    assert TABLE.keys() - known == set()


def test_an_importer_takes_the_operands_of_its_op() -> None:
    assert takes(TABLE["clamp"], 3) and not takes(TABLE["clamp"], 2)
    assert takes(TABLE["dynamic_slice"], 3) and not takes(TABLE["dynamic_slice"], 0)
