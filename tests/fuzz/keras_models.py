"""Random valid Keras models, of Keras 3 and of tf-keras: layers of a table, with any of their settings, on values of
any shapes, on each other's results, within each other and called again.

A layer is called on numbers as soon as it is made: what Keras refuses, or what grows beyond bounds, is drawn again. So
the table says little of shapes. Weights are random, biases and statistics too. Steps on floats (Discretization) are
drawn for inputs only, where both sides round alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import tensorflow as tf

_MOST_ELEMENTS = 3000
_SMALLEST, _LARGEST = 1e-3, 1e3
WORDS = ["red", "green", "blue", "", "grey", "[UNK]"]

Library = Any
Layer = Any
Call = Callable[..., Any]
Options = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Value:
    """A tensor of the model, and what it is for a batch of three. of_input: whether it is an input itself."""

    symbol: Any
    number: Any
    of_input: bool = False

    @property
    def shape(self) -> tuple[int | None, ...]:
        return tuple(self.symbol.shape)

    @property
    def dtype(self) -> tf.DType:
        return tf.as_dtype(self.symbol.dtype)

    @property
    def is_float(self) -> bool:
        return bool(self.dtype.is_floating)

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass
class Growing:
    """A model that grows. layers: those made so far. first: what those that
    may be called again were called on."""

    library: Library
    rng: Random
    values: list[Value]
    static: bool = False
    depth: int = 0
    layers: list[Layer] = field(default_factory=list)
    first: dict[Layer, Value] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    @property
    def is_keras3(self) -> bool:
        return bool(self.library.__name__ == "keras")

    def layer(self, name: str, **settings: Any) -> Layer:
        made = getattr(self.library.layers, name)(**settings)
        self.layers.append(made)
        return made

    def drawn(self, name: str | None = None) -> Layer:
        """Draw a layer of the table, with settings, each of which is left out now and then."""
        name = name or self.rng.choice([*LAYERS])
        return self.layer(name, **self.settings(LAYERS[name]))

    def settings(self, options: Options) -> dict[str, Any]:
        """Draw settings of a layer, each of which is left out now and then."""
        known = [key for key in options if key != "time_major" or not self.is_keras3]
        given = [key for key in known if key.endswith("!") or self.rng.random() < 0.5]
        drawn = {key.rstrip("!"): self.rng.choice(options[key]) for key in given}
        if drawn.get("stateful") and (not self.static or self.depth):
            raise ValueError("states have the size of a batch")
        return drawn

    def grow(self, count: int, chain: bool = False) -> None:
        """Apply up to `count` steps, each to the last value if it is a chain."""
        for _ in range(8 * count):
            if len(self.steps) == count:
                return
            name = "layer" if chain else self.rng.choice(_MOSTLY_LAYERS)
            arity, least_rank, draw = STEPS[name]
            recent = self.values[-1:] if chain else self.values[-5:] + self.values[:2]
            fitting = [value for value in recent if not least_rank or (value.is_float and value.ndim >= least_rank)]
            if not fitting:
                continue
            operands = [self.rng.choice(fitting) for _ in range(arity)]
            before = len(self.layers)
            try:
                made = self._called(draw(self, *operands), operands, before)
            except _REFUSALS:
                made = []
            if made and all(_is_tame(value.number) for value in made):
                self.values += made
                if len(operands) == 1:
                    self.first.update(dict.fromkeys(self.layers[before:], operands[0]))
                layers = [layer.name for layer in self.layers[before:]]
                self.steps.append(f"{name} {layers} of {[operand.shape for operand in operands]}")
            else:
                del self.layers[before:]

    def _called(self, call: Call, operands: Sequence[Value], before: int) -> list[Value]:
        symbols = _flat(call(*(operand.symbol for operand in operands)))
        for layer in self.layers[before:]:
            randomize(layer, self.rng)
        made = list(map(Value, symbols, _flat(call(*(operand.number for operand in operands)))))
        if any(len(value.shape) != value.number.ndim or value.number.dtype != value.dtype for value in made):
            raise ValueError("its symbols are none of its numbers: Keras makes other ones in a graph")
        return made


def _flat(made: Any) -> list[Any]:
    return [item for each in made for item in _flat(each)] if isinstance(made, (list, tuple)) else [made]


def _is_tame(number: Any) -> bool:
    """Return whether a result has some elements but not many, all of them moderate."""
    array = np.asarray(number)
    if not 0 < array.size <= _MOST_ELEMENTS or not 0 < array.ndim <= 5 or array.dtype.kind not in "fiub":
        return False
    largest = float(np.max(np.abs(array.astype(np.float64))))
    return bool(largest == 0 or _SMALLEST <= largest <= _LARGEST)


def randomize(layer: Layer, rng: Random) -> None:
    """Give a layer random weights, biases and statistics that are not zero, variances that are positive."""
    random = np.random.default_rng(rng.getrandbits(32))
    for variable in layer.weights:
        value = np.asarray(variable.numpy())
        name = getattr(variable, "path", variable.name)
        if value.dtype.kind != "f" or "state" in name or "/mean" in name or "count" in name:
            continue
        drawn = random.standard_normal(value.shape) / max(1.0, float(np.prod(value.shape[:-1]))) ** 0.5
        if value.ndim < 2:
            drawn = drawn / 2 + ("gamma" in name or "scale" in name)
        variable.assign((np.abs(drawn) + 0.5 if "variance" in name else drawn).astype(value.dtype))


def _reset(layer: Layer) -> None:
    """Let a layer that keeps states forget what it was called on."""
    if getattr(layer, "stateful", False):
        (layer.reset_state if hasattr(layer, "reset_state") else layer.reset_states)()


def model(seed: int, library: Library, count: int = 5) -> tuple[Any, list[str]]:
    """Draw a model, and return it with its steps."""
    rng = Random(seed)
    library.backend.clear_session()
    static, chain = rng.random() < 0.2, rng.random() < 0.25
    numbers = np.random.default_rng(seed)
    inputs = []
    for at, (shape, dtype) in enumerate(rng.sample(_INPUTS, 1 if chain else rng.randint(1, 3))):
        symbol = library.Input(shape, batch_size=3 if static else None, dtype=dtype, name=f"x{at}")
        inputs.append(Value(symbol, tf.constant(draw(numbers, sizes(symbol.shape, 3), dtype)), True))
    growing = Growing(library, rng, list(inputs), static)
    growing.grow(rng.randint(1, count), chain)
    for layer in growing.layers:
        _reset(layer)
    made = growing.values[len(inputs) :][-3:]
    if not made:
        return model(seed + 1_000_003, library, count)
    if chain and rng.random() < 0.5 and len(growing.values) == 1 + len(growing.layers):
        return library.Sequential([inputs[0].symbol, *growing.layers]), growing.steps
    return library.Model([value.symbol for value in inputs], [value.symbol for value in made]), growing.steps


def draw(random: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Draw an input: tokens of a small table, or numbers of which some steps are zero, which a mask leaves out."""
    dtype = np.dtype("O") if str(dtype) == "string" else np.dtype(dtype)
    if dtype.kind == "O":
        return np.array(WORDS, object)[random.integers(0, len(WORDS), shape)]
    if dtype.kind != "f":
        return np.asarray(random.integers(0, 7, shape)).astype(dtype)
    numbers = random.standard_normal(shape)
    if len(shape) > 2:
        numbers[random.random(shape[:2]) < 0.2] = 0
    return np.asarray(numbers).astype(dtype)


