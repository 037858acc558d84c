"""Check a file against the rules of a target: which ops it refuses, and what is left of the file there.

The file is told by a document of `fuseconv.inspecting`. `check` returns a dict:

    name        the target's
    rules       the public source of its rules, and the date of that
    refused     [{subgraph, op, type, why}]: places and types of the ops that it does not take, and the rule, a sentence
    remarks     [{subgraph, op, type, why}]: the same of ops that it takes, which may compute something else there
    partitions  into how many parts delegation would cut what the target takes; each begins and ends with a copy
    share       the part of all multiply-adds that is left behind, from 0 to 1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fuseconv.errors import ILL_FITTING
from fuseconv.targets.multiply_adds import multiply_adds
from fuseconv.targets.signature import OpSignature, signature_in
from fuseconv.targets.target import Target

_Values = Callable[[Mapping[str, Any]], "np.ndarray | None"]


def check(document: Mapping[str, Any], target: Target, values: _Values) -> dict[str, Any]:
    """Return what a target makes of a file. values: returns what a constant tensor of the document holds."""
    customs = {*document["custom_ops"], *(f"Flex{name}" for name in document["flex_ops"])}
    refused: list[dict[str, Any]] = []
    remarks: list[dict[str, Any]] = []
    partitions, all_work, left = 0, 0, 0
    for number, subgraph in enumerate(document["subgraphs"]):
        taken: list[bool] = []
        for index, op in enumerate(subgraph["ops"]):
            signature = signature_in(subgraph, op, op["op"] in customs, values)
            why = _refusal(target, signature)
            work = multiply_adds(signature)
            all_work += work
            left += work if why is not None else 0
            taken.append(why is None)
            entry = {"subgraph": number, "op": index, "type": op["op"]}
            if why is not None:
                refused.append(entry | {"why": why})
            else:
                remarks += [entry | {"why": found} for each in target.remarks if (found := each(signature)) is not None]
        partitions += _partitions(subgraph, taken)
    share = round(left / all_work, 6) if all_work else 0.0
    return {
        "name": target.name, "rules": target.rules, "refused": refused, "remarks": remarks, "partitions": partitions,
        "share": share,
    }  # fmt: skip


def warnings(verdict: Mapping[str, Any]) -> list[str]:
    """Return warnings of the ops that a target refuses in any form, and of those that it may compute otherwise, by
    type, with the first reason of each."""
    refused, remarks = (_by_type(verdict[key]) for key in ("refused", "remarks"))
    count, name = len(verdict["refused"]), verdict["name"]
    told = [f"{name} refuses {count} ops, and takes no other form of them: {refused}"] if refused else []
    return told + ([f"{name} may compute something else: {remarks}"] if remarks else [])


def _by_type(entries: Sequence[Mapping[str, Any]]) -> str:
    ops: dict[str, list[str]] = {}
    for entry in entries:
        ops.setdefault(entry["type"], []).append(entry["why"])
    return "; ".join(f"{len(why)} {type}: {why[0]}" for type, why in ops.items())


def _refusal(target: Target, op: OpSignature) -> str | None:
    """Return why an op is refused: also where it has less operands, results or dimensions than the rules look at, as a
    damaged file may."""
    try:
        return target.refusal(op)
    except (AttributeError, TypeError, *ILL_FITTING) as error:
        return f"its operands and options are not those of {op.type}: {error}"


def _partitions(subgraph: Mapping[str, Any], taken: Sequence[bool]) -> int:
    """Return how many partitions there are: sets of ops that run together, as no op of the other kind stands between.

    As LiteRT's `PartitionGraphIntoIndependentNodeSubsets` does it: all ops of one kind that are ready, then all of the
    other, in turn. An op belongs to the first turn of its kind in which its operands are made."""
    made: dict[int, int] = {}
    first = taken[0] if taken else True
    found: set[int] = set()
    for op, is_taken in zip(subgraph["ops"], taken):
        turn = max([made.get(index, 0) for index in op["operands"]], default=0)
        turn += (turn % 2 == 0) != (is_taken == first)
        made.update(dict.fromkeys(op["results"], turn))
        if is_taken:
            found.add(turn)
    return len(found)
