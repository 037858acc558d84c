"""Tables of functions by the type of the ops that they are for: rules, shape functions, folders, kernels, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, TypeVar

from fuseconv.errors import InputError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class OpTable(dict[str, T]):
    """A dict from op types to what is declared for them, each by one owner.

    mark: the attribute by which `collect` knows the functions that a module offers. make: what is kept of a function
    for an op, by default the function. extends: a table whose names are taken too.

    `offering` adds entries for the time of one conversion, which `offered` finds; the table itself stays as it is.
    """

    def __init__(
        self,
        mark: str = "",
        make: Callable[[Any, str], Any] = lambda function, name: function,
        extends: OpTable[T] | None = None,
    ) -> None:
        super().__init__()
        self.owners: dict[str, str] = {}
        self._mark = mark
        self._make = make
        self._extends = extends
        self._offered: ContextVar[Mapping[str, T]] = ContextVar("offered")

    def claim(self, name: str, item: T, owner: str) -> None:
        """Enter an item. Raises InputError, which names both owners, if the name is taken."""
        for table in filter(None, (self, self._extends)):
            if name in table:
                first = table.owners[name]
                help = "fuseconv's own cannot be replaced" if first.startswith("fuseconv.") else "leave one out"
                raise InputError(f"{name} is claimed by both {first} and {owner}; {help}")
        self[name] = item
        self.owners[name] = owner

    def declare(self, *names: str) -> Callable[[F], F]:
        """Enter the decorated function for these ops (by default: for the op that it is named for)."""

        def enter(function: F) -> F:
            for name in names or (function.__name__,):
                self.claim(name, self._make(function, name), function.__module__)
            return function

        return enter

    def collect(self, module: ModuleType, origin: str = "") -> None:
        """Enter the functions that a module marked. Those that it imported from elsewhere are not its own, and a class
        or an object marks nothing by having an attribute of the mark's name, such as `kernel`."""
        for function in vars(module).values():
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                for name in getattr(function, self._mark, ()):
                    self.claim(name, self._make(function, name), origin or module.__name__)

    def copy(self) -> OpTable[T]:
        made: OpTable[T] = OpTable(self._mark, self._make, self._extends)
        made.update(self)
        made.owners = dict(self.owners)
        return made

    def offered(self, name: str) -> T | None:
        """Return what this conversion's modules offer for an op that the table lacks."""
        return self._offered.get(_NOTHING).get(name)

    @contextmanager
    def offering(self, more: Mapping[str, T]) -> Iterator[None]:
        token = self._offered.set(more)
        try:
            yield
        finally:
            self._offered.reset(token)


def marks(mark: str, names: tuple[str | Callable[..., Any], ...]) -> Callable:
    """Return the decorator of a function that is meant for these ops (by default: for the op that it is named for), or
    the function itself, marked, where the decorator was written without parentheses. Nothing is registered."""
    if len(names) == 1 and callable(names[0]):
        return marks(mark, ())(names[0])  # type: ignore[no-any-return]

    def enter(function: Callable) -> Callable:
        setattr(function, mark, names or (function.__name__,))
        return function

    return enter