def sizes(shape: Sequence[int | None], batch: int) -> tuple[int, ...]:
    """Return a shape with sizes for its unknown dimensions."""
    return tuple(dim or batch + 4 * (axis > 0) for axis, dim in enumerate(shape))


_INPUTS: list[tuple[tuple[int | None, ...], str]] = [
    ((6,), "float32"), ((7, 4), "float32"), ((None, 4), "float32"), ((6, 5, 4), "float32"), ((8, 8, 3), "float32"),
    ((None, 6, 2), "float32"), ((None, None, 2), "float32"), ((4, 5, 6, 2), "float32"), ((None, 5, 4, 2), "float32"),
    ((5,), "int32"), ((None,), "int32"), ((1,), "int64"), ((4, 3), "int32"), ((3,), "string"), ((1,), "float32"),
    ((6, 40), "float32"),
]  # fmt: skip

_ACTIVATIONS = [
    None, "relu", "tanh", "sigmoid", "gelu", "softmax", "elu", "selu", "swish", "hard_sigmoid", "softplus", "softsign",
    "relu6", "exponential", "mish", "leaky_relu", "log_softmax", "silu", "linear", "hard_silu", "celu", "glu",
    "log_sigmoid", "hard_tanh", "tanh_shrink", "squareplus", "sparse_plus", "hard_shrink", "soft_shrink",
]  # fmt: skip
_BOOLS = [True, False]
_FORMATS = ["channels_last", "channels_first"]
_CELL: Options = {
    "units!": [1, 3, 4, 24], "activation": ["tanh", "relu", "sigmoid", "linear", "softsign", "elu"], "use_bias": _BOOLS,
    "dropout": [0.2], "recurrent_dropout": [0.3],
}  # fmt: skip
_RECURRENT: Options = {
    "return_sequences": _BOOLS, "return_state": _BOOLS, "go_backwards": _BOOLS, "unroll": _BOOLS, "stateful": _BOOLS,
    "zero_output_for_mask": _BOOLS, "time_major": [False, False, True],
}  # fmt: skip
_GATED: Options = {"recurrent_activation": ["sigmoid", "hard_sigmoid"], "implementation": [1, 2]}


