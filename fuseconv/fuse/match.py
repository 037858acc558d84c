"""Fusions, and the match that their `check` and `rewrite` get."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import CO_VARARGS, ismethod
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from fuseconv.fuse.pattern import Pattern, Term
from fuseconv.ir.constant_readers import ConstantReaders
from fuseconv.ir.graph import Op, Value


class Refused(Exception):
    """A fusion's check did not hold. The message is the sentence that the report gives as the reason."""


@dataclass(frozen=True)
class Composite:
    """The interface of an annotated function.

    names: the annotations, globs. operands and results: their names, in the order of the contract; a name with `?` may
    be missing at the end, the last may be `name*` for any number. attrs: the attributes of the annotation with their
    defaults, which tell their type too (None: the fusion checks it), or with their type (`int`; `[int]` for a list)
    where the contract demands them; None instead of the map: it may have any.
    only_if: the name of an attribute that must be true for the annotation to mean this composite.
    """

    names: tuple[str, ...]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    attrs: Mapping[str, Any] | None = field(default_factory=dict)
    only_if: str = ""

    def __post_init__(self) -> None:
        if self.attrs is not None and not isinstance(self.attrs, Mapping):
            raise TypeError(f"the attributes of a composite are a map or None, not {self.attrs!r}")
        if not self.names:
            raise TypeError("a composite has a name")
        for names in (self.operands, self.results):
            optional = [name.endswith(("?", "*")) for name in names]
            plain = [name.rstrip("?*") for name in names]
            if not all(map(str.isidentifier, plain)) or len(set(plain)) < len(plain):
                raise TypeError(f"the operands and results of {self.names[0]} have a name each, and not {names}")
            if optional != sorted(optional) or any(name.endswith("*") for name in names[:-1]):
                raise TypeError(f"what may be missing stands at the end of an interface, name* last, and not {names}")


def composite(
    names: str, interface: str, attrs: Mapping[str, Any] | None = MappingProxyType({}), only_if: str = ""
) -> Composite:
    """Return the pattern of an annotated function: `composite("lstm_*", "x h0 c0 kernel recurrent bias -> last sequence
    h c runtime", {"time_major": False})`.

    names: globs, separated by spaces; interface: operands -> results; both as `Composite` has them. Raises TypeError
    for an interface that no call could have."""
    operands, arrow, results = interface.partition("->")
    if not arrow:
        raise TypeError(f"an interface is operands -> results, and not {interface!r}")
    return Composite(tuple(names.split()), tuple(operands.split()), tuple(results.split()), attrs, only_if)


@dataclass
class Match:
    """One place where a fusion may be made. Operands are attributes: `m.x`.

    attrs: the attributes of a composite's annotation, defaults included. ops: a pattern's named ops, also to be had as
    attributes. An optional operand that is left out, and what only another pattern of the fusion has, is None.
    results: by their names in the contract of a composite; a pattern's are `result`, `result1`, ... `name*` in a
    contract makes a list of operands, and the results `name0`, `name1`, ... composite: the annotation's name.
    placeholder: the composite's body returns constants, which say nothing of what it stands for. constants: tells what
    else reads the memory of a constant; None for a composite.
    """

    operands: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    ops: dict[str, Op | None] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)
    composite: str = ""
    placeholder: bool = False
    constants: ConstantReaders | None = None

    def __post_init__(self) -> None:
        self.__dict__.update(self.ops)
        self.__dict__.update(self.operands)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the fusion's interface has no {name}")

    @property
    def result(self) -> Value:
        """Return the first result."""
        return next(iter(self.results.values()))

    def reads(self, name: str) -> bool:
        """Return True if the result of this name has uses."""
        return name in self.results and bool(self.results[name].uses)

    def require(self, condition: object, why: str) -> None:
        """Refuse the fusion with `why` unless the condition holds."""
        if not condition:
            self.refuse(why)

    def refuse(self, why: str) -> NoReturn:
        """Refuse the fusion."""
        raise Refused(why)


Draw = Callable[["np.random.Generator", Match], dict[str, np.ndarray]]


def _accept(m: Match) -> None:
    """Accept every match: the check of a fusion without one."""


