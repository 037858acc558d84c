"""The kinds of models of keras-hub, and one of each, small, with its signatures.

A kind is named Class, Class/configuration, or either with "+variant" behind it. Classes are what keras_hub.models
offers: backbones, tasks, and encoders and decoders that are models of their own.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.keras_hub.inputs import sized
from tests.keras_hub.sizes import COMMON, SIZES, Part

# Which kinds are also tried in another form; caches are tried wherever there is one.
VARIANTS = {
    "generate": (
        "BartSeq2SeqLM", "GPT2CausalLM", "Gemma3CausalLM", "GemmaCausalLM", "LlamaCausalLM", "MoonshineAudioToText",
        "Qwen3CausalLM", "T5GemmaSeq2SeqLM",
    ),
    "lora": ("BertTextClassifier", "GPT2CausalLM", "Gemma3CausalLM", "LlamaCausalLM", "ViTImageClassifier"),
    "int8": ("BertTextClassifier", "GPT2CausalLM", "Gemma3CausalLM", "LlamaCausalLM", "ViTImageClassifier"),
    "float16": ("BertTextClassifier", "Gemma3CausalLM", "LlamaCausalLM", "ResNetImageClassifier", "ViTImageClassifier"),
    "bfloat16": ("BertTextClassifier", "Gemma3CausalLM", "ResNetImageClassifier", "ViTImageClassifier"),
    "mixed_float16": ("BertTextClassifier", "Gemma3CausalLM", "ResNetImageClassifier"),
}  # fmt: skip
_POLICIES = ("float16", "bfloat16", "mixed_float16")
_CACHED = ("token_ids", "cache", "cache_update_index")
_LENGTH = 16  # of a cache
_STOP = 1

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


def kinds() -> list[str]:
    """Return the names of all kinds."""
    import keras
    import keras_hub

    classes = {
        found.__name__: found
        for found in vars(keras_hub.models).values()
        if isinstance(found, type) and issubclass(found, keras.Model) and not _is_abstract(found)
    }
    plain = [name for found in sorted(classes) for name in _configurations(classes[found])]
    names = list(plain)
    for name in plain:
        names += [f"{name}+cache"] * _has_cache(classes[name.partition("/")[0]])
        names += [f"{name}+{variant}" for variant, chosen in VARIANTS.items() if name in chosen]
    return sorted(names)


def _is_abstract(found: Any) -> bool:
    """Whether a class is only there to be inherited from: a task without a backbone, Backbone itself."""
    import keras_hub

    if issubclass(found, keras_hub.models.Task):
        return found.backbone_cls is None
    return found in (keras_hub.models.Backbone, keras_hub.models.FeaturePyramidBackbone)


def _configurations(found: Any) -> list[str]:
    """Return the kinds of a class: those that `SIZES` names; a task has those of its backbone, or the one it names."""
    name = found.__name__
    backbone = getattr(found, "backbone_cls", None)
    source = name if backbone is None or "backbone" in SIZES.get(name, {}) else backbone.__name__
    return [name, *(name + other[len(source) :] for other in SIZES if other.startswith(f"{source}/"))]


def _has_cache(found: type) -> bool:
    call = getattr(found, "call_with_cache", None)
    return call is not None and _required(call)[1:] == list(_CACHED)


def _required(function: Callable) -> list[str]:
    return [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]


def make(kind: str) -> tuple[Any, dict[str, Signature]]:
    """Return a model of a kind with random weights, and its signatures. Raises NotTriedError."""
    import keras

    from tests.random_weights import randomize

    name, _, variant = kind.partition("+")
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(variant if variant in _POLICIES else "float32")
    model = _make(name)
    if variant == "lora":
        getattr(model, "backbone", model).enable_lora(4)
    randomize(model, seed=1)
    if variant == "int8":
        model.quantize("int8")
    match variant:
        case "cache":
            return model, _with_cache(model)
        case "generate":
            return model, {"serving_default": _generation(model)}
        case _:
            return model, {"serving_default": _serving(model)}


def _make(name: str) -> Any:
    """Return an object of a class in a configuration; a task stands for itself on its backbone."""
    cls_name, slash, configuration = name.partition("/")
    cls = _class(cls_name)
    sizes = dict(SIZES.get(name, {}))
    if backbone := getattr(cls, "backbone_cls", None):
        sizes = {"backbone": Part(f"{backbone.__name__}{slash}{configuration}"), "preprocessor": None}
        sizes |= SIZES.get(cls_name, {})
    return cls(**arguments(cls, sizes))


def arguments(cls: Callable, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class is made of: the sizes given, and the common ones for parameters with their names.

    Raises NotTriedError if a parameter without a default is in neither."""
    named = {name: COMMON[name] for name in inspect.signature(cls).parameters if name in COMMON} | dict(sizes)
    if missing := [name for name in _required(cls) if name not in named]:
        raise NotTriedError(f"no sizes for {', '.join(missing)} of {cls.__name__}")
    return {name: _resolved(value) for name, value in named.items()}


