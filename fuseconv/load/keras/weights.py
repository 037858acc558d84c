"""The weights in a Keras file, found by the paths (.keras) or the order (.h5) in which Keras writes them, and checked
against the shapes that the layers expect."""

from __future__ import annotations

import itertools
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import unknown
from fuseconv.load.keras.parts import UNNAMED, Part, Weight
from fuseconv.load.keras_container import HDF5_MAGIC, ZIP_ERRORS, ZIP_MAGIC, mapped_file, member_data, open_hdf5

_WEIGHTS = "model.weights.h5"
# Where Keras 2.13 has the layers of a model, and others have them.
_OLDER_LAYERS, _LAYERS = "_layer_checkpoint_dependencies", "layers"


def read(path: Path, model: Part) -> None:
    """Give each weight of a model its value. The file must have passed `keras_container.read`.

    Raises UnknownLayer if a layer's weights are not those that it expects, InputError if the file is damaged."""
    import h5py

    mapped = mapped_file(path)
    try:
        if mapped[: len(HDF5_MAGIC)] == HDF5_MAGIC:
            with h5py.File(path, "r") as hdf5:
                _Groups(hdf5, memoryview(mapped)).read(model)
        else:
            with zipfile.ZipFile(path) as archive:
                data = member_data(archive, archive.getinfo(_WEIGHTS), mapped)
            with open_hdf5(data) as hdf5:
                _Paths(hdf5, data).read(model, "", set())
    except (OSError, KeyError, ValueError, RuntimeError, TypeError, *ZIP_ERRORS) as error:
        raise InputError(f"{path} is damaged or cut off: {error}.") from error
    for weight in model.all_weights():
        assert weight.value.data is not None
        budget.charge(weight.value.data, weight.value.name)


def asset(path: Path, name: str) -> bytes | None:
    """Return a member of a .keras archive; None if there is none. The file must have passed `keras_container.read`."""
    if mapped_file(path)[: len(ZIP_MAGIC)] != ZIP_MAGIC:  # an archive behind HDF5 is none that was checked
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name) if name in archive.NameToInfo else None
    except (OSError, RuntimeError, *ZIP_ERRORS) as error:
        raise InputError(f"{path} is damaged or cut off: {error}.") from error


def _array(dataset: Any, data: memoryview, weight: Weight, label: str) -> np.ndarray:
    """Return the array of a data set, a view of the mapped file if it lies there as it is in memory."""
    import h5py

    wanted, shape = weight.value.dtype.numpy, weight.value.shape
    if not isinstance(dataset, h5py.Dataset):
        raise unknown(label, f"the file has no array for its {weight.name}")
    if tuple(dataset.shape) != shape:
        raise unknown(label, f"its {weight.name} has the shape {tuple(dataset.shape)}, where {shape} is expected")
    is_bfloat16 = dataset.dtype.str == "|V2" and _text(dataset.attrs.get("dtype")) == "bfloat16"  # HDF5 has none
    floats = (dataset.dtype.kind == "f" or is_bfloat16) and wanted.kind == "f"
    wider = dataset.dtype.kind == wanted.kind == "i" and dataset.dtype.itemsize < wanted.itemsize  # JAX has no int64
    if dataset.dtype != wanted and not floats and not wider:
        raise unknown(label, f"its {weight.name} is of the type {dataset.dtype}, where {wanted} is expected")
    budget.require_room(dataset.size, dataset.dtype.itemsize, label)
    if is_bfloat16:
        return dataset[()].view(types.BFLOAT16.numpy).astype(wanted)
    offset = dataset.id.get_offset()
    size = dataset.size * dataset.dtype.itemsize
    if offset is not None and offset + size <= len(data) and dataset.dtype == wanted and dataset.dtype.isnative:
        return np.frombuffer(data[offset : offset + size], wanted).reshape(shape)
    return np.asarray(dataset[()], wanted).reshape(shape)


def _assign(weights: Sequence[Weight], datasets: Sequence[Any], data: memoryview, label: str) -> None:
    if len(weights) != len(datasets):
        raise unknown(label, f"the file has {len(datasets)} weights of it, where {len(weights)} are expected")
    for weight, dataset in zip(weights, datasets):
        weight.value.data = _array(dataset, data, weight, label)