def _windowed(rank: int) -> dict[str, Options]:
    """Return the layers that slide a window over `rank` dimensions, and their like."""
    many = [1, 2, 3, [3, 2, 1][:rank]]
    common: dict[str, Sequence[Any]] = {
        "kernel_size!": [*many, 5], "strides": [1, 1, 2, 3, [2, 1, 2][:rank]], "padding": ["valid", "same"],
        "data_format": _FORMATS, "activation": _ACTIVATIONS, "use_bias": _BOOLS,
    }  # fmt: skip
    causal = {"padding": ["valid", "same", "causal"]} if rank == 1 else {}
    dilated = {"dilation_rate": [1, 2, 3, [2, 1, 3][:rank]]}
    filters = {"filters!": [1, 2, 4, 6, 24]}
    ends: list[Any] = [1, (1, 2), (0, 1), 2] if rank == 1 else [1, 2, [[1, 2], [0, 1], [1, 0]][:rank], (1, 2, 0)[:rank]]
    found: dict[str, Options] = {
        f"Conv{rank}D": {**common, **causal, **dilated, **filters, "groups": [1, 1, 2]},
        f"Conv{rank}DTranspose": {**common, **dilated, **filters, "output_padding": [0, 1, 2]},
        f"UpSampling{rank}D": {"size": many, "data_format": _FORMATS, "interpolation": ["nearest", "bilinear"]},
        f"Cropping{rank}D": {"cropping": ends, "data_format": _FORMATS},
        f"ZeroPadding{rank}D": {"padding": ends, "data_format": _FORMATS},
        f"SpatialDropout{rank}D": {"rate!": [0.3]},
    }  # fmt: skip
    if rank < 3:
        depth = {"depth_multiplier": [1, 2]}
        found[f"DepthwiseConv{rank}D"] = {**common, **dilated, **depth}
        found[f"SeparableConv{rank}D"] = {**common, **causal, **dilated, **depth, **filters}
        found[f"LocallyConnected{rank}D"] = {**common, **filters, "padding": ["valid"], "implementation": [1, 2]}
    for kind in ("Max", "Average"):
        found[f"{kind}Pooling{rank}D"] = {
            "pool_size!": many, "strides": [None, 1, 2], "padding": ["valid", "same"], "data_format": _FORMATS,
        }  # fmt: skip
        found[f"Global{kind}Pooling{rank}D"] = {"keepdims": _BOOLS, "data_format": _FORMATS}
        found[f"Adaptive{kind}Pooling{rank}D"] = {"output_size!": [1, 2, 3], "data_format": _FORMATS}
    if rank < 3:
        found[f"ConvLSTM{rank}D"] = {
            **common, **dilated, **_GATED, "filters!": [1, 2], "activation": ["tanh", "relu", "linear"],
            "return_sequences": _BOOLS, "return_state": _BOOLS, "go_backwards": _BOOLS, "stateful": _BOOLS,
            "padding": ["same", "valid"], "strides": [1, 1, 2],
        }  # fmt: skip
    return found


