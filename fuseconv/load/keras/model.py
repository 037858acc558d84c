"""Models as layers: Sequential and Functional, with the calls between their layers in all forms that files have."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import ILL_FORMED, Call, Object, Step, compute_type, unknown
from fuseconv.load.keras.registry import AS_THEY_ARE, LAYERS, OWN, UnknownLayer, builtin

MODELS = frozenset({"Functional", "Model", "Sequential"})
_LAYERS = re.compile(r"(?:keras|tf_keras)(?:(?:\.src)?\.(?:layers|models|engine)(?:\.[a-z0-9_]+)*)?")
_OPERATIONS = re.compile(r"keras\.src\.ops(?:\.[a-z0-9_]+)*")
_MARKERS: dict[str, Callable[[Any], Any]] = {
    "__tuple__": lambda items: tuple(items),
    "__ellipsis__": lambda _: ...,
    "__slice__": lambda config: slice(config["start"], config["stop"], config["step"]),
    "__tensor__": lambda config: _array(config),
    "__numpy__": lambda config: _array(config),
}


class Ref(NamedTuple):
    """A tensor of a functional model: the result of the how manieth call of a layer.

    own: whether the call that a functional model has of its own counts as the first."""

    layer: str
    call: int
    tensor: int
    own: bool = False


class InputSpec(NamedTuple):
    """An input as its InputLayer declares it; None for a size that is not known."""

    name: str
    shape: tuple[int | None, ...]
    dtype: types.DType


def class_of(data: Mapping[str, Any]) -> str:
    """Return the name by which the registry knows the class of an object in an architecture."""
    name, module, registered = str(data.get("class_name")), data.get("module"), data.get("registered_name")
    if registered not in (None, "", name, "function"):
        return str(registered)
    if module is None and _is_operation(data):
        return f"ops>{name}"
    if module is None or (isinstance(module, str) and _LAYERS.fullmatch(module)):
        return name
    return f"ops>{name}" if isinstance(module, str) and _OPERATIONS.fullmatch(module) else f"{module}>{name}"


def _is_operation(data: Mapping[str, Any]) -> bool:
    """Return whether an object of an .h5 file of Keras 3, which names no modules, is an operation: layers that have the
    name of one say whether they are trained."""
    config, nodes, name = data.get("config"), data.get("inbound_nodes"), data.get("class_name")
    called = isinstance(nodes, list) and any(isinstance(node, dict) and "args" in node for node in nodes)
    known = isinstance(config, dict) and not config.keys() & {"trainable", "layers"}
    return called and known and (f"ops>{name}" in LAYERS or name not in LAYERS)


def config_of(data: Any) -> dict[str, Any]:
    """Return the config of an object in an architecture, which says its name. Raises InputError if it is damaged."""
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict):
        raise InputError("the file is damaged: an object in its architecture has no config.")
    return config | {"name": str(data.get("name") or config.get("name") or data.get("class_name"))}


def inputs_of(kind: str, config: Mapping[str, Any]) -> Any:
    """Return the InputSpecs of a model, in the structure in which it takes them.

    Raises UnknownLayer if it does not say what they are, or if they are sparse or ragged."""
    layers = config.get("layers")
    if not isinstance(layers, list) or not layers:
        raise unknown(f"{kind} '{config.get('name')}'", "it has no layers")
    if kind != "Sequential":
        specs = {config_of(item)["name"]: item for item in layers}
        return _mapped_refs(lambda ref: _input_spec(specs[ref.layer]), config["input_layers"])
    return _sequential_input(config, layers)


def _sequential_input(config: Mapping[str, Any], layers: list[Any]) -> InputSpec:
    """Return the input that the first layer of a Sequential tells: an InputLayer, a model, or `batch_input_shape` of a
    layer of floats. Raises UnknownLayer if it tells none."""
    first = config_of(layers[0])
    kind = class_of(layers[0])
    if kind == "InputLayer":
        return _input_spec(layers[0])
    if kind in MODELS:
        spec = inputs_of(kind, first)
        if isinstance(spec, InputSpec):
            return spec
    shape = first.get("batch_input_shape")
    if isinstance(shape, list):
        dtype = types.FLOAT32 if kind != "Embedding" else None
        if dtype is not None and first.get("dtype") in (None, "float32"):
            return InputSpec(f"{first['name']}_input", _dims(shape), dtype)
    raise unknown(f"Sequential '{config.get('name')}'", "it does not say what its input is")


def _input_spec(data: Mapping[str, Any]) -> InputSpec:
    """Return the input that an InputLayer is. Raises UnknownLayer for a sparse or ragged one, and for one without a
    shape."""
    config = config_of(data)
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    label = f"InputLayer '{config['name']}'"
    if class_of(data) != "InputLayer" or not isinstance(shape, list):
        raise unknown(label, "it does not say what its shape is")
    if config.get("sparse") or config.get("ragged"):
        raise unknown(label, "it is sparse or ragged")
    name = config.get("dtype") or "float32"
    if name not in types.BY_NAME:
        raise unknown(label, f"its dtype {str(name)[:60]} is not read as data")
    return InputSpec(config["name"], _dims(shape), types.BY_NAME[name])


def _dims(shape: list[Any]) -> tuple[int | None, ...]:
    if not all(dim is None or (type(dim) is int and 0 <= dim < 1 << 31) for dim in shape):
        raise InputError(f"the file is damaged: {str(shape)[:60]} is no shape of an input.")
    return tuple(shape)


@builtin("Sequential", masks=OWN, takes=AS_THEY_ARE, half=True)
def sequential(k: Call, x: Any, *, layers: list, build_input_shape: Any = None) -> Any:
    _take_given_masks(k, [x])
    for made, data in _objects(k, layers):
        x = _as_declared(k, x, _input_spec(data)) if class_of(data) == "InputLayer" else made.call([x], {})
    return x


def _take_given_masks(k: Call, inputs: list[Any]) -> None:
    """Give the inputs of a model the masks that it is called with, as Keras 3 does."""
    masks = list(flat(k.option("mask"))) if k.model.keras3 else []
    for x, mask in zip(inputs, masks):
        if isinstance(x, Value) and isinstance(mask, Value):
            k.model.give_mask(x, mask)


def _as_declared(k: Call, x: Any, spec: InputSpec) -> Any:
    """Cast floats to the type that an input of a model declares: a model itself casts nothing. Where the input has a
    dimension less at its end, or more, of one element, leave it out or add it."""
    if not isinstance(x, Value):
        return x
    made, shape = x, k.shape(x)
    if len(shape) == len(spec.shape) + 1 and shape[-1] == 1:
        made = k.tf.Squeeze(x, squeeze_dims=[len(shape) - 1], dtype=x.dtype)
    elif len(shape) == len(spec.shape) - 1 and spec.shape[-1] == 1:
        made = k.tf.ExpandDims(x, len(shape), dtype=x.dtype)
    if made.dtype.is_float and spec.dtype.is_float and made.dtype is not spec.dtype:
        made = k.tf.Cast(made, dtype=spec.dtype)
    if made is not x and (k.model.keras3 or len(k.shape(made)) == len(shape)):
        k.set_mask(made, k.mask(x))
    return made


@builtin("Functional", "Model", masks=OWN, takes=AS_THEY_ARE, half=True)
def functional(k: Call, inputs: Any, *, layers: list, input_layers: list | dict, output_layers: list | dict) -> Any:
    """Run the graph of layers in a config on the inputs. Refuses another number, type or rank of them than it
    declares."""
    specs = list(flat(inputs_of("Functional", k.owner.config)))
    given = list(flat(inputs))
    if len(given) != len(specs):
        k.refuse(f"it is called on {len(given)} tensors, where it takes {len(specs)}")
    graph = _Graph(k, _objects(k, layers))
    _take_given_masks(k, given)
    for spec, value in zip(specs, given):
        value = _as_declared(k, value, spec)
        if not isinstance(value, Value) or value.dtype is not spec.dtype or len(k.shape(value)) != len(spec.shape):
            k.refuse(f"its input '{spec.name}' is given another type or rank")
        graph.results[spec.name] = [[value]]
    graph.run()
    made = _mapped_refs(graph.tensor, output_layers)
    return made[0] if isinstance(made, list) and len(made) == 1 else made


def _objects(k: Call, layers: list[Any]) -> list[tuple[Object, dict[str, Any]]]:
    """Return the objects of a model's layers, each with its entry in the architecture."""
    configs = [config_of(data) for data in layers]
    kinds = [class_of(data) for data in layers]
    own = numbered("layers", [kind for kind in kinds if not kind.startswith("ops>")])
    made = []
    for kind, config, data in zip(kinds, configs, layers):
        attribute = f"ops/{config['name']}" if kind.startswith("ops>") else next(own)
        made.append((k.inner(attribute, kind, config), data))
    if len({item.name for item, _ in made}) < len(made):
        k.refuse("two of its layers have one name")
    return made


