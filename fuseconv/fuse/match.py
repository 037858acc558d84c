"""What a fusion is, and what its `check` and `rewrite` get to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fuseconv.fuse.pattern import Pattern
from fuseconv.ir.graph import Op, Value


class Refused(Exception):
    """A fusion's check did not hold. The message is the sentence that the report gives as the reason."""


@dataclass(frozen=True)
class Composite:
    """The interface of an annotated function.

    name: the annotation, a glob. operands and results: their names, in the order of the contract; a name with `?` may
    be missing at the end.
    """

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...]


def composite(name: str, interface: str) -> Composite:
    """`composite("lstm_*", "x h0 c0 kernel recurrent bias -> last sequence h c runtime")`."""
    operands, _, results = interface.partition("->")
    return Composite(name, tuple(operands.split()), tuple(results.split()))


@dataclass
class Match:
    """One place where a fusion may be made. Operands are attributes: `m.x`.

    attrs: a composite's attributes, those of the annotation included. ops: a pattern's named ops, also to be had as
    attributes. An optional operand that is left out, and what only another alternative of a pattern has, is None.
    results: by their names in the contract of a composite; a pattern's are `result`, `result1`, ...
    """

    operands: dict[str, Value | None]
    attrs: dict[str, Any] = field(default_factory=dict)
    ops: dict[str, Op | None] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("operands", ()):
            return self.operands[name]
        if name in self.__dict__.get("ops", ()):
            return self.ops[name]
        raise AttributeError(f"the fusion's interface has no {name}")

    @property
    def result(self) -> Value:
        """The first result."""
        return next(iter(self.results.values()))

    def reads(self, name: str) -> bool:
        """True if somebody reads the result of this name."""
        return name in self.results and bool(self.results[name].uses)

    def require(self, condition: object, why: str) -> None:
        """Refuses the fusion with `why` unless the condition holds."""
        if not condition:
            self.refuse(why)

    def refuse(self, why: str) -> NoReturn:
        """Refuses the fusion."""
        raise Refused(why)


def _accept(m: Match) -> None:
    """The check of a fusion that has none."""


@dataclass(frozen=True)
class Fusion:
    """A converter module's entry: what is looked for and what becomes of it.

    emits: the TFLite op that it makes, for listings. root: a composite, or patterns over primitive ops. Where several
    patterns match, of this and other fusions, the largest is tried first. check only reads and refuses with a sentence;
    rewrite(tfl, m) only builds, and returns the result, or a dict from result names to values.
    """

    name: str
    emits: str
    root: Composite | Pattern | Sequence[Pattern]
    rewrite: Callable[..., Any]
    check: Callable[[Match], None] = _accept

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        if isinstance(self.root, Composite):
            return ()
        return (self.root,) if isinstance(self.root, Pattern) else tuple(self.root)

    @property
    def summary(self) -> str:
        """The first line of what the author says of it."""
        module = __import__("sys").modules.get(self.rewrite.__module__)
        text = self.rewrite.__doc__ or (module.__doc__ if module else "") or ""
        return text.strip().partition("\n")[0]
