"""The outcomes as a Markdown table, with a line that sums them up."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench import table
from tests.bench.worker import SIDES

# What becomes of a kind. "not built": keras-hub itself cannot make or run it; "not tried": there are no sizes for it.
STATES = ("right", "wrong", "does not run", "refused", "not built", "not tried")
DEFECTS = ("wrong", "does not run")
NOT_RUN = "not run"  # TFLiteConverter, where it was left out

PAGE = Path(__file__).with_name("README.md")
_COLUMNS = (table.Column("ops", "ops", "d", unit=1), table.Column("latency, ms", "milliseconds", ".3g"))
_REAL_COLUMNS = (
    table.Column("file, MB", "bytes", ".0f", unit=1e-6), *_COLUMNS, table.Column("memory, MB", "megabytes", ".0f"),
)  # fmt: skip
_LONGEST_REASON = 200

Outcomes = Mapping[str, dict[str, Any]]


def markdown(outcomes: Outcomes, facts: str = "", real: bool = False) -> str:
    """Return the summary, the table of what was converted, and what failed or was not tried with the reasons, below
    what it was measured on. real: the models are so large that size and memory count."""
    outcomes = {name: _with_peer(outcome) for name, outcome in outcomes.items()}
    columns = _REAL_COLUMNS if real else _COLUMNS
    rows = [["model", *(column.title for column in columns), "error", "converts, s", "TFLiteConverter"]]
    rows += [_row(name, outcome, columns) for name, outcome in outcomes.items() if outcome["state"] == "right"]
    lines = [*([facts, ""] if facts else []), summary(outcomes), "", *table.aligned(rows)]
    for state in STATES[1:]:
        found = [f"- {name}: {_short(item['why'])}" for name, item in outcomes.items() if item["state"] == state]
        lines += ["", f"{state[0].upper()}{state[1:]}:", "", *found] if found else []
    return "\n".join(lines)


def _with_peer(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome with TFLiteConverter's side where that was left out."""
    return {"peer": {"state": NOT_RUN}, **outcome} if "ours" in outcome else outcome


def summary(outcomes: Outcomes) -> str:
    """Return how many kinds each side gets right, and the geometric means where both do."""
    ours = Counter(outcome["state"] for outcome in outcomes.values())
    built = [_with_peer(outcome) for outcome in outcomes.values() if "ours" in outcome]
    peers = Counter(outcome["peer"]["state"] for outcome in built)
    text = f"{len(built)} models: fuseconv converts {ours['right']} right, TFLiteConverter {peers['right']}"
    text += f" of the {len(built) - peers[NOT_RUN]} that it was given." if peers[NOT_RUN] else "."
    both = [o for o in built if o["ours"]["state"] == o["peer"]["state"] == "right"]
    for column in _COLUMNS:
        ratios = [ratio for outcome in both if (ratio := column.ratio(outcome)) is not None]
        if ratios:
            text += f" {column.title.partition(',')[0].capitalize()} where both are: {_mean(ratios):.2f} of theirs."
    left = [f"{ours[state]} {state}" for state in STATES[1:] if ours[state]]
    return text + (f" Besides: {', '.join(left)}." if left else "")


def _mean(ratios: list[float]) -> float:
    return statistics.geometric_mean(ratios) if ratios else math.nan


def _row(name: str, outcome: dict[str, Any], columns: tuple[table.Column, ...]) -> list[str]:
    peer = outcome["peer"]
    told = f"{peer['state']}: {_short(peer['why'])}" if peer.get("why") else peer["state"]
    error = outcome["ours"]["error"]
    cells = [column.cell(outcome) for column in columns]
    seconds = " / ".join(f"{outcome[side]['seconds']:.1f}" if "seconds" in outcome[side] else "-" for side in SIDES)
    return [name, *cells, "-" if error is None else f"{error:.0e}", seconds, told]


def _short(why: str) -> str:
    """One line without what would end a cell."""
    text = " ".join(why.replace("|", "/").split())
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def write(text: str, real: bool = False) -> None:
    """Put the table into the README."""
    PAGE.write_text(table.insert(PAGE.read_text(), text, "keras-hub-real" if real else "keras-hub"))
