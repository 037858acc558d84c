"""`fuseconv inspect --target`: what a target makes of a file, and the layers of what it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fuseconv.errors import InputError, VerificationError
from fuseconv.report.json import read_report


def check_target(file: str, target: str, report_path: str | None, plugins: Sequence[str]) -> dict[str, Any]:
    """Describe a file, with what the target makes of it.

    report_path: the report of the file's conversion, of which each op that is refused gets its `layer`. Raises
    InputError for what cannot be read, and for a report of another file."""
    from fuseconv.fuse.plugins import load_registry
    from fuseconv.inspecting import inspect

    document = inspect(file, load_registry(plugins).target(target))
    if report_path is not None:
        _add_layers(document, _layers(report_path), report_path)
    return document


def _layers(path: str) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the type and the layer of each op that a report tells of, by subgraph and place."""
    return {(op["subgraph"], op["index"]): (op["type"], op["layer"]) for op in read_report(path)["ops"]}


def _add_layers(document: dict[str, Any], layers: dict[tuple[int, int], tuple[str, str]], path: str) -> None:
    ops = {
        (number, index): op["op"]
        for number, subgraph in enumerate(document["subgraphs"]) for index, op in enumerate(subgraph["ops"])
    }  # fmt: skip
    if ops != {place: type for place, (type, _) in layers.items()}:
        raise InputError(f"--report {path} is of another file: its ops are others")
    for entry in document["target"]["refused"]:
        entry["layer"] = layers[entry["subgraph"], entry["op"]][1]


def refusal(verdict: Mapping[str, Any], file: str) -> VerificationError | None:
    """Return what `--strict` ends with if a target refuses ops of a file, or of what a model becomes; None if not."""
    refused = verdict["refused"]
    if not refused:
        return None
    count = f"{len(refused)} op{'s' if len(refused) > 1 else ''}"
    first = f"{refused[0]['type']}: {refused[0]['why']}"
    return VerificationError(f"{verdict['name']} refuses {count} of {file}; the first is {first}")
