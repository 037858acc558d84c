"""What is in a .tflite file, as plain data. No TensorFlow, and no weight is read: the file is memory-mapped.

`inspect` returns a dict that `json.dumps` takes:

    schema_version   1; it grows when a key changes its meaning or goes
    file             path (None of bytes), size (bytes), version (of TFLite's schema), description
    metadata         [{name, size, text}]: text is None unless the bytes are printable
    model_metadata   None, or what TFLITE_METADATA says (`load/tflite/model_metadata.py`)
    files            [{name, size}]: those that go with the model, in the zip behind it
    signatures       [{key, subgraph, inputs, outputs}]: inputs and outputs map names to tensor indices
    subgraphs        [{name, inputs, outputs, tensors, ops}]: inputs and outputs are tensor indices
      tensors        [{name, type, shape, shape_signature, quantisation, is_variable, is_sparse, buffer, size}]
                     shape_signature: None, or the shape with -1 for dimensions that may be resized
                     quantisation: None, or {axis, count, scale, zero_point}: count scales, from scale[0] to scale[1]
                     buffer: its index; size: the bytes of its contents, 0 where it holds none
                     is_sparse: the contents are those elements only that are not zero
      ops            [{op, version, operands, results, options, intermediates}]: an operand of -1 is left out
                     op: the builtin operator's name, or the name of a custom op
                     options: by the schema's names, enums as names; of a custom op its map, or {"size": bytes}
    op_counts        how many ops of each kind
    weight_bytes     the bytes of constants by the kind of the first op that reads them; each buffer counts once
    buffers          {count, size}: all buffers and their bytes
    arena            None, or {bytes, peak, subgraph, index, dynamic}: what the activations take, by the rule of
                     TFLite Micro's planner (`tfl/arena.py`; bytes is None where that is not quickly told), the op where
                     the most is needed at once, and whether sizes that may change counted as they are written
    micro_resolver   {lines, lacks}: C++ that registers the ops with TFLite Micro's interpreter, and ops that it lacks
    custom_ops       names of the custom ops, without Flex ops
    flex_ops         names of the TensorFlow ops that need the Flex delegate
    target           with a target only: what it makes of the file, as `fuseconv.targets.check` tells
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.arguments import checked_arguments
from fuseconv.errors import InputError
from fuseconv.files import check_tflite, tflite_contents
from fuseconv.ir.types import BY_NAME
from fuseconv.load.tflite.flexbuffer import decode
from fuseconv.load.tflite.model_metadata import describe as describe_metadata
from fuseconv.load.tflite.model_metadata import list_files
from fuseconv.load.tflite.table_decoder import DamagedError
from fuseconv.targets.check import check
from fuseconv.targets.target import Target
from fuseconv.tfl import schema
from fuseconv.tfl.arena import OFFLINE_PLAN, RUNS, Node, Subgraph, arena, item_bytes, to_json, told_size
from fuseconv.tfl.generated_schema import generated
from fuseconv.tfl.metadata_schema import NAME as METADATA
from fuseconv.tfl.micro import resolver

SCHEMA_VERSION = 1
_FLEX = "Flex"
_COMPOSITE_ATTRIBUTES = "composite_attributes"
# What reading a flatbuffer whose offsets lead nowhere can end in.
_DAMAGE = (struct.error, LookupError, ValueError, TypeError, OverflowError, RecursionError)
# Tables and vectors may be shared, so that a few bytes stand for any number of them. Encoders share equal vectors only:
# what is described in all, of which a table counts as so many bytes, is bounded by the size of the file.
_GROWTH, _LEAST_WORK, _TABLE = 16, 1 << 16, 64


@checked_arguments
def inspect(file: str | os.PathLike | bytes, target: str | Target | None = None) -> dict[str, Any]:
    """Describe a .tflite file, whoever made it; see the module for the keys.

    file: its path, or its bytes. target: by whose rules it is checked, one of fuseconv's own by its name.
    Raises InputError if the file cannot be read, is no TFLite model, or is damaged."""
    contents, name = tflite_contents(file)
    description = describe(contents, name)
    description["file"]["path"] = None if isinstance(file, bytes) else str(Path(file))
    if isinstance(target, str):
        from fuseconv.targets.builtin import builtin_targets, named_target  # tables that few callers need

        target = named_target(target, builtin_targets())
    if target is not None:
        description["target"] = check(description, target, _constants(contents))
    return description


def check_contents(contents: bytes | mmap.mmap, name: str, target: Target) -> dict[str, Any]:
    """Check a file's contents against a target: what it takes and refuses. name: for the sentence of the error."""
    return check(describe(contents, name), target, _constants(contents))


