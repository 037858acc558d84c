"""Branches of which TensorFlow can take one side only, whatever the condition."""

from __future__ import annotations

from fuseconv.ir.graph import Module, Op, Value
from fuseconv.tf.shape_functions.ranks import only_ranks
from fuseconv.tf.side_effects import has_effect

_SIDES = ("then_branch", "else_branch")


def possible_side(op: Op, module: Module) -> str | None:
    """Return the side of a branch, "then_branch" or "else_branch", whose results have the ranks that their readers
    take, if those of the other have not; None if both have, or if it is not known.

    If(c) {x: float32[n,4]} else {float32[1] -1.0} that an Einsum of "td,dnh->tnh" reads is x: models with a placeholder
    for what one case lacks (Funnel's positions) have such branches."""
    for result, *made in zip(op.results, *(module.functions[op.attrs[side].name].outputs for side in _SIDES)):
        then, other = (value.rank for value in made)
        if then is None or other is None or then == other:
            continue
        wanted = _rank_for_readers(result)
        if wanted in (then, other) and not has_effect(op, module, {}):
            return _SIDES[0] if wanted == then else _SIDES[1]
    return None


def _rank_for_readers(value: Value) -> int | None:
    """Return the only rank with which a reader of the value can run; None if no reader tells."""
    for reader in value.uses:
        for operand, rank in zip(reader.operands, only_ranks(reader)):
            if operand is value and rank is not None:
                return rank
    return None
