"""Flatbuffer export: module of "tfl" ops -> .tflite file.

The description of the model (tensors, ops, signatures) is encoded first, with the places of the weights left open;
then each distinct constant is appended, 16-byte aligned, and its place filled in. So a weight is read once, on its way
to the file.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import numpy as np

import fuseconv
from fuseconv.errors import FuseconvError, InputError
from fuseconv.files import TFLITE_MARK
from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Signature, Value
from fuseconv.ir.product import Product
from fuseconv.ir.subgraphs import subgraphs
from fuseconv.tfl import schema
from fuseconv.tfl.arena import OFFLINE_PLAN
from fuseconv.tfl.kernel_limits import LARGEST_SIZE
from fuseconv.tfl.op_versions import op_version
from fuseconv.tfl.opdef import TABLE, written_operands
from fuseconv.tfl.runtime_versions import min_runtime_version
from fuseconv.write import flexbuffer
from fuseconv.write.buffer_data import ALIGNMENT, Weight, chunks, size, write_with_weights
from fuseconv.write.control_dependencies import CONTROL_DEPENDENCIES, control_dependencies
from fuseconv.write.offline_plan import offline_plan
from fuseconv.write.strip_names import leave_out_names
from fuseconv.write.table_encoder import Deferred, Encoder, Table

# Flatbuffer offsets reach 2 GB. Beyond it, with room for the description of the model, weights are found by `offset`
# and `size`, counted from the start of the file.
INLINE_LIMIT = (1 << 31) - (1 << 26)
_METADATA_BUFFER = 1
# Constants that differ do so among as many elements, most of them.
_HEAD = 64
# A call that the model's author did not name is named for its op, which says nothing of what stands in its place.
_CALLS = re.compile(r"^((Stateful)?PartitionedCall(_\d+)?/)+")
# The ops of a loop's body are named for the loop, in which they stand: "decode/while/decode/while/add".
_TWICE = re.compile(r"(?<![^/])((?:[^/]+/){1,32}?)\1")


class Contents(NamedTuple):
    """What a file holds."""

    # Its subgraphs, in their order.
    graphs: list[Graph]
    # The buffer of each constant.
    buffers: dict[Value, int]
    # The values of its tensors, by their names.
    names: dict[str, Value]
    # Where the bytes of each distinct constant begin.
    starts: dict[Value, int]
    # The bytes of names that were left out.
    saved: int = 0


def to_bytes(module: Module) -> bytes:
    """Return the .tflite file of a module; see `write`."""
    return to_named_bytes(module)[0]


def to_named_bytes(module: Module) -> tuple[bytes, dict[str, Value]]:
    """Return the .tflite file of a module, and the values of its tensors by their names in the file."""
    out = BytesIO()
    contents = write(module, out)
    return out.getvalue(), contents.names


def write(
    module: Module,
    out: BinaryIO | str | os.PathLike[str],
    names: bool = True,
    plans_arena: bool = False,
    inline_limit: int = INLINE_LIMIT,
    progress: Callable[[float], None] | None = None,
) -> Contents:
    """Write a module whose ops are all of the "tfl" dialect to a path, or to a binary file that is still empty; return
    what it holds.

    Signatures become subgraphs in the order of the module (the first is what a runtime runs by default), each function
    that an op's attribute names one more. Unknown dimensions are 1 in a tensor's shape and -1 in its shape signature.
    What is sorted has no shape signature: if its operand has an unknown dimension there, TOPK_V2 takes its results for
    ones of dynamic size, although their sizes follow from the operand's (`pack_to_concat` says what dynamic sizes
    cost). Tensors are named as their values, without the calls that they were in and without repeated scopes. A number
    makes a name unique in the whole file, as tools that calibrate go by names, also in loops and other signatures. An
    output that is an input, a constant or another output too is written as such. The same module gives the same bytes.

    Raises FuseconvError on what no earlier stage should have left, such as an op of another dialect, and InputError
    where the format cannot hold the model. names: whether tensors between inputs and outputs have some. plans_arena:
    tell TFLite Micro where tensors are to be, if that takes less than where it puts them (`offline_plan.py`). From
    `inline_limit` bytes of weights on, their places are counted from the start of the file. progress: told which part
    of the file is written, behind each weight.
    """
    if not hasattr(out, "write"):
        with open(out, "wb") as file:
            return write(module, file, names, plans_arena, inline_limit, progress)
    buffers = _Buffers(module)
    model = _Model(module, buffers, plans_arena)
    weights = [Weight(value, size(value), Deferred()) for value in buffers.weights]
    inline = sum([weight.size + ALIGNMENT for weight in weights]) < inline_limit
    root = model.root([weight.buffer(inline) for weight in weights])
    saved = 0 if names else leave_out_names(root)
    starts = write_with_weights(out, Encoder(root, TFLITE_MARK).data, weights, inline, progress)
    return Contents(
        buffers.graphs, buffers.places, model.names.values, dict(zip(buffers.weights, starts, strict=True)), saved
    )


class _Buffers:
    """The distinct constants of a module. Buffer 0 is empty and buffer 1 the metadata's; constants follow in the order
    of first use. Constants with equal types and bytes share one buffer, whatever their shapes."""

    def __init__(self, module: Module) -> None:
        self.graphs = list(subgraphs(module))
        self.places: dict[Value, int] = {}
        self.weights: list[Value] = []
        constants = dict.fromkeys(value for graph in self.graphs for value in graph.constants())
        heads = [_head(value) for value in constants]
        alike = Counter(heads)
        seen: dict[tuple, int] = {}
        for value, head in zip(constants, heads):
            # Only long constants that begin alike are read as a whole to be told apart.
            key = head if alike[head] == 1 or _is_whole(value) else (*head, _digest(value))
            if key not in seen:
                seen[key] = _METADATA_BUFFER + 1 + len(self.weights)
                self.weights.append(value)
            self.places[value] = seen[key]

    def index(self, value: Value) -> int:
        return self.places[value] if value.op is None and value.is_const else 0


def _head(value: Value) -> tuple:
    """Return a cheap key: equal constants have equal heads."""
    first = value.first(_HEAD) if isinstance(value, Product) else value.data.flat[:_HEAD]  # type: ignore[union-attr]
    return value.dtype.name, size(value), tuple(first) if value.dtype is types.STRING else first.tobytes()


def _is_whole(value: Value) -> bool:
    """Return whether constants with this one's head equal it. A head does not tell the order of bytes, in which an
    array may differ from its type."""
    array = value.stored
    assert array is not None
    return array.size <= _HEAD and array.dtype == value.dtype.numpy


def _digest(value: Value) -> bytes:
    import hashlib  # loads OpenSSL, and few models have such constants

    digest = hashlib.blake2b(digest_size=20)
    for piece in chunks(value):
        digest.update(piece)
    return digest.digest()


class _Model:
    """Make the tables of the schema."""

    def __init__(self, module: Module, buffers: _Buffers, plans_arena: bool) -> None:
        self.module, self.buffers, self.plans_arena = module, buffers, plans_arena
        self.codes: dict[tuple[str, str, int], int] = {}
        self.tensor_of: dict[Graph, dict[Value, int]] = {}
        self.names = _Names()

    def root(self, weights: list[Table]) -> Table:
        """Return the Model table. `weights` are the buffers of the constants."""
        subgraphs = [self._subgraph(graph) for graph in self.buffers.graphs]
        signatures = [
            self._signature(signature, name) for signature in self.module.signatures for name in signature.names
        ]
        runtime = min_runtime_version((kind, version) for kind, _, version in self.codes)
        buffers = [Table("Buffer", {}), Table("Buffer", {"data": runtime.encode().ljust(16, b"\0")}), *weights]
        metadata = [Table("Metadata", {"name": "min_runtime_version", "buffer": _METADATA_BUFFER})]
        order = control_dependencies(self.buffers.graphs)
        more = self.module.metadata | ({CONTROL_DEPENDENCIES: order} if order is not None else {})
        plan = offline_plan(subgraphs) if self.plans_arena else None
        more = more | ({OFFLINE_PLAN: plan} if plan is not None else {})
        metadata += [
            Table("Metadata", {"name": name, "buffer": len(buffers) + index}) for index, name in enumerate(more)
        ]
        buffers += [Table("Buffer", {"data": data}) for data in more.values()]
        fields = {
            "version": 3,
            "operator_codes": [_operator_code(*code) for code in self.codes],
            "subgraphs": subgraphs,
            "description": f"Converted by fuseconv {fuseconv.__version__}",
            "buffers": buffers,
            "metadata": metadata,
            "signature_defs": signatures,
        }
        return Table("Model", fields)

    def _signature(self, signature: Signature, name: str) -> Table:
        tensors = self.tensor_of[signature.graph]

        def tensor_maps(names: list[str], values: list[Value]) -> list[Table]:
            pairs = zip(names, values, strict=True)
            return [Table("TensorMap", {"name": n, "tensor_index": tensors[value]}) for n, value in pairs]

        fields = {
            "inputs": tensor_maps(signature.inputs, signature.graph.inputs),
            "outputs": tensor_maps(signature.outputs, signature.graph.outputs),
            "signature_key": name,
            "subgraph_index": self.buffers.graphs.index(signature.graph),
        }
        return Table("SignatureDef", fields)

    def _subgraph(self, graph: Graph) -> Table:
        """Describe a graph as a SubGraph: equal constants are one tensor, and each tensor has a name of its own."""
        first: dict[Any, int] = {}
        values: list[Value] = []
        tensors: dict[Value, int] = {}
        for value in _values(graph):
            index = first.setdefault(self._identity(value), len(values))
            if index == len(values):
                values.append(value)
            tensors[value] = index
        names = self.names.of(graph, values)
        self.tensor_of[graph] = tensors
        unsigned = {op.operands[0] for op in graph.ops if op.kind == "tfl.TOPK_V2"}
        # A slice without a signature would keep the shape that is written.
        slices = [op.result for op in graph.ops if op.kind == "tfl.SLICE"]
        unsigned.difference_update(graph.inputs, graph.outputs, slices)
        fields = {
            "tensors": [
                self._tensor(value, name, value not in unsigned, tensors)
                for value, name in zip(values, names, strict=True)
            ],
            "inputs": [tensors[value] for value in graph.inputs],
            "outputs": [tensors[value] for value in graph.outputs],
            "operators": [self._operator(op, tensors) for op in graph.ops],
            "name": graph.name,
        }
        return Table("SubGraph", fields)

    def _identity(self, value: Value) -> Any:
        """Return the key of a tensor of a subgraph: equal constants share one tensor."""
        if value.op is not None or not value.is_const or value.variable:
            return value
        return self.buffers.index(value), value.dtype, value.shape, value.quantization

    def _tensor(self, value: Value, name: str, signed: bool, tensors: dict[Value, int]) -> Table:
        """Describe a value as a Tensor. signed: with a signature of its shape, if that has unknown sizes. Raises
        FuseconvError for a constant that is not what its value declares, InputError for sizes beyond 32 bits."""
        dtype, data = value.dtype, value.stored
        if dtype.tflite is None:
            raise FuseconvError(f"the tensor {name} has the type {dtype}, which TFLite does not have")
        if data is not None and data.shape != value.shape:
            raise FuseconvError(f"the constant {name} is of shape {data.shape}, but declared as {value.shape}")
        if data is not None and data.dtype != dtype.numpy and types.of_array(data).numpy != dtype.numpy:
            raise FuseconvError(f"the constant {name} is an array of {data.dtype}, but declared as {dtype}")
        shape = value.shape or ()
        known = Sym not in map(type, shape)
        static: list[int] = [*shape] if known else [*map(_placeholder, shape)]  # type: ignore[list-item]
        # Lowering refuses ops for as much; what hands an input on has none.
        elements = math.prod(filter(None, static))
        if elements > LARGEST_SIZE:
            raise InputError(f"the tensor '{name}' has {elements} elements or more; TFLite counts in 32 bits.")
        fields: dict[str, Any] = {
            "shape": static,
            "type": dtype.tflite,
            "buffer": self.buffers.index(value),
            "name": name,
            "is_variable": value.variable,
            "has_rank": value.shape is not None,
        }
        if value.quantization is not None:
            fields["quantization"] = _quantization(value, tensors)
        if signed and value.shape != tuple(static):
            fields["shape_signature"] = [-1 if isinstance(dim, Sym) else dim for dim in shape]
        return Table("Tensor", fields)

    def _operator(self, op: Op, tensors: dict[Value, int]) -> Table:
        """Describe an op as an Operator, with its options. Raises FuseconvError for one that TFLite does not have."""
        if op.dialect != "tfl":
            raise FuseconvError(f"{op.kind} ({op.name}) cannot be written: it was not lowered to TFLite")
        custom = op.type == "CUSTOM"
        if not custom and op.type not in TABLE:
            raise FuseconvError(f"{op.kind} ({op.name}) cannot be written: the table of operators does not have it")
        code = (op.type, op.attrs["custom_code"] if custom else "", 1 if custom else op_version(op))
        inputs = [-1 if value is None else tensors[value] for value in written_operands(op)]
        fields: dict[str, Any] = {
            "opcode_index": self.codes.setdefault(code, len(self.codes)),
            "inputs": inputs,
            "outputs": [tensors[value] for value in op.results],
        }
        if custom:
            options = op.attrs.get("custom_options", b"")
            fields["custom_options"] = options if isinstance(options, bytes) else flexbuffer.encode(options)
            return Table("Operator", fields)
        if "intermediates" in op.attrs:
            fields["intermediates"] = [tensors[value] for value in op.attrs["intermediates"]]
        table = TABLE[op.type].options
        if table is not None:
            slot, number = _options_slot(table)
            fields[f"{slot}_type"] = number
            own = op.attrs or TABLE[op.type].derived
            fields[slot] = Table(table, self._options(table, op)) if own else _default_table(op.type)
        return Table("Operator", fields)

    def _options(self, table: str, op: Op) -> dict[str, Any]:
        fields = dict(_default_options(op.type))
        given = {name: compute(op) for name, compute in TABLE[op.type].derived.items()} | op.attrs
        for name, value in given.items():
            if name == "intermediates":
                continue
            if name not in schema.table(table):
                raise FuseconvError(f"the attribute {name} of {op.kind} ({op.name}) is no option of the operator")
            if isinstance(value, FuncRef):
                value = self.buffers.graphs.index(self.module.functions[value.name])
            try:
                fields[name] = _option(table, name, value)
            except ValueError as error:
                raise FuseconvError(f"the attribute {name} of {op.kind} ({op.name}): {error}") from error
        return _given(fields)


@functools.cache
def _options_slot(table: str) -> tuple[str, int]:
    """Return the field of the Operator table that holds this option table, and its union number."""
    number, second = schema.options_number(table)
    return "builtin_options2" if second else "builtin_options", number


@functools.cache
def _default_options(kind: str) -> dict[str, Any]:
    """Return the fields of an operator's option table where no attribute says otherwise."""
    options, defaults = TABLE[kind].options, TABLE[kind].defaults
    return {name: _option(options, name, value) for name, value in defaults.items()} if options else {}


