"""The table of quantized files says what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import quantize
from tests.bench.quantize_models import MODELS
from tests.bench.quantize_worker import FRESH, SAMPLES_OF_SEQUENCES, samples
from tests.bench.test_table import cells

OURS: dict[str, Any] = {
    "error": 0.004, "spread": 0.001, "clipped": 0.01, "bytes": 1500, "milliseconds": 2.0, "seconds": 0.5
}  # fmt: skip
PEER = {"error": 0.008, "spread": 0.0005, "bytes": 2000, "milliseconds": 1.0, "seconds": 10.0}


def test_a_row() -> None:
    text = quantize.markdown({"A": {"int8": {"ours": OURS, "peer": PEER}}})
    assert cells(text, "A")[1:] == [
        "int8", "0.0040 / 0.0080 (0.50)", "0.0010 / 0.0005 (2.00)", "0.0100", "1.5 / 2.0 (0.75)", "2 / 1 (2.00)", "",
        "0.500 / 10.000 (20x)",
    ]  # fmt: skip


def test_recurrent_layers_have_two_rows_and_failures_are_told() -> None:
    sides: dict[str, dict[str, Any]] = {
        "ours": OURS,
        "auto": {"failed": "no"},
        "peer": {"failed": "it crashed"},
        "float": {"milliseconds": 4.0},
    }
    rows = [line.split("|")[2:] for line in quantize.markdown({"A": {"int8": sides}}).splitlines() if "| A " in line]
    first, second = ([cell.strip() for cell in row] for row in rows)
    assert first[:7] == ["int8", "0.0040 / fails", "0.0010 / fails", "0.0100", "1.5 / fails", "2 / fails", "0.50"]
    assert second[:2] == ["int8, `--rnn auto`", "fails"]
    unmeasured = quantize.markdown({"A": {"int8": {"ours": OURS, "peer": {}}}})
    assert cells(unmeasured, "A")[2] == "0.0040 / -"
    assert [mode for mode in quantize.MODES if mode in quantize._OURS_ALONE] == ["int4"]
    assert "peer failed: it crashed (A, int8)" in quantize.markdown({"A": {"int8": sides}})


@pytest.mark.parametrize("name", MODELS)
def test_no_sample_is_measured_and_judged(name: str) -> None:
    known, fresh = samples(name, 2), samples(name, 2, 100_000)
    assert all(spec.shape == known[0][spec.name].shape[1:] for spec in MODELS[name].inputs)
    assert any((known[0][key] != fresh[0][key]).any() for key in known[0])
    assert SAMPLES_OF_SEQUENCES + FRESH < 90_000
