"""What makes a file large or slow, and what to do about it, from what `fuseconv.inspecting` tells of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fuseconv.report.layers import short
from fuseconv.report.tables import size
from fuseconv.tfl.traits import FUSED_RECURRENT

# Bytes of weights that are worth a word, and the part of all that one constant or op must be.
_MUCH, _PART = 100_000, 0.3
_FEW_TRANSPOSES = 3
# What makes places in a table of ids that need not be in it, and what hands them on.
_BOUNDS = frozenset({"FLOOR_MOD", "MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2"})
_ON_IDS = _BOUNDS | {"ADD", "CAST", "LESS", "RESHAPE"}
# Guards have a handful of tensors; from more on it is something else.
_MOST_SEEN = 32
Place = tuple[int, int]  # of an op: its subgraph, and its index there


class Advice(NamedTuple):
    """what: is large or slow; do: what helps; ops: the places of those that it is about."""

    what: str
    do: str
    ops: list[Place]


def advice(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> list[Advice]:
    """Return what can be said of a file. work: the multiply-adds of each op."""
    return [
        found for rule in (_floats, _large, _busy, _recurrent, _loops, _foreign, _sizes, _guards, _transposes, _islands)
        for found in rule(inspection, work)
    ]  # fmt: skip


def _ops(inspection: Mapping[str, Any], *types: str) -> list[Place]:
    return [
        (number, index) for number, graph in enumerate(inspection["subgraphs"])
        for index, op in enumerate(graph["ops"]) if op["op"] in types
    ]  # fmt: skip


def _constants(inspection: Mapping[str, Any]) -> Iterator[tuple[int, str, Place]]:
    """Yield the bytes and type of each constant, and the first op that reads it."""
    seen = set()
    for number, graph in enumerate(inspection["subgraphs"]):
        for index, op in enumerate(graph["ops"]):
            for operand in op["operands"]:
                tensor = graph["tensors"][operand] if operand >= 0 else None
                if tensor is not None and tensor["size"] and tensor["buffer"] not in seen:
                    seen.add(tensor["buffer"])
                    yield tensor["size"], tensor["type"], (number, index)


def _named(inspection: Mapping[str, Any], place: Place) -> str:
    """Return the type of an op, and the name of what it makes."""
    graph = inspection["subgraphs"][place[0]]
    op = graph["ops"][place[1]]
    return " ".join([op["op"], *(short(graph["tensors"][index]["name"]) for index in op["results"][:1])])


def _floats(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    total: Counter[str] = Counter()
    for count, type, _ in _constants(inspection):
        total[type] += count
    if total["FLOAT32"] >= max(_MUCH, inspection["file"]["size"] / 2):
        yield Advice(
            f"{size(total['FLOAT32'])} of {size(inspection['file']['size'])} are weights in float32.",
            "--quantize dynamic stores most of them in a quarter, --quantize float16 in half of the bytes.", [],
        )  # fmt: skip


def _large(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    for count, _, place in _constants(inspection):
        if count >= max(_MUCH, inspection["file"]["size"] * _PART):
            part = f"{count / inspection['file']['size']:.0%}"
            yield Advice(f"One constant takes {size(count)}, {part} of the file: that of {_named(inspection, place)}.",
                         "Make it smaller in the model: fewer rows, or fewer units.", [place])  # fmt: skip


def _busy(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    total = sum(work.values())
    for place, count in work.items():
        if count >= total * _PART and len(work) > 1 and count >= _MUCH:
            yield Advice(f"{_named(inspection, place)} does {count / total:.0%} of all multiply-adds.",
                         "fuseconv profile tells whether it takes as much of the time.", [place])  # fmt: skip


def _recurrent(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    if places := _ops(inspection, *FUSED_RECURRENT):
        yield Advice(
            f"{len(places)} fused recurrent ops: small in a file, and what NPUs and microcontrollers take.",
            "On a CPU --rnn auto is faster, several times for many units or rows: it writes a loop, or none.", places,
        )  # fmt: skip


def _loops(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    if places := _ops(inspection, "WHILE"):
        graphs = inspection["subgraphs"]
        bodies = [graphs[number]["ops"][index]["options"]["body_subgraph_index"] for number, index in places]
        count = sum(len(graphs[body]["ops"]) for body in set(bodies))
        yield Advice(
            f"{len(places)} WHILE: loops run their ops once for each step, and no delegate takes them.",
            "See below why a recurrent layer was not fused. --rnn unroll writes no loop where the number of steps is "
            f"known, at a price: {count} ops for each step make the file larger, and XNNPACK keeps a copy of the "
            "weights for each op that reads them.", places,
        )  # fmt: skip


def _foreign(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    custom = inspection["custom_ops"]
    if custom:
        yield Advice(
            f"{', '.join(custom)}: custom ops, which run only where the application registers kernels.",
            "Register them, or write a converter module that makes builtin ops.", _ops(inspection, *custom),
        )  # fmt: skip
    if inspection["flex_ops"]:
        names = [f"Flex{name}" for name in inspection["flex_ops"]]
        yield Advice(
            f"{', '.join(inspection['flex_ops'])}: run by TensorFlow's kernels, which add many megabytes.",
            "Convert without --select-tf-ops to see what TFLite lacks.", _ops(inspection, *names),
        )  # fmt: skip


def _sizes(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    if places := _ops(inspection, "SHAPE"):
        yield Advice(f"{len(places)} SHAPE: sizes of inputs are not fixed, and are computed with on every invoke.",
                     "--batch-size 1, or --input-shape, makes these constants.", places)  # fmt: skip


def _guards(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    made = [{result: op for op in graph["ops"] for result in op["results"]} for graph in inspection["subgraphs"]]
    for number, index in _ops(inspection, "GATHER"):
        graph = inspection["subgraphs"][number]
        op, tensors = graph["ops"][index], graph["tensors"]
        ids = _bounded_input(graph, made[number], op["operands"][-1])
        axis = op["options"].get("axis", 0)
        if ids is not None and len(tensors[op["operands"][0]]["shape"]) > axis:
            names = [name for s in inspection["signatures"] if s["subgraph"] == number
                     for name, tensor in s["inputs"].items() if tensor == ids]  # fmt: skip
            last = tensors[op["operands"][0]]["shape"][axis] - 1
            yield Advice(
                f"{_named(inspection, (number, index))} sees to ids that are negative or beyond its table.",
                f"--input-range {(*names, tensors[ids]['name'])[0]}=0:{last} says that none is, and saves these ops.",
                [(number, index)],
            )


def _bounded_input(graph: Mapping[str, Any], made: Mapping[int, Any], places: int) -> int | None:
    """Return the input that places in a table are made of, if ops bound them; None if none does, or they are made of
    something else. made: the op that makes each tensor."""
    bounded, inputs, seen, pending = False, set(), {places}, [places]
    while pending and len(seen) <= _MOST_SEEN:
        tensor = pending.pop()
        op = made.get(tensor)
        if op is None and not graph["tensors"][tensor]["size"]:
            inputs.add(tensor)
        elif op is not None and op["op"] not in _ON_IDS:
            return None
        elif op is not None:
            bounded = bounded or op["op"] in _BOUNDS
            pending += {*op["operands"]} - seen
            seen |= {*op["operands"]}
    return inputs.pop() if bounded and not pending and len(inputs) == 1 and inputs <= {*graph["inputs"]} else None


def _transposes(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    # Of images and volumes: layers of sequences transpose by themselves, whatever the model does.
    places = [
        (number, index) for number, index in _ops(inspection, "TRANSPOSE")
        if len((graph := inspection["subgraphs"][number])["tensors"][graph["ops"][index]["operands"][0]]["shape"]) > 3
    ]  # fmt: skip
    if len(places) >= _FEW_TRANSPOSES:
        yield Advice(f"{len(places)} TRANSPOSE of images: they move data and compute nothing.",
                     "TFLite computes with channels last: build the model so.", places)  # fmt: skip


def _islands(inspection: Mapping[str, Any], work: Mapping[Place, int]) -> Iterator[Advice]:
    ends = {end for graph in inspection["subgraphs"] for end in (*graph["inputs"], *graph["outputs"])}
    inner = [
        (number, index) for number, index in _ops(inspection, "QUANTIZE", "DEQUANTIZE")
        if not ends.intersection((*(op := inspection["subgraphs"][number]["ops"][index])["operands"], *op["results"]))
    ]  # fmt: skip
    if inner:
        yield Advice(f"{len(inner)} QUANTIZE and DEQUANTIZE inside of the file, around ops that compute in floats.",
                     "--quantize-report tells which ops stayed float, and why.", inner)  # fmt: skip
