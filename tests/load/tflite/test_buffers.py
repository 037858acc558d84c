"""Contents of tensors: views of the file's bytes."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import constant
from fuseconv.load.tflite.buffers import Buffers
from fuseconv.load.tflite.table_decoder import DamagedError, Decoder
from fuseconv.write.buffer_data import chunks
from fuseconv.write.table_encoder import Encoder, Table


def buffers(*fields: dict, behind: bytes = b"") -> Buffers:
    root = Table("Model", {"buffers": [Table("Buffer", each) for each in fields]})
    data = bytes(Encoder(root, b"TFL3").data) + behind
    decoder = Decoder(data)
    return Buffers(decoder, decoder.root("Model").tables("buffers", "Buffer"))


def test_an_array_is_a_view():
    made = buffers({}, {"data": np.arange(6, dtype=np.float32).tobytes()})
    array = made.array(1, types.FLOAT32, (2, 3))
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]] and not array.flags.owndata and not array.flags.writeable
    assert made.size(0) == 0 and made.array(0, types.INT32, (0, 3)).shape == (0, 3)


def test_contents_behind_the_model():
    content = np.arange(3, dtype=np.int64).tobytes()
    place = len(buffers({"offset": 2, "size": 1}).data)
    assert buffers({"offset": place, "size": 24}, behind=content).array(0, types.INT64, (3,)).tolist() == [0, 1, 2]
    assert buffers({"offset": 1, "size": 24}, behind=content).size(0) == 0
    with pytest.raises(DamagedError, match="beyond the end"):
        buffers({"offset": place, "size": 25}, behind=content).size(0)


def test_contents_of_another_size():
    made = buffers({"data": bytes(12)})
    for dtype, shape in ((types.FLOAT32, (4,)), (types.INT8, (11,)), (types.FLOAT32, ())):
        with pytest.raises(DamagedError, match="its buffer holds 12"):
            made.array(0, dtype, shape)
    with pytest.raises(DamagedError, match="no buffer 1"):
        made.size(1)


def test_strings():
    texts = np.array([[b"", b"ab"], [b"c\0", b"d"]], object)
    data = b"".join(bytes(piece) for piece in chunks(constant(texts, types.STRING)))
    assert buffers({"data": data}).array(0, types.STRING, (2, 2)).tolist() == texts.tolist()
    for damaged in (data[:-1], data[:10], b"\5" + data[1:], data[:4] + b"\xff" + data[5:], b""):
        with pytest.raises(DamagedError):
            buffers({"data": damaged}).array(0, types.STRING, (2, 2))


def test_integers_of_4_bits():
    numbers = np.array([[-8, 7, 0], [1, -1, 3]], types.INT4.numpy)
    for array in (numbers, numbers[:, :1].reshape(-1), numbers.reshape(-1)[:5]):
        data = b"".join(bytes(piece) for piece in chunks(constant(array, types.INT4)))
        read = buffers({"data": data}).array(0, types.INT4, array.shape)
        assert read.dtype == types.INT4.numpy and read.tolist() == array.tolist()
    with pytest.raises(DamagedError, match="takes 3 bytes, but its buffer holds 4"):
        buffers({"data": bytes(4)}).array(0, types.INT4, (2, 3))


def test_copies_of_one_vector_are_bounded():
    """A model's tables may lead to one vector from any number of buffers."""
    ways = (lambda made: made.copy(0), lambda made: made.array(0, types.INT4, (40_000,)))
    for copied in ways:
        made = buffers({"data": bytes(20_000)})
        copied(made)
        with pytest.raises(DamagedError, match="shared so often"):
            for _ in range(20):
                copied(made)
