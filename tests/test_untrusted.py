"""A model that is out to do harm: it reads no file, fills no memory, and ends in a sentence or a file."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import FuseconvError, InputError, UnsupportedError
from fuseconv.ir import types
from tests.frozen import FLOAT, INT32, INT64, STRING, Frozen

HUGE = 1 << 40


def int64(graph: Frozen, name: str, value: Any) -> str:
    return graph.constant(name, np.array(value, np.int64))


def fill(graph: Frozen) -> str:
    graph.node("y", "Fill", int64(graph, "n", [HUGE]), graph.constant("v", np.float32(1)), T={"type": FLOAT},
               index_type={"type": INT64})  # fmt: skip
    return "y"


def fill_beyond_int64(graph: Frozen) -> str:
    graph.node("y", "Fill", int64(graph, "n", [HUGE, HUGE]), graph.constant("v", np.float32(1)), T={"type": FLOAT},
               index_type={"type": INT64})  # fmt: skip
    return "y"


def counted(graph: Frozen) -> str:
    ends = (int64(graph, name, value) for name, value in (("a", 0), ("b", HUGE), ("d", 1)))
    graph.node("r", "Range", *ends, Tidx={"type": INT64})
    graph.node("y", "Cast", "r", SrcT={"type": INT64}, DstT={"type": FLOAT})
    return "y"


def count_of(graph: Frozen, start: float, limit: float, delta: float) -> str:
    ends = (graph.constant(name, np.float32(v)) for name, v in (("a", start), ("b", limit), ("d", delta)))
    graph.node("y", "Range", *ends, Tidx={"type": FLOAT})
    return "y"


def broadcast(graph: Frozen) -> str:
    one = graph.constant("v", np.ones(1, np.float32))
    graph.node("y", "BroadcastTo", one, int64(graph, "n", [HUGE]), T={"type": FLOAT}, Tidx={"type": INT64})
    return "y"


def tile(graph: Frozen) -> str:
    one = graph.constant("v", np.ones(1, np.float32))
    graph.node("y", "Tile", one, int64(graph, "n", [HUGE]), T={"type": FLOAT}, Tmultiples={"type": INT64})
    return "y"


def mirror_pad(graph: Frozen) -> str:
    three = graph.constant("v", np.ones(3, np.float32))
    pads = graph.constant("n", np.array([[1 << 30, 1 << 30]], np.int32))
    graph.node("y", "MirrorPad", three, pads, T={"type": FLOAT}, Tpaddings={"type": INT32}, mode={"s": b"SYMMETRIC"})
    return "y"


def lin_space(graph: Frozen) -> str:
    ends = (graph.constant("a", np.float32(0)), graph.constant("b", np.float32(1)))
    count = graph.constant("n", np.int32(2**31 - 1))
    graph.node("y", "LinSpace", *ends, count, T={"type": FLOAT}, Tidx={"type": INT32})
    return "y"


def outer_product(graph: Frozen) -> str:
    column, row = (graph.constant(n, np.ones(s, np.float32)) for n, s in (("a", (1 << 17, 1)), ("b", (1, 1 << 17))))
    graph.node("y", "MatMul", column, row, T={"type": FLOAT})
    return "y"


def made_by_tensorflow_alone(graph: Frozen) -> str:
    """An op that numpy has no kernel for here, and whose size only its operands' values tell."""
    ids, size = graph.constant("a", np.array([1, 2], np.int32)), graph.constant("n", np.int32(2**31 - 1))
    weights = graph.constant("w", np.empty(0, np.float32))
    graph.node("y", "DenseBincount", ids, size, weights, T={"type": FLOAT}, Tidx={"type": INT32})
    return "y"


def dimensions(graph: Frozen) -> str:
    count = graph.constant("n", np.array([1 << 24], np.int32))
    graph.node("s", "Fill", count, graph.constant("v", np.int32(1)), T={"type": INT32}, index_type={"type": INT32})
    graph.node("y", "Reshape", "x", "s", T={"type": FLOAT}, Tshape={"type": INT32})
    return "y"


@pytest.mark.parametrize(
    "build",
    [
        fill, fill_beyond_int64, counted, broadcast, tile, mirror_pad, lin_space, outer_product,
        made_by_tensorflow_alone, dimensions,
    ],
)  # fmt: skip
def test_sizes_that_a_model_claims_are_not_allocated(build: Any, tmp_path: Path) -> None:
    graph = Frozen(1)
    graph.node("out", "AddV2", "x", build(graph), T={"type": FLOAT})
    path = graph.write(tmp_path)
    tracemalloc.start()
    try:
        converted = fuseconv.convert(path)
        assert converted.data is not None and len(converted.data) < 2_000_000
    except UnsupportedError as error:
        assert error.ops
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1 << 26


