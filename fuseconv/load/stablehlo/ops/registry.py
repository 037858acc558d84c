"""The table of importers: StableHLO op -> a function that builds `tf` ops for it.

An importer is called with the scope, the op and the values of its operands, and returns the values of its results. It
raises RefusedError for what it cannot express.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.ir.op_table import OpTable, marks

Importer = Callable[..., "Value | Sequence[Value]"]
_MARK = "_imports"
TABLE: OpTable[Importer] = OpTable(_MARK)


def imports(*names: Any) -> Callable:
    """Mark an importer for ops (by default: for the op that it is named for)."""
    return marks(_MARK, names)


@functools.lru_cache(maxsize=1024)
def takes(importer: Importer, count: int) -> bool:
    """Return whether an importer takes so many operands: its parameters behind the scope and the op."""
    code = importer.__code__
    named = code.co_argcount - 2
    return count >= named if code.co_flags & inspect.CO_VARARGS else count == named
