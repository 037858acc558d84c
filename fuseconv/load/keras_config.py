"""The architecture in a Keras file, read and judged before Keras makes objects of it.

Keras makes objects by class name and module path, and older releases import any module and call what they find there.
So what would run code of the file's, or read other files, is refused here, whichever Keras comes to load it.
"""

from __future__ import annotations

import builtins
import io
import json
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.files import open_file

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
ZIP_MAGIC = b"PK\x03\x04"
# An archive may unpack to a thousand times its size. Weights do not: numbers hardly compress.
_MAX_GROWTH = 100
_SMALL_BYTES = 1 << 28

# Layers that carry or fetch code: bytecode, pickles, SavedModels.
_CODE_LAYERS = frozenset({"Lambda", "__lambda__", "TorchModuleWrapper", "TFSMLayer", "JaxLayer", "FlaxLayer"})
# Keras's own parts that a configuration may name a function of.
_FUNCTION_MODULES = frozenset({
    "activations", "constraints", "initializers", "losses", "metrics", "ops", "optimizers", "regularizers",
})  # fmt: skip
# A TFOpLambda layer may call any function of TensorFlow's API. These parts, and these functions, only compute.
_TENSORFLOW_NAMESPACES = frozenset({
    "__operators__", "bitwise", "dtypes", "image", "keras.backend", "keras.activations", "linalg", "math", "nn",
    "random", "ragged", "signal", "sparse", "strings",
})  # fmt: skip
_TENSORFLOW_FUNCTIONS = frozenset({
    "argsort", "batch_to_space", "bitcast", "boolean_mask", "broadcast_to", "cast", "clip_by_norm", "clip_by_value",
    "concat", "convert_to_tensor", "dynamic_partition", "dynamic_stitch", "einsum", "ensure_shape", "expand_dims",
    "eye", "fill", "gather", "gather_nd", "identity", "linspace", "meshgrid", "norm", "one_hot", "ones",
    "ones_like", "pad", "range", "rank", "realdiv", "repeat", "reshape", "reverse", "reverse_sequence", "roll",
    "scatter_nd", "searchsorted", "sequence_mask", "shape", "shape_n", "size", "slice", "sort", "space_to_batch",
    "space_to_batch_nd", "split", "squeeze", "stack", "stop_gradient", "strided_slice", "tensor_scatter_nd_add",
    "tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
    "tensordot", "tile", "transpose", "truncatediv", "truncatemod", "unique", "unique_with_counts", "unravel_index",
    "unstack", "where", "zeros", "zeros_like",
})  # fmt: skip
# What reading a damaged archive raises, besides the errors of reading any file.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error)
_LOOKUPS = frozenset({"IntegerLookup", "StringLookup", "TextVectorization"})


@dataclass(frozen=True)
class KerasFile:
    """What a Keras file says of itself: its architecture, and the Keras that wrote it ("" if it does not say)."""

    config: dict[str, Any]
    keras_version: str

    @property
    def from_keras3(self) -> bool:
        return self.keras_version.partition(".")[0] == "3"


def read(path: Path) -> KerasFile:
    """Reads the architecture of a .keras, .h5 or .hdf5 file. Raises InputError if it has none or is damaged."""
    try:
        with open_file(path) as file:
            magic = file.read(len(HDF5_MAGIC))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if magic == HDF5_MAGIC:
        config, version = _read_hdf5(path)
    elif magic.startswith(ZIP_MAGIC):
        config, version = _read_zip(path)
    elif not magic:
        raise InputError(f"{path} is empty.")
    else:
        raise InputError(f"{path} is neither an HDF5 file nor a .keras archive.")
    try:
        decoded = json.loads(config)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: its architecture is not JSON ({error}).") from error
    if not isinstance(decoded, dict):
        raise InputError(f"{path} is damaged: its architecture is no JSON object.")
    return KerasFile(decoded, version)


def _read_hdf5(path: Path) -> tuple[str | bytes, str]:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            _refuse_other_files(path, file)
            config, version = file.attrs.get("model_config"), file.attrs.get("keras_version", "")
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise InputError(f"{path} is damaged or cut off: {error}.") from error
    if not isinstance(config, (str, bytes)):
        raise InputError(
            f"{path} holds weights only, not the model they belong to; save the whole model with model.save()."
        )
    return config, version.decode() if isinstance(version, bytes) else str(version)


def _refuse_other_files(path: Path, file: Any) -> None:
    """Raises InputError if an HDF5 file takes data from others, which may be any that this user can read."""
    import h5py

    groups, seen = [file], set()
    while groups:
        group = groups.pop()
        place = h5py.h5o.get_info(group.id).addr
        if place in seen:
            continue
        seen.add(place)
        for name in group:
            item = None if isinstance(group.get(name, getlink=True), h5py.ExternalLink) else group.get(name)
            if isinstance(item, h5py.Group):
                groups.append(item)
            elif item is None or (isinstance(item, h5py.Dataset) and (item.external or item.is_virtual)):
                raise InputError(f"{path} takes '{group.name}/{name}' from outside itself; it is not read.")


