"""The collector of garbage rests while a model is converted, and is left as it was found."""

from __future__ import annotations

import gc

import pytest

from fuseconv.collector import collector_paused


def test_it_is_paused_and_goes_on() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector_paused():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_who_has_paused_it_finds_it_so() -> None:
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()
