"""The releases that brought the versions of ops."""

from __future__ import annotations

import re

import pytest

import fuseconv.tfl.ops  # noqa: F401  (fills the table)
from fuseconv.errors import FuseconvError
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.runtime_versions import RELEASES, min_runtime_version


def test_each_version_has_a_release_no_older_than_the_one_before() -> None:
    for name, releases in RELEASES.items():
        numbers = [tuple(map(int, text.split("."))) for text in releases.split() if text != "-"]
        assert numbers == sorted(numbers), name
        assert all(re.fullmatch(r"-|\d+\.\d+\.\d+", text) for text in releases.split()), name


def test_each_op_of_the_table_has_releases() -> None:
    assert [*RELEASES] == sorted(RELEASES)
    assert set(TABLE) <= set(RELEASES)


def test_the_oldest_runtime() -> None:
    assert min_runtime_version([]) == ""
    assert min_runtime_version([("ADD", 1), ("GELU", 1), ("CONV_2D", 1)]) == "2.9.0"
    assert min_runtime_version([("RELU_0_TO_1", 1), ("GELU", 1)]) == "2.10.0"
    with pytest.raises(FuseconvError, match="no TFLite runtime has version 99"):
        min_runtime_version([("ADD", 99)])