_NORM: Options = {"center": _BOOLS, "scale": _BOOLS, "epsilon": [1e-3, 0.1]}
_AXES = [-1, 1, 2, [1, 2], [-1], [2, 3]]
# The settings of layers, each of which is drawn or left out; those with a ! are needed.
LAYERS: dict[str, Options] = {
    **_windowed(1), **_windowed(2), **_windowed(3),
    "Dense": {"units!": [1, 3, 4, 40], "activation": _ACTIVATIONS, "use_bias": _BOOLS},
    "EinsumDense": {
        "equation!": ["abc,cd->abd", "abc,bd->adc", "...x,xy->...y", "ab,bc->ac", "abc,cde->abde", "abcd,cde->abe"],
        "output_shape!": [3, (None, 3), (4, 3), (None, 2, 3)], "bias_axes!": [None, "d", "y", "c", "e", "de"],
        "activation": _ACTIVATIONS,
    },
    "Embedding": {"input_dim!": [7, 9], "output_dim!": [2, 4], "mask_zero": _BOOLS},
    "Masking": {"mask_value": [0.0]},
    "LSTM": {**_CELL, **_GATED, **_RECURRENT, "unit_forget_bias": _BOOLS},
    "GRU": {**_CELL, **_GATED, **_RECURRENT, "reset_after": _BOOLS},
    "SimpleRNN": {**_CELL, **_RECURRENT},
    "BatchNormalization": {"axis": [-1, 1, 2, 3], **_NORM},
    "LayerNormalization": {"axis": _AXES, **_NORM, "rms_scaling": _BOOLS},
    "GroupNormalization": {"groups!": [1, 2, -1, 4], "axis": [-1, 1, 2], **_NORM},
    "RMSNormalization": {"axis": [-1, 1, [1, 2]], "epsilon": [1e-3, 0.1]},
    "UnitNormalization": {"axis": _AXES},
    "Activation": {"activation!": _ACTIVATIONS[1:]},
    "ReLU": {"max_value": [6.0, 0.8], "negative_slope": [0.2], "threshold": [0.3]},
    "LeakyReLU": {}, "ELU": {"alpha": [0.5, 1.5]}, "PReLU": {"shared_axes": [[1], [1, 2]]},
    "Softmax": {"axis": [-1, 1, [1, 2]]}, "Identity": {}, "Flatten": {"data_format": _FORMATS},
    "Reshape": {"target_shape!": [(-1,), (-1, 2), (2, -1), (-1, 3), (4, -1, 2), (-1, 1), (2, 3)]},
    "Permute": {"dims!": [(2, 1), (1, 3, 2), (3, 1, 2), (2, 1, 3), (2, 4, 1, 3)]},
    "RepeatVector": {"n!": [1, 3]}, "Dropout": {"rate!": [0.4]}, "GaussianNoise": {"stddev!": [0.1]},
    "ActivityRegularization": {"l1": [0.1]}, "ThresholdedReLU": {"theta": [0.2]},
    "Rescaling": {"scale!": [0.5, 2.0, [0.5, 2.0]], "offset": [0.0, -1.0]},
    "Normalization": {"axis": [-1, None, 1, 2], "mean!": [0.2], "variance!": [0.7], "invert": _BOOLS},
    "Resizing": {"height!": [4, 7, 10], "width!": [3, 8], "interpolation": ["bilinear", "nearest", "area", "bicubic"],
                 "crop_to_aspect_ratio": _BOOLS, "pad_to_aspect_ratio": _BOOLS, "data_format": _FORMATS},
    "CenterCrop": {"height!": [2, 4, 7], "width!": [3, 5], "data_format": _FORMATS},
}  # fmt: skip
_MODES_OF_COUNTS = ["int", "one_hot", "multi_hot", "count"]
# Those of integers and words, and steps on floats.
_CATEGORIES: dict[str, Options] = {
    "CategoryEncoding": {"num_tokens!": [7, 9], "output_mode": _MODES_OF_COUNTS[1:]},
    "IntegerLookup": {"vocabulary!": [[1, 2, 5], [3, 4, 0]], "mask_token": [None, 0], "output_mode": _MODES_OF_COUNTS},
    "StringLookup": {"vocabulary!": [["red", "blue"], ["green", "grey", ""]], "mask_token": [None, ""],
                     "output_mode": _MODES_OF_COUNTS},
    "Discretization": {"bin_boundaries!": [[-1.0, 0.5], [-0.7, 0.1, 1.0]], "output_mode": _MODES_OF_COUNTS},
}  # fmt: skip
_LOOPS = ["LSTM", "GRU", "SimpleRNN"]
_CELLS = {f"{name}Cell": {key: LAYERS[name][key] for key in LAYERS[name] if key not in _RECURRENT} for name in _LOOPS}
_MODES = ["concat", "sum", "mul", "ave", None]


