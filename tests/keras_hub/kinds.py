"""The kinds of models of keras-hub, and one of each, small, with its signatures.

A kind is named Class, Class/configuration, or either with "+variant" behind it. Classes are what keras_hub.models
offers: backbones, tasks, and encoders and decoders that are models of their own.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tests.keras_hub.signatures import STEPS, NotTriedError, Signature, generation, required, serving, with_cache
from tests.keras_hub.sizes import COMMON, REAL, SIZES, Part

# Which kinds are also tried in another form; caches are tried wherever there is one.
VARIANTS = {
    "generate": (
        "BartSeq2SeqLM", "GPT2CausalLM", "Gemma3CausalLM", "GemmaCausalLM", "LlamaCausalLM", "MoonshineAudioToText",
        "Qwen3CausalLM", "StableDiffusion3ImageToImage", "StableDiffusion3Inpaint", "StableDiffusion3TextToImage",
        "T5GemmaSeq2SeqLM",
    ),
    "lora": ("BertTextClassifier", "GPT2CausalLM", "Gemma3CausalLM", "LlamaCausalLM", "ViTImageClassifier"),
    "int8": ("BertTextClassifier", "GPT2CausalLM", "Gemma3CausalLM", "LlamaCausalLM", "ViTImageClassifier"),
    "float16": ("BertTextClassifier", "Gemma3CausalLM", "LlamaCausalLM", "ResNetImageClassifier", "ViTImageClassifier"),
    "bfloat16": ("BertTextClassifier", "Gemma3CausalLM", "ResNetImageClassifier", "ViTImageClassifier"),
    "mixed_float16": ("BertTextClassifier", "Gemma3CausalLM", "ResNetImageClassifier"),
}  # fmt: skip
_POLICIES = ("float16", "bfloat16", "mixed_float16")
_CACHED = ("token_ids", "cache", "cache_update_index")


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
    return call is not None and required(call)[1:] == list(_CACHED)


def make(kind: str) -> tuple[Any, dict[str, Signature]]:
    """Return a model of a kind with random weights, and its signatures. Raises NotTriedError."""
    import keras

    from tests.random_weights import randomize

    name, _, variant = kind.partition("+")
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(variant if variant in _POLICIES else "float32")
    model = _make(name)
    backbone = getattr(model, "backbone", model)
    if hasattr(backbone, "configure_scheduler"):
        backbone.configure_scheduler(STEPS)  # what `generate` does first
    if variant == "lora":
        backbone.enable_lora(4)
    randomize(model, seed=1)
    if variant == "int8":
        model.quantize("int8")
    match variant:
        case "cache":
            return model, with_cache(model)
        case "generate":
            return model, {"serving_default": generation(model)}
        case _:
            return model, {"serving_default": serving(model)}


def _make(name: str) -> Any:
    """Return an object of a class in a configuration; a task stands for itself on its backbone."""
    cls_name, slash, configuration = name.partition("/")
    cls = _class(cls_name)
    sizes = dict(SIZES.get(name) or REAL.get(name, {}))
    if backbone := getattr(cls, "backbone_cls", None):
        sizes = {"backbone": Part(f"{backbone.__name__}{slash}{configuration}"), "preprocessor": None}
        sizes |= SIZES.get(cls_name, {})
    return cls(**arguments(cls, sizes))


def arguments(cls: Callable, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class is made of: the sizes given, and the common ones for parameters with their names.

    Raises NotTriedError if a parameter without a default is in neither."""
    named = {name: COMMON[name] for name in inspect.signature(cls).parameters if name in COMMON} | dict(sizes)
    if missing := [name for name in required(cls) if name not in named]:
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
