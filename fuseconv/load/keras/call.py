"""The call of a layer: what its function builds ops, asks for weights and calls other layers with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Module, Value
from fuseconv.ir.types import DType
from fuseconv.load.keras.builder import LayerBuilder
from fuseconv.load.keras.parts import Part, Weight
from fuseconv.load.keras.registry import AS_THEY_ARE, FLOATS, LAYERS, OWN, PASS, PASS_IN_3, Layer, UnknownLayer
from fuseconv.load.op_defs import OpDefs

# What a damaged config has layer functions, and those that read its models, raise.
ILL_FORMED = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, ZeroDivisionError,
               AssertionError)  # fmt: skip
_MOST_NESTED = 60
HALVES = (types.FLOAT16, types.BFLOAT16)
# Policies of 16 bits. Their weights are of 32 or of 16, which is the same to what computes in 16.
_HALF_POLICIES = {name: dtype for dtype in HALVES for name in (dtype.name, f"mixed_{dtype.name}")}
_QUANTIZED = ("QuantizedDTypePolicy", "Int4DTypePolicy")
_NOTHING: Mapping[str, Layer] = MappingProxyType({})
Masks = dict[Value, Value]


class Step(NamedTuple):
    """A call within a functional model: of which layer, and how many calls follow on it up to the model's outputs; None
    if that is not told."""

    layer: str
    depth: int | None


Moment = tuple[Step, ...]


class Model:
    """What all layers of a file share while it is read.

    keras3: whether Keras 3 wrote the file. custom: names of classes that are the user's own. masks: of the tensors that
    have one. layers: those of plug-ins. assets: what layers have written beside the weights, by path; None for what is
    not there."""

    def __init__(
        self, keras3: bool, custom: Collection[str], layers: Mapping[str, Layer] = _NOTHING,
        assets: Callable[[str], bytes | None] = lambda path: None,
    ) -> None:  # fmt: skip
        self.keras3, self.custom, self.layers, self.assets = keras3, custom, layers, assets
        self.op_defs = OpDefs()
        self.tf = LayerBuilder(self.op_defs)
        self.masks: Masks = {}
        # The calls that are being made, from the outermost model's on. Of tensors, when layers have read their masks,
        # and when Keras 3's attention has taken them away.
        self.calls: list[Step] = []
        self.read: dict[Value, list[Moment]] = {}
        self.lost: dict[Value, Moment] = {}
        self.module = Module()
        self.depth = 0
        # Whether calls are made at once, on all steps as parts of the batch, that Keras makes one step after the other.
        self.at_once = False

    def mask_of(self, x: Any) -> Value | None:
        """Return the mask of a tensor; None if a layer that is called before has taken it away. Raises UnknownLayer if
        it does not follow from the file which of the two Keras calls first."""
        mask = self.masks.get(x) if isinstance(x, Value) else None
        if mask is None:
            return None
        now = tuple(self.calls)
        if x in self.lost:
            if not _in_order(self.lost[x], now):
                raise UnknownLayer("its input has lost its mask to a layer of attention, as Keras 3 has it")
            return None
        self.read.setdefault(x, []).append(now)
        return mask

    def drop_mask(self, x: Value) -> None:
        """Say that a tensor loses its mask now. Raises UnknownLayer if it does not follow from the file whether Keras
        calls another layer that reads it first."""
        now = tuple(self.calls)
        if not all(_in_order(before, now) for before in self.read.get(x, ())):
            raise UnknownLayer("Keras 3 takes away the masks of its inputs, which other layers read")
        if x in self.masks:
            self.lost.setdefault(x, now)

    def give_mask(self, x: Value, mask: Value) -> None:
        """Give a tensor a mask in the place of that which it has or has lost."""
        self.masks[x] = mask
        self.lost.pop(x, None)


def _in_order(a: Moment, b: Moment) -> bool:
    """Return whether Keras makes two calls in the order in which they are made here: those of a model it makes by
    their depths."""
    for one, other in zip(a, b):
        if one != other:
            return None not in (one.depth, other.depth) and one.depth != other.depth
    return True


class Object:
    """An object of a file's architecture: a layer, cell or model of a class, with its config.

    path: by which attributes the file's model leads to it. calls: how many times it was called."""

    def __init__(self, model: Model, class_name: str, config: Mapping[str, Any], path: str = "") -> None:
        self.model, self.class_name, self.config, self.path = model, class_name, config, path
        self.name = str(config.get("name", class_name))
        self.part = Part(self.name, f"{class_name} '{self.name}'", config.get("trainable", True) is not False)
        self.parts: dict[str, Object] = {}
        self.weights: dict[str, Value] = {}
        self.calls = 0

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Build the ops of a call and return its results, in the structure in which Keras does.

        Raises UnknownLayer, which names the layer, if it cannot be read as data."""
        self.model.tf.spend()
        try:
            known = self.model.layers.get(self.class_name)
            if known is None and self.class_name.removeprefix("ops>") not in self.model.custom:
                known = LAYERS.get(self.class_name)
            if known is None:
                raise UnknownLayer("its class is none that is read as data")
            dtype = types.FLOAT32 if known.takes == AS_THEY_ARE else compute_type(self.config.get("dtype"))
            if dtype in HALVES and not known.half:
                raise UnknownLayer(f"it computes in {dtype}")
            if quantization(self.config.get("dtype")) and (not known.quantized or dtype is not types.FLOAT32):
                raise UnknownLayer("its weights are quantized")
            with self._scope():
                return self._called(known, dtype, args, kwargs)
        except UnknownLayer as error:
            raise error if getattr(error, "label", "") else unknown(self.part.label, str(error)) from None
        except InputError:
            raise
        except ILL_FORMED as error:
            raise unknown(self.part.label, f"its config or inputs do not fit ({error})") from error

    def _called(self, known: Layer, dtype: DType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call the function of a layer, and see to what its result does to masks. Raises UnknownLayer for arguments
        that the function does not heed, types that it is not right for, and masks whose way is not known."""
        tensors, options = _bind(known, args, kwargs)
        # Keras 3 hands the training=False of the whole model to every layer, whatever the file says; tf-keras does not.
        if options.get("training") and not self.model.keras3:
            raise UnknownLayer("it is called for training")
        settings = known.read(self.config)
        call = Call(self, dtype, options)
        if known.takes != AS_THEY_ARE:
            call.options = {key: _mapped(call.constant, value) for key, value in options.items()}
            tensors = _mapped(call.constant, tensors)
            tensors = _mapped(call.autocast, tensors) if known.casts else tensors
        elif tensors:  # other operands of functions may have to be numbers
            tensors[0] = call.constant(tensors[0])
        if known.takes == FLOATS:
            _require_floats(tensors, dtype)
        if not known.half:
            _mapped(_require_no_half, [tensors, list(options.values())])
        self.calls += 1
        outputs = known.function(call, *tensors, **settings)
        if self.model.at_once and self.class_name.startswith("ops>") and not _is_apart(known, tensors, outputs):
            raise UnknownLayer("it may mix examples, and TimeDistributed calls it on those of one step after the other")
        # A list of None says nothing to a layer that does not read it; to one of attention, that it takes no masks.
        said = {key for key, value in options.items() if not _is_nothing(value)}
        passes = known.masks == PASS or (known.masks == PASS_IN_3 and self.model.keras3)
        left = said - call.used - {"training", "mask" if passes else ""}
        if left:
            raise UnknownLayer(f"it is called with {', '.join(sorted(left))}")
        first = tensors[0] if tensors else None
        masks, given = self.model.masks, call.options.get("mask")
        if known.masks != OWN and isinstance(first, list) and any(isinstance(x, Value) and x in masks for x in first):
            raise UnknownLayer("its inputs are masked")
        if not passes and known.masks != OWN and isinstance(outputs, Value) and outputs in masks:
            return call.tf.Identity(outputs)  # the layer hands on its input, but not the mask of it
        if passes and isinstance(outputs, Value):
            call.set_mask(outputs, given if isinstance(given, Value) else self.model.mask_of(first))
        return outputs

    @contextlib.contextmanager
    def _scope(self) -> Iterator[None]:
        """Let ops that are built have names as Keras gives them: outer/dense_1. Raises InputError where layers nest too
        deep."""
        tf, outer = self.model.tf, self.model.tf.scope
        # Keras opens the scope of a layer once to build it and once to call it, each time with the next number.
        number = 2 * self.calls + 1
        tf.scope = f"{outer}/{self.name}_{number}" if outer else f"{self.name}_{number}"
        self.model.depth += 1
        try:
            if self.model.depth > _MOST_NESTED:
                raise InputError(f"the file is damaged: '{self.name}' nests layers too deep.")
            yield
        finally:
            tf.scope = outer
            self.model.depth -= 1


