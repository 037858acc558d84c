"""Vocabulary files, against the tables that TensorFlow makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load.vocabulary_file import read_asset, read_text_file


def attributes(key_index: int, value_index: int, **others: Any) -> dict[str, Any]:
    defaults = {"vocab_size": -1, "delimiter": b"\t", "offset": 0}
    return {"key_index": key_index, "value_index": value_index} | defaults | others


CASES: list[tuple[bytes, dict[str, Any], DType, DType]] = [
    (b"a\nb\nc\n", attributes(-2, -1), types.STRING, types.INT64),
    (b"a\nb\nc", attributes(-2, -1, offset=5), types.STRING, types.INT64),
    (b"a\r\nb\r\n", attributes(-2, -1), types.STRING, types.INT64),
    (b"a\nb\nc\n", attributes(-1, -2, vocab_size=2), types.INT64, types.STRING),
    (b"a b\nc d\n", attributes(-2, -1), types.STRING, types.INT64),
    (b"x,1.5\ny,2\n", attributes(0, 1, delimiter=b","), types.STRING, types.FLOAT32),
    (b"7\tx\tp\n-8\ty\tq\n", attributes(0, 2), types.INT64, types.STRING),
    (b"7\tx\n8\ty\n", attributes(1, 0), types.STRING, types.INT32),
]


@pytest.mark.parametrize("text, options, key_dtype, value_dtype", CASES)
def test_like_tensorflow(
    tf: Any, tmp_path: Path, text: bytes, options: dict[str, Any], key_dtype: DType, value_dtype: DType
) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(text)
    keys, values = read_text_file(path, text, options, key_dtype, value_dtype)
    assert keys.dtype == key_dtype.numpy
    assert values.dtype == value_dtype.numpy
    table = tf.raw_ops.HashTableV2(key_dtype=key_dtype.tf, value_dtype=value_dtype.tf, shared_name=str(tmp_path))
    tf.raw_ops.InitializeTableFromTextFileV2(table_handle=table, filename=str(path), **options)
    theirs = tf.raw_ops.LookupTableExportV2(table_handle=table, Tkeys=key_dtype.tf, Tvalues=value_dtype.tf)
    assert dict(zip(keys.tolist(), values.tolist())) == dict(zip(*(tensor.numpy().tolist() for tensor in theirs)))


@pytest.mark.parametrize(
    "text, options",
    [
        (b"a\nb\n", attributes(-2, -1, vocab_size=3)),
        (b"a\n\nb\n", attributes(-2, -1)),
        (b"a\nb\n", attributes(-2, 1)),
        (b"a\tx\n", attributes(0, 1)),
    ],
)
def test_refused_as_by_tensorflow(tf: Any, tmp_path: Path, text: bytes, options: dict[str, Any]) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"words.txt"):
        read_text_file(path, text, options, types.STRING, types.INT64)
    table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name=str(tmp_path))
    with pytest.raises(tf.errors.OpError):
        tf.raw_ops.InitializeTableFromTextFileV2(table_handle=table, filename=str(path), **options)


def test_assets_stay_in_the_model(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "assets" / "sub").mkdir(parents=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    (model / "assets" / "ok.txt").write_text("a")
    (model / "assets" / "sub" / "ok.txt").write_text("a")
    files = ModelFiles(model)
    assert read_asset(files, "ok.txt") == (model / "assets" / "ok.txt", b"a")
    assert read_asset(files, "sub/ok.txt")[1] == b"a"
    for bad in ("../../outside.txt", str(outside), "sub/../ok.txt", "ok.txt\0"):
        with pytest.raises(InputError, match=r"outside its directory"):
            read_asset(files, bad)
    with pytest.raises(InputError, match=r"nowhere.txt is missing"):
        read_asset(files, "nowhere.txt")
    for directory in ("sub", ""):
        with pytest.raises(InputError, match=r"is a directory, no ordinary file"):
            read_asset(files, directory)
    with pytest.raises(InputError, match=r"cannot be read: File name too long"):
        read_asset(files, "x" * 300)