def _constants(contents: bytes | mmap.mmap) -> Callable[[Mapping[str, Any]], np.ndarray | None]:
    """Return a function that returns what a constant tensor of a description holds; None if it is not numbers."""
    model = generated.Model.GetRootAs(contents, 0)

    def values(tensor: Mapping[str, Any]) -> np.ndarray | None:
        dtype = BY_NAME.get(tensor["type"].lower())
        data = model.Buffers(tensor["buffer"]).DataAsNumpy()
        if dtype is None or dtype.numpy.kind not in "iufb" or not isinstance(data, np.ndarray):
            return None
        return data[: data.size // dtype.numpy.itemsize * dtype.numpy.itemsize].view(dtype.numpy)

    return values


def describe(contents: bytes | mmap.mmap, name: str) -> dict[str, Any]:
    """Describe a file's contents as `inspect` does, without a path. name: for the sentence of the error."""
    check_tflite(contents, name)
    try:
        description = _Reader(generated.Model.GetRootAs(contents, 0), len(contents)).describe()
    except _DAMAGE as error:
        # What our own checks say, or what the generated code and numpy do of an offset or an index that leads nowhere.
        why = str(error) if type(error) is ValueError else "an offset or an index in it leads to what is not there"
        raise InputError(f"{name} is a damaged TFLite model: {why}") from error
    return description | {"files": [{"name": file, "size": size} for file, size in list_files(contents)]}


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode(errors="replace")


def _list(vector: Any) -> list:
    """Return a vector as the generated code gives it: an array, or 0 where there is none."""
    return vector.tolist() if isinstance(vector, np.ndarray) else []


class _Reader:
    """A model as flatbuffers' generated code gives it, of so many bytes; nothing of it is trusted."""

    def __init__(self, model: Any, size: int) -> None:
        self.model = model
        self.size = size
        self._work = _GROWTH * size + _LEAST_WORK
        self.buffer_sizes = [self._buffer_size(index) for index in range(model.BuffersLength())]
        self.codes = [self._code(model.OperatorCodes(index)) for index in range(model.OperatorCodesLength())]

    def describe(self) -> dict[str, Any]:
        """Make the document of `inspect`. Raises InputError, or one of _DAMAGE, for indices and offsets that lead
        nowhere."""
        model = self.model
        subgraphs = [self._subgraph(model.Subgraphs(index)) for index in range(model.SubgraphsLength())]
        signatures = [self._signature(model.SignatureDefs(index)) for index in range(model.SignatureDefsLength())]
        _check_indices(subgraphs, signatures)
        counts: Counter[str] = Counter()
        weights: Counter[str] = Counter()
        counted: set[int] = set()
        for subgraph in subgraphs:
            for op in subgraph["ops"]:
                counts[op["op"]] += 1
                for operand in op["operands"]:
                    tensor = subgraph["tensors"][operand] if operand >= 0 else None
                    if tensor is not None and tensor["size"] and tensor["buffer"] not in counted:
                        counted.add(tensor["buffer"])
                        weights[op["op"]] += tensor["size"]
        custom = sorted({name for kind, name, _ in self.codes if kind == "CUSTOM"})
        return {
            "schema_version": SCHEMA_VERSION,
            "file": {
                "path": "",
                "size": self.size,
                "version": model.Version(),
                "description": _text(model.Description()),
            },
            "metadata": [self._metadata(model.Metadata(index)) for index in range(model.MetadataLength())],
            "model_metadata": self._model_metadata(),
            "files": [],
            "signatures": signatures,
            "subgraphs": subgraphs,
            "op_counts": dict(sorted(counts.items())),
            "weight_bytes": dict(sorted(weights.items())),
            "buffers": {"count": len(self.buffer_sizes), "size": sum(self.buffer_sizes)},
            "arena": self._arena(subgraphs),
            "micro_resolver": resolver(counts, custom)._asdict(),
            "custom_ops": [name for name in custom if not name.startswith(_FLEX)],
            "flex_ops": [name.removeprefix(_FLEX) for name in custom if name.startswith(_FLEX)],
        }

    def _arena(self, subgraphs: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the arena that a runtime plans for the file; with the size that the file's own plan takes, if it
        brings one."""
        described = _described(subgraphs)
        given = [subgraph["tensors"][index] for subgraph in subgraphs[:1] for index in subgraph["inputs"]]
        dynamic = any(-1 in (tensor["shape_signature"] or ()) for tensor in given)
        found = arena(described)
        for index in range(self.model.MetadataLength()):
            metadata = self.model.Metadata(index)
            if found is not None and metadata.Name() == OFFLINE_PLAN.encode():
                data = self.model.Buffers(metadata.Buffer()).DataAsNumpy()
                plan = data.tobytes() if isinstance(data, np.ndarray) else b""
                found = found._replace(size=told_size(described, plan))
        return to_json(found, dynamic)

    def _buffer_size(self, index: int) -> int:
        buffer = self.model.Buffers(index)
        if buffer.DataIsNone():
            start, size = buffer.Offset(), buffer.Size()
        else:
            size = buffer.DataLength()
            start = buffer._tab.Vector(buffer._tab.Offset(4))
        if start + size > self.size:
            raise ValueError(f"buffer {index} reaches beyond the end of the file")
        return size

    def _code(self, code: Any) -> tuple[str, str, int]:
        """Return kind, name and version. Files from before there were 127 operators have the older field only."""
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        kind = schema.enum_name("BuiltinOperator", number)
        return kind, _text(code.CustomCode()) if kind == "CUSTOM" else kind, code.Version()

    def _metadata(self, metadata: Any) -> dict[str, Any]:
        data = self.model.Buffers(metadata.Buffer()).DataAsNumpy()
        raw = data.tobytes() if isinstance(data, np.ndarray) else b""
        self._spend(1, range(len(raw)))
        text = raw.rstrip(b"\0").decode("ascii", errors="replace")
        printable = text.isprintable() and "\ufffd" not in text
        return {"name": _text(metadata.Name()), "size": len(raw), "text": text if printable else None}

    def _model_metadata(self) -> dict[str, Any] | None:
        for index in range(self.model.MetadataLength()):
            metadata = self.model.Metadata(index)
            if _text(metadata.Name()) == METADATA:
                data = self.model.Buffers(metadata.Buffer()).DataAsNumpy()
                return describe_metadata(data.tobytes() if isinstance(data, np.ndarray) else b"")
        return None

    def _spend(self, tables: int, *vectors: Any) -> None:
        """Count what is described. Raises ValueError if it is more than the file accounts for."""
        self._work -= _TABLE * tables + sum(len(vector) * (1 if isinstance(vector, str) else 4) for vector in vectors)
        if self._work < 0:
            raise ValueError("its parts are shared so often that they stand for much more than the file holds")

    def _subgraph(self, subgraph: Any) -> dict[str, Any]:
        inputs, outputs = _list(subgraph.InputsAsNumpy()), _list(subgraph.OutputsAsNumpy())
        name = _text(subgraph.Name())
        self._spend(1 + subgraph.TensorsLength() + subgraph.OperatorsLength(), name, inputs, outputs)
        return {
            "name": name,
            "inputs": inputs,
            "outputs": outputs,
            "tensors": [self._tensor(subgraph.Tensors(index)) for index in range(subgraph.TensorsLength())],
            "ops": [self._op(subgraph.Operators(index)) for index in range(subgraph.OperatorsLength())],
        }

    def _signature(self, signature: Any) -> dict[str, Any]:
        def names(length: int, item: Any) -> dict[str, int]:
            self._spend(length)
            found = {_text(item(index).Name()): item(index).TensorIndex() for index in range(length)}
            self._spend(0, *found)
            return found

        return {
            "key": _text(signature.SignatureKey()),
            "subgraph": signature.SubgraphIndex(),
            "inputs": names(signature.InputsLength(), signature.Inputs),
            "outputs": names(signature.OutputsLength(), signature.Outputs),
        }

    def _tensor(self, tensor: Any) -> dict[str, Any]:
        name, shape, signature = _text(tensor.Name()), _list(tensor.ShapeAsNumpy()), None
        if not tensor.ShapeSignatureIsNone():
            signature = _list(tensor.ShapeSignatureAsNumpy())
        quantization = _quantization(tensor.Quantization())
        self._spend(0, name, shape, signature or (), range(quantization["count"] if quantization else 0))
        return {
            "name": name,
            "type": schema.enum_name("TensorType", tensor.Type()),
            "shape": shape,
            "shape_signature": signature,
            "quantisation": quantization,
            "is_variable": bool(tensor.IsVariable()),
            "is_sparse": tensor.Sparsity() is not None,
            "buffer": tensor.Buffer(),
            "size": self.buffer_sizes[tensor.Buffer()],
        }

    def _op(self, op: Any) -> dict[str, Any]:
        kind, name, version = self.codes[op.OpcodeIndex()]
        operands, results = _list(op.InputsAsNumpy()), _list(op.OutputsAsNumpy())
        intermediates = _list(op.IntermediatesAsNumpy())
        self._spend(0, operands, results, intermediates, range(op.CustomOptionsLength()))
        options = _flexbuffer(op.CustomOptionsAsNumpy()) if kind == "CUSTOM" else _options(op)
        self._spend(0, *(value for value in options.values() if isinstance(value, (list, str, dict))))
        return {
            "op": name,
            "version": version,
            "operands": operands,
            "results": results,
            "options": options,
            "intermediates": intermediates,
        }


def _check_indices(subgraphs: list[dict[str, Any]], signatures: list[dict[str, Any]]) -> None:
    """Raise ValueError where a subgraph or a signature refers to what is not there."""
    for subgraph in subgraphs:
        count = len(subgraph["tensors"])
        named = [index for op in subgraph["ops"] for index in (*op["operands"], *op["results"]) if index != -1]
        if not all(0 <= index < count for index in (*subgraph["inputs"], *subgraph["outputs"], *named)):
            raise ValueError(f"the subgraph {subgraph['name']!r} uses a tensor that it does not have")
    for signature in signatures:
        if signature["subgraph"] >= len(subgraphs):
            raise ValueError(f"the signature {signature['key']!r} names a subgraph that is not there")
        count = len(subgraphs[signature["subgraph"]]["tensors"])
        if not all(index < count for index in (*signature["inputs"].values(), *signature["outputs"].values())):
            raise ValueError(f"the signature {signature['key']!r} names a tensor that is not there")


def _described(subgraphs: list[dict[str, Any]]) -> list[Subgraph]:
    return [
        Subgraph(
            subgraph["inputs"],
            subgraph["outputs"],
            [Node(op["operands"], op["results"], _runs(op, len(subgraphs))) for op in subgraph["ops"]],
            [_activation_bytes(tensor) for tensor in subgraph["tensors"]],
        )
        for subgraph in subgraphs
    ]


def _runs(op: dict[str, Any], count: int) -> list[int]:
    found = [op["options"].get(name) for name in RUNS] if op["options"] else []
    return [index for index in found if isinstance(index, int) and 0 <= index < count]


def _activation_bytes(tensor: dict[str, Any]) -> int:
    if tensor["size"] or tensor["is_variable"]:
        return 0
    dtype = BY_NAME.get(tensor["type"].lower())
    return (1 if dtype is None else item_bytes(dtype)) * math.prod(max(size, 0) for size in tensor["shape"])


def _quantization(parameters: Any) -> dict[str, Any] | None:
    scale = _list(parameters.ScaleAsNumpy()) if parameters is not None else []
    if not scale:
        return None
    zero_point = _list(parameters.ZeroPointAsNumpy()) or [0]
    return {
        "axis": parameters.QuantizedDimension(),
        "count": len(scale),
        "scale": [min(scale), max(scale)],
        "zero_point": [min(zero_point), max(zero_point)],
    }


def _options(op: Any) -> dict[str, Any]:
    """Return the option table of a builtin operator, fields that stand at their default too."""
    name = schema.enum_name("BuiltinOptions", op.BuiltinOptionsType())
    union = op.BuiltinOptions()
    if union is None:
        name = schema.enum_name("BuiltinOptions2", op.BuiltinOptions2Type())
        union = op.BuiltinOptions2()
    table = getattr(generated, name, None)
    if union is None or table is None:
        return {}
    options = table()
    options.Init(union.Bytes, union.Pos)
    fields = {field.name: _field(options, field) for field in schema.table(name).values()}
    if _COMPOSITE_ATTRIBUTES in fields:
        fields[_COMPOSITE_ATTRIBUTES] = _flexbuffer(options.CompositeAttributesAsNumpy())
    return fields


def _field(options: Any, field: schema.Field) -> Any:
    read = getattr(options, field.camel, None)
    if read is None:  # the schema of the runtime that is installed is older
        return [] if field.code is None else field.default
    if field.code is None:
        vector = getattr(options, f"{field.camel}AsNumpy", None)
        return _list(vector()) if vector is not None else _text(read())
    value = read()
    enum = schema.ENUM_FIELDS.get(field.name)
    return value if enum is None else schema.enum_name(enum, value)


def _flexbuffer(data: Any) -> dict[str, Any]:
    """Return the map that a vector of bytes holds; {"size": bytes} where it is in another format."""
    raw = data.tobytes() if isinstance(data, np.ndarray) else b""
    try:
        decoded = decode(raw) if raw else {}
    except DamagedError:
        # Custom options may be in any format.
        decoded = None
    return _plain(decoded) if isinstance(decoded, dict) else {"size": len(raw)}


def _plain(value: Any) -> Any:
    """Return what a flexbuffer holds, with byte strings told by their size."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {"size": len(value)}
    return value
