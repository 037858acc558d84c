"""Little .tflite files whose tables and vectors are shared, so that they stand for any number of them."""

from __future__ import annotations

from random import Random

import flatbuffers
import numpy as np

from fuseconv.tfl.generated_schema import generated

# How many subgraphs, tensors, ops, operands, signatures and pieces of metadata share what is written once.
SHARED: dict[str, dict[str, int]] = {
    "subgraphs": {"subgraphs": 60_000},
    "tensors": {"subgraphs": 300, "tensors": 60_000},
    "ops": {"subgraphs": 300, "ops": 60_000},
    "operands": {"ops": 30_000, "operands": 30_000},
    "signatures": {"operands": 30_000, "signatures": 30_000},
    "metadata": {"metadata": 60_000},
    "contents": {"named": 20_000, "size": 400_000},
    "options": {},
}
_ABS, _CUSTOM = 101, 32
_LEVELS, _FAN = 12, 8


def build(name: str, rng: Random) -> bytes:
    """The file in which what this names is shared, as often as that says or less."""
    part = rng.choice((1, 2, 4))
    options = nested(_LEVELS, _FAN) if name == "options" else b""
    return file(options, **{key: count // part for key, count in SHARED[name].items()})


def file(
    options: bytes = b"", *, subgraphs: int = 1, tensors: int = 2, ops: int = 1, operands: int = 1,
    signatures: int = 1, metadata: int = 1, named: int = 0, size: int = 4000,
) -> bytes:  # fmt: skip
    """The file with so many of each. options: of its ops, which are custom ones then. named: pieces of metadata that
    share the contents alone, which are of this size."""
    b = flatbuffers.Builder(1 << 16)
    text, code = b.CreateString("a name of some length"), b.CreateString("Acme")
    shape, data = b.CreateNumpyVector(np.ones(4, np.int32)), b.CreateNumpyVector(np.zeros(size, np.uint8))
    first, many = b.CreateNumpyVector(np.zeros(1, np.int32)), b.CreateNumpyVector(np.zeros(operands, np.int32))
    custom = b.CreateNumpyVector(np.frombuffer(options, np.uint8)) if options else 0
    tensor = _table(b, "Tensor", Shape=shape, Name=text, Buffer=0)
    op = _table(b, "Operator", Inputs=many, Outputs=first, **({"CustomOptions": custom} if options else {}))
    kind = _CUSTOM if options else _ABS
    graph = _table(b, "SubGraph", Tensors=_vector(b, [tensor] * tensors), Inputs=first, Outputs=first,
                   Operators=_vector(b, [op] * ops), Name=text)  # fmt: skip
    opcode = _table(b, "OperatorCode", BuiltinCode=kind, DeprecatedBuiltinCode=kind, Version=1, CustomCode=code)
    entries = _vector(b, [_table(b, "TensorMap", Name=text, TensorIndex=0)] * operands)
    signature = _table(b, "SignatureDef", Inputs=entries, Outputs=entries, SignatureKey=text)
    buffers = [_table(b, "Buffer"), _table(b, "Buffer", Data=data)]
    model = _table(
        b, "Model", Version=3, OperatorCodes=_vector(b, [opcode]), Subgraphs=_vector(b, [graph] * subgraphs),
        Buffers=_vector(b, buffers), SignatureDefs=_vector(b, [signature] * signatures),
        Metadata=_vector(b, [
            *[_table(b, "Metadata", Name=text, Buffer=1)] * metadata,
            *(_table(b, "Metadata", Name=b.CreateString(f"{number}"), Buffer=1) for number in range(named)),
        ]),
    )  # fmt: skip
    b.Finish(model, b"TFL3")
    return bytes(b.Output())


def nested(levels: int, fan: int) -> bytes:
    """A flexbuffer: a map whose one entry is vectors of `fan` references to the same one below, fan**levels numbers."""
    made = bytearray(b"\1\0\0\0\7\0\0\0")
    place, kind = 4, 11 << 2 | 2
    for _ in range(levels):
        made += _word(fan)
        start = len(made)
        for _ in range(fan):
            made += _word(len(made) - place)
        made += bytes([kind]) * fan + bytes(-fan % 4)
        place, kind = start, 10 << 2 | 2
    made += b"a\0\0\0" + _word(1)
    keys = len(made)
    made += _word(8) + _word(4) + _word(4) + _word(1)  # the key; where the keys are, how wide, how many entries
    entries = len(made)
    made[entries - 12 : entries - 8] = _word(entries - 12 - keys)
    made += _word(len(made) - place) + bytes([kind]) + bytes(3)
    return bytes(made + _word(len(made) - entries) + bytes([9 << 2 | 2, 4]))


def _word(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _table(b: flatbuffers.Builder, name: str, **fields: int) -> int:
    getattr(generated, f"{name}Start")(b)
    for field, value in fields.items():
        getattr(generated, f"{name}Add{field}")(b, value)
    return int(getattr(generated, f"{name}End")(b))


def _vector(b: flatbuffers.Builder, tables: list[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        b.PrependUOffsetTRelative(table)
    return int(b.EndVector())
