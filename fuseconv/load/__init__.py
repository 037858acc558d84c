"""A model on disk, or in memory -> `ir` module."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuseconv.errors import InputError, needing_packages
from fuseconv.files import missing
from fuseconv.ir.graph import Module
from fuseconv.load import graph_validation

if TYPE_CHECKING:
    from fuseconv.load.live import LiveModel
    from fuseconv.load.stablehlo.exported import ExportedModel

KERAS_LOADERS = ("auto", "data", "keras")
_KERAS_SUFFIXES = frozenset({".h5", ".hdf5", ".keras"})
_BYTECODE_SUFFIXES = frozenset({".mlirbc", ".mlir"})


def load(
    model: str | os.PathLike[str] | LiveModel | ExportedModel,
    *,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    trust_model: bool = False,
    follow_links: bool = False,
    custom_objects: Mapping[str, Any] | None = None,
    keras_layers: Mapping[str, Any] | None = None,
    keras_loader: str = "auto",
    warn: Callable[[str], None] = lambda note: None,
) -> Module:
    """Load a model as a module: a SavedModel directory, a Keras file (.keras, .h5, .hdf5), a StableHLO module (.mlirbc,
    .mlir) or a frozen GraphDef (.pb), or one that lives in this process (`live.py`).

    signatures, tags: of a SavedModel; given for another kind of model, they are refused. inputs, outputs: names of a
    frozen graph's tensors; what is not given is found. Other models are loaded whole, for the pass `cut-signature` to
    take from them. trust_model, custom_objects: for Keras files, whether their own code may run, and the classes and
    functions that are not Keras's, by name. follow_links: read files of a SavedModel that are links out of its
    directory. keras_layers: what layers of plug-ins compute, by their classes. keras_loader: "data" reads a Keras file
    without Keras, "keras" has Keras load it, and "auto" does so where a layer cannot be read as data, or the model is
    to be cut. warn: is told what the user should know of the loading. Raises InputError, which says what is wrong with
    the path or the model."""
    if not isinstance(model, (str, os.PathLike)):
        module = model.load(signatures=signatures, tags=tags, inputs=inputs, outputs=outputs)
        graph_validation.signatures(module)
        return module
    path = Path(model)
    if path.is_dir():
        from fuseconv.files import ModelFiles
        from fuseconv.load import saved_model

        module = saved_model.load(ModelFiles(path, follow_links), signatures=signatures, tags=tags)
    elif not path.exists():
        raise missing(path)
    elif path.suffix.lower() in _KERAS_SUFFIXES:
        _refuse_options(f"{path} is a Keras file, which has one signature", signature=signatures, tags=tags)
        # Nodes are told to the user by the names that Keras gives them.
        loader = "keras" if keras_loader == "auto" and (inputs or outputs) else keras_loader
        module = _keras_module(path, loader, trust_model, custom_objects or {}, keras_layers or {}, warn)
    elif path.suffix.lower() in _BYTECODE_SUFFIXES:
        from fuseconv.load.stablehlo import module_file

        _refuse_options(f"{path} is a StableHLO module, which has one signature", signature=signatures, tags=tags)
        module = module_file.load(path)
    else:
        from fuseconv.load import frozen_graph

        _refuse_options(f"{path} is a frozen graph; --outputs chooses from it", signature=signatures, tags=tags)
        module = frozen_graph.load(path, inputs=inputs, outputs=outputs)
    graph_validation.signatures(module)
    return module


def _keras_module(
    path: Path, loader: str, trust_model: bool, custom_objects: Mapping[str, Any], layers: Mapping[str, Any],
    warn: Callable[[str], None],
) -> Module:  # fmt: skip
    """Return the module of a Keras file, read as data if the loader is not "keras" and every layer is known."""
    unread = ""
    if loader != "keras":
        from fuseconv.load import keras

        try:
            return keras.load(path, custom_objects.keys(), layers)
        except keras.UnknownLayer as error:
            if loader == "data":
                help = "--keras-loader auto has Keras load it"
                raise InputError(f"{path} cannot be read as data: {error}; {help}.") from None
            unread = str(error)
            warn(f"{path.name} was loaded by Keras, as it cannot be read as data: {error}.")
    from fuseconv.load.through_keras import model_file

    why = f"{path.name} cannot be read as data ({unread}); to load it by Keras" if unread else f"to load {path.name}"
    with needing_packages(why):
        try:
            return model_file.load(path, trust_model=trust_model, custom_objects=custom_objects, warn=warn)
        except model_file.Unexplained as error:
            if not unread:
                raise
            raise InputError(f"{error}; read as data, it ends at {unread}.") from error


def _refuse_options(kind: str, **options: Sequence[str]) -> None:
    """Refuse options that a model of this kind would leave without effect."""
    for name, value in options.items():
        if value:
            raise InputError(f"--{name} {','.join(value)} means nothing here: {kind}.")