class _Paths:
    """The weights of a .keras archive, by the attributes that lead to them."""

    def __init__(self, hdf5: Any, data: memoryview) -> None:
        self.hdf5, self.data = hdf5, data
        self.older = _OLDER_LAYERS in hdf5

    def read(self, part: Part, path: str, seen: set[Part]) -> None:
        """Read the weights of an object and of those that it is made of."""
        if part in seen:
            return
        seen.add(part)
        group = self._group(f"{path}/vars")
        names = sorted(group, key=int) if group is not None and all(name.isdigit() for name in group) else group or ()
        _assign(part.in_archive(), [group[name] for name in names] if group is not None else [], self.data, part.label)
        said = group.attrs.get("name") if group is not None else None
        if isinstance(said, str) and part.weights and said != part.name:
            raise unknown(part.label, f"the file has the weights of '{said}' in its place")
        for names, inner in _in_older_archive(part) if self.older else part.parts:
            self.read(inner, self._path(path, names), seen)

    def _path(self, path: str, names: Iterable[str]) -> str:
        paths = [f"{path}/{name}" for name in names]
        return next((each for each in paths if self._group(each) is not None), paths[0])

    def _group(self, path: str) -> Any:
        """Return the group of a path; None if there is none."""
        import h5py

        group = self.hdf5
        for name in filter(None, path.split("/")):
            group = group.get(name)
            if not isinstance(group, h5py.Group):
                return None
        return group


def _in_older_archive(part: Part) -> Iterator[tuple[tuple[str, ...], Part]]:
    """Yield the parts of an object with the attributes that lead to them in an archive of Keras 2.13. There a
    model lists each layer that has weights twice, and numbers the layers of a class by their places in that list."""
    counts: Counter[str] = Counter()
    for names, inner in part.parts:
        container, _, name = names[0].rpartition("/")
        if container == _LAYERS:
            kind = re.sub(r"_[0-9]+$", "", name)
            names = (f"{_OLDER_LAYERS}/{kind}_{counts[kind]}" if counts[kind] else f"{_OLDER_LAYERS}/{kind}",)
            counts[kind] += 2 if inner.all_weights() else 1
        yield names, inner


class _Groups:
    """The weights of an .h5 file: a group for each layer of the model, with the names of its weights in their order."""

    def __init__(self, hdf5: Any, data: memoryview) -> None:
        self.data = data
        self.root = hdf5.get("model_weights", hdf5)

    def read(self, model: Part) -> None:
        """Read the weights of a model's layers. Raises UnknownLayer if a group's are not those of its layer."""
        version = _text(self.root.attrs.get("keras_version", "1"))
        if not version.startswith(("2", "3")):
            raise unknown(model.label, f"Keras {version[:20]} laid out its weights otherwise")
        if _text(self.root.attrs.get("backend", "")) == "theano":
            raise InputError("the file was written by Keras on Theano, whose convolutions turn their kernels around; "
                             "load it there, and save it on TensorFlow.")  # fmt: skip
        names = _names(self.root, "layer_names")
        layers = {part.name: part for _, part in model.parts}
        for name in names:
            group = self.root[name]
            listed = _names(group, "weight_names")
            part = layers.pop(name, None)
            if part is None:
                if listed:
                    raise unknown(model.label, f"the file has weights of '{name}', which is no layer of it")
                continue
            weights, halves = part.all_weights(), dict(_halves(part))
            for weight, own in zip(weights, listed):
                if halves.get(weight.value, "//") in own:
                    raise InputError(f"the file's weights of '{name}' are those of a Bidirectional layer of which one "
                                     "half is frozen, which it does not say. Keras confuses them when it loads the "
                                     "file; save the model as .keras.")  # fmt: skip
                if not _is_named(own.rpartition("/")[2].partition(":")[0], weight.name):
                    raise unknown(part.label, f"the file has '{own}' in the place of its {weight.name}")
            _assign(weights, [group[own] for own in listed], self.data, part.label)
        for part in layers.values():
            if part.all_weights():
                raise unknown(part.label, "the file has no weights of it")
        if "top_level_model_weights" in self.root and _names(self.root["top_level_model_weights"], "weight_names"):
            raise unknown(model.label, "it has weights of its own")


def _halves(part: Part, half: str = "") -> Iterator[tuple[Value, str]]:
    """Yield each weight of a Bidirectional layer, with what the names of the other half's start with in files."""
    yield from ((weight.value, half) for weight in part.weights if half)
    for names, inner in part.parts:
        yield from _halves(inner, {"forward_layer": "/backward_", "backward_layer": "/forward_"}.get(names[0], half))


def _is_named(said: str, name: str) -> bool:
    """Return whether a name in a file is that of a weight. Keras 3 numbers those that have none."""
    return said == name or (name == UNNAMED and re.fullmatch(rf"{UNNAMED}_[0-9]+", said) is not None)


def _names(group: Any, key: str) -> list[str]:
    """Return a list of names in the attributes of a group, in several if it is long: key, or key0, key1, ..."""
    if key in group.attrs:
        return [_text(name) for name in group.attrs[key]]
    names: list[str] = []
    for index in itertools.count():
        if f"{key}{index}" not in group.attrs:
            return names
        names += map(_text, group.attrs[f"{key}{index}"])
    raise AssertionError


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
