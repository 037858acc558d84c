"""Commands with absurd options, and with files of the user's - samples, images, scripts, plug-ins, settings - that are
damaged or that are something else."""

from __future__ import annotations

import functools
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import click
import numpy as np

from tests.fuzz.damage import damage
from tests.fuzz.tables import samples

NAMES = ("convert", "quantize", "verify", "inspect", "compare", "profile", "fusions", "ops", "passes", "new-plugin")
_WORDS = (
    "", " ", "0", "-1", "1", "2", "1e400", "nan", "inf", "-inf", "1e-400", "99999999999999999999", "x", "all",
    "*", "**", "[", "[!", "é\u202e", "\x1b[31m", "a=b", "=", "a=", "=b", "a=b=c", ",", ",,", "a,b,c", "None",
    "true", "1,2,3", "x=1,2", "x=?,?", "x=-5", "x=99999999999999999", "x=", "x=1.5", "x=?", "x=" + "1," * 70 + "1",
    "x" * 5000, "..", "../../outside", "serving_default", "serve", "float", "int8", "int8,x=float", "mse",
    "percentile:50", "percentile:0", "percentile:nan", "percentile:", "1G", "1e3G", "-1M", "G", "lower", "inline", "%s",
)  # fmt: skip
_OUTPUTS = (
    "out.tflite", "out.cc", "out.h", "none/out.tflite", "", "folder", "out", "out.tflite/x", "o\u00e9\u202e.tflite",
    "n" * 300 + ".tflite", "link", "out.json", "out.html", "pipe", ".tflite", "out.c", "a\nb.tflite", "-",
)  # fmt: skip
_WRITTEN = frozenset({"-o", "--output", "--report", "--quantize-report", "--model-explorer"})


def arguments(rng: Random, folder: Path, model: Path, of: bytes) -> list[str]:
    """The arguments of a command on an intact model. folder: the case's, under whose tmp the user's files are; of: the
    .tflite file of the model."""
    name = rng.choice((*NAMES, "convert", "convert", "quantize", "quantize", "verify", "compare"))
    _arrange(folder / "out")
    file = folder / "tmp" / "whole.tflite"
    file.write_bytes(of)
    given = {
        "convert": [model], "verify": [model, file], "compare": [file, file], "quantize": [file], "inspect": [file],
        "profile": [file], "fusions": [], "ops": [], "passes": [], "new-plugin": [rng.choice(("acme", *_WORDS))],
    }[name]  # fmt: skip
    args = [os.fspath(path) for path in given]  # type: ignore[attr-defined]
    if args and rng.random() < 0.08:
        args[rng.randrange(len(args))] = _path(rng, folder, of)
    if name == "quantize":
        args += ["--quantize", rng.choice(("float16", "dynamic", "int4", "int8", "int8", "int16x8"))]
        if args[-1].startswith("int") and args[-1] != "int4":
            args += ["--calibration-data", _path(rng, folder, of, "--calibration-data")]
    if name in ("convert", "quantize"):
        args += ["-o", os.fspath(folder / "out" / (rng.choice(_OUTPUTS) if rng.random() < 0.15 else "out.tflite"))]
    for _ in range(rng.choice((1, 1, 2, 3))):
        args += _option(rng, name, folder, of)
    return [name, *args]


def _arrange(out: Path) -> None:
    """What stands where a file is to be written."""
    (out / "folder").mkdir()
    (out / "link").symlink_to("linked")
    os.mkfifo(out / "pipe")


def _option(rng: Random, command: str, folder: Path, of: bytes) -> list[str]:
    option = rng.choice(_options(command))
    name = rng.choice(option.opts)
    if option.is_flag:
        return [name]
    if name in _WRITTEN and not (command in ("inspect", "profile") and name != "--model-explorer"):
        return [name, os.fspath(folder / "out" / rng.choice(_OUTPUTS))]
    if isinstance(option.type, click.Choice) and rng.random() < 0.8:
        return [name, rng.choice(option.type.choices)]
    return [name, _path(rng, folder, of, name) if name in _FITTING or rng.random() < 0.05 else rng.choice(_WORDS)]


@functools.cache
def _options(command: str) -> list[Any]:
    from fuseconv.cli import main

    plain = ("help", "debug", "verbose", "quiet", "output", "print_ir_before", "print_ir_after")
    return [p for p in main.commands[command].params if isinstance(p, click.Option) and p.name not in plain]


def _path(rng: Random, folder: Path, of: bytes, option: str = "") -> str:
    """A file, or what is none, that the user gives."""
    ways = _FITTING[option] if option in _FITTING and rng.random() < 0.85 else _FILES
    name, data = rng.choice(ways)(rng, of)
    path = folder / "tmp" / name
    if isinstance(data, bytes):
        path.write_bytes(data)
    elif isinstance(data, dict):
        path.mkdir(exist_ok=True)
        for inner, contents in data.items():
            (path / inner).write_bytes(contents)
    elif data == "pipe" and not path.exists():
        os.mkfifo(path)
    elif data == "sparse":
        path.touch()
        os.truncate(path, 100_000_000_000)
    elif data == "loop" and not path.is_symlink():
        path.symlink_to(path.name)
    return os.devnull if data == "null" else os.fspath(path)


