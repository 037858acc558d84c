"""A model that is out to do harm: it reads no file, fills no memory, and ends in a sentence or a file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import FuseconvError, InputError, UnsupportedError
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
