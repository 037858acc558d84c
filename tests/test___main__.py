"""`python -m fuseconv` is the command."""

from __future__ import annotations

import gc
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what a command does to its process from the tests'."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(gc, "freeze", lambda: None)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """Returns the exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["__main__.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("fuseconv", run_name="__main__")
    return ended.value.code


def test_the_module_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--help") == 0
    assert capsys.readouterr().out.startswith("Usage: fuseconv [OPTIONS] COMMAND")


def test_a_process_ends_without_a_search_for_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    assert run(monkeypatch, "fusions", "no_such") == 2
    assert calls[-1:] == ["freeze"]


@pytest.mark.parametrize(("given", "then"), [({}, "20"), ({"OPENBLAS_THREAD_TIMEOUT": "26"}, "26")])
def test_threads_of_numpy_sleep_soon(given: dict[str, str], then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(os.environ, "OPENBLAS_THREAD_TIMEOUT", raising=False)
    os.environ.update(given)
    assert run(monkeypatch, "--help") == 0
    assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == then


def test_little_is_imported_before_signals_are_handled() -> None:
    """A signal that comes before ends in a traceback. What Python itself imports as it starts is not ours."""
    folder = Path(__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); before = set(sys.modules); import fuseconv.__main__; "
        "print(*sorted(name.partition('.')[0] for name in set(sys.modules) - before))"
    )
    found = subprocess.run([sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True, check=True)
    slow = {"typing", "re", "logging", "threading", "traceback", "pathlib", "numpy", "click"}
    assert not slow & set(found.stdout.split())
