"""A model on disk -> `ir` module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

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
) -> Module:
    """The module of a model: a SavedModel directory, a Keras file (.keras, .h5, .hdf5) or a frozen GraphDef (.pb).

    signatures, tags: of a SavedModel. inputs, outputs: names of a frozen graph's tensors; what is not given is found.
    Raises InputError, which says what is wrong with the path or the model."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        from fuseconv.load import saved_model

        return saved_model.load(path, signatures=signatures, tags=tags)
    if path.suffix.lower() in _KERAS_SUFFIXES:
        from fuseconv.load import keras_file

        return keras_file.load(path)
    from fuseconv.load import frozen_graph

    return frozen_graph.load(path, inputs=inputs, outputs=outputs)
