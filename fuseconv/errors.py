"""The errors a user can meet, each with its exit code."""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_OURS = Path(__file__).parent
# How many kinds of ops an UnsupportedError tells of in its text.
_MOST_TOLD = 3
# What Python and numpy raise where arrays, shapes and axes do not fit together. A damaged model makes functions that
# look at nothing but an op's operands and attributes meet it.
ILL_FITTING = (ArithmeticError, LookupError, ValueError)
# What Python says of lists of ours that a damaged model made too short, which tells a user nothing.
_OF_PYTHON = (
    "to unpack", "truth value", "empty sequence", "iterable argument is empty", "index out of range", "not in list",
    "not in tuple", "substring not found",
)  # fmt: skip


def ill_fitting(error: Exception) -> str:
    """Return that operands do not fit together, and what was raised over it if that speaks of them."""
    told = str(error)
    opaque = type(error) is KeyError or not told or any(words in told for words in _OF_PYTHON)
    return "do not fit together" if opaque else f"do not fit together ({told})"


class FuseconvError(Exception):
    """A sentence that says what is wrong and what to do. The command line prints it without a traceback."""

    exit_code = 1

    @property
    def sentence(self) -> str:
        """Return the sentence without its full stop, as others stand behind "error:" or in a longer one."""
        text = super().__str__()
        return text if text.endswith("..") else text.removesuffix(".")

    def __str__(self) -> str:
        return self.sentence


class InputError(FuseconvError):
    """The model, an option or a path cannot be used."""

    exit_code = 2


class DefectError(FuseconvError):
    """Something that fuseconv did not expect, which no model should be able to make it meet. what: the exception."""

    exit_code = 1

    def __init__(self, what: str) -> None:
        super().__init__(
            f"this is a defect of fuseconv, please report it with what the command prints under --debug: {what}"
        )


class UnsupportedError(FuseconvError):
    """The model holds operations that cannot be converted. `ops` lists (op, node names, why) for each kind of op;
    `report` tells how far the conversion came, once `convert` has raised it."""

    exit_code = 3

    def __init__(self, message: str, ops: list[tuple[str, list[str], str]]) -> None:
        super().__init__(message)
        self.ops = ops
        self.report: Any = None

    def __str__(self) -> str:
        """Return the sentence, and why of the first ops, as a traceback shows; the command line has a table of all."""
        told = [(op, f" ({nodes[0]})" if nodes else "", why) for op, nodes, why in self.ops if why not in self.sentence]
        rest = [f"and {len(told) - _MOST_TOLD} more, in `ops`"] if len(told) > _MOST_TOLD else []
        return "; ".join([self.sentence, *(f"{op}{node}: {why}" for op, node, why in told[:_MOST_TOLD]), *rest])


class VerificationError(FuseconvError):
    """The converted file and the model differ by more than the tolerance, or a target refuses an op of the file where
    that was ruled out."""

    exit_code = 4


# Packages that a light install leaves out, or may lack, as pip calls them.
_PACKAGES = {
    "tensorflow": "tensorflow", "keras": "keras", "tf_keras": "tf-keras", "ai_edge_litert": "ai-edge-litert",
    "h5py": "h5py", "ml_dtypes": "ml_dtypes",
}  # fmt: skip


@contextmanager
def needing_packages(what: str = "this") -> Iterator[None]:
    """Raise InputError, which says what to install, where a package of ours is not there. what: what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = _PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        # One of these brings the others, in versions that go together.
        install = "tensorflow tf-keras" if package in ("tensorflow", "keras", "tf-keras") else package
        raise InputError(f"{what} needs {package}, which is not installed: pip install {install}") from error


def is_ours(function: Callable) -> bool:
    """Return whether a function is fuseconv's own, and not a plug-in's."""
    return function.__module__.startswith("fuseconv.")


def module_error(what: str, function: Callable, error: Exception | str) -> Exception:
    """Return what to raise where a converter module is wrong. For a plug-in that is an InputError that names its
    function's file and line; for one of fuseconv's own, a defect of ours, the error itself. error: what was raised, or
    a sentence.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code else function.__module__
    if isinstance(error, str):
        kind = FuseconvError if is_ours(function) else InputError
        return kind(f"{what} ({place}) {error}")
    if is_ours(function) or isinstance(error, FuseconvError):
        return error
    return InputError(f"{what} ({place}) failed: {raised(error)}")


def suggestion(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """Return "; did you mean X?" for the known name that is most like a misspelt one, in whatever case, or nothing.
    alike: how much, from 0 to 1."""
    from difflib import get_close_matches

    names = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), names, 1, alike)
    return f"; did you mean {names[found[0]]}?" if found else ""


def suggestion_or_all(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" for a misspelt name, as `suggestion` does, else "; there are X, Y" with all names."""
    known = list(dict.fromkeys(known))
    return suggestion(name, known) or f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known) or 'none'}"


def raised(error: BaseException) -> str:
    """Return what was raised, and the line that it came from: of the user's code, if that called ours; none for what
    Python itself says of a file that it cannot import."""
    frames = traceback.extract_tb(error.__traceback__)
    others = (str(_OURS), str(Path(importlib.__file__).parent), "<")
    theirs = [frame for frame in frames if not frame.filename.startswith(others)]
    try:
        what = f"{type(error).__name__}: {error}"
    except Exception:  # a user's class, which fails to say it
        what = type(error).__name__
    if not theirs and isinstance(error, (ImportError, SyntaxError)):
        return what
    frame = (theirs or frames)[-1]
    return f"{what} ({frame.filename}:{frame.lineno})"