# What classes are named that Keras exports under another name; .keras archives have their weights by the former.
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}


def numbered(container: str, kinds: Iterable[str]) -> Iterator[str]:
    """Yield where the objects of a list stand in a file: "layers", Dense, LSTM, Dense -> layers/dense, layers/lstm,
    layers/dense_1."""
    counts: Counter[str] = Counter()
    for kind in kinds:
        name = kind.rpartition(">")[2]
        snake = snake_case(_CLASSES.get(name, name))
        yield f"{container}/{snake}_{counts[snake]}" if counts[snake] else f"{container}/{snake}"
        counts[snake] += 1


@dataclass
class _Waiting:
    """A layer and the calls of it that are to be made. refs: what the first of them waits for."""

    layer: Object
    nodes: deque[tuple[list[Any], dict[str, Any]]]
    refs: list[Ref] = field(default_factory=list)


class _Graph:
    """The calls of a functional model's layers, made as soon as what they read is there."""

    def __init__(self, k: Call, layers: list[tuple[Object, dict[str, Any]]]) -> None:
        self.steps = k.model.calls
        self.depths = _depths(layers) if k.model.keras3 else {}
        self.layers = sorted(layers, key=lambda pair: -self.depths[pair[0].name]) if self.depths else layers
        self.results: dict[str, list[list[Any]]] = {made.name: [] for made, _ in layers}
        # A functional model has a call of its own, which is counted in lists of Keras 2, and in all of outputs.
        self.first = {made.name: int(_calls_itself(data)) for made, data in layers}

    def run(self) -> None:
        """Make all calls, in the order of the layers where it is possible.

        Raises InputError if a call waits for itself."""
        waiting = [_Waiting(made, deque(_nodes(data))) for made, data in self.layers if class_of(data) != "InputLayer"]
        blocked: dict[str, list[_Waiting]] = {}
        for item in waiting:
            ready = [item]
            while ready:
                item = ready.pop()
                if self._advance(item):
                    ready += reversed(blocked.pop(item.layer.name, []))
                if item.refs:
                    blocked.setdefault(item.refs[-1].layer, []).append(item)
        for item in waiting:
            if item.nodes:
                raise InputError(f"the file is damaged: its layer '{item.layer.name}' is called on what is never made.")

    def _advance(self, item: _Waiting) -> bool:
        """Make the calls of a layer whose tensors are there; leave in `refs` what the next one waits for. Return
        whether any was made."""
        any_made = False
        while item.nodes:
            item.refs = item.refs or list(_refs(item.nodes[0]))
            while item.refs and self._is_made(item.refs[-1]):
                item.refs.pop()
            if item.refs:
                break
            args, kwargs = _filled(item.nodes.popleft(), self.tensor)
            self.steps.append(Step(item.layer.name, self.depths.get(item.layer.name)))
            self.results[item.layer.name].append(list(flat(item.layer.call(args, kwargs))))
            self.steps.pop()
            any_made = True
        return any_made

    def _is_made(self, ref: Ref) -> bool:
        return len(self.results.get(ref.layer, ())) > self._index(ref)

    def _index(self, ref: Ref) -> int:
        return ref.call - (self.first.get(ref.layer, 0) if ref.own else 0)

    def tensor(self, ref: Ref) -> Any:
        calls = self.results.get(ref.layer, [])
        index = self._index(ref)
        if not 0 <= index < len(calls) or not 0 <= ref.tensor < len(calls[index]):
            raise InputError(f"the file is damaged: it reads a result of '{ref.layer}' that is not there.")
        return calls[index][ref.tensor]


