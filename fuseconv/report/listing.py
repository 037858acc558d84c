"""The fusions and lowering rules of a registry, as rows that the command line prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from fuseconv.fuse.registry import Registry
from fuseconv.tfl.opdef import TABLE


def fusion_rows(registry: Registry) -> list[dict[str, str]]:
    """`{"name", "emits", "summary", "origin"}` of each fusion, in the order of loading.

    `emits` is the TFLite op that it makes, `summary` a sentence, `origin` the module that owns it."""
    return [
        {"name": f.name, "emits": f.emits, "summary": f.summary, "origin": registry.origin(f.name)}
        for f in registry.fusions
    ]


def rule_rows(registry: Registry) -> list[dict[str, Any]]:
    """`{"op", "emits", "summary", "origin"}` of each TensorFlow op that has a rule, sorted by op.

    `emits` lists the TFLite ops that the rule may build, read off its code; `summary` is the first line of its
    docstring, mostly empty."""
    rows = []
    for op, rule in sorted(registry.rules.items()):
        function = inspect.unwrap(rule.function)
        summary = (function.__doc__ or "").strip().partition("\n")[0]
        rows.append({"op": op, "emits": builds(function), "summary": summary, "origin": registry.origin(op)})
    return rows


def builds(rule: Callable) -> list[str]:
    """The TFLite ops that a rule names itself; of a rule that only hands on, those that its helpers name."""
    seen: set[int] = set()
    level: list[Any] = [rule]
    while level:
        named = {name.rstrip("_").upper() for item in level for name in _names(item)} & TABLE.keys()
        if named:
            return sorted(named)
        seen |= {id(item) for item in level}
        level = [helper for item in level for helper in _helpers(item) if id(helper) not in seen]
    return []


def _names(item: Any) -> Iterator[str]:
    """The attributes that a function reads, and the texts that a factory gave it."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, FunctionType):
        for code in _codes(item.__code__):
            yield from code.co_names


def _helpers(item: Any) -> Iterator[Any]:
    """What a function refers to by its closure or its module: other functions of this package, and texts."""
    if not isinstance(item, FunctionType):
        return
    for cell in item.__closure__ or ():
        if isinstance(cell.cell_contents, (str, FunctionType)):
            yield cell.cell_contents
    for code in _codes(item.__code__):
        for name in code.co_names:
            value = item.__globals__.get(name)
            if isinstance(value, FunctionType) and _package(value) == _package(item):
                yield value


def _package(function: FunctionType) -> str:
    return function.__module__.partition(".")[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
