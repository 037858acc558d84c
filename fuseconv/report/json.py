"""The report as JSON: the record of a conversion that other tools read. The terminal's view says less.

The document, schema version 1. Every key is always there unless the text says otherwise; keys are sorted, and lists are
in the order in which things happened, so that the same conversion gives the same text but for `seconds`.

- `schema_version`: 1. It changes when a key changes its meaning or goes; a key may be added without a change.
- `generator`: `{"name": "fuseconv", "version": "0.1.0"}`.
- `model`: the path of the model, as it was given.
- `output`: `{"path", "bytes"}` of the file; an empty path where the caller took the bytes, 0 bytes where nothing was
  written.
- `totals`: `source_ops` and `emitted_ops`, the number of ops in the model and in the file; `fates`, the number of
  source ops of each fate; `emitted_by_type`, the number of ops of each type in the file.
- `sources`: for the name of each node of the model `{"type", "fate"}`. The type is TensorFlow's op type. The fate is
  `fused`, `lowered`, `folded`, `removed` or `unsupported`; it is empty where the conversion ended before it was
  known.
- `records`: what was done, as `{"kind", "rule", "sources", "emitted", "why"}`. The kind is one of the fates, or
  `refused` for a fusion that was tried and not made. The rule is the fusion, lowering rule or pass that did it. The
  sources are names of nodes of the model, `emitted` the types of the TFLite ops that were made, `why` a sentence or
  empty.
- `emitted`: each op of the file as `{"subgraph", "index", "type", "sources"}`: its place in the file, its type (the
  custom code of a custom op) and the nodes of the model that it stands for.
- `cut`: `{"inputs", "outputs"}`, the tensors that were made ends of the signature: their names in full by the names
  that were given; empty where the signature has its own. `renamed`: new names of inputs and outputs by the old ones.
- `quantized`: what quantization made of each constant and op, as `{"op", "name", "type", "before", "after", "why",
  "sources"}`: the op's type, the constant's tensor (empty for the op itself), the type in which it is stored or
  computed, bytes before and after, why it stayed float or empty, and the nodes of the model.
- `warnings`: sentences for the user.
- `passes`: `{"name", "changes", "seconds"}` of each run of a pass, in order; changes count the edits of ops, 0 where
  the pass left the module as it was.
- `seconds`: the time of each stage. Times alone, here and in `passes`, differ from one run to the next.
- `verification`: only after `convert --verify`: what `fuseconv verify --json` prints, see `Verification.to_json`.
- `error`: only after a failure: `{"message", "exit_code"}`, the sentence that is printed and the command's exit code.
  Where the conversion did not come to the model's operations, there are only `schema_version` and `generator` besides.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from fuseconv.report.records import KINDS, Report

SCHEMA_VERSION = 1
FATES = tuple(kind for kind in KINDS if kind != "refused")


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as a document of JSON's own types, as the module's docstring describes it."""
    fates = report.account()
    totals = Counter(fates.values())
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": generator(),
        "model": report.model,
        "output": {"path": report.output, "bytes": report.output_bytes},
        "totals": {
            "source_ops": len(report.sources),
            "emitted_ops": len(report.emitted),
            "fates": {fate: totals[fate] for fate in (*FATES, "") if fate or totals[fate]},
            "emitted_by_type": dict(Counter(op.type for op in report.emitted)),
        },
        "sources": {name: {"type": type, "fate": fates[name]} for name, type in report.sources.items()},
        "records": [
            {
                "kind": record.kind,
                "rule": record.rule,
                "sources": list(record.sources),
                "emitted": list(record.emitted),
                "why": record.why,
            }
            for record in report.records
        ],
        "emitted": [
            {"subgraph": op.subgraph, "index": op.index, "type": op.type, "sources": list(op.sources)}
            for op in report.emitted
        ],
        "cut": {"inputs": dict(report.cut.inputs), "outputs": dict(report.cut.outputs)},
        "renamed": dict(report.renamed),
        "quantized": [{**item._asdict(), "sources": list(item.sources)} for item in report.quantized],
        "warnings": list(report.warnings),
        "passes": [
            {"name": run.name, "changes": run.changes, "seconds": round(run.seconds, 6)} for run in report.passes
        ],
        "seconds": {stage: round(seconds, 6) for stage, seconds in report.seconds.items()},
    }


def generator() -> dict[str, str]:
    """Return who wrote a document."""
    from importlib.metadata import version

    return {"name": "fuseconv", "version": version("fuseconv")}


def dumps(document: dict[str, Any]) -> str:
    """Serialize a document deterministically (sorted keys), with a newline at its end.

    Numbers that JSON does not have, as somebody's file may hold, become the texts "nan", "inf" and "-inf"."""
    try:
        return json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_spelled(document), indent=1, sort_keys=True, allow_nan=False) + "\n"


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