class Call:
    """A call of a layer, as its function sees it.

    tf: builds ops. dtype: what the layer computes in. options: what it is called with besides tensors."""

    def __init__(self, owner: Object, dtype: DType, options: Mapping[str, Any]) -> None:
        self.owner, self.dtype = owner, dtype
        self.model, self.tf = owner.model, owner.model.tf
        self.options = dict(options)
        self.used: set[str] = set()

    def refuse(self, why: str) -> NoReturn:
        """Say that the layer cannot be read as data."""
        raise UnknownLayer(why)

    def option(self, name: str, default: Any = None) -> Any:
        """Return what the layer is called with by keyword."""
        self.used.add(name)
        return self.options.get(name, default)

    def all_options(self) -> dict[str, Any]:
        """Return everything that the layer is called with by keyword."""
        self.used |= self.options.keys()
        return self.options

    def weight(
        self, name: str, shape: Sequence[Any], trainable: bool = True, dtype: DType | None = None
    ) -> Value:
        """Return a weight of the layer, which the file must have in this shape."""
        owner = self.owner
        if not all(type(size) is int and size >= 0 for size in shape):
            self.refuse(f"its {name} has no known shape")
        value = owner.weights.get(name)
        if value is None:
            value = Value(dtype or types.FLOAT32, tuple(shape), f"{owner.name}/{name}")
            owner.weights[name] = value
            owner.part.weights.append(Weight(name, value, trainable))
        if value.shape != tuple(shape):
            self.refuse(f"its calls ask for other shapes of its {name}")
        return self.tf.Cast(value, dtype=self.dtype) if dtype is None and self.dtype is not value.dtype else value

    def lines(self, name: str) -> list[str]:
        """Return the lines of a text that Keras has written for the layer beside the weights."""
        data = self.model.assets(f"assets{self.owner.path}/{name}")
        if data is None:
            self.refuse(f"the file has no {name} of it")
        return data.decode().splitlines()

    def share(self, name: str, value: Value) -> None:
        """Say that the layer has a weight of one that it is made of for its own, too."""
        if name not in self.owner.weights:
            self.owner.weights[name] = value
            self.owner.part.weights.append(Weight(name, value, True))

    def single(self, x: Value) -> Value:
        """Return floats of 16 bits as those of 32, in which Keras computes statistics."""
        return self.tf.Cast(x, dtype=types.FLOAT32) if x.dtype in HALVES else x

    def computed(self, x: Value) -> Value:
        """Return floats as what the layer computes in."""
        return x if x.dtype is self.dtype else self.tf.Cast(x, dtype=self.dtype)

    def inner(self, attribute: str | tuple[str, ...], class_name: str, config: Mapping[str, Any]) -> Object:
        """Return an object that the layer is made of, by the attribute that holds it."""
        names = (attribute,) if isinstance(attribute, str) else attribute
        owner = self.owner
        if names[0] not in owner.parts:
            made = Object(self.model, class_name, config, f"{owner.path}/{names[0]}")
            owner.parts[names[0]] = made
            owner.part.parts.append((names, made.part))
        return owner.parts[names[0]]

    def of_own_type(self, inner: Object) -> Object:
        """Return an object that the layer is made of and that Keras calls without the casts of a layer. Refuses one of
        another dtype, or with quantized weights."""
        policy = inner.config.get("dtype")
        if compute_type(policy) is not self.dtype or quantization(policy):
            self.refuse(f"its {inner.class_name} has another dtype, or quantized weights, which Keras does not heed")
        return inner

    def mask(self, x: Value) -> Value | None:
        """Return the mask of a tensor."""
        return self.model.mask_of(x)

    def drop_masks(self, *tensors: Value) -> None:
        """Say that tensors have lost their masks for all layers that are called later."""
        for x in tensors:
            self.model.drop_mask(x)

    def given_mask(self, x: Value, alone: bool = True) -> Value | None:
        """Return the mask that the layer is called with, or else that of its input; Keras 3 looks for the latter only
        if it is called on that `alone`."""
        given = self.option("mask")
        return given if isinstance(given, Value) else self.mask(x) if alone or not self.model.keras3 else None

    def constant(self, item: Any) -> Any:
        """Return an array as a constant; what is none, as it is."""
        if not isinstance(item, np.ndarray):
            return item
        if item.dtype.name not in types.BY_NAME or item.dtype.kind not in "fiub" or not item.size:
            self.refuse(f"its operand {str(item)[:60]}")
        return self.tf.array(item, types.BY_NAME[item.dtype.name])

    def set_mask(self, x: Value, mask: Value | None) -> None:
        """Give a tensor a mask, unless it has one."""
        if mask is not None:
            self.model.masks.setdefault(x, mask)

    def autocast(self, x: Any) -> Any:
        """Cast a tensor of floats to what the layer computes in; its mask stays."""
        if not isinstance(x, Value) or not x.dtype.is_float or x.dtype is self.dtype or not self.dtype.is_float:
            return x
        made = self.tf.Cast(x, dtype=self.dtype)
        self.set_mask(made, self.mask(x))
        return made

    def shape(self, x: Value, rank: int | None = None) -> Shape:
        """Return the shape of a tensor. Refuses an unknown rank, or another than `rank`."""
        if x.shape is None or (rank is not None and len(x.shape) != rank):
            self.refuse(f"its input has the shape {x.shape}")
        return x.shape

    def known(self, x: Value, axis: int) -> int:
        """Return a size of a tensor that must be known."""
        size = self.shape(x)[axis]
        if not isinstance(size, int):
            self.refuse(f"the size {axis} of its input is not known")
        return size


