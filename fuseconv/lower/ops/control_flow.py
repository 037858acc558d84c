"""Loops, branches and calls."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir.graph import FuncRef, Value
from fuseconv.lower.rules import Lowering, lowers, require


@lowers("While", "StatelessWhile")
def while_loop(
    tfl: Lowering, *carried: Value, cond: FuncRef, body: FuncRef, output_shapes: object = None
) -> list[Value]:
    """A loop becomes WHILE; its condition and body become subgraphs."""
    _require_tensors((*carried, *tfl.source.results), "a loop")
    types = [(result.dtype, result.shape) for result in tfl.source.results]
    return tfl.typed_op("WHILE", carried, types, {"cond_subgraph_index": cond, "body_subgraph_index": body})


@lowers("If", "StatelessIf")
def if_else(
    tfl: Lowering, condition: Value, *operands: Value, then_branch: FuncRef, else_branch: FuncRef,
    output_shapes: object = None,
) -> list[Value]:  # fmt: skip
    """A branch becomes IF on a bool; both sides become subgraphs."""
    _require_tensors((*operands, *tfl.source.results), "a branch")
    require(condition.dtype.name == "bool", f"a condition of type {condition.dtype} is not a bool")
    require(condition.rank == 0, "the rank of the condition is not known")
    types = [(result.dtype, result.shape) for result in tfl.source.results]
    attrs = {"then_subgraph_index": then_branch, "else_subgraph_index": else_branch}
    return tfl.typed_op("IF", [condition, *operands], types, attrs)


def _require_tensors(values: Sequence[Value], what: str) -> None:
    for value in values:
        require(not value.dtype.is_handle, f"{value.dtype} values cannot go into {what} or come out of it")
