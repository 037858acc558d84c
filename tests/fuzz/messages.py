"""Damage to protocol buffers that leaves them well-formed: any message of any model, walked by its descriptors."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from google.protobuf.message import Message

from fuseconv.load import protos
from tests.fuzz.damage import INTERESTING

Model = Any  # a SavedModel or a GraphDef

_STRINGS = ("", ":0", "^", "^x", "x:99", "\0", "\n", "a/b/../c", "é", "w" * 300, "-1")
_FLOATS = (0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 1e38, 1e-45, 5e300)
# Where the meaning of a model is: a walk goes there rather than elsewhere.
_RICH = frozenset({"graph_def", "node", "node_def", "library", "function", "signature_def", "attr", "input",
                   "meta_graphs", "value", "tensor", "shape", "list", "ret", "signature"})  # fmt: skip
_STOP = 0.12


def parse(name: str, data: bytes) -> Model:
    """The message of the file of that name: a SavedModel, else a GraphDef."""
    return protos.classes["SavedModel" if name.endswith("saved_model.pb") else "GraphDef"].FromString(data)


def graph_of(model: Model) -> Any:
    """The GraphDef of a model."""
    return model.meta_graphs[0].graph_def if hasattr(model, "meta_graphs") else model


def all_nodes(graph: Any) -> list[Any]:
    """The nodes of a graph and of its functions."""
    return [*graph.node, *(node for function in graph.library.function for node in function.node_def)]


def strings_of(graph: Any) -> list[str]:
    """Names that mean something in a model: of nodes, their results, operations, functions."""
    nodes = all_nodes(graph)
    found = {node.name for node in nodes} | {node.op for node in nodes} | {n for node in nodes for n in node.input}
    found |= {f.signature.name for f in graph.library.function}
    return [*sorted(found), *_STRINGS]


def mutate(rng: Random, model: Model) -> None:
    """Changes one to four places of a model."""
    names = strings_of(graph_of(model))
    for _ in range(min(4, 1 + int(rng.expovariate(0.9)))):
        place = _descend(rng, model)
        if place:
            _change(rng, model, *place, names)


def _descend(rng: Random, message: Any) -> tuple[Any, Any] | None:
    """A message below and one of its fields, reached by chance."""
    while True:
        fields = message.ListFields()
        if not fields:
            return None
        weights = [8 if field.name in _RICH else 1 for field, _ in fields]
        field, value = rng.choices(fields, weights)[0]
        below = _below(rng, value)
        if below is None or rng.random() < _STOP:
            return message, field
        message = below


def _below(rng: Random, value: Any) -> Any:
    """A message in the value of a field, or None."""
    if isinstance(value, Message):
        return value
    if _is_map(value):
        value = [value[key] for key in sorted(value)]
    if hasattr(value, "append") or isinstance(value, list):
        chosen = value[rng.randrange(len(value))] if len(value) else None
        return chosen if isinstance(chosen, Message) else None
    return None


def _is_map(value: Any) -> bool:
    return hasattr(value, "keys")


def _change(rng: Random, model: Model, message: Any, field: Any, names: list[str]) -> None:
    value = getattr(message, field.name)
    if rng.random() < 0.12:
        message.ClearField(field.name)
    elif _is_map(value):
        _change_map(rng, value, names)
    elif hasattr(value, "add"):
        _change_messages(rng, value)
    elif hasattr(value, "append"):
        _change_list(rng, value, names, field)
    elif isinstance(value, Message):
        other = _alike(rng, model, value)
        if other is not None:
            value.CopyFrom(other)
    else:
        setattr(message, field.name, _scalar(rng, value, names, field))


def _change_map(rng: Random, value: Any, names: list[str]) -> None:
    keys = sorted(value)
    if not keys:
        return
    first, second = rng.choice(keys), rng.choice(keys)
    way = rng.randrange(3)
    if way == 0:
        del value[first]
        return
    if isinstance(value[first], Message):
        kept = type(value[first])()
        kept.CopyFrom(value[first])
        if way == 1:
            value[first].CopyFrom(value[second])
            value[second].CopyFrom(kept)
        else:
            value[rng.choice(names) if isinstance(first, str) else 7].CopyFrom(kept)
    elif way == 1:
        value[first], value[second] = value[second], value[first]
    else:
        value[first] = rng.choice(names)


def _change_messages(rng: Random, value: Any) -> None:
    items = list(value)
    kept = [_copy(item) for item in items]
    at = rng.randrange(len(kept))
    way = rng.randrange(4)
    if way == 0:
        del kept[at]
    elif way == 1:
        kept.insert(rng.randint(0, len(kept)), kept[at])
    elif way == 2:
        other = rng.randrange(len(kept))
        kept[at], kept[other] = kept[other], kept[at]
    else:
        kept[at] = kept[rng.randrange(len(kept))]
    del value[:]
    value.extend(kept)


def _change_list(rng: Random, value: Any, names: list[str], field: Any) -> None:
    at = rng.randrange(len(value))
    way = rng.randrange(5)
    if way == 0:
        del value[at]
    elif way == 1:
        value.append(value[at])
    elif way == 2:
        other = rng.randrange(len(value))
        value[at], value[other] = value[other], value[at]
    else:
        value[at] = _scalar(rng, value[at], names, field)


def _scalar(rng: Random, value: Any, names: list[str], field: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        if field.name in ("dtype", "type"):
            return rng.choice((*range(24), 101, 103, -1, 2**31 - 1))
        return _fitting(rng, value, field)
    if isinstance(value, float):
        return rng.choice(_FLOATS[:-1])
    if isinstance(value, bytes):
        name = rng.choice(names).encode()
        return rng.choice((b"", b"\xff\xfe", value + value, value[:-1], b"VALID", b"NCHW", b"NHWC", name))
    return rng.choice(names)


def _fitting(rng: Random, value: int, field: Any) -> int:
    """An integer that the field's type can hold."""
    wide = field.type in (field.TYPE_INT64, field.TYPE_UINT64)
    signed = field.type in (field.TYPE_INT64, field.TYPE_INT32)
    bits = 63 if wide else 31
    low, high = (-(2**bits) if signed else 0), 2**bits - 1
    return rng.choice([n for n in (*INTERESTING, value + 1, value - 1, value * 2) if low <= n <= high])


def _alike(rng: Random, model: Model, value: Any) -> Any:
    """Another message of the same type, if a few walks meet one."""
    for _ in range(30):
        place = _descend(rng, model)
        if place is None:
            continue
        found = _below(rng, getattr(place[0], place[1].name))
        if found is not None and found.DESCRIPTOR is value.DESCRIPTOR and found is not value:
            return _copy(found)
    return None


def _copy(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy
