"""The fusions and lowering rules of a registry, as rows that the command line prints."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import fuseconv.tfl.ops  # noqa: F401  fills the table
from fuseconv.tfl.opdef import TABLE

if TYPE_CHECKING:
    from fuseconv.fuse.registry import Registry

# What a rule reads off its builder, named like an op.
_PROPERTIES = frozenset({"shape"})
# What `tfl.custom` builds, an op of another name each time.
_CUSTOM = "CUSTOM"


def fusion_rows(registry: Registry) -> list[dict[str, str]]:
    """Return `{"name", "matches", "emits", "summary", "origin"}` of each fusion, in the order of loading.

    `matches` are the annotations of the functions that it looks for, empty if it looks for a pattern of ops; `emits` is
    the TFLite op that it makes, `summary` a sentence, `origin` the module that owns it."""
    return [
        {
            "name": fusion.name,
            "matches": " ".join(fusion.annotations),
            "emits": fusion.emits,
            "summary": fusion.summary,
            "origin": registry.origin(fusion.name),
        }
        for fusion in registry.fusions
    ]


def rule_rows(registry: Registry) -> list[dict[str, Any]]:
    """Return `{"op", "emits", "attributes", "summary", "origin"}` of each TensorFlow op that has a rule, sorted by op.

    `emits` lists the TFLite ops that the rule may build, read off its code; `attributes` those that it heeds; all other
    ones must hold their defaults. `summary` is its docstring: what becomes of the op, and where its limits are."""
    rows = []
    for op, rule in sorted(registry.rules.items()):
        function = inspect.unwrap(rule.function)
        rows.append(
            {
                "op": op,
                "emits": builds(function, op),
                "attributes": sorted(rule.attrs),
                "summary": " ".join((function.__doc__ or "").split()),
                "origin": registry.origin(op),
            }
        )
    return rows


def builds(rule: Callable, op: str = "") -> list[str]:
    """Return the TFLite ops that a rule may build for an op: the builder calls in its source and in that of its helpers
    in the same module. Helpers from elsewhere cast and transpose for many rules, and count only if nothing else is
    there."""
    seen: set[Callable] = set()
    ops: set[str] = set()
    near: list[Callable] = [rule]
    far: list[Callable] = []
    while near or (far and not ops):
        function = near.pop() if near else far.pop()
        if function in seen:
            continue
        seen.add(function)
        named, helpers = _calls(function, op)
        ops |= named
        for helper in helpers:
            (near if helper.__module__ == rule.__module__ else far).append(helper)
    return sorted(ops)


def _calls(function: Callable, op: str) -> tuple[set[str], list[Callable]]:
    """Return the ops that a function's own text names, and the functions that it hands its builder (its first
    parameter) to.

    An op is named by `tfl.add(...)`, by `helper(tfl.add, ...)`, or by its name in capitals among a call's arguments. It
    is named as well by a table that is read there at the TF op `op`, or, in a function with `getattr(tfl, name)`, by a
    text that a factory gave it."""
    ops: set[str] = set()
    helpers: list[Callable] = []
    builder = next(iter(inspect.signature(function).parameters), None)
    scope = inspect.getclosurevars(function)
    known = {**scope.globals, **scope.nonlocals}
    for call in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if not isinstance(call, ast.Call):
            continue
        for part in (call.func, *call.args):
            if isinstance(part, ast.Attribute) and _is_name(part.value, builder) and part.attr not in _PROPERTIES:
                ops.add(part.attr.rstrip("_").upper())
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                ops.add(part.value)
            elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                table = known.get(part.value.id)
                ops |= {table[op]} if isinstance(table, dict) and op in table else set()
        if isinstance(call.func, ast.Name) and any(_is_name(arg, builder) for arg in call.args):
            helper = known.get(call.func.id)
            if call.func.id == "getattr":
                ops |= {text.upper() for text in scope.nonlocals.values() if isinstance(text, str)}
            elif isinstance(helper, FunctionType):
                helpers.append(inspect.unwrap(helper))
    return ops & (TABLE.keys() | {_CUSTOM}), helpers


def _is_name(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name