Made = tuple[str, "bytes | dict[str, bytes] | str"]
_ENDS = (".npz", ".npz", ".npy", ".py", ".toml", ".json", ".png", ".jpg", ".txt", "", ".tflite", ".é")


def _intact(rng: Random, of: bytes) -> Made:
    return "samples.npz", samples(of)


def _bytes(rng: Random, of: bytes) -> Made:
    return "bytes.npz", damage(rng, samples(of), of)


def _arrays(rng: Random, of: bytes) -> Made:
    """Samples of other types, shapes, names, numbers."""
    with np.load(io.BytesIO(samples(of))) as found:
        arrays = {name: found[name] for name in found.files}
    for name in sorted(arrays):
        if rng.random() < 0.7:
            with np.errstate(all="ignore"):
                arrays[name] = rng.choice(_CHANGES)(arrays[name])
    if rng.random() < 0.2:
        arrays[rng.choice(("", "x", "a/b", "é", "../../outside/evil"))] = np.ones(3)
    if arrays and rng.random() < 0.1:
        del arrays[rng.choice(sorted(arrays))]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return "arrays.npz", buffer.getvalue()


_CHANGES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda a: a[:0], lambda a: a[:1], lambda a: a[0], lambda a: a.reshape(-1), lambda a: a[None], lambda a: a * np.nan,
    lambda a: a / np.zeros(()), lambda a: a.astype("f8") * 1e300, lambda a: a.astype("f4") * 1e30,
    lambda a: a.astype("i8") - 2**40, lambda a: a.astype("S3"), lambda a: a.astype("U3"), lambda a: a.astype("c16"),
    lambda a: a.astype("f2"), lambda a: np.array([{"a": 1}, None], object), lambda a: np.zeros((2,) * 20),
    lambda a: np.zeros(3, [("a", "f4"), ("b", "i4")]), lambda a: a.astype("M8[s]"), lambda a: a.astype(">f4"),
    lambda a: a * 0, lambda a: np.concatenate([a, a, a]), lambda a: np.asfortranarray(a), lambda a: np.zeros((0, 0)),
    lambda a: a.astype("?"), lambda a: np.zeros(()), lambda a: np.zeros((1, 10**6)), lambda a: a.astype("u8") + 2**63,
)  # fmt: skip


def _header(rng: Random, of: bytes) -> Made:
    """An .npy whose header lies: sizes, types, or no header at all; alone, or within an .npz."""
    shape = rng.choice(("(9999999999, 99999)", "(-1,)", "()", "(3,", "(2**60,)", "'x'", "None", "(1.5,)", "(True,)"))
    descr = rng.choice(("'<f4'", "'|O'", "'<f4x'", "[('a','<f4')]", "'<U9999999'", "None", "'|V0'", "'<f8'"))
    text = f"{{'descr': {descr}, 'fortran_order': {rng.choice(('False', 'True', '7'))}, 'shape': {shape}, }}\n".encode()
    version = rng.choice((b"\1\0", b"\2\0", b"\3\0", b"\xff\xff"))
    raw = b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + bytes(64)
    if rng.random() < 0.3:
        return "header.npy", raw
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(rng.choice(("x.npy", "x", "serving_default_x.npy"))), raw)
    return "header.npz", buffer.getvalue()


def _bomb(rng: Random, of: bytes) -> Made:
    """An archive of under 1 MB that holds as much as such a one can of zeros, for no input: what is given to an input
    may be much, and then a model may run for long."""
    return "bomb.npz", _zeros()


@functools.cache
def _zeros() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("no input.npy", "w") as out:
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (234881024,), }\n"
        out.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head)
        for _ in range(14):
            out.write(bytes(1 << 26))
    return buffer.getvalue()


def _folder(rng: Random, of: bytes) -> Made:
    """A directory of samples, of pictures, of neither, of nothing."""
    picture = _png(rng.choice((1, 4, 28)), rng.choice((1, 3)))
    other = _png(7, 3)
    return "samples", rng.choice((
        {}, {"a.txt": b"x"}, {"a.npz": samples(of), "b.npz": b"no"}, {"a.npz": samples(of), "b.png": picture},
        {"a.png": picture, "b.png": other}, {"a.png": damage(rng, picture, other), "b.png": picture},
        {"a.jpg": picture},
        {"a.jpg": b"\xff\xd8\xff" + bytes(100)}, {"a.png": b""}, {"é\u202e.png": picture}, {"a.npy": b""},
        {".a.png": picture},
    ))  # fmt: skip


def _png(size: int, channels: int) -> bytes:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", size, size, 8, 2 if channels == 3 else 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(range(size * channels % 256)).ljust(size * channels, b"\7") for _ in range(size))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _script(rng: Random, of: bytes) -> Made:
    """A script of samples, or a plug-in, that fails."""
    return f"script{rng.randrange(100)}.py", rng.choice(_SCRIPTS).encode()


