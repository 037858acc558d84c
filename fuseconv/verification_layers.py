"""Where a quantized file begins to differ: its tensors beside those of the file of floats, op by op.

Tensors are matched by their names, which both files have from the model, where each has one op of that name and type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fuseconv.errors import VerificationError
from fuseconv.inspecting import describe
from fuseconv.quantize.tensor_errors import TensorError, compare_tensors
from fuseconv.runners import Arrays, first_line, plain_name

_CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
# Files tell tensors of one name apart by numbers.
_NUMBER = re.compile(r";\d+$")
# An error grows where it is this many times what it was anywhere before, and more than this part of the range.
_GROWTH, _LEAST = 2.0, 0.01


class Layer(NamedTuple):
    """An op of both files: its result in the file of floats, its type there and in the other, and the error."""

    tensor: str
    op: str
    type: str
    error: TensorError

    def to_json(self) -> dict[str, Any]:
        return {"tensor": self.tensor, "op": self.op, "type": self.type, "error": self.error.to_json()}


def compare_layers(floats: bytes, quantized: bytes, feeds: Sequence[Arrays]) -> list[Layer]:
    """Compare the ops of the first subgraph that both files have, in their order, on these inputs. Those of a loop's
    body stand in front of it, compared as its last iteration leaves them.

    Raises VerificationError if a file cannot be run."""
    one, other = describe(floats, "the file of floats"), describe(quantized, "the quantized file")
    before, after = _results(one), _results(other)
    pairs = {name: after[key][0] for key, (name, _) in before.items() if key in after}
    inputs = _inputs(one)
    if inputs != _inputs(other):
        raise VerificationError("the file of floats and the quantized one take their inputs in different orders")
    try:
        errors = compare_tensors(floats, quantized, pairs, feeds, inputs)
    except (RuntimeError, ValueError) as error:
        raise VerificationError(f"LiteRT cannot run a file tensor by tensor: {first_line(error)}") from error
    return [
        Layer(name, key[1], after[key][1], errors[name]) for key, (name, _) in before.items() if name in errors
    ]


def first_growth(layers: Sequence[Layer]) -> Layer | None:
    """Return the first op whose error is much larger than any before it; None if there is none. What lies beyond a
    tensor counts where it makes other errors: of a gate that makes 1 of all that is large, it makes none."""
    largest = 0.0
    for layer in layers:
        relative = layer.error.held / layer.error.range if layer.error.range else layer.error.relative
        if relative > _LEAST and relative > _GROWTH * largest:
            return layer
        largest = max(largest, relative)
    return None


def _results(document: Mapping[str, Any]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return for what an op's result is named after and its type, if there is one such, the tensor and its type."""
    ops = [(op, graph["tensors"][op["results"][0]]) for op, graph in _ops(document, 0) if op["results"]]
    keys = [(_NUMBER.sub("", tensor["name"]), op["op"]) for op, tensor in ops]
    counts = Counter(keys)
    return {
        key: (tensor["name"], tensor["type"].lower()) for key, (op, tensor) in zip(keys, ops)
        if counts[key] == 1 and op["op"] not in _CONVERSIONS
    }  # fmt: skip


def _ops(document: Mapping[str, Any], subgraph: int) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the ops of a subgraph, each with it, and in front of each WHILE those of its body."""
    graph = document["subgraphs"][subgraph]
    for op in graph["ops"]:
        # LiteRT refuses a file whose loops hold themselves, which a body that stands behind its loop cannot.
        body = op["options"].get("body_subgraph_index", 0) if op["op"] == "WHILE" else 0
        if subgraph < body < len(document["subgraphs"]):
            yield from _ops(document, body)
        yield op, graph


def _inputs(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the inputs of the first subgraph: those of its signature, or its tensors'."""
    graph = document["subgraphs"][0]
    for signature in document["signatures"]:
        if signature["subgraph"] == 0:
            names = {index: name for name, index in signature["inputs"].items()}
            return [names.get(index, "") for index in graph["inputs"]]
    return [plain_name(graph["tensors"][index]["name"]) for index in graph["inputs"]]
