"""Tables that are encoded are read back by the generated code."""

from __future__ import annotations

import math
import struct

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from fuseconv.write.table_encoder import Deferred, Encoder, Table


def encode(root: Table) -> bytes:
    return bytes(Encoder(root, b"TEST").data)


def test_scalars_strings_and_missing_fields():
    fields = {"name": "süß", "type": 9, "is_variable": True, "buffer": 7}
    data = encode(Table("Tensor", fields))
    assert data[4:8] == b"TEST"
    tensor = schema.Tensor.GetRootAs(data, 0)
    assert (tensor.Name().decode(), tensor.Type(), tensor.IsVariable(), tensor.Buffer()) == ("süß", 9, True, 7)
    assert tensor.Quantization() is None and tensor.ShapeIsNone() and not tensor.HasRank()


def test_vectors_are_aligned_to_their_items():
    for name in ("", "a", "ab", "abc", "abcd"):
        fields = {
            "scale": np.array([0.5, 2], np.float32), "zero_point": np.array([1, -(2**40)], np.int64),
            "max": np.array([len(name)], ">f4"),
        }  # fmt: skip
        quantization = Table("QuantizationParameters", fields)
        data = encode(Table("Tensor", {"name": name, "shape": [1, -1], "quantization": quantization}))
        tensor = schema.Tensor.GetRootAs(data, 0)
        parameters = tensor.Quantization()
        assert parameters.ScaleAsNumpy().tolist() == [0.5, 2]
        assert parameters.ZeroPointAsNumpy().tolist() == [1, -(2**40)]
        assert parameters.MaxAsNumpy().tolist() == [len(name)]
        assert tensor.ShapeAsNumpy().tolist() == [1, -1]
        assert parameters._tab.Vector(parameters._tab.Offset(10)) % 8 == 0


def test_wide_fields_are_aligned():
    for name in ("", "abc", "abcdef"):
        buffer = Table("Buffer", {"offset": 2**40, "size": 3})
        data = encode(Table("Model", {"description": name, "buffers": [buffer, Table("Buffer", {}), buffer]}))
        model = schema.Model.GetRootAs(data, 0)
        for index in (0, 2):
            table = model.Buffers(index)._tab
            assert (table.Pos + table.Offset(6)) % 8 == 0
            assert (model.Buffers(index).Offset(), model.Buffers(index).Size()) == (2**40, 3)
        assert model.Buffers(1).DataIsNone()


def test_tables_with_the_same_fields_share_a_vtable():
    tables = [Table("Metadata", {"name": "m", "buffer": index}) for index in range(3)]
    model = schema.Model.GetRootAs(encode(Table("Model", {"metadata": tables})), 0)
    places = [model.Metadata(index)._tab for index in range(3)]
    assert len({table.Pos - struct.unpack_from("<i", table.Bytes, table.Pos)[0] for table in places}) == 1
    assert [model.Metadata(index).Buffer() for index in range(3)] == [0, 1, 2]


def test_equal_vectors_and_tables_of_numbers_are_written_once():
    shapes = [[2, 3], [2, 3], [], [], [3, 2]]
    tensors = [Table("Tensor", {"name": str(index), "shape": shape}) for index, shape in enumerate(shapes)]
    slopes = [0.0, -0.0, 0.5, 0.5]
    operators = [
        Table("Operator", {
            "inputs": [1, 2], "builtin_options_type": 75,
            "builtin_options": Table("LeakyReluOptions", {"alpha": slope}),
        })
        for slope in slopes
    ]  # fmt: skip
    data = encode(Table("Model", {"subgraphs": [Table("SubGraph", {"tensors": tensors, "operators": operators})]}))
    graph = schema.Model.GetRootAs(data, 0).Subgraphs(0)
    read = schema.SubGraphT.InitFromObj(graph)
    assert [tensor.shape.tolist() if len(tensor.shape) else [] for tensor in read.tensors] == shapes
    places = [tensor.Vector(tensor.Offset(4)) for tensor in (graph.Tensors(index)._tab for index in range(5))]
    assert places[0] == places[1] and places[2] == places[3] and len(set(places)) == 3
    assert [math.copysign(1, op.builtinOptions.alpha) for op in read.operators] == [1, -1, 1, 1]
    assert [op.builtinOptions.alpha for op in read.operators] == slopes
    assert [op.inputs.tolist() for op in read.operators] == [[1, 2]] * 4
    options = [graph.Operators(index).BuiltinOptions().Pos for index in range(4)]
    assert options[2] == options[3] and len(set(options)) == 3


def test_fields_that_are_set_later():
    data_place, offset_place = Deferred(), Deferred()
    buffers = [Table("Buffer", {"data": data_place}), Table("Buffer", {"offset": offset_place, "size": 2})]
    data = Encoder(Table("Model", {"buffers": buffers}), b"TEST").data
    data[offset_place.position : offset_place.position + 8] = struct.pack("<Q", 77)
    data[data_place.position : data_place.position + 4] = struct.pack("<I", len(data) - data_place.position)
    data += struct.pack("<I", 3) + b"xyz"
    model = schema.Model.GetRootAs(bytes(data), 0)
    assert model.Buffers(0).DataAsNumpy().tobytes() == b"xyz"
    assert (model.Buffers(1).Offset(), model.Buffers(1).Size()) == (77, 2)