_FUSION = """
from fuseconv.fuse.match import Fusion, composite
def rewrite(tfl, m):
    {}
FUSIONS = [Fusion("f", "ADD", composite("x", "x -> y"), rewrite)]
"""
_SCRIPTS = (
    "", "x", "1/0", "import sys\nsys.exit(3)", "raise SystemExit", "def samples(): pass", "\0",
    "def samples(): return 1", "def samples(): yield 1", "def samples(): yield {}", "def samples(): yield {'x': None}",
    "def samples(): yield {1: 2}", "def samples(a): yield {}", "samples = 3", "def samples():\n yield {}\n 1/0",
    "def samples(): raise StopIteration", "def samples(): yield {'x': 'text'}", "import nothing_like_this",
    "def samples(): yield {'x': [[1], [1, 2]]}", "raise Exception('a\\nb')", "raise BaseException", "é = (", "exit(0)",
    "class E(Exception):\n def __str__(self): 1/0\nraise E", "FUSIONS = 1", "FUSIONS = [1]", "FUSIONS = None",
    "LOWERINGS = [1]", "PASSES = [1]", "PASSES = 'x'", "TARGETS = [1]", "RULES = {}",
    "TARGET = 1", "CUSTOM_OBJECTS = 1",
    "CUSTOM_OBJECTS = {1: 2}", "KERAS_LAYERS = 7", "FUSIONS = (f for f in [1/0])", "SHAPES = 3", "BATCHING = 1",
    _FUSION.format("1/0"), _FUSION.format("return None"), _FUSION.format("import sys; sys.exit(0)"),
    _FUSION.format("return tfl.add(m.x, m.x)"), _FUSION.format("return m.nothing"),
    "from fuseconv.lower.rules import lowers\n@lowers\ndef Relu(tfl, x): 1/0\n",
    "from fuseconv.lower.rules import lowers\n@lowers\ndef Add(tfl): return None\n",
    "from fuseconv.lower.rules import lowers\n@lowers\ndef nothing(tfl, x): return x\n",
    "from fuseconv.lower.rules import lowers\n@lowers\ndef MatMul(tfl, a, b): return a\n",
    "from fuseconv.pass_manager import module_pass\n@module_pass('p')\ndef p(module, report): module.graphs = 1\n",
    "from fuseconv.pass_manager import module_pass\n@module_pass('p', requires=(1,))\ndef p(module, report): pass\n",
)  # fmt: skip


def _settings(rng: Random, of: bytes) -> Made:
    """A file of options."""
    key = rng.choice(("quantize", "output", "batch-size", "batch_size", "rnn", "fuse", "x", "", "é", "json", "data"))
    value = rng.choice(("1", '"x"', "[]", "{}", "true", "-1", "nan", "1e999", "[1, 2]", "[[1]]", "1979-05-27", '""',
                        '"\\u0000"', "[" * 500, "9" * 5000, '["a", 1]', '"int8"', "[{}]", "inf"))  # fmt: skip
    table = rng.choice(("convert", "quantize", "tool.fuseconv.convert", "verify", "convert.x", "[convert]", "nothing"))
    text = rng.choice((f'[{table}]\n"{key}" = {value}\n', f'{table.strip("[]")} = {value}', "[", "\ufeff", "a=1\na=2"))
    return "options.toml", rng.choice((text.encode(), text.encode(), damage(rng, text.encode(), of), b"\xff\xfe"))


def _json(rng: Random, of: bytes) -> Made:
    texts = ("", "{}", "[]", "null", "1", '{"ops": 1}', '{"ops": [{}]}', '{"schema_version": 99}', "[" * 99_999,
             '{"nodes": {}}', '{"ops": [{"op": 1, "location": null}], "subgraphs": 3}', "NaN",
             '{"quantization": []}', '"x"', "1e999",
             '{"layers": [1], "ops": [[]], "sources": "x"}', "9" * 5000)  # fmt: skip
    return "report.json", rng.choice(texts).encode()


def _special(rng: Random, of: bytes) -> Made:
    """What is no file, or one of the wrong kind."""
    kind: Any = rng.choice(("missing", "pipe", "sparse", "loop", "null", b"", b"\0" * 100, of, {}))
    end = rng.choice(_ENDS)
    name = f"special{NAMES.index('ops') if isinstance(kind, bytes) else len(str(kind))}{end}"
    return name, kind


_FILES: tuple[Callable[[Random, bytes], Made], ...] = (
    _intact, _bytes, _arrays, _arrays, _arrays, _header, _bomb, _folder, _script, _script, _script, _settings,
    _settings, _json, _special, _special,
)  # fmt: skip
_DATA = (_intact, _bytes, _arrays, _arrays, _arrays, _header, _bomb, _special)
_FITTING: dict[str, tuple[Callable[[Random, bytes], Made], ...]] = {
    "--data": _DATA, "--calibration-data": (*_DATA, _folder, _folder, _script, _script), "--plugin": (_script,),
    "--config": (_settings,), "--profile": (_json,), "--report": (_json,), "--quantize-report": (_json,),
}  # fmt: skip
