"""Layers by the names of their classes: each one function, whose keyword parameters are the keys of its config."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fuseconv.errors import InputError

# What becomes of the mask of a layer's input: the layer drops it, hands it on (or does so in Keras 3, and drops it in
# tf-keras), or sees to it itself.
DROP, PASS, PASS_IN_3, OWN = "drop", "pass", "pass in Keras 3", "own"

# What a layer takes: floats only, as it computes; tensors of any type, of which floats are cast to what it computes in;
# or tensors as they are, of which none is cast.
FLOATS, ANY, AS_THEY_ARE = "floats", "any", "as they are"

# Keys which no layer's result depends on once its weights are there.
_NEUTRAL = frozenset({
    "name", "trainable", "dtype", "batch_shape", "batch_input_shape", "input_shape", "input_dim", "input_length",
    "activity_regularizer", "seed", "synchronized", "noise_shape", "build_config",
})  # fmt: skip
_NEUTRAL_ENDINGS = ("_initializer", "_regularizer", "_constraint")


class UnknownLayer(InputError):
    """A layer, or a setting of one, that cannot be read as data; Keras may know it."""


@dataclass(frozen=True)
class Layer:
    """A function that builds a layer's ops.

    function: takes the call (`call.Call`), the inputs by position, and the settings by keyword. settings: the
    defaults of the keys that it names (`inspect.Parameter.empty`: the key must be there), and the kinds of
    their values. fixed: values that keys have which the function does not name. masks: DROP, PASS, PASS_IN_3 or OWN.
    takes: FLOATS, ANY or AS_THEY_ARE. unread: keys that no result depends on, as in training only. half: whether
    it may compute in 16 bits. quantized: whether its weights may be integers. pointwise: whether an element of its
    result is made of those in its place, where operands have the result's rank. casts: whether floats are cast to what
    it computes in. inputs: the names of the layer's tensor arguments; takes_any_number: whether it takes more than
    those."""

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, tuple[Any, str]]
    fixed: Mapping[str, Any]
    masks: str
    takes: str
    unread: frozenset[str]
    half: bool
    quantized: bool
    pointwise: bool
    casts: bool
    inputs: tuple[str, ...]
    takes_any_number: bool = False

    def read(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Read the settings of a config, by keyword. Raises UnknownLayer for keys and values of unknown meaning."""
        for key, value in config.items():
            if key in self.settings or key in _NEUTRAL or key in self.unread or key.endswith(_NEUTRAL_ENDINGS):
                continue
            if key not in self.fixed or not _same(self.fixed[key], value):
                raise UnknownLayer(f"{key}={_short(value)} is not read as data")
        found = {}
        for key, (default, kind) in self.settings.items():
            value = config.get(key, default)
            if value is inspect.Parameter.empty:
                raise UnknownLayer(f"its config has no {key}")
            if value is not default and not _is_a(value, kind):
                raise UnknownLayer(f"{key}={_short(value)} is no {kind}")
            found[key] = value
        return found


LAYERS: dict[str, Layer] = {}


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def layer(
    *names: str, masks: str = DROP, takes: str = FLOATS, unread: Collection[str] = (), half: bool = False,
    quantized: bool = False, pointwise: bool = False, casts: bool = True, **fixed: Any,
) -> Decorator:  # fmt: skip
    """Mark the decorated function as the meaning of layers of these classes. Nothing is registered: `fuse.Registry`
    collects the functions of plug-ins.

    masks: what becomes of an input's mask. takes: whether tensors of other types than floats are refused, and floats
    cast. unread: keys that no result depends on, as in training only. half: whether the function is right for a layer
    that computes in 16 bits, as mixed policies have it; else such a layer is refused. quantized: the same for a layer
    whose weights Keras has quantized. pointwise: whether it makes each element of those in its place, so that
    TimeDistributed may call it on all steps at once. casts: whether floats are cast to what the layer computes in;
    False where Keras sets `autocast` so. fixed: values of keys that the function does not name; the layer is refused if
    they are others."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.keras_layers = {  # type: ignore[attr-defined]
            name: _layer(name, function, masks, takes, fixed, unread, half, quantized, pointwise, casts)
            for name in names
        }
        return function

    return mark


def builtin(*names: str, **options: Any) -> Decorator:
    """Do as `layer` for a layer that comes with fuseconv, and enter it into LAYERS."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        marked = layer(*names, **options)(function)
        for name, known in marked.keras_layers.items():  # type: ignore[attr-defined]
            if name in LAYERS:
                raise InputError(f"the Keras layer {name} is declared twice.")
            LAYERS[name] = known
        return marked

    return enter


def _layer(
    name: str, function: Callable[..., Any], masks: str, takes: str, fixed: Mapping[str, Any], unread: Collection[str],
    half: bool, quantized: bool, pointwise: bool, casts: bool,
) -> Layer:  # fmt: skip
    parameters = list(inspect.signature(function).parameters.values())[1:]
    settings = {p.name: (p.default, _kind(name, p)) for p in parameters if p.kind is p.KEYWORD_ONLY}
    inputs = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return Layer(name, function, settings, fixed, masks, takes, frozenset(unread), half, quantized, pointwise, casts,
                 inputs, several)  # fmt: skip


def _kind(name: str, parameter: inspect.Parameter) -> str:
    """Return the kind of values of a setting. Raises InputError if it is none that can be checked."""
    said = parameter.annotation
    kind = said if isinstance(said, str) else inspect.formatannotation(said)
    if not all(part.strip() in _KINDS for part in kind.replace("typing.", "").split("|")):
        raise InputError(f"the Keras layer {name} has a setting {parameter.name} of the kind {kind[:60]}; it may be "
                         f"{', '.join(_KINDS)}, or several of them.")  # fmt: skip
    return kind.replace("typing.", "")


def table() -> str:
    """Return all layers as a Markdown table: a row for those of a family that read the same settings."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, known in LAYERS.items():
        family = known.function.__module__.rpartition(".")[2]
        settings = ", ".join(f"`{key}`" for key in known.settings)
        listed = name.rpartition(">")[2] if name.count(".") or family.startswith("operations") else name
        names = found.setdefault((family, settings), [])
        if listed not in names:
            names.append(listed)
    rows = [f"| {family} | {', '.join(names)} | {settings} |" for (family, settings), names in found.items()]
    return "\n".join(["| family | layers | settings |", "|---|---|---|", *sorted(rows)])


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_int(value: Any) -> bool:
    return type(value) is int and abs(value) < 1 << 62


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "bool": lambda value: isinstance(value, bool),
    "float": is_number,
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
    "list[int]": lambda value: isinstance(value, list) and all(map(_is_int, value)),
    "list[list[int]]": lambda value: isinstance(value, list) and all(map(_KINDS["list[int]"], value)),
    "list[float]": lambda value: isinstance(value, list) and all(map(is_number, value)),
    "list[str]": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "list": lambda value: isinstance(value, list),
    "dict": lambda value: isinstance(value, dict),
    "Any": lambda value: True,
}


def _is_a(value: Any, kind: str) -> bool:
    return any(_KINDS[part.strip()](value) for part in kind.split("|"))


def _same(a: Any, b: Any) -> bool:
    """Return whether two values of JSON are the same; True is not 1."""
    return (type(a) is type(b) and a == b) or (is_number(a) and is_number(b) and a == b)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
