"""Bounds of inputs that are indices: how many rows the tables of a .tflite file have that they are looked up in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fuseconv.tfl.traits import CONTROL_FLOW

# Ops whose results hold elements of their first operand, or the same ones in another type.
_HAND_ON = frozenset({
    "BROADCAST_TO", "CAST", "CEIL", "EXPAND_DIMS", "FLOOR", "RESHAPE", "REVERSE_V2", "ROUND", "SLICE", "SQUEEZE",
    "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
})  # fmt: skip
# The same of all operands, and of the second one.
_JOIN = frozenset({"CONCATENATION", "PACK", "SELECT_V2"})
_SPLIT = frozenset({"SPLIT"})


class Bound(NamedTuple):
    """An input's elements are whole numbers below `rows`, as `op` takes them for indices."""

    rows: int
    op: str


def index_bounds(document: Mapping[str, Any], subgraph: int, inputs: Mapping[str, int]) -> dict[str, Bound]:
    """Return the bounds of inputs that are looked up in tables of known sizes, each the smallest over all uses.

    document: what `inspect` tells of the file. inputs: tensors of the subgraph, by names. They are followed through ops
    that hand elements on, and into the subgraphs of loops and branches."""
    readers = [_readers(graph) for graph in document["subgraphs"]]
    found = {}
    for name, tensor in inputs.items():
        bounds = list(_bounds(document["subgraphs"], readers, subgraph, tensor))
        if bounds:
            found[name] = min(bounds)
    return found


def _readers(graph: Mapping[str, Any]) -> dict[int, list[Mapping[str, Any]]]:
    readers: dict[int, list[Mapping[str, Any]]] = {}
    for op in graph["ops"]:
        for operand in dict.fromkeys(op["operands"]):
            readers.setdefault(operand, []).append(op)
    return readers


def _bounds(graphs: list[Any], readers: list[dict[int, list[Any]]], graph: int, tensor: int) -> Iterator[Bound]:
    """Yield the bound of each use of a tensor as an index, in all subgraphs that its elements are handed on to."""
    pending, seen = [(graph, tensor)], {(graph, tensor)}
    while pending:
        number, value = pending.pop()
        for op in readers[number].get(value, ()):
            rows = _rows(op, value, graphs[number]["tensors"])
            if rows:
                yield Bound(rows, op["op"])
            follow = [(number, result) for result in op["results"]] if _hands_on(op, value) else []
            follow += [
                (body, operand)
                for body, offset in _bodies(op)
                for place, operand in zip(op["operands"][offset:], graphs[body]["inputs"])
                if place == value
            ]
            pending += [place for place in follow if place not in seen]
            seen.update(follow)


def _hands_on(op: Mapping[str, Any], value: int) -> bool:
    kind, operands = op["op"], op["operands"]
    if kind in _JOIN:
        return True
    place = 1 if kind in _SPLIT else 0
    return (kind in _HAND_ON or kind in _SPLIT or kind == "GATHER") and operands[place] == value


def _bodies(op: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the subgraphs that an op runs, with the operand that is their first input."""
    offset = 1 if op["op"] == "IF" else 0
    keys = ("cond_subgraph_index", "body_subgraph_index", "then_subgraph_index", "else_subgraph_index")
    options = op["options"] if op["op"] in CONTROL_FLOW else {}
    return [(options[key], offset) for key in keys if key in options]


def _rows(op: Mapping[str, Any], value: int, tensors: list[Mapping[str, Any]]) -> int:
    """Return how many indices an op tells apart, if the value is what it looks up; 0 if that is not known."""
    kind, operands, options = op["op"], op["operands"], op["options"]
    if kind == "GATHER" and operands[1] == value:
        return _size(tensors[operands[0]], options.get("axis", 0))
    if kind == "EMBEDDING_LOOKUP" and operands[0] == value:
        return _size(tensors[operands[1]], 0)
    if kind == "ONE_HOT" and operands[0] == value:
        return _size(tensors[op["results"][0]], options.get("axis", -1))
    if kind == "GATHER_ND" and operands[1] == value:
        return min((_size(tensors[operands[0]], i) for i in range(_size(tensors[value], -1))), default=0)
    return 0


def _size(tensor: Mapping[str, Any], axis: int) -> int:
    shape = tensor["shape_signature"] or tensor["shape"] or []
    return max(shape[axis], 0) if -len(shape) <= axis < len(shape) else 0
