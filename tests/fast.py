"""Which tests are fast: those that need no TensorFlow, interpreter or other process, by what their files import."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TENSORFLOW = frozenset({"keras", "tensorflow", "tf_keras"})
# The converter takes the schema from ai_edge_litert: only tests import its interpreter.
SLOW_IMPORTS = TENSORFLOW | {"ai_edge_litert", "multiprocessing", "subprocess"}
# The fixtures that import TensorFlow for the tests that ask for them, or for a fixture that does.
SLOW_FIXTURES = frozenset({"tf"})
# Where a statement holds others.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@functools.cache
def is_fast(path: Path) -> bool:
    """Return whether neither a test file, nor what it imports of tests/, imports anything slow, even in a function."""
    return not _slow_imports(path, frozenset())


def _slow_imports(path: Path, importers: frozenset[Path]) -> set[str]:
    slow: set[str] = set()
    for name in _imports(path):
        module = ROOT / (name.replace(".", "/") + ".py")
        if name.partition(".")[0] in SLOW_IMPORTS:
            slow.add(name)
        elif name.startswith("tests.") and module.is_file() and module not in importers:
            slow |= _slow_imports(module, importers | {path})
    return slow


@functools.cache
def _imports(path: Path) -> tuple[str, ...]:
    def names(statements: Iterable[ast.AST]) -> Iterator[str]:
        for node in statements:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            for block in _BLOCKS:  # expressions, which are most of a file, hold no imports
                yield from names(getattr(node, block, ()))

    return tuple(names(ast.parse(path.read_text()).body))