def _depths(layers: list[tuple[Object, dict[str, Any]]]) -> dict[str, int]:
    """Return how many calls follow on each layer's up to the outputs; Keras 3 makes the calls of the deepest first.
    Nothing if a layer is called several times: its depth then depends on how Keras goes round."""
    sources: dict[str, set[str]] = {}
    for made, data in layers:
        nodes = [] if class_of(data) == "InputLayer" else list(_nodes(data))
        if len(nodes) > 1:
            return {}
        sources[made.name] = {ref.layer for node in nodes for ref in _refs(list(node))}
    depths = dict.fromkeys(sources, 0)
    waiting = Counter(source for names in sources.values() for source in names)
    ready = [name for name in sources if not waiting[name]]
    while ready:
        name = ready.pop()
        for source in sources[name] & depths.keys():
            depths[source] = max(depths[source], depths[name] + 1)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return depths


def _calls_itself(data: Mapping[str, Any]) -> bool:
    kind = class_of(data)
    if kind != "Sequential":
        return kind in ("Functional", "Model")
    layers = data["config"].get("layers") if isinstance(data.get("config"), dict) else None
    first = layers[0] if isinstance(layers, list) and layers else {}
    # tf-keras makes a functional model of a Sequential one as soon as it knows the shape.
    keras2 = not any(isinstance(node, dict) for node in data.get("inbound_nodes") or ())
    return keras2 and (class_of(first) == "InputLayer" or "batch_input_shape" in config_of(first))


