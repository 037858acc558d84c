"""What the functions of the interface are given: names of arguments and types of values, held to their signatures."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import numbers
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from fuseconv.errors import InputError, suggestion

_Function = TypeVar("_Function", bound=Callable[..., Any])
# What the command line calls arguments that take several, and what has another place in Python.
_ALIASES = {
    "signature": "signatures", "input_range": "input_ranges", "input_shape": "input_shapes", "plugin": "plugins",
    "custom_op": "custom_ops", "output": "out",
}  # fmt: skip
_ELSEWHERE = {
    "verify": "call fuseconv.verify(model, file)", "report": "the result has a report",
    "report_path": "the result has a report", "strict": "look at report.target",
}
# What these may be is more than a type says, or one of a few texts; what reads them refuses in words of its own.
_CHECKED_WHERE_READ = {
    "calibration_data", "data", "input_ranges", "input_shapes", "keras_loader", "quantize", "rnn", "rnn_state",
    "verify_fusions",
}  # fmt: skip
# Types as a sentence calls them, and what is an instance of one: True is no number here, and a text no list.
_KINDS: dict[Any, tuple[str, tuple[Any, ...], tuple[type, ...]]] = {
    bool: ("True or False", (bool, np.bool_), ()), int: ("a whole number", (numbers.Integral,), (bool,)),
    float: ("a number", (numbers.Real,), (bool,)), str: ("a text", (str,), ()), bytes: ("bytes", (bytes,), ()),
    os.PathLike: ("a path", (os.PathLike,), ()),
    collections.abc.Mapping: ("a dict", (Mapping,), ()),
    collections.abc.Sequence: ("a list", (Iterable,), (str, bytes, os.PathLike, Mapping)),
    collections.abc.Callable: ("a function", (collections.abc.Callable,), ()),
}  # fmt: skip


def checked_arguments(function: _Function) -> _Function:
    """Let a function take arguments by the names of the command line too, suggest a name for one that it does not know,
    and hold values to the types that they are annotated with.

    A list may be anything that yields items; the function gets a tuple. Raises InputError for a name that is none, one
    that is given twice, and a value of another type."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        kinds = _kinds(function)
        named = _by_name(function.__name__, known, kinds, given)
        args = tuple(_checked(name, value, kinds[name]) for name, value in zip(known, args)) + args[len(known) :]
        return function(*args, **{name: _checked(name, value, kinds[name]) for name, value in named.items()})

    return called  # type: ignore[return-value]


@functools.cache
def _kinds(function: Callable) -> dict[str, Any]:
    # Names that are imported for annotations only are none when the program runs.
    return get_type_hints(function, localns={"Sample": Any})


def _by_name(
    function: str, known: Mapping[str, Any], kinds: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return arguments by their own names, with lists for single values that the command line's names allow."""
    named: dict[str, Any] = {}
    for name, value in given.items():
        own = name if name in known else _ALIASES.get(name, name)
        if own not in known:
            help = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else suggestion(name, known)
            raise InputError(f"{function} has no argument {name}{help}")
        if own in named:
            raise InputError(f"{function} gets {own} twice, by that name and another")
        is_one = own != name and _is_list(kinds[own]) and isinstance(value, (str, os.PathLike))
        named[own] = [value] if is_one else () if value is None and _is_list(kinds[own]) else value
    return named


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is Sequence


def _checked(name: str, value: Any, kind: Any) -> Any:
    """Hold a value to its argument's type and return it, a list as a tuple. Raises InputError if it is of another type
    than the argument."""
    if name in _CHECKED_WHERE_READ:
        return value
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()  # one number or text, though numpy says that it has items
    if isinstance(value, str) and not value and (name == "model" or os.PathLike in get_args(kind)):
        # As of a shell's variable that is not set; pathlib would take it for the working directory.
        raise InputError(f"{name} is an empty path")
    if not _is_list(kind):
        if isinstance(value, Iterator) and any(map(_is_list, get_args(kind))):
            value = tuple(value)
        if not _fits(value, kind):
            part = next((own for own in ("data", "path") if _holds(value, own, kind)), None)
            help = f"; give its .{part}" if part else ""
            raise InputError(f"{name} takes {_words(kind)}, not {_shown(value)}{help}")
        return value
    if isinstance(value, (str, bytes, os.PathLike)):
        raise InputError(f"{name} takes a list: write [{os.fspath(value)!r}]")
    if not _fits(value, kind.__origin__):
        raise InputError(f"{name} takes a list, not {_shown(value)}")
    items = tuple(value)
    for item in items:
        if not _fits(item, get_args(kind)[0]):
            raise InputError(f"each item of {name} is {_words(get_args(kind)[0])}, not {_shown(item)}")
    return items


def _fits(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(kind))
    _, these, but = _KINDS.get(origin, ("", (origin,), ()))
    if not isinstance(value, these) or isinstance(value, but):
        return False
    return origin is not Sequence or all(_fits(item, each) for each in get_args(kind) for item in value)


def _holds(value: Any, attribute: str, kind: Any) -> bool:
    """Return whether a value holds what an argument of this type takes, as a Conversion holds bytes or a path."""
    part = getattr(value, attribute, None)
    return part is not None and _fits(part, kind)


def _words(kind: Any) -> str:
    """Return what a type is called in a sentence: str | os.PathLike | None -> "a text or a path"."""
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        return " or ".join(_words(each) for each in get_args(kind) if each is not NoneType)
    return _KINDS[origin][0] if origin in _KINDS else f"a {origin.__name__}"


def _shown(value: Any) -> str:
    """Return a value in a few characters of one line."""
    return " ".join(reprlib.repr(value).split())
