"""`python -m fuseconv` is the command."""

from __future__ import annotations

import gc
import runpy
import sys

import pytest


def test_the_module_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["__main__.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("fuseconv", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: fuseconv [OPTIONS] COMMAND")


def test_a_process_ends_without_a_search_for_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(sys, "argv", ["__main__.py", "fusions", "no_such"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("fuseconv", run_name="__main__")
    assert ended.value.code == 2
    assert calls[-1:] == ["freeze"]
