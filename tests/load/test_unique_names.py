"""Names of inputs and outputs, each once."""

from __future__ import annotations

from fuseconv.load.unique_names import unique


def test_names_that_came_before_get_a_number() -> None:
    assert unique(["a", "b", "a", "a", "a_1"]) == ["a", "b", "a_1", "a_2", "a_1_1"]
