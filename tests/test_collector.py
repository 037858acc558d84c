"""The collector of garbage rests while a model is converted, and is left as it was found."""

from __future__ import annotations

import gc

import pytest

from fuseconv.collector import collector_paused, importing


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


@pytest.mark.parametrize(("frozen", "aged"), [(0, ["freeze", "unfreeze"]), (1, [])])
def test_what_was_imported_is_old_unless_the_caller_freezes(
    frozen: int, aged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: calls.append(name if not gc.isenabled() else "too late"))
    with importing():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert calls == aged
