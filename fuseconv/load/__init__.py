"""A model on disk -> `ir` module."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module

_KERAS_SUFFIXES = frozenset({".h5", ".hdf5", ".keras"})


def load(
    path: str | os.PathLike[str],
    *,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    trust_model: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] = lambda note: None,
) -> Module:
    """The module of a model: a SavedModel directory, a Keras file (.keras, .h5, .hdf5) or a frozen GraphDef (.pb).

    signatures, tags: of a SavedModel. inputs, outputs: names of a frozen graph's tensors; what is not given is found.
    trust_model, custom_objects: for Keras files, whether their own code may run, and the classes and functions that are
    not Keras's, by name. warn: is told what the user should know of the loading.
    Raises InputError, which says what is wrong with the path or the model."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        from fuseconv.load import saved_model

        return saved_model.load(path, signatures=signatures, tags=tags)
    if path.suffix.lower() in _KERAS_SUFFIXES:
        from fuseconv.load import keras_file

        return keras_file.load(path, trust_model=trust_model, custom_objects=custom_objects, warn=warn)
    from fuseconv.load import frozen_graph

    return frozen_graph.load(path, inputs=inputs, outputs=outputs)