def _bind(known: Layer, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Bind the arguments of a call: return the tensors in the order of the function's parameters, and all others by
    name."""
    options = dict(kwargs)
    tensors = list(args)
    for name in known.inputs[len(tensors) :]:
        if name not in options:
            break
        tensors.append(options.pop(name))
    if len(tensors) > len(known.inputs) and not known.takes_any_number:
        raise UnknownLayer(f"it is called with {len(tensors)} inputs")
    return tensors, {key: value for key, value in options.items() if value is not None}


def _is_apart(known: Layer, operands: Sequence[Any], result: Any) -> bool:
    """Return whether a function makes each example of its result of the same one of its operands."""
    tensors = [x for x in operands if isinstance(x, Value) and not x.is_const] + [result]
    return known.pointwise and len({len(x.shape) if isinstance(x, Value) and x.shape else 0 for x in tensors}) == 1


def _is_nothing(value: Any) -> bool:
    """Return whether an argument is a list or dict of None, as the masks of a nested model's inputs may be."""
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, tuple, dict)) and all(item is None for item in items)


def _require_floats(item: Any, dtype: DType) -> None:
    """Refuse tensors of other types, and a layer that does not compute in floats."""
    if not dtype.is_float:
        raise UnknownLayer(f"it computes in {dtype}")
    if isinstance(item, Value) and not item.dtype.is_float:
        raise UnknownLayer(f"it is called on {item.dtype}")
    if isinstance(item, (list, dict)):
        for part in item.values() if isinstance(item, dict) else item:
            _require_floats(part, dtype)


