"""Checkpoint keys of variables, from TensorFlow's object graph.

Keras 3's models, saved by `tf.saved_model.save`, read other handles than their restore graph writes: TensorFlow itself
restores such a model object by object. A signature's function tells which objects its captured handles are (the bound
inputs of SavedConcreteFunction). The object graph of the checkpoint tells which tensor an object has (the checkpoint
key in TrackableObjectGraph). An object is the same in both graphs if the same names lead to it from the root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.load import protos

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"


def checkpoint_keys(meta: Any, read: Callable[[str], np.ndarray]) -> dict[str, str]:
    """Return the checkpoint's name of each tensor by the node of the handle that is captured.

    meta: the meta graph. read: gives a tensor of the checkpoint. Raises InputError for a damaged object graph."""
    objects = meta.object_graph_def
    bound = {name: list(function.bound_inputs) for name, function in objects.concrete_functions.items()}
    handles: dict[str, int] = {}
    for node in meta.graph_def.node:
        captured = bound.get(node.attr["f"].func.name if "f" in node.attr else node.op)
        if captured:
            inputs = [name.partition(":")[0] for name in node.input if not name.startswith("^")]
            handles.update(zip(inputs[-len(captured) :], captured))
    if not handles:
        return {}
    try:
        stored = read(_GRAPH)
        if stored.dtype != object or stored.size != 1:
            raise IndexError
        graph = protos.classes["TrackableObjectGraph"].FromString(stored.item())
        same = _same_objects(objects.nodes, graph.nodes)
        keys = {number: _key(graph.nodes[other]) for number, other in same.items()}
    except (protos.DecodeError, IndexError):
        raise InputError("the model's graph of objects is damaged.") from None
    return {node: keys[number] for node, number in handles.items() if keys.get(number)}


def _same_objects(saved: Any, restored: Any) -> dict[int, int]:
    """Return the objects of the checkpoint by those of the model, by their numbers."""
    same: dict[int, int] = {}
    pending = [(0, 0)]
    while pending:
        number, other = pending.pop()
        if number in same:
            continue
        same[number] = other
        names = {child.local_name: child.node_id for child in restored[other].children}
        children = [(child.node_id, child.local_name) for child in saved[number].children]
        pending += [(node, names[name]) for node, name in children if name in names]
    return same


def _key(trackable: Any) -> str:
    return next((tensor.checkpoint_key for tensor in trackable.attributes if tensor.name == _VALUE), "")
