"""What a shell completes: the names that options take. They are looked up when a shell asks, and at no other time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from click import Context, Parameter

_Complete = Callable[[Context, Parameter, str], list[str]]


def _starting(names: Callable[[], Iterable[str]]) -> _Complete:
    """Return what completes the names that a function returns."""

    def complete(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
        return sorted({name for name in names() if name.startswith(incomplete)})

    return complete


@_starting
def fusions() -> Iterable[str]:
    from fuseconv.fuse.registry import Registry

    return (fusion.name for fusion in Registry.builtin().fusions)


def _pass_names() -> Iterable[str]:
    from fuseconv.pass_manager import passes_of
    from fuseconv.pipeline import CONVERT

    return (item.name for item in passes_of(CONVERT))


passes = _starting(_pass_names)
passes_or_all = _starting(lambda: ("all", *_pass_names()))


@_starting
def targets() -> Iterable[str]:
    from fuseconv.targets.builtin import builtin_targets

    return builtin_targets()
