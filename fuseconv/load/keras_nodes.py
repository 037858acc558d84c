"""The calls between the layers of a functional model, as a Keras file has them: each can be made, one after the other.

tf-keras goes round its layers until every call is made, for ever if one waits for itself. And a call that no tensor
of the model goes into would be computed at once, on whatever sizes the file says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.load.keras_container import objects

# A call: the name of its layer, and the how manieth of that layer's it is.
_Call = tuple[str, int]


def check_nodes(path: Path, config: dict[str, Any]) -> None:
    """Refuse a model with a call that waits for itself, for one that is never made, or that takes constants only."""
    for layers in _models(config):
        waiting = _waiting(path, layers)
        followers: dict[_Call, list[_Call]] = {}
        for call, sources in waiting.items():
            for source in sources:
                followers.setdefault(source, []).append(call)
        ready = [call for call, sources in waiting.items() if not sources]
        while ready:
            done = ready.pop()
            del waiting[done]
            for call in followers.get(done, ()):
                waiting[call].discard(done)
                if not waiting[call]:
                    ready.append(call)
        if waiting:
            raise InputError(
                f"{path} is damaged: its layer '{next(iter(waiting))[0]}' waits for a call without an end."
            )


def _models(config: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the layers of each functional model in a configuration."""
    for item, _ in objects(config):
        layers = item.get("layers")
        if isinstance(layers, list):
            named = [layer for layer in layers if isinstance(layer, dict) and isinstance(layer.get("name"), str)]
            yield [layer for layer in named if isinstance(layer.get("inbound_nodes"), list)]


def _waiting(path: Path, layers: list[dict[str, Any]]) -> dict[_Call, set[_Call]]:
    """Return the calls of a model's layers, and those that each must wait for."""
    models = {
        layer["name"] for layer in layers if isinstance(layer.get("config"), dict) and "layers" in layer["config"]
    }
    counts = {layer["name"]: len(layer["inbound_nodes"]) for layer in layers}
    given = {layer["name"] for layer in layers if layer.get("class_name") == "InputLayer"}
    waiting: dict[_Call, set[_Call]] = {}
    for layer in layers:
        name = layer["name"]
        for index, node in enumerate(layer["inbound_nodes"]):
            if not node:
                continue
            sources = list(_sources(node, counts))
            if not sources:
                raise InputError(f"{path} is damaged: its layer '{name}' is called on no tensor of the model.")
            before = {(name, index - 1)} if index and (name, index - 1) in waiting else set()
            # A model as a layer counts from one: its first call is its own.
            calls = {(source, max(at - 1, 0) if source in models else at) for source, at in sources}
            waiting[name, index] = before | {call for call in calls if counts[call[0]] or call[0] not in given}
    return waiting


def _sources(node: Any, names: dict[str, int]) -> Iterator[_Call]:
    """Yield the calls whose results go into one: [layer, call, tensor, ...] of older files, or marked tensors of
    newer."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            history = item.get("config") if item.get("class_name") == "__keras_tensor__" else None
            stack += [history.get("keras_history")] if isinstance(history, dict) else item.values()
        elif isinstance(item, list):
            if len(item) >= 3 and isinstance(item[0], str) and type(item[1]) is int and item[0] in names:
                yield item[0], item[1]
            stack += item
