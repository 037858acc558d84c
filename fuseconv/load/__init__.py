"""A model on disk -> `ir` module."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module
from fuseconv.load import validate

_KERAS_SUFFIXES = frozenset({".h5", ".hdf5", ".keras"})


def load(
    path: str | os.PathLike[str],
    *,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    trust_model: bool = False,
    follow_links: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] = lambda note: None,
) -> Module:
    """Return the module of a model: a SavedModel directory, a Keras file (.keras, .h5, .hdf5) or a frozen GraphDef
    (.pb).

    signatures, tags: of a SavedModel; given for another kind of model, they are refused. inputs, outputs: names of a
    frozen graph's tensors; what is not given is found. Other models are loaded whole, for the pass `cut-signature` to
    take from them. trust_model, custom_objects: for Keras files, whether their own
    code may run, and the classes and functions that are not Keras's, by name. follow_links: read files of a SavedModel
    that are links out of its directory. warn: is told what the user should know of the loading.
    Raises InputError, which says what is wrong with the path or the model."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        from fuseconv.files import ModelFiles
        from fuseconv.load import saved_model

        module = saved_model.load(ModelFiles(path, follow_links), signatures=signatures, tags=tags)
    elif path.suffix.lower() in _KERAS_SUFFIXES:
        from fuseconv.load import keras_file

        _refuse_options(f"{path} is a Keras file, which has one signature", signature=signatures, tags=tags)
        module = keras_file.load(path, trust_model=trust_model, custom_objects=custom_objects, warn=warn)
    else:
        from fuseconv.load import frozen_graph

        _refuse_options(f"{path} is a frozen graph; --outputs chooses from it", signature=signatures, tags=tags)
        module = frozen_graph.load(path, inputs=inputs, outputs=outputs)
    validate.signatures(module)
    return module


def _refuse_options(kind: str, **options: Sequence[str]) -> None:
    """Refuse options that a model of this kind would leave without effect."""
    for name, value in options.items():
        if value:
            raise InputError(f"--{name} {','.join(value)} means nothing here: {kind}.")