def _resolved(value: Any) -> Any:
    if not isinstance(value, Part):
        return value
    made = _made_of(value)
    return made.get_config() if value.config else made


def _made_of(part: Part) -> Any:
    if not part.sizes:
        return _make(part.name)
    cls = _class(part.name)
    return cls(**arguments(cls, part.sizes))


def _class(name: str) -> Any:
    """Return a class of keras_hub.models or keras_hub.layers, or by its path one that keras-hub does not offer."""
    import keras_hub

    module, _, cls = name.rpartition(".")
    if module:
        return getattr(importlib.import_module(f"keras_hub.src.models.{module}"), cls)
    return getattr(keras_hub.models, cls, None) or getattr(keras_hub.layers, cls)


def _serving(model: Any) -> Signature:
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


def _with_cache(model: Any) -> dict[str, Signature]:
    """Return two signatures: `prefill` makes a cache of a prompt, `decode` takes one token and the cache further."""
    import keras
    import tensorflow as tf

    ones = keras.ops.ones((1, _LENGTH), "int32")
    known = {"token_ids": ones, "padding_mask": ones}
    empty = model._build_cache(**{name: known.get(name) for name in _required(model._build_cache)})[1]
    caches = {f"cache_{n}": tf.TensorSpec(c.shape, c.dtype, f"cache_{n}") for n, c in enumerate(tf.nest.flatten(empty))}

    def step(token_ids: Any, index: Any, flat: Any) -> dict[str, Any]:
        logits, _, cache = model.call_with_cache(token_ids, tf.nest.pack_sequence_as(empty, flat), index)
        return _outputs([logits, cache])

    def prefill(token_ids: Any) -> dict[str, Any]:
        return step(token_ids, 0, [tf.zeros(spec.shape, spec.dtype) for spec in caches.values()])

    def decode(token_ids: Any, cache_update_index: Any, **flat: Any) -> dict[str, Any]:
        return step(token_ids, cache_update_index, [flat[name] for name in caches])

    def ids(*shape: int, name: str = "token_ids") -> Specs:
        return {name: tf.TensorSpec(shape, tf.int32, name)}

    return {
        "decode": Signature(decode, ids(1, 1) | ids(name="cache_update_index") | caches),
        "prefill": Signature(prefill, ids(1, _LENGTH)),
    }


def _generation(model: Any) -> Signature:
    """Return the whole of generation as one signature: the prompt's cache, the loop, the sampler."""
    import tensorflow as tf

    model.compile(sampler="greedy")
    fixed = {name: _fixed(spec) for name, spec in _serving(model).specs.items()}
    specs = {name: tf.TensorSpec([2, *spec.shape[1:]], spec.dtype, name) for name, spec in fixed.items()}

    def call(**feed: Any) -> dict[str, Any]:
        return _outputs(model.generate_step(feed, stop_token_ids=[_STOP]))

    return Signature(call, specs)