@pytest.mark.parametrize("ends", [(0, float("nan"), 1), (0, float("inf"), 1), (0, 5, 0), (0, 1e30, 1e-3)])
def test_ranges_without_an_end(ends: tuple[float, float, float], tmp_path: Path) -> None:
    graph = Frozen(1)
    graph.node("out", "AddV2", "x", count_of(graph, *ends), T={"type": FLOAT})
    try:
        assert fuseconv.convert(graph.write(tmp_path)).data
    except UnsupportedError as error:
        assert error.ops


@pytest.mark.parametrize("op", ["ReadFile", "MatchingFiles"])
def test_no_file_is_read(op: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    graph = Frozen(1)
    graph.node(op, op, graph.constant("name", np.array(str(tmp_path / "secret").encode())))
    graph.node("out", "Identity", op, T={"type": STRING})
    with pytest.raises(UnsupportedError):
        fuseconv.convert(graph.write(tmp_path))


@pytest.mark.parametrize(
    ("functions", "sentence"),
    [
        ({"f": ["f"]}, "'f' calls itself"),
        ({"f": ["g"], "g": ["h"], "h": ["f"]}, "calls itself"),
        ({f"f{i}" if i else "f": [f"f{i + 1}"] if i < 2000 else [] for i in range(2001)}, "2001 deep"),
        ({f"f{i}" if i else "f": [f"f{i + 1}"] * 2 if i < 40 else [] for i in range(41)}, "41 deep, for [0-9]{13} op"),
    ],
    ids=["itself", "each other", "deep", "often"],
)
def test_calls_without_an_end(functions: dict[str, list[str]], sentence: str, tmp_path: Path) -> None:
    graph = Frozen(1)
    for name, calls in functions.items():
        graph.function(name, calls)
    graph.call("out", "f", "x")
    with pytest.raises(InputError, match=sentence):
        fuseconv.convert(graph.write(tmp_path))


def test_calls_that_are_only_many(tmp_path: Path) -> None:
    graph = Frozen(1)
    for index in range(6):
        graph.function(f"f{index}", [f"f{index + 1}"] * 2 if index < 5 else [])
    graph.call("out", "f0", "x")
    assert fuseconv.convert(graph.write(tmp_path)).report.totals()["lowered"] == 63


def test_a_size_that_tflite_cannot_count(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "testdata" / "conv_bn"
    for options in ({"batch_size": 1 << 31}, {"input_shapes": {"image": (1 << 70, 16, 16, 3)}}):
        with pytest.raises(FuseconvError, match="too large"):
            fuseconv.convert(path, **options)  # type: ignore[arg-type]


def spread(graph: Frozen, name: str, count: int, value: Any = 1.0, dtype: int = FLOAT) -> str:
    """A constant that says one value, and a shape."""
    node = graph.node(name, "Const", dtype={"type": dtype})
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype
    tensor.tensor_shape.dim.add(size=count)
    (tensor.string_val if dtype == STRING else tensor.float_val).append(value)
    return name


def many_fills(graph: Frozen) -> str:
    """Each is small enough to be folded."""
    last, count = "x", graph.constant("n", np.array([1 << 18], np.int32))
    for i in range(300):
        value = graph.constant(f"v{i}", np.float32(i))
        graph.node(f"f{i}", "Fill", count, value, T={"type": FLOAT}, index_type={"type": INT32})
        graph.node(f"y{i}", "AddV2", last, f"f{i}", T={"type": FLOAT})
        last = f"y{i}"
    return last


def one_large(graph: Frozen) -> str:
    return spread(graph, "c", 1 << 27)


def many_large(graph: Frozen) -> str:
    last = "x"
    for i in range(40):
        graph.node(f"y{i}", "AddV2", last, spread(graph, f"c{i}", 1 << 22, i), T={"type": FLOAT})
        last = f"y{i}"
    return last


def strings(graph: Frozen) -> str:
    graph.node("l", "StringLength", spread(graph, "c", 1 << 27, b"", STRING))
    graph.node("y", "Cast", "l", SrcT={"type": INT32}, DstT={"type": FLOAT})
    return "y"


def spectrum(graph: Frozen) -> str:
    size = graph.constant("n", np.array([4_001], np.int32))  # a prime
    row = graph.node("row", "Placeholder", dtype={"type": FLOAT}, shape={"shape": {"dim": [{"size": 4_001}]}})
    graph.node("s", "RFFT", row.name, size, Treal={"type": FLOAT}, Tcomplex={"type": types.COMPLEX64.tf})
    graph.node("y", "ComplexAbs", "s", T={"type": types.COMPLEX64.tf}, Tout={"type": FLOAT})
    return "y"


def resized(graph: Frozen) -> str:
    shape = {"shape": {"dim": [{"size": n} for n in (1, 20_000, 20_000, 1)]}}
    graph.node("image", "Placeholder", dtype={"type": FLOAT}, shape=shape)
    size = graph.constant("n", np.array([15_000, 15_000], np.int32))
    graph.node("y", "ResizeArea", "image", size, T={"type": FLOAT})
    return "y"


@pytest.mark.parametrize("build", [many_fills, one_large, many_large, strings, spectrum, resized])
def test_totals_are_bounded_by_the_option(build: Any, tmp_path: Path) -> None:
    graph = Frozen(1)
    graph.node("out", "AddV2", "x", build(graph), T={"type": FLOAT})
    path = graph.write(tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"would take .* --max-constant-bytes [0-9]+G"):
            fuseconv.convert(path, max_constant_bytes="32M")
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def test_what_the_option_allows_is_made(tmp_path: Path) -> None:
    graph = Frozen(1)
    graph.node("out", "AddV2", "x", spread(graph, "c", 1 << 20), T={"type": FLOAT})
    path = graph.write(tmp_path)
    converted = fuseconv.convert(path, max_constant_bytes="8M").data
    assert converted is not None and len(converted) > 4 << 20
    with pytest.raises(InputError, match="'c' would take 4 MB"):
        fuseconv.convert(path, max_constant_bytes=1 << 20)


def ladder(graph: Frozen) -> str:
    last = "x"
    for i in range(300):
        graph.node(f"s{i}", "Shape", last, T={"type": FLOAT}, out_type={"type": INT32})
        graph.node(f"t{i}", "Tile", last, f"s{i}", T={"type": FLOAT}, Tmultiples={"type": INT32})
        last = f"t{i}"
    return last


def joined_strings(graph: Frozen) -> str:
    last = graph.constant("s", np.array(b"abcdefgh"))
    for i in range(60):
        graph.node(f"j{i}", "StringJoin", last, last, N={"i": 2})
        last = f"j{i}"
    return last


def wide_string(graph: Frozen) -> str:
    number = graph.constant("n", np.array([1, 2], np.int32))
    graph.node("y", "AsString", number, T={"type": INT32}, width={"i": 2**31 - 1})
    return "y"


def many_results(graph: Frozen) -> str:
    for i in range(30):
        graph.node(f"y{i}", "Unpack", "x", T={"type": FLOAT}, num={"i": 10_000})
    return "y0"


def a_far_result(graph: Frozen) -> str:
    graph.node("u", "NobodyKnows", "x")
    return "u:1099511627776"


def many_products(graph: Frozen) -> str:
    last, size = "x", graph.constant("n", np.array([4096, 4096], np.int32))
    axes = graph.constant("a", np.array([0, 1], np.int32))
    for i in range(30):
        value = graph.constant(f"v{i}", np.float32(i))
        graph.node(f"f{i}", "Fill", size, value, T={"type": FLOAT}, index_type={"type": INT32})
        graph.node(f"m{i}", "MatMul", f"f{i}", f"f{i}", T={"type": FLOAT})
        graph.node(f"s{i}", "Sum", f"m{i}", axes, T={"type": FLOAT}, Tidx={"type": INT32})
        graph.node(f"y{i}", "AddV2", last, f"s{i}", T={"type": FLOAT})
        last = f"y{i}"
    return last


def many_operands(graph: Frozen) -> str:
    graph.node("y", "AddN", *["x"] * 20_000, T={"type": FLOAT}, N={"i": 20_000})
    return "y"


@pytest.mark.parametrize(
    "build",
    [ladder, joined_strings, wide_string, many_results, a_far_result, many_products, many_operands],
)  # fmt: skip
def test_little_files_end_soon(build: Any, tmp_path: Path) -> None:
    """In a process with 3 GB of address space; those that do not end are stopped after a minute."""
    graph = Frozen(-1)
    last = build(graph)
    graph.node("out", "Identity", last, T={"type": STRING if build in (joined_strings, wide_string) else FLOAT})
    path = graph.write(tmp_path)
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from fuseconv.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "convert", str(path), "-o", str(tmp_path / "out.tflite"), "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode in (0, 2, 3), run.stderr
    assert "defect" not in run.stderr and "memory" not in run.stderr
