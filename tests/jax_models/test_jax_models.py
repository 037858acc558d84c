"""What holds of a kind, and what the table says, without JAX."""

from __future__ import annotations

import copy
from typing import Any

from tests.jax_models import table
from tests.jax_models.kinds import INPUTS, KINDS, inputs

_FOUND: dict[str, Any] = {
    "ours": {"ops": 5, "error": 1e-6, "seconds": 0.01, "reading": 1e-3, "types": {"ADD": 5}},
    "saved": {"ops": 6, "error": 2e-6},
    "twin": {"ops": 6},
    "peer": {"ops": 8, "error": 1e-6, "seconds": 0.5},
}


def _outcome(**changes: Any) -> dict[str, Any]:
    found = copy.deepcopy(_FOUND)
    for path, value in changes.items():
        side, _, key = path.partition("_")
        found[side][key] = value
    return {"static": copy.deepcopy(_FOUND), "dynamic": found}


def test_all_holds() -> None:
    assert table.failures("linen_mlp", _outcome()) == []


def test_what_does_not_hold_is_told() -> None:
    told = {
        "saved_error": (1e-3, "saved is wrong: 0.001"),
        "ours_types": ({"FlexSort": 1}, "FlexSort is a Flex op"),
        "peer_ops": (5, "6 ops, TFLiteConverter's have 5"),
        "twin_ops": (3, "6 ops, of TensorFlow 3"),
        "ours_reading": (0.03, "read in 30 ms"),
    }
    for change, (value, text) in told.items():
        assert table.failures("linen_mlp", _outcome(**{change: value})) == [f"dynamic: {text}"]


def test_what_the_kind_tells_is_known() -> None:
    assert table.failures("nnx_lstm", _outcome())[0] == "static: its LSTM is not fused"


def test_what_ranges_leave_is_held_to_the_twin() -> None:
    outcome = _outcome(saved_ops=9, peer_ops=9)
    assert table.failures("nnx_embedding", outcome) == ["dynamic: 9 ops, of TensorFlow 6"]
    outcome["dynamic"] |= {"ranged": {"ops": 3, "error": 1e-6}, "twin_ranged": {"ops": 3}}
    assert table.failures("nnx_embedding", outcome) == []
    assert "| 9; 3" in table.markdown({"nnx_embedding": outcome}, "2026-01-01.")
    outcome["dynamic"] |= {"ranged": {"ops": 5, "error": 1.0}}
    assert table.failures("nnx_embedding", outcome) == [
        "dynamic: ranged is wrong: 1.0", "dynamic: 5 ops, of TensorFlow 3"
    ]  # fmt: skip


def test_the_table_has_a_row_for_each_form() -> None:
    text = table.markdown({"linen_mlp": _outcome(peer_error=1.0)}, "2026-01-01.")
    lines = [line for line in text.splitlines() if line.startswith("| linen")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert rows == [
        ["linen_mlp, static", "6", "8 (0.75)", "6", "2e-06", "1.0", "10 / 500 (50x)"],
        ["linen_mlp, dynamic", "6", "8 (0.75) wrong", "6", "2e-06", "1.0", "10 / 500 (50x)"],
    ]
    assert "Converts 50 times as fast, at least 50 times." in text


def test_each_kind_has_inputs() -> None:
    assert all(inputs(kind) for kind in KINDS)
    assert {kind.partition("_")[2] for kind in KINDS} == INPUTS.keys()
