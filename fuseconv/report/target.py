"""Terminal output of what a target makes of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from fuseconv.report.layers import short
from fuseconv.report.tables import escape_controls, line, show, table

_LONGEST = 40  # letters of a name


def show_target(out: Console, document: Mapping[str, Any]) -> None:
    """Print the verdict of a document's target, and each op that it refuses: its tensors, the rule and the layer."""
    target = document["target"]
    refused = target["refused"]
    count = sum(len(subgraph["ops"]) for subgraph in document["subgraphs"])
    verdict = f"refuses {len(refused)} of {count} ops" if refused else f"takes all {count} ops"
    line(out, "Target", f"{target['name']} {verdict}, by the rules of {target['rules']}")
    parts = f"{target['partitions']} partition{'s' * (target['partitions'] != 1)}"
    line(out, "", f"{parts}; {target['share']:.2%} of the multiply-adds are left behind")
    told = Counter((entry["type"], entry["why"]) for entry in target["remarks"])
    for (type, why), times in told.items():
        line(out, "", escape_controls(f"{times} {type}: {why}"))
    if not refused:
        return
    layers, several = "layer" in refused[0], len(document["subgraphs"]) > 1
    rows = table(">Op", "", "~Why", "~Tensors", *(["~Layer"] if layers else []))
    for entry in refused:
        subgraph = document["subgraphs"][entry["subgraph"]]
        place = f"{entry['subgraph']}:{entry['op']}" if several else str(entry["op"])
        row = [place, entry["type"], entry["why"], _tensors(subgraph, subgraph["ops"][entry["op"]])]
        rows.add_row(*map(escape_controls, [*row, short(entry["layer"], _LONGEST)] if layers else row))
    out.print()
    show(out, rows)


def _tensors(subgraph: Mapping[str, Any], op: Mapping[str, Any]) -> str:
    """Return the names of what an op reads, but for constants, and makes: "x, y -> z"."""
    tensors = subgraph["tensors"]
    read = [index for index in op["operands"] if index >= 0 and not tensors[index]["size"]]
    ends = (", ".join(short(tensors[index]["name"], _LONGEST) for index in end) for end in (read, op["results"]))
    return " -> ".join(ends)
