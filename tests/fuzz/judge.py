"""What is a defect: judges what became of a case by what the README promises."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from tests.fuzz.server import Outcome, Request

REFUSALS = (2, 3, 4)
_LONGEST_SENTENCE = 1200
# What a conversion of a model of under 1 MB may take. Of what TensorFlow takes a forked child touches a part only.
MOST_BYTES = 1_500_000_000
# How lines on standard error begin where a command does its work. A note tells the name that it has given a file.
_SAID = ("fuseconv: warning: ", "fuseconv: note: wrote ")


@dataclass(frozen=True)
class Defect:
    """group: what defects of one cause share; why: one line."""

    group: str
    why: str


def judge(outcome: Outcome, request: Request) -> list[Defect]:
    """The defects that an outcome shows, worst first; none if all is well."""
    found = [*_conduct(outcome), *_end(outcome, request), *_files(outcome, request)]
    if outcome.peak_bytes > MOST_BYTES:
        found.append(Defect("memory", f"takes {outcome.peak_bytes / 1e9:.1f} GB"))
    if outcome.load:
        op = re.search(r"number \d+ \((\w+)\)", outcome.load)
        found.append(Defect(f"LiteRT refuses {op[1] if op else 'the file'}", outcome.load))
    return found


def _conduct(outcome: Outcome) -> list[Defect]:
    """What no process that reads a model may do."""
    found = [Defect(f"does {event.partition(':')[0]}", event) for event in outcome.events]
    if outcome.leaked:
        found.append(Defect("leak", "what lies outside of the model is in the output"))
    if outcome.lived_on:
        found.append(Defect("process", "a process outlives the conversion"))
    return found


def _end(outcome: Outcome, request: Request) -> list[Defect]:
    """How it ended, and what it said."""
    if outcome.exit is None:
        if outcome.signal:
            return [Defect(f"signal {outcome.signal}", f"dies by signal {outcome.signal}: {_last(outcome.stderr)}")]
        return [Defect("time", f"does not end within {request.seconds:.0f} s")]
    if outcome.exit == 0:
        wrong = [line for line in outcome.stderr.splitlines() if not line.startswith(_SAID)]
        return [Defect("noise", f"says '{wrong[0][:200]}' on standard error")] if wrong else []
    if outcome.exit not in REFUSALS:
        return [Defect(f"exit {outcome.exit}: {outcome.trace}", _last(outcome.stderr))]
    return _sentence(outcome, "--json" in request.args)


def _sentence(outcome: Outcome, in_json: bool) -> list[Defect]:
    first, *rest = outcome.stderr.splitlines() or [""]
    if not first.startswith("fuseconv: error: ") or (rest and outcome.exit != 3):
        return [Defect("sentence", f"exit {outcome.exit} with {len(rest) + 1} lines: {(rest or [first])[-1][:200]!r}")]
    if len(first) > _LONGEST_SENTENCE or not first.isprintable():
        return [Defect("sentence", f"{len(first)} characters, or some that do not print: {first[:200]!r}")]
    for poor in ("Traceback (most", "defect of fuseconv", "Errno", "0x7f"):
        if poor in outcome.stderr:
            return [Defect(f"sentence: {poor}", first[:300])]
    # The limits of the case were reached: without them, the machine's memory or disk would have been.
    if "memory does not suffice" in first:
        return [Defect("memory", first[:300])]
    if "File too large" in first:
        return [Defect("output size", first[:300])]
    if in_json:
        try:
            told = json.loads(outcome.stdout)["error"]["exit_code"]
        except (ValueError, KeyError, TypeError):
            told = None
        if told != outcome.exit and len(outcome.stdout) < 20_000:
            return [Defect("json", f"the document says exit code {told}, not {outcome.exit}")]
    elif outcome.stdout and outcome.exit != 4:  # which shows what differs
        return [Defect("noise", f"fails, and says on standard output: {outcome.stdout[:200]!r}")]
    return []


def _files(outcome: Outcome, request: Request) -> list[Defect]:
    if outcome.exit == 0 and request.anywhere:
        return []
    if outcome.exit == 0 and "convert" in request.args and "out/out.tflite" not in outcome.changed:
        return [Defect("no file", "exit 0, and nothing is written")]
    may = {"out/out.tflite", "out/report.json"} if outcome.exit == 0 else set()
    if outcome.exit == 3:
        may = {"out/report.json"}  # why a conversion failed is what a report is for
    wrong = [path for path in outcome.changed if path not in may]
    return [Defect("files left", f"exit {outcome.exit} leaves or changes {', '.join(wrong[:5])}")] if wrong else []


def _last(text: str) -> str:
    lines = text.splitlines()
    return lines[-1][:300] if lines else ""
