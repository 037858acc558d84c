"""What an application of TFLite Micro needs to know of a file, for the head of its C array."""

from __future__ import annotations

from fuseconv.report.records import Report
from fuseconv.tfl.micro import resolver


def head(report: Report) -> list[str]:
    """Return lines without comment signs: what the activations take, and the C++ that registers the ops."""
    lines = ["A TensorFlow Lite model, written by fuseconv."]
    if report.arena is not None and report.arena.size is not None:
        counted = ", with unknown sizes as 1" if report.dynamic else ""
        lines += [
            f"Activations take {report.arena.size} bytes by the rule of TFLite Micro's planner{counted}.",
            "Variable tensors, scratch buffers and records of the interpreter come on top: see arena_used_bytes().",
        ]
    custom = [op.type for op in report.emitted if op.custom]
    found = resolver((op.type for op in report.emitted), custom)
    return [*lines, "", *found.lines, *(f"TFLite Micro does not have {name}." for name in found.lacks)]
