"""Write the files that Model Explorer opens beside a .tflite file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.inspecting import inspect
from fuseconv.model_explorer.formats import model_graph, node_data
from fuseconv.report.json import dumps, read_document, read_report
from fuseconv.write.output_file import atomic_write

_TIMES = {"ops": {"subgraph": int, "index": int, "seconds": float | int | None}}
_ERRORS = {"ops": {"tensor": str, "error": dict | None}}


def hand_over(
    file: str | os.PathLike,
    folder: str | os.PathLike,
    *,
    report: str | os.PathLike | None = None,
    profile: str | os.PathLike | None = None,
    quantization: str | os.PathLike | None = None,
) -> list[Path]:
    """Write node data of a file, and the model's graph if its report is given, into a folder; return their paths.

    report: of `convert --report FILE.json`. profile: what `profile --json` printed. quantization: of
    `--quantize-report FILE.json`. Raises InputError for what cannot be read or written."""
    known = None if report is None else read_report(report)
    inspection = inspect(file)
    if known is not None:
        _check_same(known, inspection, os.fspath(report or ""))
    times = None if profile is None else read_document(profile, _TIMES, "document of profile --json")
    errors = None if quantization is None else read_document(quantization, _ERRORS, "JSON of --quantize-report")
    data = node_data(inspection, known, times, errors)
    documents: dict[str, Any] = {f"{title.replace(' ', '_')}.json": found for title, found in data.items()}
    if known is not None:
        documents["model_graph.json"] = {"label": known.get("model", ""), "graphs": [model_graph(known)]}
    return [_write(Path(folder), name, document) for name, document in documents.items()]


def _check_same(report: Mapping[str, Any], inspection: Mapping[str, Any], name: str) -> None:
    """Raise InputError where a report tells of another file: ids are places of ops."""
    told = [(op["subgraph"], op["type"]) for op in report["ops"]]
    there = [(number, op["op"]) for number, graph in enumerate(inspection["subgraphs"]) for op in graph["ops"]]
    if told != there:
        raise InputError(f"{name} tells of another file: its ops are not those of this one")


def _write(folder: Path, name: str, document: dict[str, Any]) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / name) as stream:
            stream.write(dumps(document).encode())
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror or error}") from error
    return folder / name