def _read_zip(path: Path) -> tuple[bytes, str]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member.file_size for member in archive.infolist()}
            if "config.json" not in members:
                raise InputError(f"{path} is no Keras model: there is no config.json in it.")
            size = sum(members.values())
            if size > max(_SMALL_BYTES, _MAX_GROWTH * path.stat().st_size):
                raise InputError(f"{path} claims to unpack to {size} bytes; it is not read.")
            for name in members:
                if name.endswith(".h5"):
                    _check_hdf5_member(path, archive, name)
            config = archive.read("config.json")
            metadata = json.loads(archive.read("metadata.json")) if "metadata.json" in members else {}
    except (*ZIP_ERRORS, OSError, EOFError, KeyError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} is damaged or cut off: {error}.") from error
    if not isinstance(metadata, dict):
        raise InputError(f"{path} is damaged: its metadata.json is no JSON object.")
    return config, str(metadata.get("keras_version", ""))


def _check_hdf5_member(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    import h5py

    # In memory: HDF5 goes to and fro, and an archive's member can only be read from its start.
    with h5py.File(io.BytesIO(archive.read(name)), "r") as file:
        _refuse_other_files(path, file)


def check(path: Path, config: dict[str, Any], known: Collection[str], trusted: bool) -> None:
    """Raises InputError if the architecture holds what runs code (unless it is trusted), or a class or function of a
    module other than Keras's that is not among the `known` custom ones."""
    for item in _objects(config):
        if not trusted:
            danger = _danger(item)
            if danger:
                raise InputError(
                    f"{path} holds {danger}. If you trust where the file comes from, load it with --trust-model."
                )
        module = item.get("module")
        if isinstance(module, str) and not _of_keras(module) and not _is_known(item, known):
            raise InputError(unknown_object(path, _name(item), module))


def with_registered_names(config: dict[str, Any], custom: Mapping[str, Any]) -> dict[str, Any]:
    """The custom objects, also under the names ("package>Class") that the file has them registered under."""
    found = dict(custom)
    for item in _objects(config):
        registered_name = item.get("registered_name")
        if isinstance(registered_name, str) and _name(item) in custom:
            found.setdefault(registered_name, custom[_name(item)])
    return found


def unknown_object(path: Path, name: str, module: str = "") -> str:
    """The sentence about a class or function that Keras does not have."""
    origin = f" of the module '{module}'" if module else ""
    return f"{path} uses '{name}'{origin}, which Keras does not know; give the file that defines it with --plugin."


def _objects(config: Any) -> Iterator[dict[str, Any]]:
    """Each serialised object in a configuration, outermost first."""
    stack = [config]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "class_name" in item:
                yield item
            stack += reversed(item.values())
        elif isinstance(item, list):
            stack += reversed(item)


def _danger(item: dict[str, Any]) -> str:
    """What of an object would run code or read other files, in words; "" if nothing would."""
    kind, module, config = item["class_name"], item.get("module"), item.get("config")
    settings = config if isinstance(config, dict) else {}
    label = f"the {kind} layer '{settings.get('name', 'without a name')}'"
    if kind in _CODE_LAYERS:
        what = "a Python lambda" if kind == "__lambda__" else label
        return f"{what}, whose code would run on this machine"
    if kind == "TFOpLambda" and not _only_computes(str(settings.get("function"))):
        return f"{label}, which would call tf.{settings.get('function')}"
    if kind in _LOOKUPS and isinstance(settings.get("vocabulary"), str):
        return f"{label}, which would read the file '{settings['vocabulary']}'"
    if kind == "function" and isinstance(module, str) and _of_keras(module):
        part = module.partition(".")[2].removeprefix("src.").partition(".")[0]
        harmless = not hasattr(builtins, str(config)) if module == "builtins" else part in _FUNCTION_MODULES
        if not harmless:
            return f"a reference to the function {module}.{config}, which would be called"
    return ""


def _only_computes(function: str) -> bool:
    namespace, _, name = function.removeprefix("compat.v1.").rpartition(".")
    return namespace in _TENSORFLOW_NAMESPACES if namespace else name in _TENSORFLOW_FUNCTIONS


def _of_keras(module: str) -> bool:
    return module.partition(".")[0] in ("builtins", "keras", "tf_keras")


def _is_known(item: dict[str, Any], known: Collection[str]) -> bool:
    return any(isinstance(name, str) and name in known for name in (item.get("registered_name"), _name(item)))


def _name(item: dict[str, Any]) -> str:
    return str(item.get("config") if item["class_name"] == "function" else item["class_name"])
