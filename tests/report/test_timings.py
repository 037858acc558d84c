"""Times and comparisons on the terminal."""

from __future__ import annotations

from typing import Any

from fuseconv.report.timings import show_comparison, show_profile
from tests.report.test_tables import plain

SUMS = """\
Op       Ops    Time  Of all
CONV_2D    1  4.0 ms   80.0%
IF         1  0.0 µs    0.0%

Layer   Ops    Time  Of all
(none)    2  4.0 ms   80.0%

"""


def a_profile() -> dict[str, Any]:
    op = {"subgraph": 0, "index": 0, "type": "CONV_2D", "tensor": "a\x1b[2J", "layer": "", "seconds": 0.004, "why": ""}
    return {
        "file": "f", "delegate": "none", "threads": 2, "runs": 5, "shapes": {"x": [1, 8]}, "accounted": 0.8,
        "seconds": {"median": 0.005, "least": 0.00004, "most": 0.3},
        "types": [{"type": "CONV_2D", "ops": 1, "seconds": 0.004}, {"type": "IF", "ops": 1, "seconds": 0.0}],
        "layers": [{"layer": "", "ops": 2, "seconds": 0.004}],
        "ops": [op, {**op, "index": 1, "type": "IF", "seconds": None, "why": "it reads a variable"}],
    }  # fmt: skip


def test_a_profile() -> None:
    shown = plain(show_profile, a_profile())
    assert shown.startswith(SUMS)
    assert "Whole     5.0 ms, the median of 5 runs (40.0 µs to 0.30 s)\n" in shown
    assert "Run       without delegates, 2 threads, on x[1,8]\n" in shown
    assert "Exact to  ops alone add up to 80% of the whole\n" in shown
    assert "Not timed 1 IF: it reads a variable\n" in shown and "\x1b" not in shown 


def test_only_the_slowest_are_shown() -> None:
    document = a_profile()
    document["layers"] = [{"layer": f"layer_{n}", "ops": 1, "seconds": 0.001} for n in range(30)]
    assert plain(show_profile, document).count("layer_") == 12
    assert plain(show_profile, document, verbose=True).count("layer_") == 30


def test_a_comparison() -> None:
    document = {
        "files": ["a.tflite", "b.tflite"], "bytes": [2000, 1000], "weights": [0, 500], "latency": None,
        "ops": {"ADD": [2, 0], "MUL": [1, 3]}, "outputs": None, "why": "they differ",
    }  # fmt: skip
    rows = [line.split() for line in plain(show_comparison, document).splitlines()]
    assert ["bytes", "2.0", "kB", "1.0", "kB", "0.50"] in rows and ["weights", "0", "B", "500", "B"] in rows
    assert ["ADD", "2", "-", "0.00"] in rows and ["MUL", "1", "3", "3.00"] in rows and ["ops", "3", "3", "1.00"] in rows
    assert ["A", "a.tflite"] in rows and ["Not", "run", "they", "differ"] in rows
