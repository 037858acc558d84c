"""Functions of a model by name, parsed when they are first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuseconv.errors import InputError
from fuseconv.load import protos
from fuseconv.load.graph_validation import DAMAGED


class FunctionLibrary(dict[str, Any]):
    """FunctionDefs by name. Those given as bytes are parsed when they are first asked for: a third of a SavedModel are
    functions that save it, which nobody reads.

    Raises InputError for functions of one name that are not the same (as in TensorFlow, the same may be there twice),
    and for bytes that cannot be parsed."""

    def __init__(self, functions: Iterable[Any]) -> None:
        super().__init__()
        for function in functions:
            if isinstance(function, bytes):
                name = _parsed("FunctionOutline", function).signature.name
            else:
                name = function.signature.name
            known = self.setdefault(name, function)
            if known is not function and self[name] != _message(function):
                raise InputError(f"the model has two functions of the name '{name}', which are not the same: {DAMAGED}")

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, bytes):
            found = self[name] = _message(found)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        # A dict's own would not parse.
        return self[name] if name in self else default  # noqa: SIM401


def _message(function: Any) -> Any:
    return _parsed("FunctionDef", function) if isinstance(function, bytes) else function


def _parsed(kind: str, data: bytes) -> Any:
    try:
        return protos.classes[kind].FromString(data)
    except protos.DecodeError:
        raise InputError(f"a function of the model cannot be parsed: {DAMAGED}") from None
