"""Configurations of Keras' layers, for the layers of Keras 3 and of tf-keras alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.keras_parity import WORDS

Library = Any
_MASKED = 0.125
Layer = Any
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Case:
    """A configuration of a layer.

    shapes: of its inputs, without the batch. settings: of its constructor; functions among them are called with the
    module of layers. call: what it is called with besides. dtype: of its inputs. masked: whether their steps are. of:
    the attribute of the library that it is made by, "layers" for the most part. only: the library that knows the
    settings; both do if empty. within: makes a layer of one that is none, such as of a cell."""

    shapes: Sequence[Shape]
    settings: Mapping[str, Any] = field(default_factory=dict)
    call: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    masked: bool = False
    only: str = ""
    within: Callable[[Any, Layer], Layer] | None = None
    by_list: bool = True

    def model(self, library: Library, name: str) -> Any:
        """Return a model of the layer. Raises ValueError or TypeError if the library does not know the settings."""
        layers = library.layers
        inputs = [library.Input(shape, dtype=self.dtype, name=f"x{at}") for at, shape in enumerate(self.shapes)]
        layer = getattr(layers, name)(**{key: _made(value, layers) for key, value in self.settings.items()})
        layer = self.within(layers, layer) if self.within else layer
        given = [layers.Masking(_MASKED)(x) for x in inputs] if self.masked else inputs
        if len(given) == 1:
            outputs = layer(given[0], **self.call)
        else:
            outputs = layer(given, **self.call) if self.by_list else layer(*given, **self.call)
        return library.Model(inputs, outputs)


    def feeds(self) -> dict[str, np.ndarray]:
        """Return random inputs by name, a batch of 3, where the steps that masks leave out differ by example."""
        random, feeds = np.random.default_rng(5), {}
        for at, shape in enumerate(self.shapes):
            sizes = (3, *(7 if size is None else size for size in shape))
            if self.dtype == "string":
                value: np.ndarray = np.array(WORDS, object)[random.integers(0, len(WORDS), sizes)]
            else:
                value = random.normal(size=sizes) if self.dtype == "float32" else random.integers(0, 6, sizes)
                value = value.astype(self.dtype)
            if self.masked:
                value[0, -2:], value[1, :1], value[2, 1::2] = _MASKED, _MASKED, _MASKED
            feeds[f"x{at}"] = value
        return feeds


def _made(value: Any, layers: Any) -> Any:
    if callable(value):
        return value(layers)
    return [_made(item, layers) for item in value] if isinstance(value, list) else value


def each(shape: Shape | Sequence[Shape], *settings: Mapping[str, Any], **options: Any) -> list[Case]:
    """Return a case for each of these settings of a layer, on inputs of one shape, or of several in a list."""
    shapes: Sequence[Any] = shape if isinstance(shape, list) else [shape]
    return [Case(shapes, each, **options) for each in settings]
