"""The releases that brought the versions of ops."""

from __future__ import annotations

import re

import fuseconv.tfl.ops  # noqa: F401  (fills the table)
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.runtime_versions import RELEASES


def test_each_version_has_a_release_no_older_than_the_one_before() -> None:
    for name, releases in RELEASES.items():
        numbers = [tuple(map(int, text.split("."))) for text in releases.split() if text != "-"]
        assert numbers == sorted(numbers), name
        assert all(re.fullmatch(r"-|\d+\.\d+\.\d+", text) for text in releases.split()), name


def test_each_op_of_the_table_has_releases() -> None:
    assert [*RELEASES] == sorted(RELEASES)
    assert len(TABLE.keys() & RELEASES.keys()) > 100
