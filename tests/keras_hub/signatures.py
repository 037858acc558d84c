"""Signatures of a model of keras-hub: itself, with a cache, and the whole of its generation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.keras_hub.inputs import sized

_LENGTH = 16  # of a cache
_STOP = 1
STEPS, _FIRST_STEP, _GUIDANCE = 3, 1, 7.0  # of a diffusion

Specs = dict[str, Any]  # a tf.TensorSpec by the input's name


class NotTriedError(Exception):
    """A class cannot be made alone: there are no arguments for its constructor, or it has no inputs of its own."""


@dataclass(frozen=True)
class Signature:
    """A function from tensors to a dict of them, and what it takes; a size of None is open."""

    call: Callable[..., dict[str, Any]]
    specs: Specs

    def trace(self) -> Any:
        """Return the concrete function. A model that cannot be traced with open sizes gets them but for the batch: what
        counts steps in Python has to know how many there are."""
        import tensorflow as tf

        function = tf.function(self.call)
        try:
            return function.get_concrete_function(**self.specs)
        except NotImplementedError as error:
            raise NotTriedError("it runs as a part of others") from error
        except (tf.errors.OperatorNotAllowedInGraphError, TypeError, ValueError):
            fixed = {name: _fixed(spec) for name, spec in self.specs.items()}
            if fixed == self.specs:
                raise
            return function.get_concrete_function(**fixed)


def _fixed(spec: Any) -> Any:
    """Return what an input takes with sizes for all but its first dimension."""
    import tensorflow as tf

    sizes = sized(spec.name, spec.shape.as_list(), 0)
    return tf.TensorSpec([*spec.shape[:1], *sizes[1:]], spec.dtype, spec.name)


def required(function: Callable) -> list[str]:
    return [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]


def serving(model: Any) -> Signature:
    """Return the model itself as a signature."""
    import keras
    import tensorflow as tf

    if not hasattr(model, "input"):
        raise NotTriedError("it is made as a part of others")
    tensors = keras.tree.flatten(model.input)
    specs = {tensor.name: tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name) for tensor in tensors}

    def call(**feed: Any) -> dict[str, Any]:
        given = keras.tree.pack_sequence_as(model.input, [feed[tensor.name] for tensor in tensors])
        return _outputs(model(given, training=False))

    return Signature(call, specs)


def _outputs(results: Any) -> dict[str, Any]:
    """Number the outputs, those that are None left out. Numpy has no bfloat16: both sides give that as float32."""
    import tensorflow as tf

    flat = [tf.convert_to_tensor(result) for result in tf.nest.flatten(results) if result is not None]
    return {f"output_{n}": tf.cast(y, tf.float32) if y.dtype == tf.bfloat16 else y for n, y in enumerate(flat)}


def with_cache(model: Any) -> dict[str, Signature]:
    """Return two signatures: `prefill` makes a cache of a prompt, `decode` takes one token and the cache further."""
    import keras
    import tensorflow as tf

    ones = keras.ops.ones((1, _LENGTH), "int32")
    known = {"token_ids": ones, "padding_mask": ones}
    empty = model._build_cache(**{name: known.get(name) for name in required(model._build_cache)})[1]
    caches = {f"cache_{n}": tf.TensorSpec(c.shape, c.dtype, f"cache_{n}") for n, c in enumerate(tf.nest.flatten(empty))}

    def step(token_ids: Any, index: Any, flat: Any) -> dict[str, Any]:
        logits, _, cache = model.call_with_cache(token_ids, tf.nest.pack_sequence_as(empty, flat), index)
        return _outputs([logits, cache])

    def prefill(token_ids: Any) -> dict[str, Any]:
        # No Python number: Keras lets nested arguments of a layer be tensors or not, but no mixture.
        return step(token_ids, tf.constant(0), [tf.zeros(spec.shape, spec.dtype) for spec in caches.values()])

    def decode(token_ids: Any, cache_update_index: Any, **flat: Any) -> dict[str, Any]:
        return step(token_ids, cache_update_index, [flat[name] for name in caches])

    def ids(*shape: int, name: str = "token_ids") -> Specs:
        return {name: tf.TensorSpec(shape, tf.int32, name)}

    return {
        "decode": Signature(decode, ids(1, 1) | ids(name="cache_update_index") | caches),
        "prefill": Signature(prefill, ids(1, _LENGTH)),
    }


def generation(model: Any) -> Signature:
    """Return the whole of generation as one signature: the prompt's cache, the loop, the sampler; or the texts, the
    diffusion and the decoder."""
    import tensorflow as tf

    fixed = {name: _fixed(spec) for name, spec in serving(model).specs.items()}
    specs = {name: tf.TensorSpec([2, *spec.shape[1:]], spec.dtype, name) for name, spec in fixed.items()}
    if "guidance_scale" in required(model.generate_step):
        return _diffusion(model, specs)
    model.compile(sampler="greedy")

    def call(**feed: Any) -> dict[str, Any]:
        return _outputs(model.generate_step(feed, stop_token_ids=[_STOP]))

    return Signature(call, specs)


def _diffusion(model: Any, specs: Specs) -> Signature:
    """Return the generation of an image as one signature; the numbers of its steps are constants, as they are where
    keras-hub compiles it."""
    import tensorflow as tf

    encoders = [
        name.removesuffix("_token_ids") for name in specs if name.endswith("_token_ids") and "negative" not in name
    ]
    texts = [[f"{encoder}{kind}_token_ids" for encoder in encoders] for kind in ("", "_negative")]
    tensors = {"latents": specs["latents"], "noises": specs["latents"], "images": specs["images"]}
    tensors["masks"] = tf.TensorSpec(specs["images"].shape[:-1], tf.float32)
    numbers = {"num_steps": STEPS, "starting_step": _FIRST_STEP, "guidance_scale": _GUIDANCE}
    taken = required(model.generate_step)

    def call(**feed: Any) -> dict[str, Any]:
        ids = tuple(dict(zip(encoders, (feed[name] for name in names))) for names in texts)
        given = {name: tf.constant(number) for name, number in numbers.items()} | feed | {"token_ids": ids}
        return _outputs(model.generate_step(**{name: given[name] for name in taken}))

    named = {name: tf.TensorSpec(tensors[name].shape, tensors[name].dtype, name) for name in taken if name in tensors}
    return Signature(call, named | {name: specs[name] for names in texts for name in names})
