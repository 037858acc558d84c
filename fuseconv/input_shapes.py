"""The shapes of inputs, in the forms in which people write them.

    {"x": [1, None, 3]}    "x=1,?,3"    ["x=1,?,3", "y=4"]    and of a model of one input: [1, None, 3]    "1,?,3"
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from fuseconv.errors import InputError

T = TypeVar("T")
InputShape = tuple[int | None, ...]
# Stands for the name of the only input.
ONLY = ""
_WRITE = "NAME=1,28,28"
_OPEN = ("?", "-1", "None")


def read_shapes(given: Any) -> dict[str, InputShape]:
    """Read shapes in any form that users write them in -> a dict by the names of inputs, `ONLY` for one without a name;
    None is a size that stays dynamic.

    Raises InputError for what is no shape, and for an input that has two."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {name: _shape(shape, name) for name, shape in given.items()}
    parts: list[Any] = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [()]
    if any(isinstance(part, Iterable) and not isinstance(part, str) for part in parts):
        raise InputError(f"the shapes of inputs are a dict from names to shapes, not {given!r}")
    if not all(isinstance(part, str) for part in parts) or (parts and all(map(_is_size, parts))):
        return {ONLY: _shape(parts)}
    shapes: dict[str, InputShape] = {}
    for part in parts:
        # A name may hold an equals sign; a scalar's shape is empty.
        name, equals, text = part.rpartition("=")
        if (equals and not name) or not part:
            raise _no_shape(part)
        if name in shapes:
            raise InputError(f"--input-shape gives {name or 'the only input'} twice")
        shapes[name] = _sizes(text, part)
    return shapes


def named(given: Mapping[str, T], names: Iterable[str], what: str = "a shape", write: str = _WRITE) -> dict[str, T]:
    """Return the shapes, that of the only input by its name. names: of all inputs. what, write: if other things than
    shapes are given, what one is called, and how it is written. Raises InputError if there are several inputs."""
    found = dict(given)
    if ONLY in found:
        there = list(dict.fromkeys(names))
        if len(there) != 1:
            raise InputError(
                f"{what} is given for no input by name, and there are {', '.join(there) or 'none'}: write {write}"
            )
        found[there[0]] = found.pop(ONLY)
    return found


def given_to(signatures: Iterable[str], names: Iterable[str], given: Mapping[str, T]) -> dict[str, T]:
    """Return what is given for inputs of a signature: what is called `signature/input`, else what is called as the
    input. signatures: its names."""
    prefixes = ("", *(f"{signature}/" for signature in signatures))
    return {name: given[key] for name in names for key in (prefix + name for prefix in prefixes) if key in given}


def full_names(signatures: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return all names of the inputs of a signature: `input` and `signature/input`."""
    prefixes = ("", *(f"{signature}/" for signature in signatures))
    return [prefix + name for prefix in prefixes for name in names]


def _shape(shape: Any, name: str = ONLY) -> InputShape:
    if isinstance(shape, str):
        return _sizes(shape, f"{name}={shape}")
    if not isinstance(shape, Iterable):
        raise InputError(f"the shape {shape!r} of {name or 'the input'} is no list of sizes")
    return tuple(_size(size) for size in shape)


def _is_size(text: str) -> bool:
    return text in _OPEN or text.isdecimal()


def _size(size: Any) -> int | None:
    if size is None or (isinstance(size, str) and size in _OPEN):
        return None
    if isinstance(size, str) and size.isdecimal():
        return int(size)
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise InputError(f"the size {size!r} is no whole number")
    return operator.index(size)


def _sizes(text: str, told: str) -> InputShape:
    try:
        sizes = [dim.strip() for dim in text.strip("[]() ").split(",") if dim.strip()]
        shape = tuple(None if size in _OPEN else int(size) for size in sizes)
    except ValueError:
        raise _no_shape(told) from None
    if any(size is not None and size < 0 for size in shape):
        raise _no_shape(told)
    return shape


def _no_shape(told: str) -> InputError:
    return InputError(f"--input-shape {told} is no shape: write {_WRITE}, with ? where it stays dynamic")
