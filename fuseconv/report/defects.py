"""Reports of internal errors: the exception, and the node of the model being converted when it was raised."""

from __future__ import annotations

import traceback

from fuseconv.errors import DefectError
from fuseconv.ir.graph import Graph, Op


def defect(error: Exception) -> DefectError:
    """Return the error that tells of an unexpected one, with the node that was looked at when it was raised.

    Passes do not note which node they are at, which costs time: the variables of the functions that were running tell.
    """
    op, graph = None, None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in list(frame.f_locals.values()):
            if isinstance(value, Op):
                op = value
            elif isinstance(value, Graph):
                graph = value
    where = ""
    if op is not None:
        name = op.sources[0] if op.sources else op.name
        where = f"at the node '{name}' ({op.type}), "
    elif graph is not None:
        where = f"in '{graph.name}', "
    return DefectError(f"{where}{type(error).__name__}: {error}")
