"""Terminal output of `profile` and `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from fuseconv.report.tables import escape_controls, line, seconds_text, shape_text, show, show_verification, size, table

_SLOWEST = 12  # rows, where not every detail is asked for
_DELEGATES = {"xnnpack": "with XNNPACK", "none": "without delegates"}


def show_profile(out: Console, document: Mapping[str, Any], verbose: bool = False) -> None:
    """Print the times of a file, by type, by layer and by op, the slowest first; with `verbose` all of them."""
    whole = document["seconds"]["median"]
    _show_sums(out, "Op", "type", document["types"], whole, verbose)
    _show_sums(out, "Layer", "layer", document["layers"], whole, verbose)
    if document["ops"]:
        _show_ops(out, document["ops"], whole, verbose)
    shapes = ", ".join(f"{escape_controls(name)}{shape_text(shape)}" for name, shape in document["shapes"].items())
    spread = f"{seconds_text(document['seconds']['least'])} to {seconds_text(document['seconds']['most'])}"
    line(out, "Whole", f"{seconds_text(whole)}, the median of {document['runs']} runs ({spread})")
    threads = f"{document['threads']} thread{'s' if document['threads'] > 1 else ''}"
    line(out, "Run", f"{_DELEGATES[document['delegate']]}, {threads}, on {shapes}")
    if document["accounted"] is not None:
        line(out, "Exact to", f"ops alone add up to {document['accounted']:.0%} of the whole")


def _show_sums(
    out: Console, title: str, key: str, rows: Sequence[Mapping[str, Any]], whole: float, verbose: bool
) -> None:
    if not rows:
        return
    shown = table(f"~{title}", ">Ops", ">Time", ">Of all")
    for row in rows if verbose else rows[:_SLOWEST]:
        name = escape_controls(row[key]) or "(none)"
        shown.add_row(name, str(row["ops"]), seconds_text(row["seconds"]), f"{row['seconds'] / whole:.1%}")
    show(out, shown)


def _show_ops(out: Console, ops: Sequence[Mapping[str, Any]], whole: float, verbose: bool) -> None:
    slowest = sorted((op for op in ops if op["seconds"] is not None), key=lambda op: -op["seconds"])
    rows = table(">", "Slowest op", "~Result", ">Time", ">Of all")
    for op in slowest if verbose else slowest[:_SLOWEST]:
        names = (escape_controls(op[key]) for key in ("type", "tensor"))
        rows.add_row(str(op["index"]), *names, seconds_text(op["seconds"]), f"{op['seconds'] / whole:.1%}")
    show(out, rows)
    for op in ops:
        if op["why"]:
            line(out, "Not timed", escape_controls(f"{op['index']} {op['type']}: {op['why']}"))


def show_comparison(out: Console, document: Mapping[str, Any]) -> None:
    """Print two files side by side, from `FileComparison.to_json`."""
    rows = table("", ">A", ">B", ">B/A")
    for title, text in (("bytes", size), ("weights", size), ("latency", seconds_text)):
        if document[title] is not None:
            rows.add_row(title, *map(text, document[title]), _ratio(*document[title]))
    counts = document["ops"]
    totals = [sum(pair[side] for pair in counts.values()) for side in (0, 1)]
    rows.add_row("ops", *map(str, totals), _ratio(*totals))
    for type, (one, other) in sorted(counts.items(), key=lambda item: -sum(item[1])):
        changed = Text(_ratio(one, other), "bold" if one != other else "")
        rows.add_row(f"  {escape_controls(type)}", str(one or "-"), str(other or "-"), changed)
    show(out, rows)
    for title, path in zip("AB", document["files"]):
        line(out, title, escape_controls(path))
    if document["outputs"] is not None:
        out.print()
        show_verification(out, document["outputs"])
    if document["why"]:
        line(out, "Not run", escape_controls(document["why"]))


def _ratio(one: float, other: float) -> str:
    return f"{other / one:.2f}" if one else ""
