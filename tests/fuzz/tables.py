"""Damage to a .tflite file that leaves it a flatbuffer: tables, their fields and vectors, changed by what they mean."""

from __future__ import annotations

import copy
import functools
import io
import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers import flexbuffers

from fuseconv.tfl.generated_schema import generated
from tests.fuzz.damage import INTERESTING, damage

_NEAR = (-2, -1, 0, 1, 2, 3, 4, 5, 8, 9, 16, 100)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), float("-inf"))
_TEXTS = (b"", b"x", b"\xff\xfe", b"\0", b"FlexAdd", b"serving_default", b"w" * 999, b"\x1b[31m", b"TFLITE_METADATA")
_TRIES = 50
# Where a field cannot hold what it is to, or a change finds nothing left of what the one before it took.
_IMPOSSIBLE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, struct.error,
               flatbuffers.builder.OffsetArithmeticError)  # fmt: skip


def damage_tables(rng: Random, data: bytes) -> bytes:
    """The file with one to three changes to its tables."""
    for _ in range(_TRIES):
        model = generated.ModelT.InitFromPackedBuf(data)
        builder = flatbuffers.Builder(1024)
        try:
            for _ in range(min(3, 1 + int(rng.expovariate(1.2)))):
                rng.choice(WAYS)(rng, model)
            builder.Finish(model.Pack(builder), b"TFL3")
        except _IMPOSSIBLE:
            continue
        return bytes(builder.Output())
    return data


def _tables(root: Any) -> Iterator[Any]:
    """All tables of a model, the root first."""
    waiting = [root]
    while waiting:
        table = waiting.pop(0)
        yield table
        for value in vars(table).values():
            items = value if isinstance(value, list) else [value]
            waiting += [item for item in items if type(item).__name__.endswith("T") and hasattr(item, "Pack")]


def _table(rng: Random, model: Any, wanted: Callable[[Any], bool] = lambda table: True) -> Any:
    """A table by chance, of any kind that there is; None if none is wanted."""
    kinds: dict[str, list[Any]] = {}
    for table in _tables(model):
        if wanted(table):
            kinds.setdefault(type(table).__name__, []).append(table)
    return rng.choice(kinds[rng.choice(sorted(kinds))]) if kinds else None


def _field(rng: Random, model: Any) -> None:
    """A field of any table, changed by its kind."""
    table = _table(rng, model)
    name = rng.choice(sorted(vars(table)) or [""])
    if name:
        setattr(table, name, _changed(rng, getattr(table, name)))


def _changed(rng: Random, value: Any) -> Any:
    if value is None:
        return rng.choice((None, 0, 1, [0], [-1], b"x", []))
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, np.integer)):
        return rng.choice((*_NEAR, *INTERESTING, int(value) + 1, int(value) - 1))
    if isinstance(value, (float, np.floating)):
        return rng.choice(_FLOATS)
    if isinstance(value, (bytes, str)):
        return rng.choice((*_TEXTS, value, None))
    if isinstance(value, np.ndarray):
        return _vector(rng, value)
    if isinstance(value, list):
        return _list(rng, value)
    return rng.choice((None, value))


def _vector(rng: Random, value: np.ndarray) -> np.ndarray | None:
    """Numbers: fewer, more, none, other ones."""
    way = rng.randrange(6)
    if way == 0 or not value.size:
        return rng.choice((None, value[:0], np.ones(rng.choice((1, 2, 5, 9, 200)), value.dtype)))
    if way == 1:
        return np.delete(value, rng.randrange(value.size))
    if way == 2:
        return np.append(value, value[: rng.choice((1, value.size))])
    if way == 3:
        return value[::-1].copy()
    made = value.copy()
    if value.dtype.kind == "f":
        made[rng.randrange(value.size)] = rng.choice(_FLOATS)
    else:
        ends = np.iinfo(value.dtype)
        number = rng.choice((*_NEAR, *_NEAR, *INTERESTING))
        made[rng.randrange(value.size)] = min(max(number, int(ends.min)), int(ends.max))
    return made


def _list(rng: Random, value: list[Any]) -> list[Any] | None:
    """Tables, or numbers: one goes, is doubled, or stands in the place of another."""
    made = list(value)
    if not made:
        return rng.choice((None, [0], [-1], [0, 1]))
    at, other = rng.randrange(len(made)), rng.randrange(len(made))
    way = rng.randrange(6)
    if way == 0:
        del made[at]
    elif way == 1:
        made.insert(other, copy.deepcopy(made[at]))
    elif way == 2:
        made[at], made[other] = made[other], made[at]
    elif way == 3:
        made[at] = copy.deepcopy(made[other])
    elif way == 4:
        made.clear()
    elif isinstance(made[at], (int, float)):
        made[at] = _changed(rng, made[at])
    return made


def _operators(model: Any) -> list[Any]:
    return [op for graph in model.subgraphs or () for op in graph.operators or ()]


def _tensors(model: Any) -> list[Any]:
    return [tensor for graph in model.subgraphs or () for tensor in graph.tensors or ()]


def _one(rng: Random, items: list[Any]) -> Any:
    return rng.choice(items) if items else None


def _rewire(rng: Random, model: Any) -> None:
    """An operand or result of an op is another tensor, or none."""
    op = _one(rng, _operators(model))
    ends = ["inputs", "outputs"] if op is not None else []
    for end in ends if rng.random() < 0.2 else ends[:1]:
        indices = np.array([] if getattr(op, end) is None else getattr(op, end), np.int32)
        if not indices.size:
            continue
        way = rng.randrange(4)
        if way == 0:
            indices = np.delete(indices, rng.randrange(indices.size))
        elif way == 1:
            indices = np.append(indices, rng.randrange(-1, len(_tensors(model)) + 1)).astype(np.int32)
        else:
            indices[rng.randrange(indices.size)] = rng.choice((-1, -2, 2**31 - 1, *range(len(_tensors(model)) + 1)))
        setattr(op, end, indices)


def _operator(rng: Random, model: Any) -> None:
    """An op is of another kind, with its options or with those of another op."""
    op, other = _one(rng, _operators(model)), _one(rng, _operators(model))
    if op is None:
        return
    way = rng.randrange(4)
    if way == 0:
        op.builtinOptionsType, op.builtinOptions = other.builtinOptionsType, copy.deepcopy(other.builtinOptions)
    elif way == 1:
        op.opcodeIndex = other.opcodeIndex
    elif way == 2:
        op.customOptions = rng.choice((None, [0, 0, 0], list(rng.randbytes(20))))
    else:
        code = rng.choice(model.operatorCodes)
        code.builtinCode = rng.choice((0, 32, *range(210)))
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)


def _custom(rng: Random, model: Any) -> None:
    """A custom op, whose options are a flexbuffer with damaged bytes."""
    op = _one(rng, _operators(model))
    if op is not None:
        code = generated.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = 32
        code.customCode, code.version = rng.choice((b"Acme", b"FlexAdd", b"", None, b"TFLite_Detection_PostProcess")), 1
        model.operatorCodes.append(code)
        op.opcodeIndex = len(model.operatorCodes) - 1
        options = flexbuffers.Dumps({"a": 1, "b": [1.5, "text", None, True], "c": {"d": [1, 2, 3], "e": "x" * 300}})
        op.customOptions = list(damage(rng, bytes(options), bytes(options)))
        op.builtinOptions, op.builtinOptionsType = None, 0


def _type(rng: Random, model: Any) -> None:
    """The type of a tensor, with contents of their old size or of the new one."""
    tensor = _one(rng, _tensors(model))
    if tensor is not None:
        tensor.type = rng.choice((*range(20), 127))


def _shape(rng: Random, model: Any) -> None:
    """The shape of a tensor, whose contents stay or follow."""
    tensor = _one(rng, _tensors(model))
    if tensor is None:
        return
    old = np.array([] if tensor.shape is None else tensor.shape, np.int32)
    tensor.shape = _vector(rng, old)
    buffer = model.buffers[tensor.buffer] if 0 <= tensor.buffer < len(model.buffers or ()) else None
    size = 0 if tensor.shape is None else int(np.prod(tensor.shape.astype(np.int64)))
    if buffer is not None and buffer.data is not None and rng.random() < 0.6 and 0 < size < 1 << 14:
        buffer.data = np.resize(np.array(buffer.data, np.uint8), 4 * size)


