"""Work grows with the links of a chain, whatever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import InputError
from tests.fuzz.chains import CHAINS, made
from tests.work import count_calls


# What is in a loop is walked in each walk of that one; how deep they may nest is bounded.
@pytest.mark.parametrize("name", sorted(CHAINS.keys() - {"inner_frames"}))
def test_work_grows_with_the_links(name: str, tmp_path: Path) -> None:
    def convert(length: int) -> None:
        try:
            fuseconv.convert(made(name, length).write(tmp_path))
        except InputError as refusal:
            assert "deep" in str(refusal)

    # The first one pays for what is imported and compiled once.
    _, small, large = (count_calls(lambda length=length: convert(length)) for length in (60, 60, 240))  # type: ignore[misc]
    assert large < 5 * small
