"""The benchmark's results as a Markdown table."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Results = dict[str, dict[str, Any]]

# Where the benchmarks write their tables.
PAGE = Path(__file__).with_name("README.md")


@dataclass(frozen=True)
class Column:
    """A measurement of both sides: "ours / peer (ratio)". The ratio is ours over theirs, or theirs over ours where a
    speed-up is told."""

    title: str
    key: str
    format: str
    unit: float = 1.0
    speed_up: bool = False

    def ratio(self, result: Results) -> float | None:
        ours, peer = (result[side].get(self.key) for side in ("ours", "peer"))
        if not ours or not peer:
            return None
        return peer / ours if self.speed_up else ours / peer

    def ratio_text(self, ratio: float) -> str:
        return f"{ratio:.1f}x" if self.speed_up else f"{ratio:.2f}"

    def cell(self, result: Results) -> str:
        sides = (result[side].get(self.key) for side in ("ours", "peer"))
        text = " / ".join("-" if value is None else format(value * self.unit, self.format) for value in sides)
        ratio = self.ratio(result)
        return text if ratio is None else f"{text} ({self.ratio_text(ratio)})"


COLUMNS = (
    Column("warm, s", "warm_seconds", ".3f", speed_up=True),
    Column("cold, s", "cold_seconds", ".2f", speed_up=True),
    Column("peak, MB", "peak_megabytes", ".0f"),
    Column("ops", "ops", "d", unit=1),
    Column("file, MB", "bytes", ".2f", unit=1e-6),
    Column("latency, ms", "milliseconds", ".3g"),
)


def markdown(results: dict[str, Results], facts: dict[str, Any]) -> str:
    """The table, with the geometric means of its ratios below and what it was measured on above."""
    batches = sorted({batch for result in results.values() for batch in result["ours"].get("errors", {})})
    rows = [["model", *(column.title for column in COLUMNS), *(f"error, batch {batch}" for batch in batches)]]
    for name, result in results.items():
        errors = [result["ours"].get("errors", {}).get(batch) for batch in batches]
        cells = [column.cell(result) for column in COLUMNS]
        rows.append([name, *cells, *("-" if error is None else f"{error:.1e}" for error in errors)])
    summaries: dict[str, Callable[[Column, list[float]], float]] = {
        "geometric mean": lambda column, ratios: statistics.geometric_mean(ratios),
        "worst": lambda column, ratios: min(ratios) if column.speed_up else max(ratios),
    }
    blanks = [""] * len(batches)
    rows += [[*_summary(title, summarize, list(results.values())), *blanks] for title, summarize in summaries.items()]
    lines = aligned(rows)
    for name, result in results.items():
        failed = [f"{side}: {result[side]['error']}" for side in result if "error" in result[side]]
        lines += [f"\n{name} failed. {text}" for text in failed]
    return "\n".join([_caption(facts), "", *lines])


def insert(page: str, text: str, name: str = "bench") -> str:
    """Return a page of Markdown with the text in its marked block of this name. Raises ValueError without one."""
    block = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not block.search(page):
        raise ValueError(f"the page has no block <!-- {name}:begin --> ... <!-- {name}:end -->")
    return block.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)


def figures(page: str) -> str:
    """Return the means of the table in a page of Markdown, as sentences."""
    measured = re.search(r"^Measured (\S+)", page, re.MULTILINE)
    rows = page[page.index("| model ") :].partition("\n\n")[0].splitlines()
    (means,) = (row.split("|")[2:] for row in rows if row.startswith("| geometric mean"))
    models = len(rows) - len(("head", "line", "geometric mean", "worst"))
    warm, cold, memory, ops, size, latency = (mean.strip() for mean in means[:6])
    assert measured is not None
    return (
        f"On {models} models against TFLiteConverter ({measured[1]}, geometric means): converts {warm} faster with\n"
        f"TensorFlow imported and {cold} as a command, in {memory} of the memory; the files have {ops} of the ops,\n"
        f"{size} of the size and {latency} of the latency. [All figures](tests/bench/README.md)."
    )


def _caption(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"Measured {facts['date']} on {facts['cores']} cores ({facts['machine']}) with {facts['memory_gigabytes']} GB; "
        f"{versions}. Each cell: fuseconv / TFLiteConverter (speed-up, or ours over theirs). Warm: TensorFlow was "
        "imported before. Cold: the whole process. Latency: one thread, batch 1. Error: fuseconv's file against "
        "TensorFlow, the largest absolute error over the output's range."
    )


def _summary(title: str, summarize: Callable[[Column, list[float]], float], results: list[Results]) -> list[str]:
    cells = [title]
    for column in COLUMNS:
        ratios = [ratio for result in results if (ratio := column.ratio(result)) is not None]
        cells.append(column.ratio_text(summarize(column, ratios)) if ratios else "-")
    return cells


def aligned(rows: list[list[str]]) -> list[str]:
    """The lines of a Markdown table; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in padded]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines
