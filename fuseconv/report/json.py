"""The report as JSON: the record of a conversion that other tools read. The terminal's view says less.

`report.schema.json` beside this file is its JSON Schema, and describes each key. `SCHEMA_VERSION` is the version of the
documents of other commands, `REPORT_VERSION` that of this one: it changes when a key changes its meaning or goes; a key
may be added without a change. Nodes of the model and ops of the file stand in one list each, and are told of by their
place there. Keys are sorted, and lists are in the order in which things happened, so that the same conversion gives the
same text but for `seconds`.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fuseconv
from fuseconv.errors import InputError
from fuseconv.files import read_file
from fuseconv.report.layers import layer_of
from fuseconv.report.records import KINDS, EmittedOp, Quantized, Record, Report, Tensor
from fuseconv.tfl.arena import to_json as arena_to_json

SCHEMA_VERSION = 1
REPORT_VERSION = 2
FATES = tuple(kind for kind in KINDS if kind != "refused")
_WIDTH = 200
# What readers of reports rely on.
_COLUMNS: dict[str, dict[str, Any]] = {
    "ops": {"subgraph": int, "index": int, "type": str, "layer": str, "fusions": [str], "sources": [int]},
    "nodes": {"name": str, "type": str | None, "fate": str | None},
}


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as a document of JSON's own types, as its schema describes it."""
    fates = report.account()
    totals = Counter(fates.values())
    nodes = _nodes(report)
    return {
        "schema_version": REPORT_VERSION,
        "generator": generator(),
        "model": report.model,
        "output": {"path": report.output, "bytes": report.output_bytes},
        "totals": {
            "source_ops": len(report.sources),
            "emitted_ops": len(report.emitted),
            "fates": {fate: totals[fate] for fate in (*FATES, "") if fate or totals[fate]},
            "emitted_by_type": dict(Counter(op.type for op in report.emitted)),
        },
        "signatures": [
            {"names": list(ends.names), "inputs": _tensors(ends.inputs), "outputs": _tensors(ends.outputs)}
            for ends in report.signatures
        ],
        "layers": layers(report),
        "nodes": [
            {"name": name, "type": report.sources.get(name, ""), "fate": fates.get(name, "")}
            | ({"inputs": _places(report.edges[name], nodes)} if name in report.edges else {})
            for name in nodes
        ],
        "ops": _ops(report, nodes),
        "records": [
            record._asdict() | {"sources": _places(record.sources, nodes), "emitted": list(record.emitted)}
            for record in report.records
        ],
        "fusions": {
            rule: report.summaries[rule]
            for rule in sorted({record.rule for record in report.records if record.kind in ("fused", "refused")})
            if rule in report.summaries
        },
        "arena": arena_to_json(report.arena, report.dynamic),
        "cut": {"inputs": dict(report.cut.inputs), "outputs": dict(report.cut.outputs)},
        "renamed": dict(report.renamed),
        "input_ranges": {name: list(ends) for name, ends in report.input_ranges.items()},
        "quantized": [item._asdict() | {"sources": _places(item.sources, nodes)} for item in report.quantized],
        **({} if report.target is None else {"target": report.target | _rewritten(report)}),
        "warnings": list(report.warnings),
        "passes": [
            {"name": run.name, "changes": run.changes, "seconds": round(run.seconds, 6)} for run in report.passes
        ],
        "seconds": {stage: round(seconds, 6) for stage, seconds in report.seconds.items()},
    }


def _rewritten(report: Report) -> dict[str, Any]:
    """Return which ops were written in other forms for the target, and what that, and tiles, made of the arena."""
    rows = [
        {"type": type, "into": list(into), "count": count} for (type, into), count in sorted(report.rewritten.items())
    ]
    arenas = {"arena": report.arena_for_target, "tiles": report.arena_of_tiles}
    told = {key: None if pair is None else {"before": pair[0], "after": pair[1]} for key, pair in arenas.items()}
    return {"rewritten": rows, **told}