def _content(rng: Random, model: Any) -> None:
    """The numbers of a small constant, which say what an op does: axes, shapes, permutations, indices."""
    small = [b for b in model.buffers or () if b.data is not None and 0 < len(b.data) <= 64]
    buffer = _one(rng, small)
    if buffer is not None:
        size = rng.choice((1, 4, 4, 4, 8))
        chosen = [rng.choice((*_NEAR, *INTERESTING)) & (1 << 8 * size) - 1 for _ in range(-(-len(buffer.data) // size))]
        raw = b"".join(number.to_bytes(size, "little") for number in chosen)
        buffer.data = np.frombuffer(raw[: len(buffer.data)], np.uint8)


def _quantization(rng: Random, model: Any) -> None:
    """Scales and zero points that a tensor did not have, or that do not fit."""
    tensor = _one(rng, _tensors(model))
    if tensor is None:
        return
    made = generated.QuantizationParametersT()
    count = rng.choice((1, 1, 2, 4, 100))
    made.scale = np.array([rng.choice((0.5, 0.1, *_FLOATS)) for _ in range(count)], np.float32)
    made.zeroPoint = np.array([rng.choice((0, 0, -128, 7, 300, 2**40)) for _ in range(rng.choice((count, count, 0)))])
    made.quantizedDimension = rng.choice((0, 0, 1, -1, 9))
    tensor.quantization = made
    tensor.type = rng.choice((tensor.type, 9, 9, 7, 3, 17))


def _subgraphs(rng: Random, model: Any) -> None:
    """Which subgraph a loop, a branch or a signature runs: another one, itself, or none that there is."""
    numbers = (*range(len(model.subgraphs or ())), -1, 99)
    options = [op.builtinOptions for op in _operators(model) if op.builtinOptions is not None]
    calls = [(table, name) for table in options for name in vars(table) if "ubgraph" in name]
    calls += [(signature, "subgraphIndex") for signature in model.signatureDefs or ()]
    if calls:
        table, name = rng.choice(calls)
        setattr(table, name, rng.choice(numbers))


def _sparse(rng: Random, model: Any) -> None:
    """A tensor that is said to be sparse, by numbers that may mean nothing."""
    tensor = _one(rng, _tensors(model))
    if tensor is None:
        return
    made = generated.SparsityParametersT()
    rank = 0 if tensor.shape is None else len(tensor.shape)
    made.traversalOrder = [rng.choice((n, n, -1, 9)) for n in range(rank)]
    made.blockMap = rng.choice((None, [0], [7]))
    made.dimMetadata = []
    for _ in range(rank):
        dim = generated.DimensionMetadataT()
        dim.format, dim.denseSize = rng.choice((0, 1)), rng.choice((1, 4, -1, 2**31 - 1))
        dim.arraySegmentsType, dim.arraySegments = 1, generated.Int32VectorT()
        dim.arraySegments.values = rng.choice(([0, 1], [0, 2**31 - 1], [-1], []))
        dim.arrayIndicesType, dim.arrayIndices = 1, generated.Int32VectorT()
        dim.arrayIndices.values = rng.choice(([0], [99], []))
        made.dimMetadata.append(dim)
    tensor.sparsity = made


WAYS: tuple[Callable[[Random, Any], None], ...] = (
    _field, _field, _field, _field, _rewire, _rewire, _operator, _custom, _type, _shape, _shape, _content,
    _quantization, _subgraphs, _sparse,
)  # fmt: skip


@functools.cache
def samples(data: bytes) -> bytes:
    """An .npz of two samples for each input of an intact file."""
    model = generated.ModelT.InitFromPackedBuf(data)
    arrays = {}
    dtypes = {0: "f4", 1: "f2", 2: "i4", 3: "u1", 4: "i8", 6: "?", 7: "i2", 9: "i1", 10: "f8"}
    for signature in model.signatureDefs or ():
        for entry in signature.inputs or ():
            tensor = model.subgraphs[signature.subgraphIndex].tensors[entry.tensorIndex]
            shape = () if tensor.shape is None else tuple(tensor.shape)
            arrays[entry.name.decode()] = np.ones((2, *shape), dtypes.get(tensor.type, "f4"))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # numpy's stub takes the names for its own
    return buffer.getvalue()
