"""The operator cases of testdata/opcases pass; what the runner of cases says of those that do not.

The cases are drawn from the parameter tables of TensorFlow Lite's own operator tests (Apache-2.0): data only.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.opcases import Outcome, find, run, run_case, table

CASES = Path("testdata/opcases")


@pytest.mark.parametrize("name", [path.name for path in find(CASES)])
def test_case(name: str) -> None:
    outcome = run_case(CASES / name)
    assert outcome.state == "pass", outcome.why


def _changed(tmp_path: Path, name: str, outputs: str, **changes: object) -> Path:
    path = tmp_path / name
    shutil.copytree(CASES / name, path)
    shutil.copy(CASES / outputs / "outputs.npz", path / "outputs.npz")
    case = json.loads((path / "case.json").read_text())
    (path / "case.json").write_text(json.dumps(case | changes))
    return path


def _only(op: str) -> str:
    (path,) = find(CASES, [op])
    return path.name


def test_other_results_are_wrong(tmp_path: Path) -> None:
    outcome = run_case(_changed(tmp_path, _only("abs"), outputs=_only("softmax")))
    assert (outcome.state, outcome.op) == ("wrong", "abs")
    assert "shape" in outcome.why


def test_random_results_need_only_their_type_and_shape(tmp_path: Path) -> None:
    name = _only("abs")
    path = _changed(tmp_path, name, outputs=name, nondeterministic=True)
    assert run_case(path).state == "pass"


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    name = _only("abs")
    path = _changed(tmp_path, name, outputs=name)
    (path / "saved_model" / "saved_model.pb").write_bytes(b"")
    (outcome,) = run([path], 1, 60)
    assert outcome.state == "error"
    assert "InputError" in outcome.why


@pytest.mark.parametrize(
    ("code", "timeout", "why"),
    [
        ("import os; input(); os.abort()", 30, "the process died"),
        ("import time; input(); time.sleep(30)", 0.3, "no answer in 0.3 s"),
        ("", 30, "the process died"),
    ],
)
def test_a_crash_or_a_hang_costs_one_case(code: str, timeout: float, why: str) -> None:
    paths = find(CASES)[:2]
    outcomes = run(paths, 1, timeout, [sys.executable, "-c", code])
    assert [outcome.case for outcome in outcomes] == [path.name for path in paths]
    assert all(outcome.state == "error" and why in outcome.why for outcome in outcomes)


def test_workers_answer() -> None:
    paths = find(CASES)[:3]
    assert [outcome.state for outcome in run(paths, 2, 60)] == ["pass"] * 3


def test_the_table_counts_by_op() -> None:
    states = {"a__0": "pass", "a__1": "wrong", "b__0": "refused"}
    text = table([Outcome(name, name[0], state, "2 of 3") for name, state in states.items()])
    rows = [line.split() for line in text.splitlines()]
    assert rows[1] == ["a", "1", ".", "1", "."]
    assert rows[3] == ["all", "1", "1", "1", "0"]
    assert "wrong    a__1: 2 of 3" in text
    assert "1 of 3 cases pass (33.3%); 1 are wrong" in text
