"""The types of functions and regions."""

from __future__ import annotations

import pytest

from fuseconv.load.stablehlo.attributes import FunctionType
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.region_types import refuse_calls
from tests.load.stablehlo.modules import operation, region, tensor
from tests.load.stablehlo.test_op_types import judged

_SUM = region("float32[] float32[] -> float32[]")
_TEST = region("float32[] float32[] -> bool[]")
_REDUCE = {"dimensions": [0]}
_SCATTER = {
    "update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1,
}  # fmt: skip
_POOL = {
    "window_dimensions": [2], "window_strides": [2], "base_dilations": [1], "window_dilations": [1], "padding": [0, 0],
}  # fmt: skip


def test_what_fits() -> None:
    judged(operation("reduce float32[2,3] float32[] -> float32[3]", [_SUM], **_REDUCE))
    judged(operation("reduce_window float32[5] float32[] -> float32[2]", [_SUM], **_POOL))
    judged(operation("scatter float32[5,3] int32[2,1] float32[2,3] -> float32[5,3]", [_SUM], **_SCATTER))
    judged(operation("sort float32[5] -> float32[5]", [_TEST], dimension=0))
    judged(operation("select_and_scatter float32[5] float32[2] float32[] -> float32[5]", [_TEST, _SUM]))
    judged(operation("map float32[5] float32[5] -> float32[5]", [_SUM]))
    judged(operation("if bool[] -> float32[2]", [region("-> float32[2]")] * 2))
    judged(operation("while int32[] -> int32[]", [region("int32[] -> bool[]"), region("int32[] -> int32[]")]))


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (operation("reduce float32[2,3] float32[] -> float32[2]", [_SUM], **_REDUCE), "is said to make"),
        (operation("reduce float32[2,3] int32[] -> float32[3]", [_SUM], **_REDUCE), "starts with other types"),
        (operation("reduce float32[2,3] float32[] -> float32[3]", [_TEST], **_REDUCE), "a region takes or makes"),
        (operation("reduce float32[2,3] float32[] -> float32[3]", [], **_REDUCE), "has 0 regions"),
        (operation("reduce float32[2,3] float32[] -> int32[3]", [_SUM], **_REDUCE), "results are of other types"),
        (operation("reduce float32[2,3] -> float32[3]", [_SUM], **_REDUCE), "has 1 operands"),
        (operation("reduce_window float32[5] float32[] -> float32[3]", [_SUM], **_POOL), "is said to make"),
        (operation("scatter float32[5,3] int32[2,1] float32[3,3] -> float32[5,3]", [_SUM], **_SCATTER), "no update"),
        (operation("scatter float32[5,3] int32[2,1] float32[2,4] -> float32[5,3]", [_SUM], **_SCATTER), "4 of 3"),
        (operation("scatter float32[5,3] float32[2,1] float32[2,3] -> float32[5,3]", [_SUM], **_SCATTER), "indices"),
        (operation("sort float32[5] -> float32[5]", [_SUM], dimension=0), "a region takes or makes"),
        (operation("sort float32[5] -> float32[5]", [_TEST], dimension=1), "no number of a dimension"),
        (operation("select_and_scatter float32[5] float32[2] float32[] -> float32[5]", [_SUM, _SUM]), "a region takes"),
        (operation("map float32[5] -> float32[5]", [_SUM]), "a region takes or makes"),
        (operation("if bool[] -> float32[2]", [region("-> float32[2]"), region("-> float32[3]")]), "a region takes"),
        (operation("case int32[] -> float32[2]", [Region()]), "does not end with a return"),
        (operation("while int32[] -> int32[]", [region("int32[] -> bool[]")]), "has 1 regions"),
        (operation("while int32[] -> int32[]", [region("int32[] -> int32[]")] * 2), "a region takes or makes"),
        (operation("custom_call float32[2] -> float32[3]", call_target_name="mhlo.erf"), "another type than its op"),
        (operation("optimization_barrier float32[2] -> float32[3]"), "is said to make"),
    ],
)
def test_what_does_not_fit(op: Operation, why: str) -> None:
    with pytest.raises(DamagedError, match=rf"^{op.name} is not made as the op is: .*{why}"):
        judged(op)


def test_functions_are_what_they_say() -> None:
    said = FunctionType((tensor("float32[?]"),), (tensor("int32[2]"),))
    refuse_calls("f", operation("func ->", [region("float32[3] -> int32[2]")], function_type=said))
    for other in ("int32[3] -> int32[2]", "float32[3] -> int32[3]", "float32[3] -> int32[2] int32[2]", "-> int32[2]"):
        with pytest.raises(DamagedError, match=r"the function f (takes|returns) other types than it says"):
            refuse_calls("f", operation("func ->", [region(other)], function_type=said))


def test_calls_are_of_what_functions_take() -> None:
    said = FunctionType((tensor("float32[3]"),), (tensor("int32[2]"),))
    function = operation("func ->", function_type=said)
    for text, fits in (("float32[3] -> int32[2]", True), ("float32[3] -> int32[3]", False), ("-> int32[2]", False)):
        op = operation(f"call {text}", callee="f")
        op.module.functions["f"] = function
        if fits:
            judged(op)
        else:
            with pytest.raises(DamagedError, match="it calls a function of other types"):
                judged(op)