def _require_no_half(x: Any) -> None:
    if isinstance(x, Value) and x.dtype in HALVES:
        raise UnknownLayer(f"it is called on {x.dtype}")


def _mapped(function: Any, item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return [_mapped(function, part) for part in item]
    if isinstance(item, dict):
        return {key: _mapped(function, part) for key, part in item.items()}
    return function(item)


def unknown(label: str, why: str) -> UnknownLayer:
    """Return the error about a layer."""
    error = UnknownLayer(f"the layer {label}: {why}")
    error.label = label  # type: ignore[attr-defined]
    return error


def compute_type(policy: Any) -> DType:
    """Return the type that a layer of a dtype policy computes in. Raises UnknownLayer for policies of other weights."""
    if isinstance(policy, dict) and policy.get("class_name") in ("DTypePolicy", "Policy", *_QUANTIZED):
        config = policy.get("config")
        key = "source_name" if policy["class_name"] in _QUANTIZED else "name"
        policy = config.get(key) if isinstance(config, dict) else policy
    if policy is None or policy == "float32":
        return types.FLOAT32
    if isinstance(policy, str) and policy in _HALF_POLICIES:
        return _HALF_POLICIES[policy]
    if policy in ("int32", "int64", "string", "bool", "uint8"):
        return types.BY_NAME[policy]
    raise UnknownLayer(f"its dtype {str(policy)[:60]} is not read as data")


def quantization(policy: Any) -> str:
    """Return how a dtype policy has weights quantized, such as "int8" or, in blocks of 128, "int4/128"; "" if it does
    not."""
    if not isinstance(policy, dict) or policy.get("class_name") not in _QUANTIZED:
        return ""
    config = policy.get("config")
    return str(config.get("mode")) if isinstance(config, dict) else "?"
