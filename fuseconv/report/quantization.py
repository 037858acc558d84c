"""The report of a quantization: each op beside what it was in floats, as JSON or as a page.

The document, schema version 1: `schema_version`, `generator`, `model`, `output` (the path), `samples` (`{"count",
"held_back"}`: how many ran, and whether ranges were measured on others), `bytes` (`{"before", "after"}` of constants),
`warnings`, and `ops`. These are the ops of the first signature in their order, those of a loop's body in front of the
loop, each with

- `op`, `tensor` (its first result), `sources` (nodes of the model);
- `type`: what it computes on, and the type of its weights where that differs; `why` it stayed float, or empty;
- `before`, `after`: bytes of the constants that it reads;
- `error`: null, or how its result differs from that of floats, errors of earlier ops included; in loops, of the last
  iteration. `max` and `mean` are of the absolute differences, `range` is that of the floats, `relative` is max over
  range, `sqnr` is in decibels (null without noise or signal), and `cosine` is the similarity. `saturated` is the part
  of the floats beyond what the tensor can hold; `held` is `max` where these count as the bound that they exceed.

The page is one file: it loads nothing, and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.report.json import SCHEMA_VERSION, dumps, generator
from fuseconv.report.records import Compared, ComparedOp, Report

SUFFIXES = (".json", ".html")
# A bar of this relative error is as wide as its cell.
_WIDEST = 0.1
_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse } th, td { padding: .2em .7em; text-align: left; border-bottom: 1px solid #ddd }
th { position: sticky; top: 0; background: #fff } td.n { text-align: right; font-variant-numeric: tabular-nums }
tr.float td { color: #888 } td.bar { min-width: 9em; background: linear-gradient(#e8a087, #e8a087) no-repeat }
"""
_HEADERS = ("", "Op", "Tensor", "Type", "Largest error / range", "Largest", "Mean", "SQNR dB", "Cosine", "Saturated",
            "Bytes", "Why it stayed float")  # fmt: skip


def check_suffix(path: str) -> None:
    """Raise InputError for a path that tells neither form."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(f"--quantize-report {path}: end its name with {' or '.join(SUFFIXES)}")


def quantization_report(report: Report, path: str) -> bytes:
    """Return the report in the form that the end of a path says."""
    page = Path(path).suffix.lower() == ".html"
    return (to_html(report) if page else dumps(to_json(report))).encode()


def to_json(report: Report) -> dict[str, Any]:
    """Return the document that the module's docstring describes."""
    compared = _compared(report)
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": generator(),
        "model": report.model,
        "output": report.output,
        "samples": {"count": compared.samples, "held_back": compared.held_back},
        "bytes": {"before": sum(op.before for op in compared.ops), "after": sum(op.after for op in compared.ops)},
        "warnings": list(report.warnings),
        "ops": [{**op._asdict(), "sources": list(op.sources)} for op in compared.ops],
    }


def _compared(report: Report) -> Compared:
    return report.compared or Compared(0, False, [])


def to_html(report: Report) -> str:
    """Return a page that tells the same."""
    compared = _compared(report)
    told = "held back from calibration" if compared.held_back else "that ranges were measured on: none can lie beyond"
    lines = [
        "<!doctype html><meta charset='utf-8'>", f"<title>{_text(report.model)}, quantized</title>",
        f"<style>{_STYLE}</style>", f"<h1>{_text(report.model)}, quantized</h1>",
        f"<p>{len(compared.ops)} ops, compared with those of floats on {compared.samples} samples",
        f"({told})." if compared.samples else "(none were given).",
        "An error is that of the op's result, with what came before it; in loops, of the last iteration.</p>",
        *(f"<p>{_text(warning)}</p>" for warning in report.warnings),
        "<table><tr>", *(f"<th>{header}</th>" for header in _HEADERS), "</tr>",
        *(_row(index, op) for index, op in enumerate(compared.ops)), "</table>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _row(index: int, op: ComparedOp) -> str:
    kind = " class='float'" if op.why else ""
    cells = "".join(_cells(op))
    return f"<tr{kind}><td class='n'>{index}</td>{cells}<td>{_text(op.why)}</td></tr>"


def _cells(op: ComparedOp) -> Iterator[str]:
    for text in (op.op, op.tensor, op.type):
        yield f"<td>{_text(text)}</td>"
    error = op.error or {}
    relative = error.get("relative")
    width = 0.0 if relative is None else min(relative / _WIDEST, 1.0) * 100
    yield f"<td class='n bar' style='background-size: {width:.0f}% 100%'>{_number(relative)}</td>"
    for key in ("max", "mean", "sqnr", "cosine", "saturated"):
        yield f"<td class='n'>{_number(error.get(key))}</td>"
    yield f"<td class='n'>{op.before} → {op.after}</td>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _text(text: str) -> str:
    import html  # only a page needs the tables that come with it

    return html.escape("".join(c if c.isprintable() else " " for c in text))
