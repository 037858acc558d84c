"""The benchmark's table says what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import table
from tests.bench.models import MODELS

FACTS = {"date": "2026-01-02", "versions": {"python": "3.11"}, "machine": "x86_64", "cores": 2, "memory_gigabytes": 4}


def side(scale: float) -> dict[str, Any]:
    return {
        "warm_seconds": 0.1 * scale,
        "cold_seconds": scale,
        "peak_megabytes": 100.0 * scale,
        "ops": int(8 * scale),
        "bytes": 2_000_000,
        "milliseconds": 1.5,
        "errors": {"1": 1e-7, "3": 2e-6},
    }


def cells(text: str, row: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {row} ")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_ratios() -> None:
    text = table.markdown({"A": {"ours": side(1), "peer": side(2)}, "B": {"ours": side(1), "peer": side(8)}}, FACTS)
    assert cells(text, "A") == [
        "A", "0.100 / 0.200 (2.0x)", "1.00 / 2.00 (2.0x)", "100 / 200 (0.50)", "8 / 16 (0.50)", "2.00 / 2.00 (1.00)",
        "1.5 / 1.5 (1.00)", "1.0e-07", "2.0e-06",
    ]  # fmt: skip
    assert cells(text, "geometric mean")[1:5] == ["4.0x", "4.0x", "0.25", "0.25"]
    assert cells(text, "worst")[1:5] == ["2.0x", "2.0x", "0.50", "0.50"]
    assert "2 cores" in text.splitlines()[0]


def test_failures_are_told() -> None:
    text = table.markdown({"A": {"ours": {"error": "no rule for Foo"}, "peer": side(2)}}, FACTS)
    assert cells(text, "A")[1:3] == ["- / 0.200", "- / 2.00"]
    assert "A failed. ours: no rule for Foo" in text


def test_the_means_as_sentences() -> None:
    text = table.markdown({"A": {"ours": side(1), "peer": side(2)}, "B": {"ours": side(1), "peer": side(8)}}, FACTS)
    told = " ".join(table.figures(text).split())
    assert "On 2 models against TFLiteConverter (2026-01-02, geometric means): converts 4.0x faster" in told
    assert "4.0x as a command, in 0.25 of the memory; the files have 0.25 of the ops, 1.00 of the size" in told


def test_the_page_keeps_what_stands_around_the_block() -> None:
    readme = "before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n"
    once = table.insert(readme, "new \\1")
    assert once == "before\n<!-- bench:begin -->\nnew \\1\n<!-- bench:end -->\nafter\n"
    assert table.insert(once, "new \\1") == once
    with pytest.raises(ValueError, match="no block"):
        table.insert("nothing", "new")
    assert table.insert(readme.replace("bench", "other"), "x", "other").endswith("x\n<!-- other:end -->\nafter\n")


@pytest.mark.parametrize("name", MODELS)
def test_samples_fit_the_model(name: str) -> None:
    for spec in MODELS[name].inputs:
        sample = MODELS[name].sample(3)[spec.name]
        assert sample.shape == (3, *spec.shape)
        assert spec.low <= sample.max() <= spec.high
        assert (sample == MODELS[name].sample(3)[spec.name]).all()
        if spec.tokens:
            assert (sample[:, -1] == 0).all()