def _layer(g: Growing, x: Value) -> Call:
    name = g.rng.choice([name for name in ([*_CATEGORIES] if x.of_input else []) + [*LAYERS] if _fits(name, x)])
    return g.layer(name, **g.settings({**LAYERS, **_CATEGORIES}[name]))


def _fits(name: str, x: Value) -> bool:
    """Return whether the rank and type of a value may do for a layer; most others are refused."""
    if x.dtype == tf.string:
        return name == "StringLookup"
    if x.dtype.is_integer:
        return name in ("Embedding", "CategoryEncoding", "IntegerLookup", "Flatten", "Reshape", "Permute")
    if name in _CATEGORIES or name == "Embedding":
        return name == "Discretization"
    if name.startswith("Adaptive") or name == "CenterCrop":
        # TensorFlow's kernel ends the process on less, and Keras 3 crops what is smaller as if it were larger.
        rank = 2 if name == "CenterCrop" else int(name[-2])
        return x.ndim == rank + 2 and all(size and size > 2 for size in x.shape[1:])
    spatial = 2 if name == "Resizing" else next((int(digit) for digit in "123" if f"{digit}D" in name), 0)
    return not spatial or x.ndim == spatial + (3 if "LSTM" in name else 2)


def _again(g: Growing, x: Value) -> Call:
    """Call a layer again, on a value of the rank and the features of the first."""
    layer, first = g.rng.choice([*g.first.items()])
    if (len(first.shape), first.shape[-1]) != (len(x.shape), x.shape[-1]) or first.dtype != x.dtype:
        raise ValueError("another kind of value")
    return layer


def _loop(g: Growing, x: Value) -> Call:
    return g.drawn(g.rng.choice(_LOOPS))


def _stacked_cells(g: Growing, x: Value) -> Call:
    def cell() -> Layer:
        name = g.rng.choice([*_CELLS])
        return getattr(g.library.layers, name)(**g.settings(_CELLS[name]))

    cells = [cell() for _ in range(g.rng.randint(1, 3))]
    return g.layer("RNN", cell=cells if len(cells) > 1 else cells[0], **g.settings(_RECURRENT))


def _both_ways(g: Growing, x: Value) -> Call:
    name = g.rng.choice([*_LOOPS, "ConvLSTM1D"])
    more = {"backward_layer": _inner(g, name)} if g.rng.random() < 0.2 else {}
    return g.layer("Bidirectional", layer=_inner(g, name), merge_mode=g.rng.choice(_MODES), **more)


def _each_step(g: Growing, x: Value) -> Call:
    if g.is_keras3 and x.shape[1] is None:
        raise ValueError("in a graph Keras 3 takes as many steps as there are examples")
    return g.layer("TimeDistributed", layer=_inner(g))


def _inner(g: Growing, name: str | None = None) -> Layer:
    """Draw a layer for another one, which is called by that alone."""
    layer = g.drawn(name)
    g.layers.remove(layer)
    return layer


