"""Patterns of our own fusions are checked against what they replace wherever a test of theirs converts a model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuseconv.fuse import pattern_check


@pytest.fixture(autouse=True)
def _own_patterns_are_checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test fail in which a fusion of ours computes something else than its pattern."""
    differing: list[str] = []
    warnings = pattern_check.PatternCheck.warnings

    def noted(self: pattern_check.PatternCheck) -> list[str]:
        found = warnings(self)
        differing.extend(found)
        return found

    monkeypatch.setattr(pattern_check, "is_ours", lambda function: False)
    monkeypatch.setattr(pattern_check.PatternCheck, "warnings", noted)
    yield
    assert not differing
