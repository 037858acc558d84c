"""Model metadata as tflite-support's readers expect it: `{"author": "Acme", "labels": "labels.txt"}` -> a flatbuffer in
TFLITE_METADATA, and the files that go with the model in a zip behind its file.

The whole remains a .tflite file for the runtime, and is a zip file for zip.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.files import open_file
from fuseconv.ir.graph import Module, Value
from fuseconv.tfl import metadata_schema as schema
from fuseconv.write.table_encoder import Encoder, Table

_TEXTS = ("name", "description", "version", "author", "license")
_LABELS = {"labels": schema.AXIS_LABELS, "value_labels": schema.VALUE_LABELS}
_NUMBERS = ("mean", "std")
KEYS = (*_TEXTS, *_LABELS, *_NUMBERS)
_LARGEST_FILE = 1 << 24
# All that is written was in the first version of the schema.
_PARSER = "1.0.0"
# The least time that a zip can hold: the same model gives the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class _Labels:
    """A file of labels, one a line. type: of AssociatedFile."""

    file: str
    type: int
    contents: bytes

    @property
    def count(self) -> int:
        text = self.contents.decode()
        return text.count("\n") + (not text.endswith("\n") and bool(text))


@dataclass(frozen=True)
class ModelMetadata:
    """What is said of a model. texts: by their names in the schema. labels: of outputs, mean and std: of inputs, all by
    names of tensors, "" for the only one that they can be of."""

    texts: dict[str, str]
    labels: dict[str, _Labels]
    mean: dict[str, np.ndarray]
    std: dict[str, np.ndarray]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ModelMetadata:
        """Return what is given by KEY, or by KEY:TENSOR for labels, value_labels, mean and std; files are read.

        Raises InputError for a key that is not known, a file that cannot be read or is no text, numbers that are
        none."""
        texts: dict[str, str] = {}
        labels: dict[str, _Labels] = {}
        numbers: dict[str, dict[str, np.ndarray]] = {name: {} for name in _NUMBERS}
        for entry, value in given.items():
            key, _, tensor = str(entry).partition(":")
            if key in _TEXTS and not tensor:
                texts[key] = str(value)
            elif key in _LABELS:
                if tensor in labels:
                    raise InputError(f"--metadata gives labels twice{f' for {tensor}' if tensor else ''}")
                labels[tensor] = _read_labels(value, _LABELS[key])
            elif key in _NUMBERS:
                numbers[key][tensor] = _numbers(entry, value)
            else:
                raise InputError(f"--metadata does not know {entry}{suggestion_or_all(key, KEYS)}")
        if numbers["mean"].keys() != numbers["std"].keys():
            raise InputError("--metadata mean and std go together: give both of the same input")
        return cls(texts, labels, **numbers)

    def attach(self, module: Module) -> None:
        """Let the module's file tell this of its first signature. Raises InputError if that has no such tensors."""
        signature = module.signatures[0]
        outputs = _named(signature.outputs, signature.graph.outputs)
        inputs = _named(signature.inputs, signature.graph.inputs)
        images = {name: value for name, value in inputs.items() if _channels(value)}
        labels = {_choose(name, outputs, outputs, "labels"): found for name, found in self.labels.items()}
        mean = {_choose(name, images, inputs, "mean and std"): found for name, found in self.mean.items()}
        std = {_choose(name, images, inputs, "mean and std"): found for name, found in self.std.items()}
        for given, chosen in ((self.labels, labels), (self.mean, mean), (self.std, std)):
            if len(chosen) < len(given):
                raise InputError(f"--metadata tells of one tensor twice: {', '.join(sorted(filter(None, given)))}")
        for name, found in labels.items():
            _require_count(found, name, outputs[name])
        for name in mean:
            _require_channels(name, inputs[name], mean[name], std[name])
        files: dict[str, bytes] = {}
        for found in labels.values():
            if files.setdefault(found.file, found.contents) != found.contents:
                raise InputError(f"--metadata names two files {found.file}: give one of them another name")
        described = {
            "input_tensor_metadata": [
                _input(name, value, mean.get(name), std.get(name)) for name, value in inputs.items()
            ],
            "output_tensor_metadata": [_output(name, labels.get(name)) for name in outputs],
        }
        subgraph = Table("SubGraphMetadata", {key: tables for key, tables in described.items() if tables})
        fields = {**self.texts, "subgraph_metadata": [subgraph], "min_parser_version": _PARSER}
        encoded = Encoder(Table("ModelMetadata", fields), schema.IDENTIFIER).data
        module.metadata = module.metadata | {schema.NAME: bytes(encoded)}
        module.files = module.files | files