def _nodes(data: Mapping[str, Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the arguments of each call of a layer, with Refs for the tensors."""
    nodes = data.get("inbound_nodes")
    if not isinstance(nodes, list):
        raise InputError("the file is damaged: a layer of a functional model says nothing of its calls.")
    for node in filter(None, nodes):
        try:
            if isinstance(node, dict) and "args" in node and "kwargs" in node:
                call = list(_decoded(node["args"])), dict(_decoded(node["kwargs"]))
            else:
                call = _older(node)
        except UnknownLayer:
            raise
        except ILL_FORMED as error:
            label = f"{data.get('class_name')} '{config_of(data)['name']}'"
            raise unknown(label, "what it is called on is in no form that Keras writes") from error
        yield call


def _decoded(item: Any) -> Any:
    """Return an argument as Keras 3 wrote it, with Refs for the tensors."""
    if isinstance(item, list):
        return [_decoded(part) for part in item]
    if not isinstance(item, dict):
        return item
    kind = item.get("class_name")
    if kind == "__keras_tensor__":
        history = item["config"]["keras_history"]
        if not _is_ref(history):
            raise TypeError
        return Ref(*history)
    if kind in _MARKERS:
        return _MARKERS[kind](_decoded(item.get("items", item.get("config"))))
    if kind is not None:
        raise unknown(f"'{kind}'", "an argument of this kind is not read as data")
    return {key: _decoded(part) for key, part in item.items()}


def _array(config: Mapping[str, Any]) -> np.ndarray:
    return np.array(config["value"], types.BY_NAME[config["dtype"]].numpy)


def _older(node: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call as Keras 2 wrote them: [layer, call, tensor, keywords], or a structure of such."""
    found: list[dict[str, Any]] = []

    def decoded(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: decoded(part) for key, part in item.items()}
        if _is_ref(item):
            found.append(_keywords(item))
            return Ref(item[0], item[1], item[2], own=True)
        if isinstance(item, list) and item and item[0] == "_CONSTANT_VALUE":
            found.append(_keywords(item))
            return item[2]
        return [decoded(part) for part in item] if isinstance(item, list) else item

    inputs = decoded(node)
    kwargs = {key: decoded(value) for keywords in found[:1] for key, value in keywords.items()}
    return [inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs], kwargs


def _keywords(item: list[Any]) -> dict[str, Any]:
    return item[3] if len(item) > 3 and isinstance(item[3], dict) else {}


def _is_ref(item: Any) -> bool:
    return isinstance(item, list) and len(item) in (3, 4) and isinstance(item[0], str) and (
        type(item[1]) is int and type(item[2]) is int and item[0] != "_CONSTANT_VALUE")  # fmt: skip


def _refs(item: Any) -> Iterator[Ref]:
    if isinstance(item, Ref):
        yield item
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from _refs(part)
    elif isinstance(item, dict):
        yield from _refs(list(item.values()))


def _filled(item: Any, value: Callable[[Ref], Any]) -> Any:
    if isinstance(item, Ref):
        return value(item)
    if isinstance(item, (list, tuple)):
        return type(item)([_filled(part, value) for part in item])
    return {key: _filled(part, value) for key, part in item.items()} if isinstance(item, dict) else item


def _mapped_refs(function: Callable[[Ref], Any], item: Any) -> Any:
    """Apply a function to each [layer, call, tensor] in a structure."""
    if _is_ref(item):
        return function(Ref(item[0], item[1], item[2], own=True))
    if isinstance(item, list):
        return [_mapped_refs(function, part) for part in item]
    if isinstance(item, dict):
        return {key: _mapped_refs(function, part) for key, part in item.items()}
    raise InputError("the file is damaged: an input or output of a model is no tensor.")


def flat(item: Any) -> Iterator[Any]:
    """Yield the leaves of a structure, those of a dict by the order of its keys."""
    if isinstance(item, (list, tuple)) and not isinstance(item, (Ref, InputSpec)):
        for part in item:
            yield from flat(part)
    elif isinstance(item, dict):
        for key in sorted(item):
            yield from flat(item[key])
    else:
        yield item


def snake_case(name: str) -> str:
    """Return a class's name as Keras writes it in paths: "Conv2DTranspose" -> "conv2d_transpose"."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


__all__ = ["MODELS", "InputSpec", "class_of", "compute_type", "config_of", "flat", "inputs_of"]
