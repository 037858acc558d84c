"""Interfaces of composites, and what a match tells a converter module."""

from __future__ import annotations

import pytest

from fuseconv.fuse.match import Match, Refused, composite
from fuseconv.ir.graph import constant


def test_an_interface_is_operands_and_results() -> None:
    made = composite("a_* b", "x y? -> z", {"width": int})
    assert (made.names, made.operands, made.results) == (("a_*", "b"), ("x", "y?"), ("z",))
    with pytest.raises(TypeError, match="an interface is operands -> results"):
        composite("a", "x y")


def test_a_match_gives_operands_by_name() -> None:
    x, y = constant(1.0), constant(2.0)
    match = Match({"x": x, "y": None}, {"width": 3}, results={"z": y})
    assert match.x is x and match.y is None and match.result is y and not match.reads("z")
    with pytest.raises(AttributeError, match="the fusion's interface has no w"):
        match.w  # noqa: B018


def test_a_requirement_that_does_not_hold_refuses() -> None:
    match = Match({})
    match.require(True, "never said")
    with pytest.raises(Refused, match="too wide"):
        match.require(0, "too wide")