def _from_states(g: Growing, x: Value, y: Value) -> Call:
    """Draw a recurrent layer whose first states are made of y [batch, features]."""
    layer = g.drawn(g.rng.choice(_LOOPS))
    if len(y.shape) != 2:
        raise ValueError("no states")
    made = [g.layer("Dense", units=layer.units) for _ in range(1 + (type(layer).__name__ == "LSTM"))]
    return lambda x, y: layer(x, initial_state=[each(y) for each in made])


def _attention(g: Growing, x: Value, y: Value) -> Call:
    name = g.rng.choice([*_ATTENTIONS])
    layer = g.layer(name, **g.settings(_ATTENTIONS[name]))
    flags = {key: True for key in ("use_causal_mask", "return_attention_scores") if g.rng.random() < 0.3}
    if name in ("Attention", "AdditiveAttention"):
        return lambda x, y: layer([x, y], **flags)
    return lambda x, y: layer(x, y, **flags)


def _merge(g: Growing, x: Value, y: Value) -> Call:
    name = g.rng.choice([*_MERGERS])
    layer = g.layer(name, **g.settings(_MERGERS[name]))
    return lambda x, y: layer([x, y])


def _model(g: Growing, x: Value) -> Call:
    """Draw a model within the model."""
    if g.depth == 2:
        raise ValueError("too deep")
    symbol = g.library.Input(x.shape[1:], batch_size=x.shape[0], dtype=x.symbol.dtype)
    within = Growing(g.library, g.rng, [Value(symbol, x.number)], g.static, g.depth + 1)
    within.grow(g.rng.randint(1, 3))
    results = [value.symbol for value in within.values[1:][-2:]]
    if not results:
        raise ValueError("nothing was made")
    inner = g.library.Model(symbol, results if len(results) > 1 else results[0])
    g.layers.append(inner)
    return inner


def _operator(g: Growing, x: Value) -> Call:
    return g.rng.choice([
        lambda x: x * 0.5 + 1, lambda x: 1 - x, lambda x: x[:, -1], lambda x: x[:, ::2], lambda x: x[:, 1:],
        lambda x: -x / 2, lambda x: x**2, lambda x: abs(x),
    ])  # fmt: skip


def _operator_of_two(g: Growing, x: Value, y: Value) -> Call:
    return g.rng.choice([lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y])


_ATTENTIONS: dict[str, Options] = {
    "MultiHeadAttention": {
        "num_heads!": [1, 2, 3], "key_dim!": [2, 3], "value_dim": [1, 4], "use_bias": _BOOLS, "output_shape": [3, 5],
        "attention_axes": [1, 2, [1, 2]], "dropout": [0.1],
    },
    "GroupQueryAttention": {
        "head_dim!": [2, 3], "num_query_heads!": [2, 4], "num_key_value_heads!": [1, 2], "use_bias": _BOOLS,
    },
    "Attention": {"use_scale": _BOOLS, "score_mode": ["dot", "concat"], "dropout": [0.1]},
    "AdditiveAttention": {"use_scale": _BOOLS},
}  # fmt: skip
_MERGERS: dict[str, Options] = {
    **{name: {} for name in ("Add", "Subtract", "Multiply", "Maximum", "Minimum", "Average")},
    "Concatenate": {"axis": [-1, 1, 2]}, "Dot": {"axes!": [1, 2, -1, [1, 2], [2, 1]], "normalize": _BOOLS},
}  # fmt: skip
# How many operands each takes, of which rank at least (0: integers and words, too), and what draws it.
STEPS: dict[str, tuple[int, int, Callable[..., Call]]] = {
    "layer": (1, 0, _layer), "again": (1, 0, _again), "model": (1, 0, _model), "loop": (1, 3, _loop),
    "stacked cells": (1, 3, _stacked_cells), "both ways": (1, 3, _both_ways), "each step": (1, 3, _each_step),
    "from states": (2, 2, _from_states), "attention": (2, 3, _attention), "merge": (2, 1, _merge),
    "operator": (1, 1, _operator), "operator of two": (2, 1, _operator_of_two),
}  # fmt: skip
_MOSTLY_LAYERS = ["layer"] * 12 + [name for name in STEPS if name != "layer"]
# What layers say to what is none of theirs, and TensorFlow's kernels.
_REFUSALS: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, tf.errors.OpError
)  # fmt: skip
