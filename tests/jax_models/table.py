"""The outcomes as a Markdown table, and what must hold of each."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from tests.bench import table
from tests.jax_models.kinds import FORMS

PAGE = Path(__file__).with_name("README.md")
TOLERANCE = 1e-5
READING = 0.02  # the most seconds that a module is read in
_OURS = ("ours", "saved")  # of the module, and of the SavedModel
_RANGED = "ranged"  # of the module, where ranges say that no id is out of range


def failures(kind: str, outcome: dict[str, Any]) -> list[str]:
    """Return what does not hold of a kind."""
    return [f"{form}: {text}" for form in FORMS for text in _failures(kind.partition("_")[2], outcome[form])]


def _failures(name: str, found: dict[str, Any]) -> list[str]:
    if "refused" in found:
        return [f"refused: {found['refused']}"]
    told, ours, peer = [], found["ours"], found["peer"]
    for side in filter(found.__contains__, (*_OURS, _RANGED)):
        if "wrong" in found[side] or found[side]["error"] > TOLERANCE:
            told.append(f"{side} is wrong: {found[side].get('wrong') or found[side]['error']}")
    told += [f"{name} is a Flex op" for name in ours["types"] if name.startswith("Flex")]
    ops = max(found[side]["ops"] for side in _OURS)
    if "error" in peer and ops > peer["ops"]:
        told.append(f"{ops} ops, TFLiteConverter's have {peer['ops']}")
    if "twin" in found:
        # JAX gives NaN for an id out of range, TensorFlow an error.
        ops = found[_RANGED]["ops"] if _RANGED in found else ops
        twin = found.get("twin_ranged", found["twin"])["ops"]
        if ops > twin + max(1, twin // 10):
            told.append(f"{ops} ops, of TensorFlow {twin}")
    if "lstm" in name and not any("SEQUENCE_LSTM" in each for each in ours["types"]):
        told.append("its LSTM is not fused")
    if ours["reading"] > READING:
        told.append(f"read in {ours['reading'] * 1e3:.0f} ms")
    return told


def markdown(outcomes: dict[str, dict[str, Any]], facts: str) -> str:
    """Return a table with a row for each kind and form, the means and what does not hold, below what it was measured
    on."""
    rows = [["model", "ops", "TFLiteConverter's", "of TensorFlow", "error", "reads, ms", "converts, ms"]]
    rows += [_row(f"{kind}, {form}", outcome[form]) for kind, outcome in outcomes.items() for form in FORMS]
    pairs = [outcome[form] for outcome in outcomes.values() for form in FORMS if "ours" in outcome[form]]
    faster = [found["peer"]["seconds"] / found["ours"]["seconds"] for found in pairs if "seconds" in found["peer"]]
    lines = [facts, ""]
    for form in FORMS:
        both = [o[form] for o in outcomes.values() if "ours" in o[form] and "error" in o[form]["peer"]]
        if both:
            mean = statistics.geometric_mean(found["ours"]["ops"] / found["peer"]["ops"] for found in both)
            lines.append(f"Ops of {form} models: {mean:.2f} of TFLiteConverter's, where it has them right.")
    if faster:
        mean = statistics.geometric_mean(faster)
        lines.append(f"Converts {mean:.0f} times as fast, at least {min(faster):.0f} times.")
    told = [f"- {kind}, {text}" for kind, outcome in outcomes.items() for text in failures(kind, outcome)]
    return "\n".join([*lines, "", *table.aligned(rows), *(["", "What does not hold:", "", *told] if told else [])])


def _row(name: str, found: dict[str, Any]) -> list[str]:
    if "refused" in found:
        return [name, "-", "-", "-", "-", "-", "-"]
    ours, peer = found["ours"], found["peer"]
    ops: Any = max(found[side]["ops"] for side in _OURS)
    theirs = "-"
    if "error" in peer:
        theirs = f"{peer['ops']} ({ops / peer['ops']:.2f})" + (" wrong" if peer["error"] > TOLERANCE else "")
    elif "wrong" in peer:
        theirs = f"{peer['ops']}, {_short(peer['wrong'])}"
    elif "refused" in peer:
        theirs = _short(f"refused: {peer['refused']}")
    wrong = any("wrong" in found[side] for side in _OURS)
    error = "wrong" if wrong else f"{max(found[side]['error'] for side in _OURS):.0e}"
    seconds = f"{ours['seconds'] * 1e3:.0f}"
    if "seconds" in peer:
        seconds += f" / {peer['seconds'] * 1e3:.0f} ({peer['seconds'] / ours['seconds']:.0f}x)"
    twin = str(found.get("twin", {}).get("ops", "-"))
    if _RANGED in found:
        ops, twin = f"{ops}; {found[_RANGED]['ops']}", f"{twin}; {found['twin_ranged']['ops']}"
    return [name, str(ops), theirs, twin, error, f"{ours['reading'] * 1e3:.1f}", seconds]


def _short(why: str) -> str:
    text = " ".join(why.replace("|", "/").split())
    return text if len(text) <= 80 else f"{text[:80]}…"


def write(text: str) -> None:
    """Put the table into the README."""
    PAGE.write_text(table.insert(PAGE.read_text(), text, "jax-models"))