@functools.cache
def _default_table(kind: str) -> Table:
    """Return the option table of an op without attributes."""
    return Table(TABLE[kind].options or "", _given(_default_options(kind)))


def _option(table: str, name: str, value: Any) -> Any:
    """Return the value of an option field for an attribute of an op. Raises ValueError on an unknown enum's name."""
    if isinstance(value, str) and schema.table(table)[name].code is not None:
        return schema.enum_number(schema.ENUM_FIELDS[name], value)
    if isinstance(value, dict):
        return flexbuffer.encode(value)
    if isinstance(value, (list, tuple)):
        return np.array(value, np.float32 if any(isinstance(item, float) for item in value) else np.int32)
    return value


def _placeholder(dim: Dim) -> int:
    """Return the size written for a dimension: of an unknown one its value if all unknowns are 1, at least 1."""
    if isinstance(dim, int):
        return dim
    size = dim.substitute({}, 1)
    assert isinstance(size, int)
    return max(size, 1)


def _operator_code(kind: str, custom_code: str, version: int) -> Table:
    number = schema.enum_number("BuiltinOperator", kind)
    fields = {
        # Readers from before there were more than 127 operators know this field only.
        "deprecated_builtin_code": min(number, 127),
        "custom_code": custom_code or None,
        "version": version,
        "builtin_code": number,
    }
    return Table("OperatorCode", _given(fields))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _quantization(value: Value, tensors: dict[Value, int]) -> Table:
    quantization = value.quantization
    assert quantization is not None
    if quantization.blocks is not None:
        (_, inputs), (_, blocks) = value.shape, quantization.blocks.shape  # type: ignore[misc]
        fields = {"scales": tensors[quantization.blocks], "zero_points": -1, "block_size": inputs // blocks}
        number = schema.enum_number("QuantizationDetails", "BlockwiseQuantization")
        details = Table("BlockwiseQuantization", fields)
        return Table("QuantizationParameters", {"details_type": number, "details": details})
    fields = {
        "scale": np.array(quantization.scale, np.float32),
        "zero_point": np.array(quantization.zero_point, np.int64),
        "quantized_dimension": quantization.axis,
    }
    return Table("QuantizationParameters", fields)


def _values(graph: Graph) -> list[Value]:
    """Return the tensors of a subgraph: its inputs, then operands and results in the order of the ops."""
    of_ops = chain.from_iterable((*op.operands, *op.attrs.get("intermediates", ()), *op.results) for op in graph.ops)
    values = dict.fromkeys((*graph.inputs, *of_ops, *graph.outputs))
    blocks = (value.quantization.blocks for value in values if value is not None and value.quantization is not None)
    return [value for value in dict.fromkeys((*values, *blocks)) if value is not None]


def _short(name: str) -> str:
    """Leave out of a name the calls that nobody named, and scopes behind themselves."""
    name = _CALLS.sub("", name)
    scopes = name.split("/")
    while len({*scopes}) < len(scopes):
        shorter = _TWICE.sub(r"\1", name)
        if shorter == name:
            break
        name, scopes = shorter, shorter.split("/")
    return name


class _Names:
    """Names of tensors, each once in the file. values: by their names."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self._repeats: dict[str, int] = {}

    def of(self, graph: Graph, values: list[Value]) -> list[str]:
        """Return the names of a subgraph's tensors. Inputs and outputs are first to get the name that they ask for."""
        ordered = dict.fromkeys((*graph.inputs, *graph.outputs, *values))
        names = {value: self._unique(_short(value.name) or "tensor", value) for value in ordered}
        return [names[value] for value in values]

    def _unique(self, wanted: str, value: Value) -> str:
        name = wanted
        while name in self.values:
            self._repeats[wanted] = self._repeats.get(wanted, 0) + 1
            name = f"{wanted};{self._repeats[wanted]}"
        self.values[name] = value
        return name