def layers(report: Report) -> list[dict[str, Any]]:
    """Return `{"layer", "ops", "bytes"}` of each layer of the model that the file has ops of, in their order. A
    constant counts for the first op that reads it."""
    found: dict[str, dict[str, Any]] = {}
    for op in report.emitted:
        name = layer_of(op.sources)
        layer = found.setdefault(name, {"layer": name, "ops": 0, "bytes": 0})
        layer["ops"] += 1
        layer["bytes"] += op.bytes
    return list(found.values())


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the report."""
    return json.loads(Path(__file__).with_name("report.schema.json").read_text("utf-8"))


def read_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the JSON report that a conversion wrote. Raises InputError if it is none, or of another version."""
    document = read_document(path, _COLUMNS, "report that convert --report FILE.json wrote")
    if document.get("schema_version") != REPORT_VERSION:
        version = document.get("schema_version")
        raise InputError(f"{os.fspath(path)} is of version {version}, and no report of version {REPORT_VERSION}")
    return document


def read_document(path: str | os.PathLike[str], columns: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, Any]:
    """Read a JSON document of ours. columns: its lists, with the types of what each item has ([type]: a list of such).
    what: in words.

    Raises InputError for anything else."""
    try:
        document = json.loads(read_file(path))
        rows = ((item, keys) for name, keys in columns.items() for item in document[name])
        if all(_is_of(item[key], kind) for item, keys in rows for key, kind in keys.items()):
            return document
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise InputError(f"{os.fspath(path)} is no {what}")


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(isinstance(each, kind[0]) for each in value)
    return isinstance(value, kind)


def _nodes(report: Report) -> dict[str, int]:
    """Return the places of the nodes: those of the model, then what else records name, such as the ops of a file that
    is quantized."""
    names = dict.fromkeys(report.sources)
    items: tuple[Record | EmittedOp | Quantized, ...] = (*report.records, *report.emitted, *report.quantized)
    for item in items:
        names.update(dict.fromkeys(item.sources))
    return {name: place for place, name in enumerate(names)}


def _places(names: Iterable[str], nodes: dict[str, int]) -> list[int]:
    return [nodes[name] for name in dict.fromkeys(names)]


def _ops(report: Report, nodes: dict[str, int]) -> list[dict[str, Any]]:
    made = _fusions_by_source(report.records)
    return [
        {
            "subgraph": op.subgraph, "index": op.index, "type": op.type, "bytes": op.bytes,
            "layer": layer_of(op.sources), "fusions": _fusions(op.type, op.sources, made),
            "sources": _places(op.sources, nodes),
        }
        for op in report.emitted
    ]  # fmt: skip


def _fusions_by_source(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return by each node the records of the fusions whose composition begins with it."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.kind == "fused" and record.sources:
            found.setdefault(record.sources[0], []).append(record)
    return found


def _fusions(type: str, sources: tuple[str, ...], made: dict[str, list[Record]]) -> list[str]:
    """Return the fusions that made an op of this type of (some of) these nodes."""
    known = set(sources)
    rules = (
        record.rule for name in dict.fromkeys(sources) for record in made.get(name, ())
        if type in record.emitted and known.issuperset(record.sources)
    )  # fmt: skip
    return list(dict.fromkeys(rules))


def _tensors(tensors: Iterable[Tensor]) -> list[dict[str, Any]]:
    return [
        {"name": name, "type": type, "shape": shape if shape is None else list(shape)} for name, type, shape in tensors
    ]


def generator() -> dict[str, str]:
    """Return who wrote a document."""
    return {"name": "fuseconv", "version": fuseconv.__version__}


def dumps(document: dict[str, Any]) -> str:
    """Serialize a document deterministically (sorted keys), with a newline at its end: what fits into a line, or is a
    list of numbers, in one.

    Numbers that JSON does not have, as somebody's file may hold, become the texts "nan", "inf" and "-inf"."""
    try:
        return _lines(document, "") + "\n"
    except ValueError:
        return _lines(_spelled(document), "") + "\n"


def _lines(value: Any, indent: str) -> str:
    text = json.dumps(value, sort_keys=True, allow_nan=False)
    if len(text) + len(indent) <= _WIDTH or not isinstance(value, (dict, list)) or _is_numbers(value):
        return text
    deeper = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_lines(item, deeper)}" for key, item in sorted(value.items())]
        ends = "{}"
    else:
        parts, ends = [_lines(item, deeper) for item in value], "[]"
    return f"{ends[0]}\n{deeper}" + f",\n{deeper}".join(parts) + f"\n{indent}{ends[1]}"


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, (int, float)) for item in value)


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