def append_files(out: BinaryIO, files: Mapping[str, bytes]) -> None:
    """Append a zip of files to what is written, uncompressed, as readers on devices ask for."""
    if not files:
        return
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, contents in files.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), contents)


def _read_labels(path: Any, type: int) -> _Labels:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"labels stand in a file, one a line: give its path, not {path!r}")
    told = os.fspath(path)
    try:
        with open_file(told) as file:
            contents = file.read(_LARGEST_FILE + 1)
        contents.decode()
    except OSError as error:
        raise InputError(f"the labels {told} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the labels {told} are no text in UTF-8") from error
    if not contents.strip() or len(contents) > _LARGEST_FILE:
        raise InputError(f"the labels {told} are empty, or take more than {_LARGEST_FILE >> 20} MB")
    return _Labels(Path(told).name, type, contents)


def _numbers(entry: str, value: Any) -> np.ndarray:
    try:
        parts = value.split(",") if isinstance(value, str) else value
        array = np.atleast_1d(np.asarray(parts, np.float32))
    except (TypeError, ValueError) as error:
        raise InputError(f"--metadata {entry}={value}: give a number, or one for each channel") from error
    if array.ndim != 1 or not np.isfinite(array).all() or (entry.startswith("std") and not array.all()):
        raise InputError(f"--metadata {entry}={value}: give finite numbers, for std other than 0")
    return array


def _named(names: Sequence[str], values: Sequence[Value]) -> dict[str, Value]:
    return dict(zip(names, values))


def _choose(name: str, fitting: Mapping[str, Value], known: Mapping[str, Value], what: str) -> str:
    """Return the tensor that is meant; "" is the only one that fits."""
    if name in known:
        return name
    if name:
        raise InputError(f"--metadata {what}: no tensor is called {name}{suggestion_or_all(name, known)}")
    if len(fitting) != 1:
        told = f"{len(fitting)} tensors of {', '.join(known)} may have {what}"
        raise InputError(f"--metadata {what}: {told}; name one, as in {what.partition(' ')[0]}:NAME=...")
    return next(iter(fitting))


def _channels(value: Value) -> int:
    """Return the channels of an image; 0 for what is none."""
    channels = value.shape[-1] if value.shape and len(value.shape) == 4 else 0
    return channels if isinstance(channels, int) and channels in schema.COLOR_SPACES else 0


def _require_count(labels: _Labels, name: str, value: Value) -> None:
    size = value.shape[-1] if value.shape else 1
    if labels.type == schema.AXIS_LABELS and isinstance(size, int) and size != labels.count:
        raise InputError(
            f"the file {labels.file} has {labels.count} labels, but the last dimension of {name} is {size}; "
            "value_labels= is for labels of what an output holds"
        )


def _require_channels(name: str, value: Value, mean: np.ndarray, std: np.ndarray) -> None:
    channels = value.shape[-1] if value.shape else 1
    for array in (mean, std):
        if array.size not in (1, channels):
            raise InputError(f"--metadata mean and std: {name} has {channels} channels, and not {array.size}")


def _input(name: str, value: Value, mean: np.ndarray | None, std: np.ndarray | None) -> Table:
    fields: dict[str, Any] = {"name": name}
    if mean is not None:
        if _channels(value):
            image = Table("ImageProperties", {"color_space": schema.COLOR_SPACES[_channels(value)]})
            kind = {"content_properties_type": schema.IMAGE_PROPERTIES, "content_properties": image}
            fields["content"] = Table("Content", kind)
        options = Table("NormalizationOptions", {"mean": mean, "std": std})
        unit = {"options_type": schema.NORMALIZATION_OPTIONS, "options": options}
        fields["process_units"] = [Table("ProcessUnit", unit)]
    return Table("TensorMetadata", fields)


def _output(name: str, labels: _Labels | None) -> Table:
    fields: dict[str, Any] = {"name": name}
    if labels is not None:
        fields["associated_files"] = [Table("AssociatedFile", {"name": labels.file, "type": labels.type})]
    return Table("TensorMetadata", fields)
