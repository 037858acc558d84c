"""Tables of bytes that nobody vouches for."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from fuseconv.load.tflite.table_decoder import DamagedError, Decoder
from fuseconv.write.table_encoder import Encoder, Table


def encoded(fields: dict, name: str = "Tensor") -> bytearray:
    return Encoder(Table(name, fields), b"TFL3").data


def test_what_was_encoded_is_decoded():
    tensor = {"shape": [2, 3], "name": "é", "type": 9, "is_variable": True,
              "quantization": Table("QuantizationParameters", {"scale": np.array([0.5, 2], np.float32)})}  # fmt: skip
    table = Decoder(bytes(encoded(tensor))).root("Tensor")
    assert (table.ints("shape"), table.text("name"), table.number("type")) == ([2, 3], "é", 9)
    assert table.number("is_variable") is True and table.number("buffer") == 0
    assert "shape" in table and "sparsity" not in table
    quantization = table.table("quantization", "QuantizationParameters")
    assert quantization is not None and quantization.array("scale", np.float32).tolist() == [0.5, 2]
    assert table.table("sparsity", "SparsityParameters") is None and table.ints("shape_signature") == []


def test_tables_and_bytes():
    model = {"version": 3, "buffers": [Table("Buffer", {"data": b"abc"}), Table("Buffer", {})]}
    data = bytes(encoded(model, "Model"))
    full, empty = Decoder(data).root("Model").tables("buffers", "Buffer")
    start, size = full.place("data")
    assert data[start : start + size] == b"abc" and empty.place("data") == (0, 0)


@pytest.mark.parametrize("position", [0, 8, 12, 16])
def test_offsets_that_lead_nowhere(position: int) -> None:
    data = encoded({"shape": [2, 3], "name": "x"})
    for number in (len(data), 1 << 31, (1 << 32) - 1):
        struct.pack_into("<I", data, position, number)
        with pytest.raises(DamagedError):
            table = Decoder(bytes(data)).root("Tensor")
            table.ints("shape"), table.text("name")


def test_a_list_that_is_longer_than_the_file():
    data = encoded({"shape": [77, 78]})
    struct.pack_into("<I", data, bytes(data).index(struct.pack("<I", 77)) - 4, 1 << 30)
    with pytest.raises(DamagedError, match="1073741824 items"):
        Decoder(bytes(data)).root("Tensor").ints("shape")


def test_a_file_that_is_cut_off():
    data = bytes(encoded({"shape": [77, 78], "name": "x"}))
    for length in range(len(data) - 1):  # the last one is the zero behind the text
        with pytest.raises(DamagedError):
            table = Decoder(data[:length]).root("Tensor")
            table.ints("shape"), table.text("name")


def test_a_text_that_is_none():
    data = bytes(encoded({"name": "xyz"})).replace(b"xyz", b"x\xffz")
    with pytest.raises(DamagedError, match="no UTF-8"):
        Decoder(data).root("Tensor").text("name")


def test_a_field_of_a_later_schema():
    data = bytes(encoded({"variant_tensors": [1]}))  # in place of the metadata's name, which has two fields
    with pytest.raises(DamagedError, match="does not know"):
        Decoder(data).root("Metadata")


def test_tables_that_are_shared_too_often():
    """Few bytes that refer to the same tables again and again stand for some times their size, and no more."""
    model = {"subgraphs": [Table("SubGraph", {"tensors": [Table("Tensor", {"shape": [1] * 50})] * 50})]}
    root = Decoder(bytes(encoded(model, "Model"))).root("Model")
    with pytest.raises(DamagedError, match="shared so often"):
        for _ in range(1000):
            for graph in root.tables("subgraphs", "SubGraph"):
                [table.ints("shape") for table in graph.tables("tensors", "Tensor")]
