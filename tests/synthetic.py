"""SavedModels of any size, made without TensorFlow: many nodes, or many bytes in a sparse checkpoint.

`python -m tests.synthetic many_nodes PATH COUNT WIDTH` makes one, as does many_bytes."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load import protos
from fuseconv.load.checkpoint import masked_crc32c

# What a large weight holds besides zeros: the first element, and the last.
Corners = tuple[float, float]
_MAGIC = 0xDB4775248B80FB57


class _Nodes:
    """Collects the nodes of a GraphDef; each method returns the name of the node."""

    def __init__(self) -> None:
        self.graph = protos.classes["GraphDef"]()
        self.count = 0

    def add(self, op: str, inputs: Sequence[str] = (), name: str = "", **attrs: Any) -> str:
        self.count += 1
        node = self.graph.node.add(name=name or f"block/{op}_{self.count}", op=op, input=inputs)
        for key, value in attrs.items():
            if isinstance(value, DType):
                node.attr[key].type = value.tf
            elif isinstance(value, tuple):
                _set_shape(node.attr[key].shape, value)
            elif isinstance(value, np.ndarray):
                _set_tensor(node.attr[key].tensor, value)
            else:
                node.attr[key].i = value
        return str(node.name)

    def const(self, array: Any, dtype: DType = types.FLOAT32, name: str = "") -> str:
        return self.add("Const", (), name, dtype=dtype, value=np.asarray(array, dtype.numpy))


def _set_shape(proto: Any, shape: Sequence[int]) -> None:
    for size in shape:
        proto.dim.add(size=size)


def _set_tensor(proto: Any, array: np.ndarray) -> None:
    dtype = types.of_array(array)
    proto.dtype = dtype.tf
    _set_shape(proto.tensor_shape, array.shape)
    if dtype is types.STRING:
        proto.string_val.extend(array.reshape(-1))
    else:
        proto.tensor_content = array.tobytes()


def many_nodes(path: Path, count: int, width: int = 8) -> Path:
    """A model of about `count` nodes: dense layers with constant weights, residuals, and reshapes that restate the
    batch."""
    rng = np.random.default_rng(0)
    nodes = _Nodes()
    x = y = nodes.add("Placeholder", name="x", dtype=types.FLOAT32, shape=(-1, width))
    edge, one, start = (nodes.const([n], types.INT32) for n in (1, 1, 0))
    last = nodes.const(width, types.INT32)
    while nodes.count < count:
        # A deviation that lets the numbers neither grow nor vanish.
        weights = nodes.const(rng.normal(0.0, width**-0.5, (width, width)))
        y = nodes.add("MatMul", [y, weights], T=types.FLOAT32)
        y = nodes.add("BiasAdd", [y, nodes.const(rng.normal(0.0, 0.1, width))], T=types.FLOAT32)
        y = nodes.add("Mul", [y, nodes.const(rng.uniform(0.5, 1.5, width))], T=types.FLOAT32)
        y = nodes.add("Tanh", [y], T=types.FLOAT32)
        y = x = nodes.add("AddV2", [x, y], T=types.FLOAT32)
        shape = nodes.add("Shape", [y], T=types.FLOAT32, out_type=types.INT32)
        first = [shape, start, edge, one]
        batch = nodes.add("StridedSlice", first, T=types.INT32, Index=types.INT32, shrink_axis_mask=1)
        shape = nodes.add("Pack", [batch, last], T=types.INT32, N=2, axis=0)
        y = nodes.add("Reshape", [y, shape], T=types.FLOAT32, Tshape=types.INT32)
    y = nodes.add("Identity", [y], "y", T=types.FLOAT32)
    return _save(path, nodes, width, width, {})


def many_bytes(path: Path, count: int, width: int) -> Path:
    """A stack of `count` dense layers of `width` x `width` weights: zeros, which take up no space on the disk.

    The first element of weight i is i + 1, the last one 2: so y[0] is x[0] * count!, and y[-1] is x[-1] * 2**count."""
    nodes = _Nodes()
    y = nodes.add("Placeholder", name="x", dtype=types.FLOAT32, shape=(-1, width))
    corners: dict[str, Corners] = {}
    for index in range(count):
        name = f"dense_{index}/kernel"
        corners[name] = (index + 1.0, 2.0)
        handle = nodes.add("VarHandleOp", name=name, dtype=types.FLOAT32, shape=(width, width))
        weights = nodes.add("ReadVariableOp", [handle], f"{name}/Read", dtype=types.FLOAT32)
        y = nodes.add("MatMul", [y, weights], f"dense_{index}/MatMul", T=types.FLOAT32)
    nodes.add("Identity", [y], "y", T=types.FLOAT32)
    return _save(path, nodes, width, width, corners)


def _save(path: Path, nodes: _Nodes, inputs: int, outputs: int, corners: dict[str, Corners]) -> Path:
    model = protos.classes["SavedModel"](saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    signature = meta.signature_def["serving_default"]
    for side, name, width in ((signature.inputs, "x", inputs), (signature.outputs, "y", outputs)):
        side[name].name = f"{name}:0"
        side[name].dtype = types.FLOAT32.tf
        _set_shape(side[name].tensor_shape, (-1, width))
    path.mkdir(parents=True)
    if corners:
        (path / "variables").mkdir()
        _restore(nodes, list(corners))
        meta.saver_def.restore_op_name = "save/restore_all"
        _write_checkpoint(path / "variables" / "variables", corners, (inputs, outputs))
    meta.graph_def.CopyFrom(nodes.graph)
    (path / "saved_model.pb").write_bytes(model.SerializeToString())
    return path


def _restore(nodes: _Nodes, names: list[str]) -> None:
    keys, slices = (np.array(texts, object) for texts in ([n.encode() for n in names], [b""] * len(names)))
    operands = [
        nodes.const(np.array(b"", object), types.STRING, "save/Const"),
        nodes.const(keys, types.STRING, "save/names"),
        nodes.const(slices, types.STRING, "save/slices"),
    ]
    nodes.add("RestoreV2", operands, "save/RestoreV2")
    written = [
        nodes.add("AssignVariableOp", [name, f"save/RestoreV2:{index}"], f"save/{index}", dtype=types.FLOAT32)
        for index, name in enumerate(names)
    ]
    nodes.add("NoOp", [f"^{name}" for name in written], "save/restore_all")


def _write_checkpoint(prefix: Path, corners: dict[str, Corners], shape: tuple[int, int]) -> None:
    """A tensor bundle in which only the corners of the weights take up space."""
    size = 4 * shape[0] * shape[1]
    with open(f"{prefix}.data-00000-of-00001", "wb") as file:
        file.truncate(size * len(corners))
        for index, (first, last) in enumerate(corners.values()):
            for at, number in ((0, first), (size - 4, last)):
                file.seek(size * index + at)
                file.write(struct.pack("<f", number))
    entries = [(b"", protos.classes["BundleHeaderProto"](num_shards=1))]
    for index, name in enumerate(corners):
        entry = protos.classes["BundleEntryProto"](dtype=types.FLOAT32.tf, offset=size * index, size=size)
        _set_shape(entry.shape, shape)
        entries.append((name.encode(), entry))
    # A LevelDB table: a block with the entries, an empty one of metadata, the index of blocks, the footer.
    data = bytearray()
    entries_at = _add_block(data, [(key, proto.SerializeToString()) for key, proto in sorted(entries, key=_key)])
    metadata_at = _add_block(data, [])
    index_at = _add_block(data, [(max(name.encode() for name in corners), entries_at)])
    data += (metadata_at + index_at).ljust(40, b"\0") + struct.pack("<Q", _MAGIC)
    Path(f"{prefix}.index").write_bytes(data)


def _key(entry: tuple[bytes, Any]) -> bytes:
    return entry[0]


def _add_block(data: bytearray, entries: list[tuple[bytes, bytes]]) -> bytes:
    """Adds a block with one restart point and no compression; returns the handle, where it is and how long."""
    start = len(data)
    for key, value in entries:
        data += _varint(0) + _varint(len(key)) + _varint(len(value)) + key + value
    data += struct.pack("<II", 0, 1)
    length = len(data) - start
    data += b"\0"
    data += struct.pack("<I", masked_crc32c(bytes(data[start:])))
    return _varint(start) + _varint(length)


def _varint(number: int) -> bytes:
    made = bytearray()
    while number >= 128:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


if __name__ == "__main__":
    maker, path, *sizes = sys.argv[1:]
    {"many_nodes": many_nodes, "many_bytes": many_bytes}[maker](Path(path), *map(int, sizes))
