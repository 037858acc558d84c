"""A Keras model in memory -> a function that TensorFlow traced, for inference."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.load.traced_functions import NOT_DENSE, Traced
from fuseconv.load.unique_names import unique

# What both Keras make of an exception in the call of a layer; their terminal's bold letters are none of ours.
_IN_A_CALL = re.compile(r"Exception encountered when calling ([^\n]+)\.\n\n(?:\x1b\[1m)?([^\n\x1b]*)")


class Untraceable(ValueError):
    """The model cannot be traced: TFLite has nothing of the kind, or a layer raised an error, which is the cause."""


class NoInputs(Untraceable):
    """The model does not say what it takes: it is a subclass of Keras's whose input shapes nobody recorded."""


def trace_model(model: Any, is_keras3: bool, notes: Sequence[str] = ()) -> Traced:
    """Trace a model of Keras 3, or else of tf-keras, for inference.

    Inputs are named for their input layers. Outputs are named for the layers that make them, or by the keys of a model
    that returns a dict. Raises NoInputs if the model does not say what it takes, Untraceable for what TFLite has not,
    and for any error of its layers."""
    import keras
    import tensorflow as tf

    if is_keras3 and isinstance(model, keras.Sequential) and model.built:
        # As a functional model, it knows the names of its outputs.
        model = keras.Model(model.inputs, model.outputs)
    specs, structure = _inputs(model, is_keras3)
    pack = keras.tree.pack_sequence_as if is_keras3 else tf.nest.pack_sequence_as

    def serve(*tensors: Any) -> Any:
        return model(pack(structure, list(tensors)), training=False)

    try:
        function = _traced(serve, list(specs.values()), is_keras3)
    except Exception as error:  # a layer of the user's may raise anything
        raise Untraceable(call_error(error)) from error
    results = function.structured_outputs
    if any(not isinstance(tensor, tf.Tensor) for tensor in tf.nest.flatten(results)):
        raise Untraceable(f"an output is {NOT_DENSE}")
    names = list(getattr(model, "output_names", None) or [])
    if isinstance(results, dict) and len(results) == len(function.outputs):
        names = sorted(results)
    elif len(names) != len(function.outputs):
        names = [f"output_{index}" for index in range(len(function.outputs))]
    return Traced(function, list(specs), unique(names), model, tuple(notes))


def _traced(serve: Callable[..., Any], specs: Sequence[Any], is_keras3: bool) -> Any:
    """Return the concrete function of a plain one; AutoGraph, which takes its time, sees to layers of tf-keras that
    branch on tensors in Python. Keras 3 keeps it from its layers."""
    import tensorflow as tf

    try:
        return tf.function(serve, autograph=False).get_concrete_function(*specs)
    except tf.errors.OperatorNotAllowedInGraphError:
        if is_keras3:
            raise
        return tf.function(serve).get_concrete_function(*specs)


def call_error(error: Exception) -> str:
    """Return what an error of Keras says, that of a layer's call in one line: "Dense.call(): the reason"."""
    call = _IN_A_CALL.search(str(error))
    return f"{call[1]}: {call[2].rstrip('.')}" if call else str(error)


def _inputs(model: Any, is_keras3: bool) -> tuple[dict[str, Any], Any]:
    """Return a TensorSpec for each input, by name, and the structure in which the model takes them."""
    import tensorflow as tf

    tensors = getattr(model, "inputs", None)
    if tensors:
        if any(getattr(t, "sparse", False) or getattr(t, "ragged", False) for t in tensors):
            raise Untraceable("an input is sparse or ragged; TFLite has dense tensors only")
        if not is_keras3 and any(not isinstance(t.type_spec, tf.TensorSpec) for t in tensors):
            raise Untraceable("an input is sparse or ragged; TFLite has dense tensors only")
        names = unique([t.name for t in tensors] if is_keras3 else model.input_names)
        return {name: tf.TensorSpec(t.shape, t.dtype, name) for name, t in zip(names, tensors)}, model.input
    # A subclassed model knows the shape it was built with, whose batch is that of the moment.
    shape = (model.get_build_config() or {}).get("input_shape") if hasattr(model, "get_build_config") else None
    if not shape or not all(size is None or isinstance(size, int) for size in shape):
        raise NoInputs("the model does not say what its inputs are; use model.export() and convert the SavedModel")
    return {"inputs": tf.TensorSpec((None, *shape[1:]), model.input_dtype, "inputs")}, 0