def _takes(function: Callable, count: int) -> bool:
    """Return whether a function takes so many arguments by their places, as far as that can be told."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & CO_VARARGS:
        return True
    most = code.co_argcount - ismethod(function)
    return most - len(getattr(function, "__defaults__", None) or ()) <= count <= most


def _is_root(root: object) -> bool:
    return isinstance(root, Composite) or (isinstance(root, Pattern) and isinstance(root.root, Term))


@dataclass(frozen=True, eq=False)
class Fusion:
    """A fusion as a converter module defines it: a composite or pattern, its check and its rewrite.

    emits: the TFLite op that it makes, for listings. root: a composite, or patterns over primitive ops. Where several
    patterns match, of this and other fusions, the largest is tried first; of composites, the one with the most exact
    name. check only reads and refuses with a sentence; rewrite(tfl, m) builds, and returns the result, a list of the
    results, or a dict from their names to values; it may refuse too, where only building tells. draw(rng, m) returns
    arrays for some operands, by name: the body of a composite, or the ops of a pattern, runs on them where arbitrary
    numbers would not do (places in a table, boxes). The shapes in `m` are static then, and what is drawn takes the
    operand's type.
    """

    name: str
    emits: str
    root: Composite | Pattern | Sequence[Pattern]
    rewrite: Callable[..., Any]
    check: Callable[[Match], None] = _accept
    draw: Draw | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"the name of a fusion is a text, not {self.name!r}")
        roots = [self.root] if isinstance(self.root, (Composite, Pattern)) else self.root
        if not isinstance(roots, (list, tuple)) or not roots or not all(map(_is_root, roots)):
            help = "; mark the function with @pattern" if callable(self.root) else ""
            raise TypeError(f"the fusion {self.name} is of a composite, or of patterns, not {self.root!r}{help}")
        named = self.root.operands if isinstance(self.root, Composite) else (*self.parameters, *self.op_names)
        taken = [name for name in named if hasattr(Match, name) or name in Match.__dataclass_fields__]
        if taken:
            raise TypeError(f"the interface of the fusion {self.name} calls {taken[0]} what m.{taken[0]} is not")
        functions = {"rewrite": self.rewrite, "check": self.check, "draw": self.draw or _accept}
        for name, function in functions.items():
            if not callable(function):
                raise TypeError(f"{name} of the fusion {self.name} is a function, not {function!r}")
        for name, told in (("rewrite", "(tfl, m)"), ("check", "(m)"), ("draw", "(rng, m)")):
            if not _takes(functions[name], told.count(",") + 1) and functions[name] is not _accept:
                swapped = "; are rewrite and check swapped?" if name != "draw" and _takes(self.rewrite, 1) else ""
                raise TypeError(f"{name} of the fusion {self.name} takes {told}{swapped}")

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        if isinstance(self.root, Composite):
            return ()
        return (self.root,) if isinstance(self.root, Pattern) else tuple(self.root)

    @property
    def annotations(self) -> tuple[str, ...]:
        """Return the annotations of the composite, none for patterns."""
        return self.root.names if isinstance(self.root, Composite) else ()

    @cached_property
    def tf_types(self) -> frozenset[str]:
        """Return the types of the ops of TensorFlow's in any of the patterns."""
        kinds = (kind for pattern in self.patterns if pattern.dialect == "tf" for kind in pattern.all_kinds)
        return frozenset(kind.partition(".")[2] for kind in kinds)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of values in any of the patterns."""
        return tuple(dict.fromkeys(name for pattern in self.patterns for name in pattern.parameters))

    @cached_property
    def op_names(self) -> tuple[str, ...]:
        """Return the names of ops in any of the patterns."""
        return tuple(dict.fromkeys(name for pattern in self.patterns for name in pattern.op_names))

    @cached_property
    def summary(self) -> str:
        """Return the summary of the fusion: the first line of the docstring of its rewrite, or of its module."""
        module = sys.modules.get(self.rewrite.__module__)
        text = self.rewrite.__doc__ or (module.__doc__ if module else "") or ""
        return text.strip().partition("\n")[0]
